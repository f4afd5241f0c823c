//! A WebSocket peer made of raw frames and no library, so that it can misbehave.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::PATIENCE;

/// A key of a handshake, and what is due for it (RFC 6455 section 1.3).
pub(crate) const KEY: (&str, &str) = ("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
/// What the digest of the handshake is taken over, behind the key.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The mask of every frame that a client sends.
const MASK: [u8; 4] = [0x12, 0x9a, 0x5b, 0xf7];

/// What an HTTP server or client said.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status; 0 in a request.
    pub status: u16,
    /// Everything up to the empty line.
    pub head: String,
    /// What came behind it until the connection ended; nothing behind a 101 or a request.
    pub body: String,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// A frame as it came, its mask taken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// FIN, reserved bits and opcode.
    pub first: u8,
    /// It was masked.
    pub masked: bool,
    /// What it carries.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The opcode.
    pub fn opcode(&self) -> u8 {
        self.first & 0x0f
    }

    /// The code and the reason of a close frame; 1005 if it has none.
    pub fn close(&self) -> (u16, String) {
        assert_eq!(self.opcode(), 8, "a close frame, not {self:?}");
        match self.payload.split_first_chunk::<2>() {
            Some((code, reason)) => (u16::from_be_bytes(*code), String::from_utf8(reason.to_vec()).unwrap()),
            None => (1005, String::new()),
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// One end of a WebSocket.
pub struct WsPeer {
    stream: Box<dyn Stream>,
    client: bool,
    /// What the other side said in the handshake.
    pub hello: Answer,
}

impl WsPeer {
    /// Asks for a WebSocket on an open connection; `headers` are whole lines without their ends.
    pub async fn dial(stream: TcpStream, target: &str, headers: &[&str]) -> Result<Self, Answer> {
        let _ = stream.set_nodelay(true);
        Self::dial_on(stream, target, headers).await
    }

    /// The same on any stream.
    pub async fn dial_on(
        mut stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        target: &str,
        headers: &[&str],
    ) -> Result<Self, Answer> {
        let more = lines_of(headers);
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n{more}\r\n",
            KEY.0
        );
        let hello = Self::ask(&mut stream, &request).await;
        if hello.status != 101 {
            return Err(hello);
        }
        assert_eq!(hello.header("sec-websocket-accept"), Some(KEY.1));
        Ok(Self { stream: Box::new(stream), client: true, hello })
    }

    /// Sends a request as it is written and reads the answer; its body, if it is no 101.
    pub async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), request: &str) -> Answer {
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let mut answer = head(stream).await;
        if answer.status != 101 {
            let mut body = Vec::new();
            let _ = timeout(PATIENCE, stream.read_to_end(&mut body)).await.expect("the answer does not end");
            answer.body = String::from_utf8_lossy(&body).into_owned();
        }
        answer
    }

    /// Takes a WebSocket that the program asks for; `headers` are more lines of the answer.
    pub async fn accept(stream: TcpStream, headers: &[&str]) -> Self {
        let _ = stream.set_nodelay(true);
        Self::accept_on(stream, headers).await
    }

    /// The same on any stream.
    pub async fn accept_on(
        mut stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        headers: &[&str],
    ) -> Self {
        let hello = head(&mut stream).await;
        let key = hello.header("sec-websocket-key").expect("a key");
        let accept = accept_key(key);
        let more = lines_of(headers);
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n{more}\r\n"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        Self { stream: Box::new(stream), client: false, hello }
    }

    /// A frame as this side sends it: `first` is FIN, reserved bits and opcode.
    pub fn frame_of(&self, first: u8, payload: &[u8]) -> Vec<u8> {
        frame(first, payload, self.client)
    }

    /// Sends a frame.
    pub async fn send_frame(&mut self, first: u8, payload: &[u8]) {
        let frame = self.frame_of(first, payload);
        self.send_bytes(&frame).await;
    }

    /// Sends these bytes. A connection that is gone is no fault of the sender's.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let sent = timeout(PATIENCE, async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        });
        let _ = sent.await.expect("nobody takes what is written");
    }

    /// Sends a text message in one frame.
    pub async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.send_frame(0x81, text.as_ref()).await;
    }

    /// Sends a close frame.
    pub async fn send_close(&mut self, code: u16, reason: &str) {
        let body = [&code.to_be_bytes(), reason.as_bytes()].concat();
        self.send_frame(0x88, &body).await;
    }

    /// The next frame, none at the end of the connection.
    pub async fn frame(&mut self) -> Option<Frame> {
        timeout(PATIENCE, self.read()).await.expect("no frame came in time")
    }

    /// Whether nothing comes for so long.
    pub async fn is_silent(&mut self, time: Duration) -> bool {
        let mut byte = [0];
        timeout(time, self.stream.read(&mut byte)).await.is_err()
    }

    /// The next text message; what control frames come before it is none of its business.
    pub async fn text(&mut self) -> String {
        loop {
            let frame = self.frame().await.expect("the connection ended before a message came");
            match frame.first {
                0x81 => return String::from_utf8(frame.payload).unwrap(),
                0x89 | 0x8a => {}
                _ => panic!("a text message or a ping, not {frame:?}"),
            }
        }
    }

    /// The code and the reason of the close frame that comes next, pings aside.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            let frame = self.frame().await.expect("the connection ended without a close frame");
            if frame.opcode() < 9 {
                return frame.close();
            }
        }
    }

    async fn read(&mut self) -> Option<Frame> {
        let first = self.stream.read_u8().await.ok()?;
        let second = self.stream.read_u8().await.ok()?;
        let length = match second & 0x7f {
            126 => u64::from(self.stream.read_u16().await.ok()?),
            127 => self.stream.read_u64().await.ok()?,
            short => u64::from(short),
        };
        let masked = second & 0x80 != 0;
        let mut mask = [0; 4];
        if masked {
            self.stream.read_exact(&mut mask).await.ok()?;
        }
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).await.ok()?;
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        assert_eq!(masked, !self.client, "a client masks its frames, and a server does not");
        Some(Frame { first, masked, payload })
    }
}

