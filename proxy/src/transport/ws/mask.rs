//! The mask that a client puts over what it says (RFC 6455 section 5.3).

/// A mask, and where in its key the next byte is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask {
    key: [u8; 4],
}

impl Mask {
    /// The mask of a frame that begins.
    pub(super) fn new(key: [u8; 4]) -> Self {
        Self { key }
    }

    /// Puts it over the next bytes of the frame, or takes it off.
    pub(super) fn apply(&mut self, bytes: &mut [u8]) {
        let [a, b, c, d] = self.key;
        let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for chunk in words {
            *chunk = (u64::from_ne_bytes(*chunk) ^ word).to_ne_bytes();
        }
        for (byte, key) in rest.iter_mut().zip(self.key.iter().cycle()) {
            *byte ^= key;
        }
        self.key.rotate_left(rest.len() % 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_in_pieces_is_masked_as_one() {
        let key = [1, 2, 4, 8];
        let plain: Vec<u8> = (0..100).collect();
        let masked: Vec<u8> = plain.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]).collect();
        for first in 0..plain.len() {
            for second in [first, first + 1, first + 3, first + 8, plain.len()] {
                let mut bytes = plain.clone();
                let mut mask = Mask::new(key);
                let second = second.min(plain.len());
                mask.apply(&mut bytes[..first]);
                mask.apply(&mut bytes[first..second]);
                mask.apply(&mut bytes[second..]);
                assert_eq!(bytes, masked, "{first} {second}");
            }
        }
    }
}
