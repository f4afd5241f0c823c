mod contents;
mod handshakes;
mod rotation;
mod times;
