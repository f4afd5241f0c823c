//! What peers wrote, on a terminal: it must not write there itself.

/// A text without anything that a terminal would obey or not show: control characters and those that turn the
/// direction of writing come as `\u{…}`.
pub(in crate::cli) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if obeyed(c) {
            plain.extend(c.escape_unicode());
        } else {
            plain.push(c);
        }
    }
    plain
}

fn obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        assert_eq!(plain("a\u{1b}[31mb\n\u{202e}c"), "a\\u{1b}[31mb\\u{a}\\u{202e}c");
        assert_eq!(plain("msg_1 ü € 😀"), "msg_1 ü € 😀");
    }
}
