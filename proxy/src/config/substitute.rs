//! `${VAR}` in a string value.

/// What looks a variable up: its value, or `None` if it is not set.
pub type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// A string with its variables filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filled {
    pub(super) value: String,
    /// Whether a variable was in it, so that the value must not be shown.
    pub(super) secret: bool,
}

/// Why a string cannot be filled in: the message and its hint.
pub(super) type Unfilled = (String, String);

/// Replaces each `${NAME}` of `text`; `$${` stands for a literal `${`. Values are not looked into again.
pub(super) fn fill(text: &str, env: Env<'_>) -> Result<Filled, Vec<Unfilled>> {
    let mut filled = Filled { value: String::with_capacity(text.len()), secret: false };
    let mut wrong = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find("${") {
        let (before, from) = rest.split_at(dollar);
        if let Some(before) = before.strip_suffix('$') {
            filled.value.push_str(before);
            filled.value.push_str("${");
            rest = from.get(2..).unwrap_or_default();
            continue;
        }
        filled.value.push_str(before);
        let inside = from.get(2..).unwrap_or_default();
        let Some(end) = inside.find('}') else {
            wrong.push((
                "`${` without its `}`".to_owned(),
                "write `${NAME}`, or `$${` for a literal `${`".to_owned(),
            ));
            return Err(wrong);
        };
        let (name, after) = inside.split_at(end);
        if is_name(name) {
            filled.secret = true;
            match env(name) {
                Some(value) => filled.value.push_str(&value),
                None => wrong.push((
                    format!("the environment variable {name} is not set"),
                    format!("set {name}, or write the value into the file"),
                )),
            }
        } else {
            wrong.push((
                format!("`${{{}}}` is no variable", super::errors::shown(name)),
                "a name is letters, digits and `_`, no digit first; `$${` stands for a literal `${`"
                    .to_owned(),
            ));
        }
        rest = after.get(1..).unwrap_or_default();
    }
    filled.value.push_str(rest);
    if wrong.is_empty() { Ok(filled) } else { Err(wrong) }
}

/// Whether a text is a name of a variable: letters, digits and `_`, no digit first.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "A" => Some("one".to_owned()),
            "_B2" => Some("${A}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    fn value(text: &str) -> (String, bool) {
        let filled = fill(text, &env).unwrap();
        (filled.value, filled.secret)
    }

    #[test]
    fn variables_are_filled_in_once() {
        assert_eq!(value("x${A}y${A}"), ("xoneyone".to_owned(), true));
        assert_eq!(value("${_B2}"), ("${A}".to_owned(), true), "a value is not looked into again");
        assert_eq!(value("${EMPTY}"), (String::new(), true), "set to nothing is set");
    }

    #[test]
    fn other_dollars_stay() {
        for text in ["", "$", "a$", "$A", "^a$", "$$", "a{b}", "$ {A}"] {
            assert_eq!(value(text), (text.to_owned(), false));
        }
        assert_eq!(value("$${A}"), ("${A}".to_owned(), false));
        assert_eq!(value("$${A}${A}"), ("${A}one".to_owned(), true));
    }

    #[test]
    fn what_cannot_be_filled_in_is_said_all_at_once() {
        let wrong = fill("${NO} ${A} ${NOPE}", &env).unwrap_err();
        assert_eq!(wrong.len(), 2);
        assert!(wrong[0].0.contains("NO ") && wrong[1].0.contains("NOPE"));
        for text in ["${", "a${b", "${}", "${1A}", "${a-b}", "${A:-x}"] {
            assert_eq!(fill(text, &env).unwrap_err().len(), 1, "{text}");
        }
    }
}
