//! Lines as WebSocket text messages, one each, for peers that behave: no fragments, no control frames but a close.

use std::io::{self, Read, Write};

use tungstenite::handshake::derive_accept_key;

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// Any mask will do where nothing lies between that could be tricked.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
const ROOM: usize = 64 * 1024;
const LONGEST_HEAD: usize = 14;

/// Which end of a connection this is: a client masks what it sends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Server,
}

/// Asks a server for a WebSocket at `/`.
pub(super) fn ask(stream: &mut (impl Read + Write), host: &str) -> io::Result<()> {
    let request = format!(
        "GET / HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {KEY}\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let head = head(stream)?;
    let accept = derive_accept_key(KEY.as_bytes());
    if head.starts_with("HTTP/1.1 101") && head.contains(&accept) {
        return Ok(());
    }
    Err(io::Error::other(format!("no WebSocket: {}", head.lines().next().unwrap_or_default())))
}

/// Answers who asks for one.
pub(super) fn grant(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let head = head(stream)?;
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    });
    let key = key.ok_or_else(|| io::Error::other("no key"))?;
    let accept = derive_accept_key(key.as_bytes());
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes())
}

/// A head, read byte by byte so that nothing behind it is taken.
fn head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
        if head.len() > ROOM {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    String::from_utf8(head).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Makes a frame of each line written; one call writes whole lines.
pub(super) struct Framed<W> {
    inner: W,
    end: End,
    frames: Vec<u8>,
}

impl<W: Write> Framed<W> {
    pub(super) fn new(inner: W, end: End) -> Self {
        Self { inner, end, frames: Vec::with_capacity(2 * ROOM) }
    }
}

impl<W: Write> Write for Framed<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let masked = u8::from(self.end == End::Client) << 7;
        self.frames.clear();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let text = &line[..line.len() - 1];
            self.frames.push(0x81);
            match text.len() {
                length @ ..126 => self.frames.push(masked | length as u8),
                length @ ..65536 => {
                    self.frames.push(masked + 126);
                    self.frames.extend_from_slice(&(length as u16).to_be_bytes());
                }
                length => {
                    self.frames.push(masked + 127);
                    self.frames.extend_from_slice(&(length as u64).to_be_bytes());
                }
            }
            if masked > 0 {
                self.frames.extend_from_slice(&MASK);
                let start = self.frames.len();
                self.frames.extend_from_slice(text);
                unmask(&mut self.frames[start..], MASK, 0);
            } else {
                self.frames.extend_from_slice(text);
            }
        }
        self.inner.write_all(&self.frames)?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Gives each text message as a line.
pub(super) struct Unframed<R> {
    inner: R,
    room: Vec<u8>,
    start: usize,
    end: usize,
    /// Payload that is still to come of the frame begun, its mask, and how much of it has come.
    left: u64,
    mask: [u8; 4],
    come: usize,
    /// A line end is owed.
    owed: bool,
    closed: bool,
}

impl<R: Read> Unframed<R> {
    pub(super) fn new(inner: R) -> Self {
        let room = vec![0; ROOM];
        Self { inner, room, start: 0, end: 0, left: 0, mask: [0; 4], come: 0, owed: false, closed: false }
    }

    /// Reads once.
    fn fill(&mut self) -> io::Result<usize> {
        self.room.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let count = self.inner.read(&mut self.room[self.end..])?;
        self.end += count;
        Ok(count)
    }

    /// Takes the head of a frame, if all of it has come.
    fn head(&mut self) -> bool {
        let seen = &self.room[self.start..self.end];
        let [first, second, ..] = *seen else { return false };
        let masked = second & 0x80 != 0;
        let wide = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let size = 2 + wide + if masked { 4 } else { 0 };
        if seen.len() < size {
            return false;
        }
        self.left = match wide {
            0 => u64::from(second & 0x7f),
            _ => seen[2..2 + wide].iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        self.mask = if masked { [0, 1, 2, 3].map(|at| seen[2 + wide + at]) } else { [0; 4] };
        self.come = 0;
        self.start += size;
        self.closed = first & 0x0f == 8;
        self.owed = first & 0x0f == 1;
        true
    }
}

impl<R: Read> Read for Unframed<R> {
    fn read(&mut self, lines: &mut [u8]) -> io::Result<usize> {
        let mut given = 0;
        loop {
            if self.closed {
                return Ok(given);
            }
            if self.left > 0 {
                let take = (self.left as usize).min(self.end - self.start).min(lines.len() - given);
                let piece = &mut lines[given..given + take];
                piece.copy_from_slice(&self.room[self.start..self.start + take]);
                unmask(piece, self.mask, self.come);
                self.start += take;
                self.come += take;
                self.left -= take as u64;
                given += take;
            } else if self.owed && given < lines.len() {
                lines[given] = b'\n';
                given += 1;
                self.owed = false;
            } else if !self.owed && self.head() {
                continue;
            }
            if given == lines.len() || (self.needs() && (given > 0 || self.fill()? == 0)) {
                return Ok(given);
            }
        }
    }
}

impl<R> Unframed<R> {
    /// Nothing can be taken without reading.
    fn needs(&self) -> bool {
        let come = self.end - self.start;
        if self.left > 0 { come == 0 } else { !self.owed && come < LONGEST_HEAD }
    }
}

fn unmask(bytes: &mut [u8], mask: [u8; 4], from: usize) {
    if mask == [0; 4] {
        return;
    }
    let mask = [0, 1, 2, 3].map(|at| mask[(from + at) % 4]);
    let mut wide = bytes.chunks_exact_mut(4);
    for chunk in &mut wide {
        for (byte, mask) in chunk.iter_mut().zip(mask) {
            *byte ^= mask;
        }
    }
    for (byte, mask) in wide.into_remainder().iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(room.len());
            room[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn lines_survive_frames_however_the_bytes_are_cut() {
        let lines: Vec<u8> =
            (0..300).flat_map(|n| format!("{n}{}\n", "x".repeat(n * 3)).into_bytes()).collect();
        for end in [End::Client, End::Server] {
            let mut frames = Framed::new(Vec::new(), end);
            frames.write_all(&lines).unwrap();
            for piece in [1, 2, 3, 7, 100, 8192, 16384, ROOM] {
                let mut read = Vec::new();
                Unframed::new(Pieces(&frames.inner, piece)).read_to_end(&mut read).unwrap();
                assert!(read == lines, "pieces of {piece}");
            }
        }
    }
}
