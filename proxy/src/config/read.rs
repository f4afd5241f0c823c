//! From a TOML document to [`Section`]s: known keys, right types, values in range, variables filled in.
//!
//! The document is walked by hand rather than through serde, because serde stops at the first error.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::errors::{Faults, shown};
use super::keys::{Fallback, Key, Shape, homes, is_array};
use super::resolve::veil;
use super::substitute::{Env, fill};

/// A string of the file.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// Where it stands, quotes included.
    pub(super) at: Range<usize>,
    /// With its variables filled in.
    pub(super) value: String,
    /// As in the file.
    pub(super) written: String,
    /// Whether a variable was in it: then only `written` may be shown.
    pub(super) secret: bool,
}

impl Text {
    /// The text for a message: as in the file, readable.
    pub(super) fn shown(&self) -> String {
        shown(&self.written)
    }

    /// The same of an address, with `***` for what may be a password or a token in it.
    pub(super) fn shown_address(&self) -> String {
        let address = self.written.split('#').next().unwrap_or_default();
        let fragment = if address.len() < self.written.len() { "#***" } else { "" };
        let (scheme, rest) = address.split_at(address.find("://").map_or(0, |at| at + 3));
        let (place, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let place = place.rfind('@').map_or_else(|| place.to_owned(), |at| format!("***{}", &place[at..]));
        shown(&format!("{}{fragment}", veil(&format!("{scheme}{place}{query}"), |_| true)))
    }
}

/// A value of the file.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(Text),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<Text>),
    Secrets(Vec<(String, Text)>),
    Table(Section),
    Tables(Vec<Section>),
}

/// A table of the file: what it says, and where.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Where its header (or key, or inline table) starts.
    pub(super) at: usize,
    pub(super) keys: &'static [Key],
    /// What was read, each with where its value stands. Of a faulty value only the place is here.
    pub(super) values: Vec<(&'static Key, Range<usize>, Option<Value>)>,
}

impl Section {
    /// A table that says nothing: all defaults.
    pub(super) fn empty(keys: &'static [Key]) -> Self {
        Self { at: 0, keys, values: Vec::new() }
    }

    fn entry(&self, name: &str) -> Option<&(&'static Key, Range<usize>, Option<Value>)> {
        debug_assert!(self.keys.iter().any(|k| k.name == name), "{name} is not in the table");
        self.values.iter().find(|(key, ..)| key.name == name)
    }

    fn default(&self, name: &str) -> Option<&'static Fallback> {
        self.keys.iter().find(|k| k.name == name).map(|k| &k.default)
    }

    /// The value in the file, if it is there and sound.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.entry(name).and_then(|(_, _, value)| value.as_ref())
    }

    /// Whether the file has the key, sound or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Where the key's value stands; the table itself if it is not there.
    pub(super) fn place(&self, name: &str) -> usize {
        self.entry(name).map_or(self.at, |(_, at, _)| at.start)
    }

    pub(super) fn text(&self, name: &str) -> Option<&Text> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A string from a list of names, or its default.
    pub(super) fn choice(&self, name: &str) -> Option<&str> {
        match (self.text(name), self.default(name)) {
            (Some(text), _) => Some(&text.value),
            (None, Some(Fallback::Text(text))) => Some(text),
            _ => None,
        }
    }

    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        match (self.value(name), self.default(name)) {
            (Some(Value::Integer(n)), _) | (None, Some(Fallback::Integer(n))) => Some(*n),
            _ => None,
        }
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        match (self.value(name), self.default(name)) {
            (Some(Value::Number(n)), _) | (None, Some(Fallback::Number(n))) => *n,
            _ => 0.0,
        }
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        match (self.value(name), self.default(name)) {
            (Some(Value::Flag(b)), _) | (None, Some(Fallback::Flag(b))) => *b,
            _ => false,
        }
    }

    /// The strings of a list, or of its default.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        match (self.value(name), self.default(name)) {
            (Some(Value::List(list)), _) => list.iter().map(|t| t.value.clone()).collect(),
            (None, Some(Fallback::List(list))) => list.iter().map(|s| (*s).to_owned()).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn secrets(&self, name: &str) -> &[(String, Text)] {
        match self.value(name) {
            Some(Value::Secrets(secrets)) => secrets,
            _ => &[],
        }
    }

    pub(super) fn table(&self, name: &str) -> Option<&Section> {
        match self.value(name) {
            Some(Value::Table(section)) => Some(section),
            _ => None,
        }
    }

    /// The table of that name; one that says nothing if it is not there.
    pub(super) fn sub(&self, name: &str) -> Section {
        let keys = self.keys.iter().find(|k| k.name == name).map(|k| &k.shape);
        match (self.table(name), keys) {
            (Some(section), _) => section.clone(),
            (None, Some(Shape::Table(keys))) => Self::empty(keys),
            (None, _) => Self::empty(&[]),
        }
    }

    /// The tables of an array; none if it is not there.
    pub(super) fn tables(&self, name: &str) -> &[Section] {
        match self.value(name) {
            Some(Value::Tables(sections)) => sections,
            _ => &[],
        }
    }
}

