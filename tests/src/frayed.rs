//! Frames written one by one, in every way that is allowed and in ways that are not.
//!
//! Nothing here is shared with anybody's library but the digest of the handshake.

use std::collections::VecDeque;
use std::io;

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    DuplexStream, duplex,
};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::chance::Chance;
use crate::wire::Wire;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BareFrame {
    /// The first byte: the end of a message 0x80, reserved bits 0x70, the opcode.
    pub head: u8,
    /// What it carries, unmasked.
    pub payload: Vec<u8>,
}

impl BareFrame {
    /// A text frame that is a whole message.
    pub const TEXT: u8 = 0x81;
    /// A close frame.
    pub const CLOSE: u8 = 0x88;
    /// A ping.
    pub const PING: u8 = 0x89;
    /// A pong.
    pub const PONG: u8 = 0x8a;

    /// A frame of this first byte.
    pub fn new(head: u8, payload: impl Into<Vec<u8>>) -> Self {
        Self { head, payload: payload.into() }
    }

    /// A close frame with a code.
    pub fn close(code: u16, reason: &str) -> Self {
        Self::new(Self::CLOSE, [&code.to_be_bytes(), reason.as_bytes()].concat())
    }

    /// The code and the reason of a close frame.
    pub fn closing(&self) -> Option<(u16, String)> {
        let (code, reason) = self.payload.split_first_chunk::<2>()?;
        Some((u16::from_be_bytes(*code), String::from_utf8_lossy(reason).into_owned()))
    }

    /// The bytes on the wire.
    pub fn bytes(&self, mask: Option<[u8; 4]>) -> Vec<u8> {
        let (length, flag) = (self.payload.len(), if mask.is_some() { 0x80 } else { 0 });
        let mut bytes = vec![self.head];
        match length {
            0..=125 => bytes.push(flag | length as u8),
            126..=0xffff => {
                bytes.push(flag | 0x7e);
                bytes.extend((length as u16).to_be_bytes());
            }
            _ => {
                bytes.push(flag | 0x7f);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        let mask_bytes = mask.unwrap_or_default();
        if mask.is_some() {
            bytes.extend(mask_bytes);
        }
        bytes.extend(self.payload.iter().zip(mask_bytes.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        bytes
    }
}

/// One end of a WebSocket, frame by frame.
pub struct BareSocket<S = TcpStream> {
    stream: S,
    is_client: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> BareSocket<S> {
    /// As the client of a server that lets everybody in.
    pub async fn knock(mut stream: S, path: &str) -> Self {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("a request");
        let answer = head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
        Self { stream, is_client: true }
    }

    /// As the server.
    pub async fn welcome(mut stream: S) -> Self {
        let request = head(&mut stream).await;
        let key = request.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
        });
        let accept = derive_accept_key(key.expect("a key").as_bytes());
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.expect("an answer");
        Self { stream, is_client: false }
    }

    /// Writes one frame as it has to be.
    pub async fn send(&mut self, frame: BareFrame) {
        let bytes = frame.bytes(self.is_client.then_some([0x37, 0xfa, 0x21, 0x3d]));
        self.send_bytes(&bytes).await;
    }

    /// Writes a text message.
    pub async fn say(&mut self, text: &str) {
        self.send(BareFrame::new(BareFrame::TEXT, text)).await;
    }

    /// Writes what may not be written.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        // A connection that is gone is no fault of the writer's.
        let _ = self.stream.write_all(bytes).await;
    }

    /// The next frame; none at the end of the connection.
    pub async fn next(&mut self) -> Option<BareFrame> {
        read_frame(&mut self.stream, !self.is_client).await.ok()
    }

    /// The next frame that is no ping.
    pub async fn heard(&mut self) -> Option<BareFrame> {
        loop {
            let frame = self.next().await?;
            if frame.head != BareFrame::PING {
                return Some(frame);
            }
        }
    }

    /// The stream below.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.expect("a head"));
    }
    String::from_utf8_lossy(&text).into_owned()
}

async fn read_frame(stream: &mut (impl AsyncRead + Unpin), is_masked: bool) -> io::Result<BareFrame> {
    let head = stream.read_u8().await?;
    let length = stream.read_u8().await?;
    assert_eq!(length & 0x80 != 0, is_masked, "who is masked");
    let length = match length & 0x7f {
        126 => u64::from(stream.read_u16().await?),
        127 => stream.read_u64().await?,
        short => u64::from(short),
    };
    let mut mask = [0; 4];
    if is_masked {
        stream.read_exact(&mut mask).await?;
    }
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).await?;
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    Ok(BareFrame { head, payload })
}

