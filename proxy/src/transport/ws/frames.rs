//! The heads of frames, read and written (RFC 6455 section 5.2).

use std::io::Cursor;

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

use super::Role;
use super::fault::Fault;
use super::mask::Mask;

/// The longest payload of a control frame, in bytes.
pub(super) const CONTROL_BYTES: u64 = 125;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Continue,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Op {
    pub(super) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The head of a frame that a peer sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) op: Op,
    pub(super) is_final: bool,
    pub(super) mask: Option<Mask>,
    /// Bytes of the payload.
    pub(super) length: u64,
}

impl Head {
    /// The head at the start of `bytes` and its length, none while it is not whole; `ours` is who we are.
    pub(super) fn read(bytes: &[u8], ours: Role) -> Result<Option<(Self, usize)>, Fault> {
        let mut cursor = Cursor::new(bytes);
        let Some((head, length)) = FrameHeader::parse(&mut cursor).map_err(|_| Fault::Opcode)? else {
            return Ok(None);
        };
        if head.rsv1 || head.rsv2 || head.rsv3 {
            return Err(Fault::Reserved);
        }
        match (ours, head.mask) {
            (Role::Server, None) => return Err(Fault::Unmasked),
            (Role::Client, Some(_)) => return Err(Fault::Masked),
            _ => {}
        }
        if length > i64::MAX as u64 {
            return Err(Fault::Length);
        }
        let op = match head.opcode {
            OpCode::Data(Data::Continue) => Op::Continue,
            OpCode::Data(Data::Text) => Op::Text,
            OpCode::Data(Data::Binary) => Op::Binary,
            OpCode::Control(Control::Close) => Op::Close,
            OpCode::Control(Control::Ping) => Op::Ping,
            OpCode::Control(Control::Pong) => Op::Pong,
            OpCode::Data(Data::Reserved(_)) | OpCode::Control(Control::Reserved(_)) => {
                return Err(Fault::Opcode);
            }
        };
        if op.is_control() && !head.is_final {
            return Err(Fault::SplitControl);
        }
        if op.is_control() && length > CONTROL_BYTES {
            return Err(Fault::LongControl);
        }
        let head = Self { op, is_final: head.is_final, mask: head.mask.map(Mask::new), length };
        Ok(Some((head, cursor.position() as usize)))
    }
}

/// Begins a frame that is a message of its own, or a control frame; the mask goes over what follows.
pub(super) fn begin(out: &mut Vec<u8>, op: Op, length: usize, ours: Role) -> Option<Mask> {
    let key: Option<[u8; 4]> = (ours == Role::Client).then(rand::random);
    let opcode = match op {
        Op::Continue => OpCode::Data(Data::Continue),
        Op::Text => OpCode::Data(Data::Text),
        Op::Binary => OpCode::Data(Data::Binary),
        Op::Close => OpCode::Control(Control::Close),
        Op::Ping => OpCode::Control(Control::Ping),
        Op::Pong => OpCode::Control(Control::Pong),
    };
    let head = FrameHeader { opcode, mask: key, ..FrameHeader::default() };
    // Writing to memory does not fail.
    let _ = head.format(length as u64, out);
    key.map(Mask::new)
}

/// Puts a whole control frame behind what is there.
pub(super) fn control(out: &mut Vec<u8>, op: Op, body: &[u8], ours: Role) {
    let mask = begin(out, op, body.len(), ours);
    let start = out.len();
    out.extend_from_slice(body);
    if let Some(mut mask) = mask {
        mask.apply(&mut out[start..]);
    }
}