/// Reads a document: every unknown key, wrong type, value out of range and missing variable is noted.
pub(super) struct Reader<'f, 't, 'e> {
    pub(super) faults: &'f mut Faults<'t>,
    pub(super) env: Env<'e>,
}

impl Reader<'_, '_, '_> {
    /// Reads a table; `path` is its dotted path, empty for the file.
    pub(super) fn section(
        &mut self,
        table: &DeTable<'_>,
        at: usize,
        keys: &'static [Key],
        path: &str,
    ) -> Section {
        let mut values = Vec::new();
        for (name, value) in table {
            let Some(key) = keys.iter().find(|k| k.name == name.get_ref()) else {
                self.unknown(name.get_ref(), name.span().start, keys, path);
                continue;
            };
            let dotted = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
            let read = self.value(value, &key.shape, &dotted);
            values.push((key, value.span(), read));
        }
        Section { at, keys, values }
    }

    fn unknown(&mut self, name: &str, at: usize, keys: &'static [Key], path: &str) {
        let table = if path.is_empty() { "the file".to_owned() } else { bracketed(path) };
        let names: Vec<&str> = keys.iter().map(|k| k.name).collect();
        let hint = if let Some(near) = super::nearest::nearest(name, &names) {
            format!("did you mean `{near}`?")
        } else if let Some(home) = homes(name).first() {
            if home.is_empty() {
                "it belongs before the first table".to_owned()
            } else {
                format!("it belongs in {}", bracketed(home))
            }
        } else {
            format!("the keys here are {}", names.join(", "))
        };
        self.faults.add(at, format!("unknown key `{}` in {table}", shown(name)), hint);
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, shape: &Shape, path: &str) -> Option<Value> {
        let at = value.span();
        match (shape, value.get_ref()) {
            (Shape::Text | Shape::Path, DeValue::String(s)) => self.text(s, at, path).map(Value::Text),
            (Shape::Choice(names), DeValue::String(s)) => self.choice(s, at, names, path).map(Value::Text),
            (Shape::Integer(least, most), DeValue::Integer(n)) => {
                self.integer(n, at.start, *least, *most, path)
            }
            (Shape::Rate(least, most), DeValue::Integer(n)) => {
                // An integer out of i64 is out of any rate's range as well.
                let n = i64::from_str_radix(n.as_str(), n.radix()).map_or(f64::MAX, |n| n as f64);
                self.rate(n, at.start, *least, *most, path)
            }
            (Shape::Rate(least, most), DeValue::Float(n)) => {
                let n = n.as_str().parse().unwrap_or(f64::NAN);
                self.rate(n, at.start, *least, *most, path)
            }
            (Shape::Flag, DeValue::Boolean(b)) => Some(Value::Flag(*b)),
            (Shape::List, DeValue::Array(items)) => self.list(items, path).map(Value::List),
            (Shape::Secrets, DeValue::Table(table)) => self.secrets(table, path).map(Value::Secrets),
            (Shape::Table(keys), DeValue::Table(table)) => {
                Some(Value::Table(self.section(table, at.start, keys, path)))
            }
            (Shape::Tables(keys), DeValue::Array(items)) => {
                let mut sections = Vec::new();
                for item in items {
                    if let DeValue::Table(table) = item.get_ref() {
                        sections.push(self.section(table, item.span().start, keys, path));
                    } else {
                        self.wrong_type(item, shape, path);
                    }
                }
                // Of an array with nothing sound in it nothing more is said.
                (items.is_empty() || !sections.is_empty()).then_some(Value::Tables(sections))
            }
            _ => {
                self.wrong_type(value, shape, path);
                None
            }
        }
    }

    fn wrong_type(&mut self, value: &Spanned<DeValue<'_>>, shape: &Shape, path: &str) {
        let (wanted, hint) = match shape {
            Shape::Text | Shape::Path => ("a string", "put the value in quotes".to_owned()),
            Shape::Choice(names) => ("a string", one_of(names)),
            Shape::Integer(..) if path.ends_with("_ms") => {
                ("an integer", "write milliseconds as a plain integer, such as 1500".to_owned())
            }
            Shape::Integer(..) if path.ends_with("_bytes") => {
                ("an integer", "write bytes as a plain integer, such as 1048576".to_owned())
            }
            Shape::Integer(..) => {
                ("an integer", "write a plain integer, without quotes or a fraction".to_owned())
            }
            Shape::Rate(..) => ("a number", "write a plain number, such as 10 or 0.5".to_owned()),
            Shape::Flag => ("a boolean", "write true or false, without quotes".to_owned()),
            Shape::List => ("an array of strings", "write [\"…\", \"…\"]".to_owned()),
            Shape::Secrets => ("a table of strings", "write { NAME = \"value\" }".to_owned()),
            Shape::Table(_) => ("a table", format!("write {}", bracketed(path))),
            Shape::Tables(_) => ("an array of tables", format!("write {}", bracketed(path))),
        };
        let got = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.faults.add(value.span().start, format!("`{path}` must be {wanted}, not {got}"), hint);
    }

    /// A string with no further shape.
    fn plain(&mut self, value: &Spanned<DeValue<'_>>, path: &str) -> Option<Text> {
        if let DeValue::String(s) = value.get_ref() {
            return self.text(s, value.span(), path);
        }
        self.wrong_type(value, &Shape::Text, path);
        None
    }

    fn text(&mut self, written: &str, at: Range<usize>, path: &str) -> Option<Text> {
        match fill(written, self.env) {
            Ok(filled) if filled.value.contains('\0') => {
                self.faults.add(at.start, format!("`{path}` holds a NUL character"), "take it out");
                None
            }
            Ok(filled) => {
                Some(Text { at, value: filled.value, written: written.to_owned(), secret: filled.secret })
            }
            Err(wrong) => {
                for (message, hint) in wrong {
                    self.faults.add(at.start, format!("`{path}`: {message}"), hint);
                }
                None
            }
        }
    }

    fn choice(&mut self, written: &str, at: Range<usize>, names: &[&str], path: &str) -> Option<Text> {
        let text = self.text(written, at, path)?;
        if names.contains(&text.value.as_str()) {
            return Some(text);
        }
        let mut hint = one_of(names);
        if let Some(near) = super::nearest::nearest(&text.value, names).filter(|_| !text.secret) {
            hint = format!("did you mean \"{near}\"? {hint}");
        }
        self.faults.add(text.at.start, format!("`{path}` cannot be \"{}\"", text.shown()), hint);
        None
    }

    fn integer(&mut self, n: &DeInteger<'_>, at: usize, least: i64, most: i64, path: &str) -> Option<Value> {
        let read = i64::from_str_radix(n.as_str(), n.radix()).ok();
        if let Some(n) = read.filter(|n| (least..=most).contains(n)) {
            return Some(Value::Integer(n));
        }
        let hint = if path.ends_with(".retry_window_ms") {
            format!("write {least} (an hour) to {most}")
        } else {
            format!("write {least} to {most}")
        };
        let why = match read {
            Some(n) if n < 0 && least >= 0 => "may not be negative",
            Some(n) if n < least => "is too small",
            _ => "is too large",
        };
        self.faults.add(at, format!("`{path}` = {} {why}", shown(&n.to_string())), hint);
        None
    }

    fn rate(&mut self, n: f64, at: usize, least: f64, most: f64, path: &str) -> Option<Value> {
        if n == 0.0 || (least..=most).contains(&n) {
            // -0.0 is 0.
            return Some(Value::Number(n.abs()));
        }
        let why = if n.is_nan() {
            "is not a number"
        } else if n < 0.0 {
            "may not be negative"
        } else if n < least {
            "is too small"
        } else {
            "is too large"
        };
        self.faults.add(at, format!("`{path}` {why}"), format!("write 0 (unlimited) or {least} to {most}"));
        None
    }

    fn list(&mut self, items: &[Spanned<DeValue<'_>>], path: &str) -> Option<Vec<Text>> {
        let mut texts = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let dotted = format!("{path}[{n}]");
            texts.push(self.plain(item, &dotted));
        }
        texts.into_iter().collect()
    }

    fn secrets(&mut self, table: &DeTable<'_>, path: &str) -> Option<Vec<(String, Text)>> {
        let mut secrets = Vec::new();
        let mut sound = true;
        for (name, value) in table {
            let dotted = format!("{path}.{}", shown(name.get_ref()));
            if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
                let hint = "a variable's name is not empty and has no `=`";
                self.faults.add(name.span().start, format!("`{dotted}` is no name of a variable"), hint);
                sound = false;
            }
            match self.plain(value, &dotted) {
                Some(text) => secrets.push((name.get_ref().to_string(), text)),
                None => sound = false,
            }
        }
        sound.then_some(secrets)
    }
}

/// A table's header as it is written in a file.
pub(super) fn bracketed(path: &str) -> String {
    if is_array(path) { format!("[[{path}]]") } else { format!("[{path}]") }
}

pub(super) fn one_of(names: &[&str]) -> String {
    format!("write one of {}", names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", "))
}
