//! Whether two JSON texts say the same.

use std::collections::BTreeMap;

use super::walk::{Token, Tokens};

/// The longest text that is compared by what it says, in bytes.
pub(super) const MAX_COMPARED_BYTES: usize = 256 << 10;

/// Whether two validated JSON texts have the same value: members in any order, repeated members counted,
/// strings decoded (unpaired surrogates as such), numbers by their spelling, whitespace ignored.
///
/// Exact, without recursion, in `O(n log n)`; equal bytes are seen at once and allocate nothing. Texts of more
/// than `MAX_COMPARED_BYTES` agree only if their bytes do: comparing costs many times their size.
pub fn agree(a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    if a.len().max(b.len()) > MAX_COMPARED_BYTES {
        return false;
    }
    let mut values = Values::default();
    values.number(a) == values.number(b)
}

/// What a value is made of; its parts by their numbers.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Scalar(Box<[u8]>),
    String(Box<[u8]>),
    Array(Box<[u32]>),
    /// Names and values, sorted.
    Object(Box<[(u32, u32)]>),
}

/// Gives every distinct value a number, inner ones first, so that comparing two values of any depth is
/// comparing two numbers.
#[derive(Default)]
struct Values {
    numbers: BTreeMap<Shape, u32>,
}

impl Values {
    fn shape(&mut self, shape: Shape) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(shape).or_insert(next)
    }

    fn number(&mut self, text: &[u8]) -> Option<u32> {
        // Finished parts of the containers that are open, (name, value); the name of an element is 0.
        let mut parts: Vec<(u32, u32)> = Vec::new();
        // Per open container: where its parts begin, and its own name in its parent.
        let mut open: Vec<(usize, u32)> = Vec::new();
        let mut name = 0;
        for token in Tokens::new(text) {
            let value = match token {
                Token::ObjectStart | Token::ArrayStart => {
                    open.push((parts.len(), name));
                    name = 0;
                    continue;
                }
                Token::Name(text) => {
                    name = self.shape(Shape::String(text.bytes().into()));
                    continue;
                }
                Token::ObjectEnd => {
                    let (start, own) = open.pop()?;
                    name = own;
                    let mut members: Box<[(u32, u32)]> = parts.drain(start..).collect();
                    members.sort_unstable();
                    self.shape(Shape::Object(members))
                }
                Token::ArrayEnd => {
                    let (start, own) = open.pop()?;
                    name = own;
                    let elements = parts.drain(start..).map(|(_, value)| value).collect();
                    self.shape(Shape::Array(elements))
                }
                Token::String(text) => self.shape(Shape::String(text.bytes().into())),
                Token::Scalar(text) => self.shape(Shape::Scalar(text.into())),
            };
            parts.push((name, value));
        }
        parts.pop().map(|(_, value)| value)
    }
}
