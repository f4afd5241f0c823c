//! What a peer can do wrong with frames.

use super::close::Close;

/// A rule of RFC 6455 that a peer broke. It is told with the close code that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("a reserved bit is set: no extension was agreed on")]
    Reserved,
    #[error("a frame has an unknown opcode")]
    Opcode,
    #[error("a client's frame is not masked")]
    Unmasked,
    #[error("a server's frame is masked")]
    Masked,
    #[error("a control frame is in fragments")]
    SplitControl,
    #[error("a control frame has more than 125 bytes")]
    LongControl,
    #[error("a frame's length is over 2^63")]
    Length,
    #[error("a message begins before the last one ended")]
    Interrupted,
    #[error("a frame continues no message")]
    Stray,
    #[error("a close frame has half a code")]
    HalfCode,
    #[error("a close frame has a code that may not be sent")]
    Code,
    #[error("a close frame has a reason that is not UTF-8")]
    Reason,
    #[error("a text message is not UTF-8")]
    Utf8,
}

impl Fault {
    /// What the peer is told.
    pub(super) fn close(self) -> Close {
        let code = match self {
            Self::Utf8 | Self::Reason => Close::INVALID,
            _ => Close::PROTOCOL,
        };
        Close::new(code, &self.to_string())
    }
}
