//! The members of a message that JSON-RPC knows.

use std::borrow::Cow;
use std::fmt;

use crate::raw::{self, Name, Slot};

/// The top-level members that JSON-RPC knows, raw, each the first of its name. Names are compared decoded.
///
/// An absent member is `None`; `"id":null` is `Some(b"null")`.
#[derive(Clone, Copy, Default)]
pub struct Envelope<'a> {
    /// `id`.
    pub id: Option<&'a [u8]>,
    /// `method`.
    pub method: Option<&'a [u8]>,
    /// `params`.
    pub params: Option<&'a [u8]>,
    /// `result`.
    pub result: Option<&'a [u8]>,
    /// `error`.
    pub error: Option<&'a [u8]>,
    /// One of the five occurs again with a value that does not [`agree`](raw::agree) (contract 3.3).
    pub repeated: bool,
    last: [Option<&'a [u8]>; 5],
}

impl<'a> Envelope<'a> {
    /// The envelope of an object that was validated as part of a batch (empty if it is no object).
    pub fn of(object: &'a [u8]) -> Self {
        let mut envelope = Self::default();
        for (name, value) in raw::members(object) {
            envelope.put(name, value);
        }
        envelope
    }

    /// The decoded `method`; `None` if there is none, or none that can be read.
    pub fn method_name(&self) -> Option<Cow<'a, str>> {
        self.method.and_then(raw::string)
    }

    #[inline]
    pub(super) fn put(&mut self, name: Name<'a>, value: &'a [u8]) {
        let decoded = name.bytes();
        let (index, first) = match &*decoded {
            b"id" => (0, &mut self.id),
            b"method" => (1, &mut self.method),
            b"params" => (2, &mut self.params),
            b"result" => (3, &mut self.result),
            b"error" => (4, &mut self.error),
            _ => return,
        };
        let mut slot = Slot::new(*first, self.last[index], self.repeated);
        slot.put(value);
        *first = slot.first;
        self.last[index] = slot.last;
        self.repeated = slot.clash;
    }
}

impl fmt::Debug for Envelope<'_> {
    /// Lengths only: content belongs in no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("id", &self.id.map(<[u8]>::len))
            .field("method", &self.method.map(<[u8]>::len))
            .field("params", &self.params.map(<[u8]>::len))
            .field("result", &self.result.map(<[u8]>::len))
            .field("error", &self.error.map(<[u8]>::len))
            .field("repeated", &self.repeated)
            .finish_non_exhaustive()
    }
}
