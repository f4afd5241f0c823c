mod contents;
mod handshakes;
mod rotation;
