//! A fate as bytes of a row.

use mcpl_codec::Refusal;
use mcpl_codec::refusal::Kind;

use super::{Deferral, Fate};

/// The most that is kept of a refusal's kind that is not known here, in bytes.
const MAX_KIND: usize = 64;

const DEAD: u8 = 10;
const OTHER_KIND: u8 = 6;
/// Of the byte after the kind: the two low bits are `retryable`, this one says that `limitBytes` follows.
const HAS_LIMIT: u8 = 4;

impl Fate {
    /// Writes it: one byte; for [`Fate::Dead`] the refusal, too, in at most 76 bytes.
    ///
    /// Of a refusal `retryAfterMs` is not kept, which says nothing of what is not sent again, and of a kind
    /// that is not known here only the first 64 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::Held => 0,
            Self::Deferred(Deferral::Backpressure) => 1,
            Self::Deferred(Deferral::Other) => 2,
            Self::Submitted => 3,
            Self::InDoubt => 4,
            Self::Delivered => 5,
            Self::Replaced => 6,
            Self::Withdrawn => 7,
            Self::Dropped => 8,
            Self::Expired => 9,
            Self::Dead(_) => DEAD,
            Self::Empty => 11,
            Self::Lapsed => 12,
            Self::SubmittedAfter(Deferral::Backpressure) => 13,
            Self::SubmittedAfter(Deferral::Other) => 14,
            Self::InDoubtAfter(Deferral::Backpressure) => 15,
            Self::InDoubtAfter(Deferral::Other) => 16,
        });
        if let Self::Dead(refusal) = self {
            encode_refusal(refusal, out);
        }
    }

    /// Reads what [`Fate::encode`] wrote at the beginning of `bytes`, and how many bytes that was; `None`: it
    /// wrote no such thing.
    pub fn decode(bytes: &[u8]) -> Option<(Self, usize)> {
        let (&code, mut rest) = bytes.split_first()?;
        let fate = match code {
            0 => Self::Held,
            1 => Self::Deferred(Deferral::Backpressure),
            2 => Self::Deferred(Deferral::Other),
            3 => Self::Submitted,
            4 => Self::InDoubt,
            5 => Self::Delivered,
            6 => Self::Replaced,
            7 => Self::Withdrawn,
            8 => Self::Dropped,
            9 => Self::Expired,
            DEAD => Self::Dead(decode_refusal(&mut rest)?),
            11 => Self::Empty,
            12 => Self::Lapsed,
            13 => Self::SubmittedAfter(Deferral::Backpressure),
            14 => Self::SubmittedAfter(Deferral::Other),
            15 => Self::InDoubtAfter(Deferral::Backpressure),
            16 => Self::InDoubtAfter(Deferral::Other),
            _ => return None,
        };
        Some((fate, bytes.len() - rest.len()))
    }
}

/// As much of `kind` as is kept and shown, cut between characters.
pub(super) fn short(kind: &str) -> &str {
    &kind[..kind.floor_char_boundary(MAX_KIND)]
}

fn encode_refusal(refusal: &Refusal, out: &mut Vec<u8>) {
    // A known kind has one spelling, however it was named.
    match Kind::from(refusal.kind.as_str()) {
        Kind::Invalid => out.push(0),
        Kind::NotPermitted => out.push(1),
        Kind::UnknownChannel => out.push(2),
        Kind::Unavailable => out.push(3),
        Kind::TooLarge => out.push(4),
        Kind::Duplicate => out.push(5),
        Kind::Other(kind) => {
            let kind = short(&kind).as_bytes();
            out.extend([OTHER_KIND, kind.len() as u8]);
            out.extend(kind);
        }
    }
    let retryable = match refusal.retryable {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    };
    out.push(retryable | if refusal.limit_bytes.is_some() { HAS_LIMIT } else { 0 });
    out.extend(refusal.limit_bytes.into_iter().flat_map(u64::to_le_bytes));
}

fn decode_refusal(rest: &mut &[u8]) -> Option<Refusal> {
    let kind = match byte(rest)? {
        0 => Kind::Invalid,
        1 => Kind::NotPermitted,
        2 => Kind::UnknownChannel,
        3 => Kind::Unavailable,
        4 => Kind::TooLarge,
        5 => Kind::Duplicate,
        OTHER_KIND => {
            let length = usize::from(byte(rest)?);
            let (kind, after) = rest.split_at_checked(length).filter(|_| length <= MAX_KIND)?;
            *rest = after;
            match Kind::from(std::str::from_utf8(kind).ok()?) {
                kind @ Kind::Other(_) => kind,
                _ => return None,
            }
        }
        _ => return None,
    };
    let flags = byte(rest)?;
    let retryable = match flags & !HAS_LIMIT {
        0 => None,
        1 => Some(false),
        2 => Some(true),
        _ => return None,
    };
    let limit_bytes = if flags & HAS_LIMIT == 0 {
        None
    } else {
        let (limit, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(u64::from_le_bytes(*limit))
    };
    Some(Refusal { kind, retryable, retry_after_ms: None, limit_bytes })
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}