/// Lines on a socket that says each of them in fragments of chance, with other frames between, in writes of chance.
pub fn frayed(socket: BareSocket, chance: Chance) -> Wire {
    let is_client = socket.is_client;
    let (read, write) = socket.into_inner().into_split();
    let (heard, hear) = duplex(1 << 16);
    let (say, said) = duplex(1 << 16);
    tokio::spawn(hear_lines(BufReader::new(read), heard, !is_client));
    tokio::spawn(say_lines(said, write, is_client, chance));
    Wire::of(hear, say)
}

async fn hear_lines(mut read: impl AsyncRead + Unpin, mut heard: DuplexStream, is_masked: bool) {
    let mut message: Option<Vec<u8>> = None;
    while let Ok(frame) = read_frame(&mut read, is_masked).await {
        match frame.head {
            0x80 | 0x00 | 0x81 | 0x01 => {
                let text = message.get_or_insert_default();
                text.extend(&frame.payload);
                if frame.head & 0x80 != 0 {
                    text.push(b'\n');
                    let _ = heard.write_all(text).await;
                    message = None;
                }
            }
            BareFrame::PONG => assert!(frame.payload.starts_with(b"ping "), "a pong of nobody's ping"),
            BareFrame::CLOSE => return,
            _ => {}
        }
    }
}

async fn say_lines(
    said: DuplexStream,
    mut write: impl AsyncWrite + Unpin,
    is_client: bool,
    mut chance: Chance,
) {
    let mut said = BufReader::new(said);
    let mut line = Vec::new();
    while said.read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        let mut bytes: VecDeque<u8> = VecDeque::new();
        for frame in fray(&line, &mut chance) {
            let mask = (chance.below(1 << 32) as u32).to_be_bytes();
            bytes.extend(frame.bytes(is_client.then_some(mask)));
        }
        while !bytes.is_empty() {
            let most = if chance.percent(50) { 40 } else { 4000 };
            let count = (1 + chance.below(most) as usize).min(bytes.len());
            let part: Vec<u8> = bytes.drain(..count).collect();
            if write.write_all(&part).await.is_err() {
                return;
            }
            if chance.percent(30) {
                tokio::task::yield_now().await;
            }
        }
        line.clear();
    }
    let close = BareFrame::close(1000, "");
    let _ = write.write_all(&close.bytes(is_client.then_some([1, 2, 3, 4]))).await;
}

/// The frames of one line.
fn fray(line: &[u8], chance: &mut Chance) -> Vec<BareFrame> {
    let mut frames = Vec::new();
    let between = |frames: &mut Vec<BareFrame>, chance: &mut Chance| {
        while chance.percent(25) {
            let fill = "p".repeat(chance.below(121) as usize);
            frames.push(if chance.percent(70) {
                BareFrame::new(BareFrame::PING, format!("ping {fill}"))
            } else {
                BareFrame::new(BareFrame::PONG, fill)
            });
        }
    };
    if chance.percent(10) {
        // Binary messages are nothing.
        frames.push(BareFrame::new(0x02, line));
        between(&mut frames, chance);
        frames.push(BareFrame::new(0x80, &b"\xff"[..]));
    }
    let mut rest = line;
    let mut opcode = 1;
    loop {
        between(&mut frames, chance);
        let end = chance.percent(20) || chance.percent(50) && rest.is_empty();
        let most = if chance.percent(50) { rest.len() } else { rest.len().min(5) };
        let count = if end { rest.len() } else { chance.below(most as u64 + 1) as usize };
        let (piece, left) = rest.split_at(count);
        frames.push(BareFrame::new(if end { 0x80 } else { 0 } | opcode, piece));
        if end {
            between(&mut frames, chance);
            return frames;
        }
        (rest, opcode) = (left, 0);
    }
}
