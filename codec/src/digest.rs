//! Keyed digests of JSON values: equal values, equal digests.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::raw::{Text, Token, Tokens};

/// The key of digests. Digests under different keys have nothing to do with each other, so a peer that
/// does not know the key cannot make two values collide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DigestKey(pub [u8; 16]);

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey(***)")
    }
}

/// A digest (`SipHash`-1-3, 128 bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub u128);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({:032x})", self.0)
    }
}

/// The keyed fingerprint of a string.
pub fn fingerprint(key: &DigestKey, text: &str) -> u128 {
    SipHasher13::new_with_key(&key.0).hash(text.as_bytes()).into()
}

/// What a length or a count that is hashed belongs to: no two different sequences of values are hashed as
/// the same bytes.
#[derive(Clone, Copy)]
enum Tag {
    Label = 1,
    Absent,
    Scalar,
    String,
    ArrayStart,
    ArrayEnd,
    ObjectEnd,
}

/// Hashes labelled raw JSON values, in the order given.
///
/// A value counts as what it says (contract 6.2): members in any order, repeated members all counted,
/// strings decoded (unpaired surrogates as such), numbers by their spelling, elements in order. One pass, no
/// recursion.
pub struct Digester {
    fresh: SipHasher13,
    hasher: SipHasher13,
    decoded: Vec<u8>,
}

impl Digester {
    /// Nothing hashed yet.
    pub fn new(key: &DigestKey) -> Self {
        let fresh = SipHasher13::new_with_key(&key.0);
        Self { fresh, hasher: fresh, decoded: Vec::new() }
    }

    /// Hashes a raw JSON value, or that there is none, under `label`.
    pub fn field(&mut self, label: &str, raw: Option<&[u8]>) -> &mut Self {
        self.label(label);
        match raw {
            Some(raw) => self.value(raw),
            None => tagged(&mut self.hasher, Tag::Absent, &[]),
        }
        self
    }

    /// Hashes a string, or that there is none, under `label`: as [`Digester::field`] with its JSON text.
    pub fn text(&mut self, label: &str, text: Option<&str>) -> &mut Self {
        self.label(label);
        match text {
            Some(text) => tagged(&mut self.hasher, Tag::String, text.as_bytes()),
            None => tagged(&mut self.hasher, Tag::Absent, &[]),
        }
        self
    }

    /// The digest of all that was hashed.
    pub fn finish(&self) -> Digest {
        Digest(self.hasher.finish128().into())
    }

    fn label(&mut self, label: &str) {
        tagged(&mut self.hasher, Tag::Label, label.as_bytes());
    }

    fn string(&mut self, tag: Tag, text: Text<'_>) {
        if text.escaped {
            self.decoded.clear();
            text.append_to(&mut self.decoded);
            tagged(&mut self.hasher, tag, &self.decoded);
        } else {
            tagged(&mut self.hasher, tag, text.inner);
        }
    }

    fn value(&mut self, raw: &[u8]) {
        // Each member is hashed on its own; an object is the sum of its members, so their order is nothing.
        let mut open: Vec<Object> = Vec::new();
        for token in Tokens::new(raw) {
            match token {
                Token::ObjectStart => open.push(Object { outer: self.hasher, members: 0, sum: 0 }),
                Token::Name(name) => {
                    if let Some(object) = open.last_mut() {
                        object.close_member(&self.hasher);
                        object.members += 1;
                    }
                    self.hasher = self.fresh;
                    self.string(Tag::Label, name);
                }
                Token::ObjectEnd => {
                    if let Some(mut object) = open.pop() {
                        object.close_member(&self.hasher);
                        self.hasher = object.outer;
                        tag(&mut self.hasher, Tag::ObjectEnd, object.members);
                        self.hasher.write(&object.sum.to_le_bytes());
                    }
                }
                Token::ArrayStart => tag(&mut self.hasher, Tag::ArrayStart, 0),
                Token::ArrayEnd => tag(&mut self.hasher, Tag::ArrayEnd, 0),
                Token::String(text) => self.string(Tag::String, text),
                Token::Scalar(text) => tagged(&mut self.hasher, Tag::Scalar, text),
            }
        }
    }
}

impl fmt::Debug for Digester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digester")
    }
}

/// An object that is being hashed.
struct Object {
    /// The hash of what contains it, up to it.
    outer: SipHasher13,
    /// Members begun.
    members: usize,
    /// The digests of the members done, added up.
    sum: u128,
}

impl Object {
    /// The member begun last, if any, is done: `hasher` has all of it.
    fn close_member(&mut self, hasher: &SipHasher13) {
        if self.members > 0 {
            self.sum = self.sum.wrapping_add(hasher.finish128().into());
        }
    }
}

#[inline]
fn tag(hasher: &mut SipHasher13, tag: Tag, len: usize) {
    hasher.write(&((tag as u64) << 56 | len as u64).to_le_bytes());
}

#[inline]
fn tagged(hasher: &mut SipHasher13, kind: Tag, bytes: &[u8]) {
    tag(hasher, kind, bytes.len());
    hasher.write(bytes);
}

#[cfg(test)]
mod tests;
