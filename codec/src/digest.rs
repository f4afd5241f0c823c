//! Keyed digests of JSON values: equal values, equal digests.

use std::fmt;

use siphasher::sip128::SipHasher13;

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
    Name = 1,
    Absent,
    Scalar,
    String,
    ArrayStart,
    ArrayEnd,
    ObjectEnd,
}

/// Hashes raw JSON values, in the order given.
///
/// A value counts as what it says (contract 6.2): members in any order, repeated members all counted,
/// strings decoded (unpaired surrogates as such), numbers by their spelling, elements in order. One pass, no
/// recursion; memory of about the size of the text.
pub struct Digester {
    hasher: SipHasher13,
    /// What is not hashed yet: in one piece, which is a good deal faster than as it comes.
    said: Vec<u8>,
    open: Vec<Object>,
}

/// Room for what most events say.
const SAID_BYTES: usize = 512;
/// The most that [`Digester::clear`] keeps.
const KEPT_BYTES: usize = 64 * 1024;
/// The same for objects in each other.
const KEPT_OBJECTS: usize = 1024;

impl Digester {
    /// Nothing hashed yet.
    pub fn new(key: &DigestKey) -> Self {
        let hasher = SipHasher13::new_with_key(&key.0);
        Self { hasher, said: Vec::with_capacity(SAID_BYTES), open: Vec::new() }
    }

    /// Hashes a raw JSON value, or that there is none.
    pub fn field(&mut self, raw: Option<&[u8]>) -> &mut Self {
        match raw {
            Some(raw) => self.value(raw),
            None => self.tagged(Tag::Absent, &[]),
        }
        self
    }

    /// Hashes a string, or that there is none: as [`Digester::field`] with its JSON text.
    pub fn text(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.tagged(Tag::String, text.as_bytes()),
            None => self.tagged(Tag::Absent, &[]),
        }
        self
    }

    /// Starts again with nothing hashed; memory that ordinary events need is kept for the next one.
    pub fn clear(&mut self) {
        self.said.clear();
        self.said.shrink_to(KEPT_BYTES);
        self.open.clear();
        self.open.shrink_to(KEPT_OBJECTS);
    }

    /// The digest of all that was hashed.
    pub fn finish(&self) -> Digest {
        Digest(self.hasher.hash(&self.said).into())
    }

    fn value(&mut self, raw: &[u8]) {
        for token in Tokens::new(raw) {
            match token {
                Token::ObjectStart => self.open.push(Object { start: self.said.len(), members: 0, sum: 0 }),
                Token::Name(name) => {
                    self.close_member();
                    if let Some(object) = self.open.last_mut() {
                        object.members += 1;
                    }
                    self.string(Tag::Name, name);
                }
                Token::ObjectEnd => {
                    self.close_member();
                    if let Some(object) = self.open.pop() {
                        self.tag(Tag::ObjectEnd, object.members);
                        self.said.extend_from_slice(&object.sum.to_le_bytes());
                    }
                }
                Token::ArrayStart => self.tag(Tag::ArrayStart, 0),
                Token::ArrayEnd => self.tag(Tag::ArrayEnd, 0),
                Token::String(text) => self.string(Tag::String, text),
                Token::Scalar(text) => self.tagged(Tag::Scalar, text),
            }
        }
    }

    /// The member begun last, if any, is said in full.
    ///
    /// Each member is hashed on its own, and an object is the sum of its members: their order is nothing.
    fn close_member(&mut self) {
        if let Some(object) = self.open.last_mut()
            && object.members > 0
        {
            let member = self.said.get(object.start..).unwrap_or_default();
            object.sum = object.sum.wrapping_add(self.hasher.hash(member).into());
            self.said.truncate(object.start);
        }
    }

    fn string(&mut self, kind: Tag, text: Text<'_>) {
        if !text.escaped {
            return self.tagged(kind, text.inner);
        }
        let start = self.said.len();
        self.tag(kind, 0);
        let inside = self.said.len();
        text.append_to(&mut self.said);
        let word = word(kind, self.said.len() - inside);
        if let Some(tag) = self.said.get_mut(start..inside) {
            tag.copy_from_slice(&word);
        }
    }

    #[inline]
    fn tag(&mut self, kind: Tag, len: usize) {
        self.said.extend_from_slice(&word(kind, len));
    }

    #[inline]
    fn tagged(&mut self, kind: Tag, bytes: &[u8]) {
        self.tag(kind, bytes.len());
        self.said.extend_from_slice(bytes);
    }
}

impl fmt::Debug for Digester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digester")
    }
}

/// An object that is being hashed.
struct Object {
    /// Where in `said` its current member starts.
    start: usize,
    /// Members begun.
    members: usize,
    /// The digests of the members done, added up.
    sum: u128,
}

#[inline]
const fn word(kind: Tag, len: usize) -> [u8; 8] {
    ((kind as u64) << 56 | len as u64).to_le_bytes()
}

#[cfg(test)]
mod tests;
