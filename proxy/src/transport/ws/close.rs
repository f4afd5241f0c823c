//! How a WebSocket ends: a code and a reason (RFC 6455 section 7.4; contract 3.2).
//!
//! | what happened | code |
//! |---|---|
//! | the peer closed | its own code is answered; without one: 1000 |
//! | the other WebSocket of the session closed | its code and reason, if they may be sent; without one: 1000; else 1011 |
//! | the other side ended in good order, and is no WebSocket | 1000 |
//! | the other side was lost | 1011 |
//! | a newer host connection took over | 1000 |
//! | the sidecar drains or stops | 1001 |
//! | the peer broke the rules of frames | 1002 |
//! | the peer sent a text that is not UTF-8 | 1007 |
//! | the producer was not reached | 1013 |

use super::fault::Fault;

/// The longest reason of a close frame, in bytes.
pub const REASON_BYTES: usize = 123;

/// A code and a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    code: u16,
    reason: String,
}

impl Close {
    /// The end in good order.
    pub const NORMAL: u16 = 1000;
    /// The program ends.
    pub const AWAY: u16 = 1001;
    /// A rule of frames was broken.
    pub const PROTOCOL: u16 = 1002;
    /// A text was not UTF-8.
    pub const INVALID: u16 = 1007;
    /// Something went wrong on our side of the connection.
    pub const ERROR: u16 = 1011;
    /// Try again later.
    pub const AGAIN: u16 = 1013;

    /// A code, and as much of the reason as fits.
    pub fn new(code: u16, reason: &str) -> Self {
        let mut end = reason.len().min(REASON_BYTES);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        Self { code, reason: reason.get(..end).unwrap_or_default().to_owned() }
    }

    /// The code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The reason, empty where none was given.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What a close frame says.
    ///
    /// # Errors
    /// [`Fault`]: half a code, a code that may not be sent, a reason that is no text.
    pub(super) fn read(body: &[u8]) -> Result<Self, Fault> {
        let Some((code, reason)) = body.split_first_chunk::<2>() else {
            return if body.is_empty() { Ok(Self::new(Self::NORMAL, "")) } else { Err(Fault::HalfCode) };
        };
        let code = u16::from_be_bytes(*code);
        if !may_be_sent(code) {
            return Err(Fault::Code);
        }
        let reason = std::str::from_utf8(reason).map_err(|_| Fault::Reason)?;
        Ok(Self { code, reason: reason.to_owned() })
    }

    /// The body of the frame.
    pub(super) fn body(&self) -> Vec<u8> {
        [&self.code.to_be_bytes(), self.reason.as_bytes()].concat()
    }
}

/// Codes that a close frame may have: those that are defined and not reserved, and those of applications.
fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_is_what_its_body_says() {
        let gone = Close::new(4404, "gone");
        assert_eq!(gone.body(), b"\x11\x34gone");
        assert_eq!(Close::read(&gone.body()).unwrap(), gone);
        assert_eq!(Close::read(b"").unwrap(), Close::new(1000, ""));
        assert_eq!(Close::read(b"\x03"), Err(Fault::HalfCode));
        assert_eq!(Close::read(b"\x03\xe8\xff"), Err(Fault::Reason));
    }

    #[test]
    fn codes_that_may_not_be_sent_are_not_taken() {
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
            assert_eq!(Close::read(&u16::to_be_bytes(code)), Err(Fault::Code), "{code}");
        }
        for code in [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999] {
            assert_eq!(Close::read(&u16::to_be_bytes(code)).unwrap().code(), code);
        }
    }

    #[test]
    fn a_reason_is_cut_at_a_character() {
        assert_eq!(Close::new(1000, &"x".repeat(200)).reason().len(), REASON_BYTES);
        let cut = Close::new(1000, &"\u{20ac}".repeat(50));
        assert_eq!(cut.reason(), "\u{20ac}".repeat(41));
        let cut = Close::new(1000, &format!("x{}", "\u{20ac}".repeat(50)));
        assert_eq!(cut.reason(), format!("x{}", "\u{20ac}".repeat(40)));
        assert!(cut.body().len() <= 125);
    }
}
