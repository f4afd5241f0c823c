//! Lists of names with `*` in them, as grants are written.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use mcpl_codec::raw;

/// Longest name that is kept, in bytes. A list with a longer one in it is known in part.
pub(super) const NAME_BYTES: usize = 1024;

/// So few names are compared one by one.
const FEW: usize = 8;

/// Most names with a `*` in one list: each is tried by itself.
const MAX_WILD: usize = 1024;

/// A list of names in which `*` stands for exactly one dot-separated segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    exact: HashSet<Box<str>, FixedState>,
    wild: Vec<Box<str>>,
    /// All that the list says is here. If not, a name that is not found may still be in the list.
    whole: bool,
}

impl Names {
    /// The empty list.
    pub(super) fn none() -> Self {
        Self { exact: HashSet::default(), wild: Vec::new(), whole: true }
    }

    /// A list of which nothing can be read.
    pub(super) fn unreadable() -> Self {
        Self { whole: false, ..Self::none() }
    }

    /// Reads an array of strings, or of objects with a `name`; at most `room` names are kept. Elements that
    /// are no readable name are ignored.
    pub(super) fn read(array: &[u8], room: usize) -> Self {
        if raw::kind(array) != raw::Kind::Array {
            return Self::unreadable();
        }
        let mut names = Self::none();
        for element in raw::elements(array) {
            let name = match raw::kind(element) {
                raw::Kind::Object => raw::member(element, "name").and_then(raw::string),
                _ => raw::string(element),
            };
            if let Some(name) = name {
                names.add(&name, room);
            }
        }
        names
    }

    fn add(&mut self, name: &str, room: usize) {
        let wild = name.split('.').any(|segment| segment == "*");
        if self.exact.contains(name) || (wild && self.wild.iter().any(|known| **known == *name)) {
            return;
        }
        if name.len() > NAME_BYTES || self.len() >= room || (wild && self.wild.len() >= MAX_WILD) {
            self.whole = false;
        } else if wild {
            self.wild.push(name.into());
        } else {
            self.exact.insert(name.into());
        }
    }

    /// Adds all of `other`, as far as there is room.
    pub(super) fn extend(&mut self, other: &Self, room: usize) {
        self.whole &= other.whole;
        for name in other.exact.iter().chain(&other.wild) {
            self.add(name, room);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.exact.len() + self.wild.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether a name of the list covers this one.
    pub(super) fn cover(&self, name: &str) -> bool {
        // Comparing a few names costs less than hashing one.
        let found = if self.exact.len() <= FEW {
            self.exact.iter().any(|known| **known == *name)
        } else {
            self.exact.contains(name)
        };
        found || self.wild.iter().any(|pattern| covers(pattern, name))
    }
}

fn covers(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.split('.'), name.split('.'));
    loop {
        match (pattern.next(), name.next()) {
            (None, None) => return true,
            (Some(p), Some(n)) if p == "*" || p == n => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_exactly_one_segment() {
        for (pattern, name, fits) in [
            ("*", "pushEvents", true),
            ("*", "channels.incoming", false),
            ("channels.*", "channels.incoming", true),
            ("channels.*", "channels", false),
            ("channels.*", "channels.incoming.x", false),
            ("*.incoming", "channels.incoming", true),
            ("a.*.c", "a.b.c", true),
            ("a.*.c", "a.b.d", false),
            ("*.*", "a.b", true),
            ("chan*", "channels", false),
            ("a", "a", true),
            ("a", "a.b", false),
        ] {
            let list = Names::read(format!(r#"["{pattern}"]"#).as_bytes(), 10);
            assert_eq!(list.cover(name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_list_of_another_shape_is_unreadable_and_odd_elements_are_ignored() {
        for text in ["null", "{}", "\"a\"", "true"] {
            let list = Names::read(text.as_bytes(), 10);
            assert!(!list.is_whole() && list.is_empty(), "{text}");
        }
        let list = Names::read(br#"[1,"\ud800",null,{"name":"n"},{"id":"x"},"a","a"]"#, 10);
        assert!(list.is_whole());
        assert_eq!((list.len(), list.cover("n"), list.cover("a"), list.cover("x")), (2, true, true, false));
    }

    #[test]
    fn a_list_is_bounded_and_says_so() {
        let list = Names::read(br#"["a","b","c"]"#, 2);
        assert_eq!((list.len(), list.is_whole()), (2, false));
        let list = Names::read(br#"["a","b","a"]"#, 2);
        assert_eq!((list.len(), list.is_whole()), (2, true), "a repeat needs no room");
        let long = "x".repeat(NAME_BYTES);
        assert!(Names::read(format!(r#"["{long}"]"#).as_bytes(), 2).is_whole());
        assert!(!Names::read(format!(r#"["{long}x"]"#).as_bytes(), 2).is_whole());
        let wild: Vec<String> = (0..=MAX_WILD).map(|i| format!(r#""*.{i}""#)).collect();
        let list = Names::read(format!("[{}]", wild.join(",")).as_bytes(), 65_536);
        assert_eq!((list.len(), list.is_whole()), (MAX_WILD, false));
    }
}
