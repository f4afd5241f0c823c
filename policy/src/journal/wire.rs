//! How a row is spelled: variable-length numbers and counted texts, nothing that names itself.

/// Writes the fields of a row, in order.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new(room: usize) -> Self {
        Self(Vec::with_capacity(room))
    }

    pub(super) fn number(&mut self, mut number: u64) -> &mut Self {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    /// A number that may be negative, small where it is near zero.
    pub(super) fn signed(&mut self, number: i64) -> &mut Self {
        self.number(((number << 1) ^ (number >> 63)) as u64)
    }

    pub(super) fn fixed(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &[u8]) -> &mut Self {
        self.number(text.len() as u64).fixed(text)
    }

    /// A text or none: none is spelled 0, a text by its length and one.
    pub(super) fn maybe(&mut self, text: Option<&[u8]>) -> &mut Self {
        match text {
            None => self.number(0),
            Some(text) => self.number(text.len() as u64 + 1).fixed(text),
        }
    }

    /// The bytes so far, for what spells itself.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads the fields of a row back; `None`: the row is not what it should be.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(row: &'a [u8]) -> Self {
        Self(row)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    #[allow(clippy::option_option, reason = "no text is something a row may say")]
    pub(super) fn maybe(&mut self) -> Option<Option<&'a [u8]>> {
        match self.number()? {
            0 => Some(None),
            length => self.take(length - 1).map(Some),
        }
    }

    /// What is not read yet, for what reads itself and says how much of it that was.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(super) fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Nothing is left over.
    pub(super) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// A text of UTF-8.
pub(super) fn utf8(text: &[u8]) -> Option<Box<str>> {
    std::str::from_utf8(text).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_comes_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut writer = Writer::new(0);
            writer
                .number(number)
                .signed(number as i64)
                .maybe(None)
                .maybe(Some(b""))
                .text(b"abc")
                .fixed(&[7; 16]);
            let row = writer.finish();
            let mut reader = Reader::new(&row);
            assert_eq!(reader.number(), Some(number));
            assert_eq!(reader.signed(), Some(number as i64));
            assert_eq!((reader.maybe(), reader.maybe()), (Some(None), Some(Some(&b""[..]))));
            assert_eq!((reader.text(), reader.fixed()), (Some(&b"abc"[..]), Some([7; 16])));
            assert_eq!(reader.end(), Some(()));
        }
    }

    #[test]
    fn a_row_cut_anywhere_is_told_from_a_whole_one() {
        let mut writer = Writer::new(0);
        writer.number(300).maybe(Some(b"abc")).fixed(&[7; 4]);
        let row = writer.finish();
        for cut in 0..row.len() {
            let mut reader = Reader::new(&row[..cut]);
            let read = (|| Some((reader.number()?, reader.maybe()?, reader.fixed::<4>()?)))();
            assert_eq!(read, None, "{cut}");
        }
        assert_eq!(Reader::new(&[0x80; 11]).number(), None);
    }
}
