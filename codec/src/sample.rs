//! JSON values for tests, spelled in more ways than one.

use proptest::prelude::*;
use serde_json::Value;

/// A JSON value, free of spelling.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    /// A literal or a number, as spelled.
    Scalar(String),
    /// UTF-16 units, unpaired surrogates included.
    Text(Vec<u16>),
    Array(Vec<Tree>),
    Object(Vec<(Vec<u16>, Tree)>),
}

/// Where the choices of a spelling come from.
pub(crate) struct Choices(u64);

impl Choices {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }
}

pub(crate) fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn text() -> impl Strategy<Value = Vec<u16>> {
    prop_oneof![
        4 => "[a-e]{0,3}".prop_map(|text| units(&text)),
        2 => any::<String>().prop_map(|text| units(&text)),
        1 => Just(units("\u{0}\u{1f}\"\\/\u{8}\u{c}\n\r\t\u{7f}\u{2028}")),
        1 => prop::collection::vec(prop_oneof![0xd7fe..0xe002_u16, 0x20..0x80_u16], 0..4),
    ]
}

fn scalar() -> impl Strategy<Value = Tree> {
    prop_oneof![
        3 => Just("null".to_owned()),
        1 => Just("true".to_owned()),
        1 => Just("false".to_owned()),
        2 => any::<i64>().prop_map(|number| number.to_string()),
        2 => "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
    ]
    .prop_map(Tree::Scalar)
}

pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![scalar(), text().prop_map(Tree::Text)];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Tree::Array),
            prop::collection::vec((text(), inner), 0..5).prop_map(Tree::Object),
        ]
    })
}

/// A value that is an object.
pub(crate) fn object() -> impl Strategy<Value = Tree> {
    prop::collection::vec((text(), tree()), 0..6).prop_map(Tree::Object)
}

impl Tree {
    /// One of the spellings of the value; members in another order where `reorder`.
    pub(crate) fn spell(&self, choices: &mut Choices, reorder: bool) -> String {
        let mut out = String::new();
        self.spell_to(&mut out, choices, reorder);
        out
    }

    fn spell_to(&self, out: &mut String, choices: &mut Choices, reorder: bool) {
        match self {
            Self::Scalar(spelled) => out.push_str(spelled),
            Self::Text(units) => spell_text(units, out, choices),
            Self::Array(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    space(out, choices);
                    element.spell_to(out, choices, reorder);
                    space(out, choices);
                }
                if elements.is_empty() {
                    space(out, choices);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                if reorder {
                    for index in (1..members.len()).rev() {
                        members.swap(index, choices.below(index + 1));
                    }
                }
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    space(out, choices);
                    spell_text(name, out, choices);
                    space(out, choices);
                    out.push(':');
                    space(out, choices);
                    value.spell_to(out, choices, reorder);
                    space(out, choices);
                }
                if members.is_empty() {
                    space(out, choices);
                }
                out.push('}');
            }
        }
    }

    /// The value as `serde_json` has it, if it can: no unpaired surrogates, no repeats, numbers in range.
    pub(crate) fn value(&self) -> Option<Value> {
        Some(match self {
            Self::Scalar(spelled) => match spelled.as_str() {
                "null" => Value::Null,
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                number => {
                    let number: f64 = number.parse().ok()?;
                    Value::Number(serde_json::Number::from_f64(number)?)
                }
            },
            Self::Text(units) => Value::String(String::from_utf16(units).ok()?),
            Self::Array(elements) => Value::Array(elements.iter().map(Self::value).collect::<Option<_>>()?),
            Self::Object(members) => {
                let mut object = serde_json::Map::new();
                for (name, value) in members {
                    if object.insert(String::from_utf16(name).ok()?, value.value()?).is_some() {
                        return None;
                    }
                }
                Value::Object(object)
            }
        })
    }

    /// The value with members sorted, for comparison.
    pub(crate) fn sorted(&self) -> Self {
        match self {
            Self::Array(elements) => Self::Array(elements.iter().map(Self::sorted).collect()),
            Self::Object(members) => {
                let mut members: Vec<_> =
                    members.iter().map(|(name, value)| (name.clone(), value.sorted())).collect();
                members.sort_by_cached_key(|member| format!("{member:?}"));
                Self::Object(members)
            }
            other => other.clone(),
        }
    }
}

fn space(out: &mut String, choices: &mut Choices) {
    for _ in 0..choices.below(6).saturating_sub(3) {
        out.push([' ', '\t', '\r', '\n'][choices.below(4)]);
    }
}

fn spell_text(units: &[u16], out: &mut String, choices: &mut Choices) {
    out.push('"');
    for decoded in char::decode_utf16(units.iter().copied()) {
        let char = match decoded {
            Ok(char) => char,
            Err(lone) => {
                spell_unit(lone.unpaired_surrogate(), out, 0);
                continue;
            }
        };
        let short = match char {
            '"' => Some('"'),
            '\\' => Some('\\'),
            '/' => Some('/'),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        let plain = char >= ' ' && char != '"' && char != '\\';
        match (choices.below(8), short) {
            (0..=5, _) if plain => out.push(char),
            (0..=6, Some(letter)) => out.extend(['\\', letter]),
            (turn, _) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    spell_unit(*unit, out, turn);
                }
            }
        }
    }
    out.push('"');
}

fn spell_unit(unit: u16, out: &mut String, turn: usize) {
    let digits = format!("{unit:04x}");
    out.push_str("\\u");
    out.push_str(&if turn.is_multiple_of(2) { digits } else { digits.to_uppercase() });
}

/// `depth` arrays in each other.
pub(crate) fn arrays(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

/// `depth` objects in each other.
pub(crate) fn objects(depth: usize) -> String {
    "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth)
}
