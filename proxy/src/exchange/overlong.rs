//! What can be told of a message that is too long, from its beginning (contract 3.2).

/// The id and the kind of a message of which only the beginning is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overlong<'a> {
    /// The raw top-level id.
    pub(crate) id: Option<&'a [u8]>,
    pub(crate) method: bool,
    pub(crate) answer: bool,
}

impl<'a> Overlong<'a> {
    /// Reads the top-level members that `head` has whole; nothing is assumed of the text.
    pub(crate) fn read(head: &'a [u8]) -> Self {
        let mut seen = Self::default();
        let mut at = skip_space(head, 0);
        if head.get(at) != Some(&b'{') {
            return seen;
        }
        loop {
            at = skip_space(head, at + 1);
            let Some(name_end) = string_end(head, at) else { return seen };
            let name = &head[at..name_end];
            let colon = skip_space(head, name_end);
            if head.get(colon) != Some(&b':') {
                return seen;
            }
            let start = skip_space(head, colon + 1);
            match name {
                b"\"method\"" => seen.method = true,
                b"\"result\"" | b"\"error\"" => seen.answer = true,
                _ => {}
            }
            let Some(end) = value_end(head, start) else { return seen };
            if name == b"\"id\"" && seen.id.is_none() {
                seen.id = Some(&head[start..end]);
            }
            at = skip_space(head, end);
            if head.get(at) != Some(&b',') {
                return seen;
            }
        }
    }
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn string_end(text: &[u8], start: usize) -> Option<usize> {
    if text.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The end of a value, if it ends in `text`. A scalar at the very end may go on, so it does not count.
fn value_end(text: &[u8], start: usize) -> Option<usize> {
    match text.get(start)? {
        b'"' => string_end(text, start),
        b'{' | b'[' => {
            let (mut depth, mut at) = (0_usize, start);
            loop {
                match text.get(at)? {
                    b'"' => {
                        at = string_end(text, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth == 1 => return Some(at + 1),
                    b'}' | b']' => depth = depth.checked_sub(1)?,
                    _ => {}
                }
                at += 1;
            }
        }
        _ => {
            let length = text[start..]
                .iter()
                .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b'}' | b']'))?;
            (length > 0).then_some(start + length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> (Option<&str>, bool, bool) {
        let seen = Overlong::read(head.as_bytes());
        (seen.id.and_then(|id| std::str::from_utf8(id).ok()), seen.method, seen.answer)
    }

    #[test]
    fn a_request_is_told_from_an_answer_by_its_top_level_only() {
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":"big","method":"m","params":{"x":"yyy"#),
            (Some("\"big\""), true, false)
        );
        assert_eq!(read(r#" {"id" : 4.5 ,"result":{"method":"no","x":"y"#), (Some("4.5"), false, true));
        assert_eq!(
            read(r#"{"params":{"id":1,"a":[{"b":"]}\""}]},"id":-7,"method":"#),
            (Some("-7"), true, false)
        );
    }

    #[test]
    fn an_id_that_is_not_whole_in_the_head_is_no_id() {
        assert_eq!(read(r#"{"id":12345"#), (None, false, false));
        assert_eq!(read(r#"{"id":"abc"#), (None, false, false));
        assert_eq!(read(r#"{"method":"m","params":{"x":"#), (None, true, false));
    }

    #[test]
    fn anything_else_is_nothing() {
        for head in
            ["", "[", "{", "{\"", "{\"id\"", "{\"id\":", "]]]]", "{\"a\":]]", "{\"id\":}", "nul", "{\"a\\"]
        {
            assert_eq!(read(head).0, None, "{head}");
        }
    }
}
