//! Finding the next byte that matters, eight bytes at a time, without `unsafe`.

use memchr::memchr2;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte of `word` that is `"`, `\` or below 0x20. Exact up to and including the lowest
/// hit; above it a borrow may set bits that are not hits, so only the lowest bit of the result may be used.
#[inline]
const fn stops(word: u64) -> u64 {
    // Flipping 0x02 brings `"` next to the control characters, in place of the space.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let escape = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (quote_or_control | escape) & !word & HIGHS
}

/// The high bit of each byte of `word` that is `"` or `\`, under the same proviso as [`stops`].
#[inline]
const fn quotes_or_escapes(word: u64) -> u64 {
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let escape = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (quote | escape) & !word & HIGHS
}

#[inline]
fn word(text: &[u8], pos: usize) -> Option<u64> {
    let eight = text.get(pos..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*eight))
}

/// The first byte at or after `pos` that ends a plain run of string text: `"`, `\` or a control character
/// (`text.len()` if there is none). `high` is set if a byte of the run may be outside ASCII.
#[inline]
pub(crate) fn string_stop(text: &[u8], mut pos: usize, high: &mut bool) -> usize {
    // Most strings end here.
    for _ in 0..3 {
        let Some(word) = word(text, pos) else { break };
        *high |= word & HIGHS != 0;
        let hits = stops(word);
        if hits != 0 {
            return pos + (hits.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    long_string_stop(text, pos, high)
}

/// As [`string_stop`], for a string that has gone on for a while or a text that is about to end.
#[inline(never)]
fn long_string_stop(text: &[u8], mut pos: usize, high: &mut bool) -> usize {
    while let Some(block) = text.get(pos..).and_then(|rest| rest.first_chunk::<32>()) {
        // Written for the compiler to make vectors of.
        let (mut stop, mut above) = (0, 0);
        for &byte in block {
            stop |= u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < 0x20);
            above |= byte;
        }
        if stop != 0 {
            break;
        }
        *high |= above >= 0x80;
        pos += 32;
    }
    while let Some(word) = word(text, pos) {
        *high |= word & HIGHS != 0;
        let hits = stops(word);
        if hits != 0 {
            return pos + (hits.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    while let Some(&byte) = text.get(pos) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        *high |= byte >= 0x80;
        pos += 1;
    }
    pos
}

/// The first `"` or `\` at or after `pos` (`text.len()` if there is none).
#[inline]
pub(crate) fn quote_or_escape(text: &[u8], mut pos: usize) -> usize {
    for _ in 0..3 {
        let Some(word) = word(text, pos) else { break };
        let hits = quotes_or_escapes(word);
        if hits != 0 {
            return pos + (hits.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    let rest = text.get(pos..).unwrap_or_default();
    memchr2(b'"', b'\\', rest).map_or(text.len(), |found| pos + found)
}

/// Whether `byte` is JSON whitespace.
#[inline]
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The first byte at or after `pos` that is not JSON whitespace (`text.len()` if there is none).
#[inline]
pub(crate) fn space(text: &[u8], pos: usize) -> usize {
    // Machines write little space: the rest is kept out of the way.
    match text.get(pos) {
        Some(&byte) if byte <= b' ' => long_space(text, pos),
        _ => pos,
    }
}

#[inline(never)]
fn long_space(text: &[u8], mut pos: usize) -> usize {
    while let Some(&byte) = text.get(pos) {
        if !is_space(byte) {
            break;
        }
        pos += 1;
    }
    pos
}

/// `text` without JSON whitespace at either end.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let start = space(text, 0);
    let end = text.iter().rposition(|&byte| !is_space(byte)).map_or(start, |last| last + 1);
    text.get(start..end).unwrap_or_default()
}

/// Where `part` lies in `whole`, if it is a piece of it (same memory, not merely equal bytes).
pub(crate) fn range_of(whole: &[u8], part: &[u8]) -> Option<std::ops::Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stop_byte_is_found_at_every_distance() {
        for len in 0..100 {
            for at in 0..len {
                for stop in [b'"', b'\\', 0, 0x1f, b'\n'] {
                    let mut text = vec![b'#'; len];
                    text[at] = stop;
                    let mut high = false;
                    assert_eq!(string_stop(&text, 0, &mut high), at);
                    assert!(!high);
                    let quoting = stop == b'"' || stop == b'\\';
                    assert_eq!(quote_or_escape(&text, 0), if quoting { at } else { len });
                }
            }
        }
    }

    #[test]
    fn neighbours_of_the_stop_bytes_are_not_stops() {
        for byte in 0x20..=0xff_u8 {
            let text = [byte; 77];
            let mut high = false;
            let stop = string_stop(&text, 0, &mut high);
            let stops = byte == b'"' || byte == b'\\';
            assert_eq!(stop, if stops { 0 } else { 77 }, "byte {byte:#x}");
            assert_eq!(high, byte >= 0x80, "byte {byte:#x}");
        }
    }

    #[test]
    fn one_byte_outside_ascii_is_seen_wherever_it_is() {
        for at in 0..100 {
            let mut text = [b'#'; 100];
            text[at] = 0x80;
            let mut high = false;
            assert_eq!(string_stop(&text, 0, &mut high), 100);
            assert!(high, "at {at}");
        }
    }

    #[test]
    fn a_piece_is_found_where_it_lies_and_a_copy_is_not() {
        let whole = b"abcdef".to_vec();
        assert_eq!(range_of(&whole, &whole[2..4]), Some(2..4));
        assert_eq!(range_of(&whole, &whole[6..]), Some(6..6));
        assert_eq!(range_of(&whole[..3], &whole[2..4]), None);
    }

    #[test]
    fn trimming_leaves_nothing_of_blank_text() {
        assert_eq!(trim(b" \t\r\n"), b"");
        assert_eq!(trim(b" 1 2 "), b"1 2");
    }
}
