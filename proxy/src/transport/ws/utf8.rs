//! Whether a text that comes in pieces is UTF-8.

/// What is known of a text so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Utf8 {
    /// The beginning of a character that the last piece ended in.
    half: [u8; 4],
    len: usize,
}

impl Utf8 {
    /// False: with this piece the text is not UTF-8, whatever follows.
    pub(super) fn goes_on(&mut self, mut piece: &[u8]) -> bool {
        while self.len > 0 {
            let Some((first, rest)) = piece.split_first() else { return true };
            piece = rest;
            self.half[self.len] = *first;
            self.len += 1;
            match std::str::from_utf8(&self.half[..self.len]) {
                Ok(_) => self.len = 0,
                Err(error) if error.error_len().is_some() || self.len == self.half.len() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(piece) {
            Ok(_) => true,
            Err(error) => {
                let half = &piece[error.valid_up_to()..];
                let begun = error.error_len().is_none() && half.len() < self.half.len();
                if begun {
                    self.half[..half.len()].copy_from_slice(half);
                    self.len = half.len();
                }
                begun
            }
        }
    }

    /// Whether the text may end here. The next begins.
    pub(super) fn ends(&mut self) -> bool {
        std::mem::take(&mut self.len) == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_in_pieces_is_one_and_half_of_one_is_none() {
        for text in ["\u{e9}", "\u{20ac}", "\u{1f389}", "a\u{1f389}b"] {
            let mut utf8 = Utf8::default();
            assert!(text.as_bytes().iter().all(|byte| utf8.goes_on(&[*byte])), "{text}");
            assert!(utf8.ends());
            assert!(utf8.goes_on(&"\u{1f389}".as_bytes()[..3]));
            assert!(!utf8.ends());
            assert!(utf8.goes_on(b"a") && utf8.ends(), "the next text begins anew");
        }
    }

    proptest! {
        #[test]
        fn pieces_are_judged_as_the_whole_is(
            text in prop::collection::vec(prop::sample::select(
                vec![&b"a"[..], "\u{e9}".as_bytes(), "\u{20ac}".as_bytes(), "\u{1f389}".as_bytes(), b"\xff",
                    b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x9f", b"\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"]), 0..6),
            cut in 1..5_usize,
        ) {
            let bytes = text.concat();
            let mut utf8 = Utf8::default();
            let good = bytes.chunks(cut).all(|piece| utf8.goes_on(piece)) && utf8.ends();
            prop_assert_eq!(good, std::str::from_utf8(&bytes).is_ok());
        }
    }
}