/// What is due for a key.
pub(crate) fn accept_key(key: &str) -> String {
    base64(&sha1(format!("{key}{GUID}").as_bytes()))
}

fn lines_of(headers: &[&str]) -> String {
    headers.iter().flat_map(|line| [line, "\r\n"]).collect()
}

/// A frame, masked or not.
fn frame(first: u8, payload: &[u8], masked: bool) -> Vec<u8> {
    let mut out = vec![first];
    let mask = if masked { 0x80 } else { 0 };
    match payload.len() {
        short @ 0..126 => out.push(mask | u8::try_from(short).unwrap()),
        middle @ 126..=0xffff => {
            out.push(mask | 0x7e);
            out.extend(u16::try_from(middle).unwrap().to_be_bytes());
        }
        long => {
            out.push(mask | 0x7f);
            out.extend((long as u64).to_be_bytes());
        }
    }
    if masked {
        out.extend(MASK);
        out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    } else {
        out.extend(payload);
    }
    out
}

/// Reads up to the empty line.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Answer {
    let read = async {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("the connection ended in the middle of a head"));
        }
        String::from_utf8(head).unwrap()
    };
    let head = timeout(PATIENCE, read).await.expect("no head came in time");
    let status =
        head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).map_or(0, |code| code.parse().unwrap());
    Answer { status, head, body: String::new() }
}

/// RFC 3174, for the answer to a handshake.
#[expect(clippy::many_single_char_names, reason = "the standard's names")]
fn sha1(text: &[u8]) -> [u8; 20] {
    let mut message = text.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((text.len() as u64 * 8).to_be_bytes());
    let mut hash = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in message.chunks_exact(64) {
        let mut words: Vec<u32> =
            block.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        for at in 16..80 {
            words.push((words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = hash;
        for (at, word) in words.into_iter().enumerate() {
            let (mix, add) = match at {
                0..20 => ((b & c) | (!b & d), 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next =
                a.rotate_left(5).wrapping_add(mix).wrapping_add(e).wrapping_add(add).wrapping_add(word);
            (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        }
        for (sum, part) in hash.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(part);
        }
    }
    let mut bytes = [0; 20];
    for (chunk, word) in bytes.chunks_exact_mut(4).zip(hash) {
        chunk.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let index = (word >> (18 - 6 * at) & 0x3f) as usize;
            text.push(if at <= chunk.len() { char::from(LETTERS[index]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_a_handshake_is_that_of_the_standard() {
        assert_eq!(accept_key(KEY.0), KEY.1);
    }
}
