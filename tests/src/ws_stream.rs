//! Lines over a WebSocket, blocking and fast: for loads that speak lines.

use std::io::{self, BufRead, BufReader, Read, Write};

use crate::ws_peer::{KEY, accept_key};

/// Asks for a WebSocket; what is said after it is masked.
///
/// # Errors
/// The stream fails, or answers anything but 101.
pub fn ask<S: Read + Write>(stream: &mut S, target: &str) -> io::Result<()> {
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\r\n",
        KEY.0
    );
    stream.write_all(request.as_bytes())?;
    let head = head(stream)?;
    if head.starts_with("HTTP/1.1 101") { Ok(()) } else { Err(io::Error::other(head)) }
}

/// Answers whoever asks for a WebSocket.
///
/// # Errors
/// The stream fails, or no key comes.
pub fn answer<S: Read + Write>(stream: &mut S) -> io::Result<()> {
    let head = head(stream)?;
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    let key = headers.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    let (_, key) = key.ok_or_else(|| io::Error::other("no key"))?;
    let accept = accept_key(key.trim());
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes())
}

fn head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Reads each text message as a line; other frames are passed over.
pub struct Messages<R> {
    stream: BufReader<R>,
    left: usize,
    mask: [u8; 4],
    text: bool,
    /// A line end is due.
    end: bool,
}

impl<R: Read> Messages<R> {
    /// The messages of a stream that has shaken hands.
    pub fn new(stream: R) -> Self {
        let stream = BufReader::with_capacity(1 << 16, stream);
        Self { stream, left: 0, mask: [0; 4], text: false, end: false }
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        let mut length = [0; 8];
        let short = usize::from(head[1] & 0x7f);
        self.left = match short {
            126 => {
                self.stream.read_exact(&mut length[6..])?;
                u64::from_be_bytes(length) as usize
            }
            127 => {
                self.stream.read_exact(&mut length)?;
                u64::from_be_bytes(length) as usize
            }
            _ => short,
        };
        self.mask = [0; 4];
        if head[1] & 0x80 != 0 {
            self.stream.read_exact(&mut self.mask)?;
        }
        // Whoever sends loads does not send fragments.
        self.text = head[0] == 0x81;
        Ok(())
    }
}

impl<R: Read> Read for Messages<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            if self.end && filled < out.len() {
                out[filled] = b'\n';
                filled += 1;
                self.end = false;
            }
            // Only what is there already is put together.
            if filled == out.len() || (filled > 0 && self.stream.buffer().len() < 14) {
                return Ok(filled);
            }
            if self.left == 0 {
                match self.begin() {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(filled),
                    begun => begun?,
                }
            }
            let there = self.stream.fill_buf()?;
            let room = if self.text { out.len() - filled } else { usize::MAX };
            let count = there.len().min(self.left).min(room);
            if count == 0 && self.left > 0 {
                return Ok(filled);
            }
            if self.text {
                let part = &mut out[filled..filled + count];
                part.copy_from_slice(&there[..count]);
                for (byte, mask) in part.iter_mut().zip(self.mask.iter().cycle()) {
                    *byte ^= mask;
                }
                self.mask.rotate_left(count % 4);
                filled += count;
            }
            self.stream.consume(count);
            self.left -= count;
            self.end = self.text && self.left == 0;
        }
    }
}

/// Writes each line as a text message, and those of one call in one write.
pub struct Lines<W> {
    stream: W,
    mask: Option<[u8; 4]>,
    line: Vec<u8>,
    frames: Vec<u8>,
}

impl<W: Write> Lines<W> {
    /// Lines to a stream that has shaken hands; `client`: they are masked.
    pub fn new(stream: W, client: bool) -> Self {
        let mask = client.then_some([0x12, 0x9a, 0x5b, 0xf7]);
        Self { stream, mask, line: Vec::new(), frames: Vec::new() }
    }

    fn frame(&mut self, text: &[u8]) {
        let bit = if self.mask.is_some() { 0x80 } else { 0 };
        self.frames.push(0x81);
        match text.len() {
            short @ 0..126 => self.frames.push(bit | short as u8),
            middle @ 126..=0xffff => {
                self.frames.push(bit | 0x7e);
                self.frames.extend((middle as u16).to_be_bytes());
            }
            long => {
                self.frames.push(bit | 0x7f);
                self.frames.extend((long as u64).to_be_bytes());
            }
        }
        self.frames.extend(self.mask.into_iter().flatten());
        let start = self.frames.len();
        self.frames.extend_from_slice(text);
        if let Some(mask) = self.mask {
            for (byte, mask) in self.frames[start..].iter_mut().zip(mask.iter().cycle()) {
                *byte ^= mask;
            }
        }
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            match part.strip_suffix(b"\n") {
                None => self.line.extend_from_slice(part),
                Some(rest) if self.line.is_empty() => self.frame(rest),
                Some(rest) => {
                    let mut line = std::mem::take(&mut self.line);
                    line.extend_from_slice(rest);
                    self.frame(&line);
                    line.clear();
                    self.line = line;
                }
            }
        }
        self.stream.write_all(&self.frames)?;
        self.frames.clear();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_as_they_went_in() {
        for client in [true, false] {
            let text: String =
                [1, 125, 126, 700, 65_535, 65_536, 200_000].iter().map(|n| "x".repeat(*n) + "\n").collect();
            let mut bytes = Vec::new();
            let mut lines = Lines::new(&mut bytes, client);
            for part in text.as_bytes().chunks(999) {
                lines.write_all(part).unwrap();
            }
            let mut read = String::new();
            Messages::new(&bytes[..]).read_to_string(&mut read).unwrap();
            assert!(read == text);
        }
    }
}
