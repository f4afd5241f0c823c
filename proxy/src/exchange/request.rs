//! Requests a peer waits for, by id (contract 3.3: the two directions have ids of their own).

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use mcpl_codec::raw;
use smallvec::SmallVec;

use super::watch::Seen;

/// Requests remembered for each direction; past it the answer of a further one passes unread.
pub const MAX_PENDING: usize = 65_536;

/// An id as it was spelled; short ones need no memory of their own.
pub(crate) type Spelled = SmallVec<[u8; 24]>;

/// An id as a peer may spell it again: strings decoded, whole numbers by value, the rest by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id(Spelled);

impl Id {
    pub(crate) fn of(raw_id: &[u8]) -> Self {
        Self(SmallVec::from_slice(&Self::plain(raw_id)))
    }

    fn plain(raw_id: &[u8]) -> Cow<'_, [u8]> {
        match raw_id.first() {
            // A string without escapes is its own spelling, quotes included: it is no number's.
            Some(b'"') if raw_id.contains(&b'\\') => match raw::string(raw_id) {
                Some(text) => Cow::Owned(raw::quote(&text).into_bytes()),
                None => Cow::Borrowed(raw_id),
            },
            Some(b'-' | b'0'..=b'9') if raw_id.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => {
                let number = std::str::from_utf8(raw_id).ok().and_then(|text| text.parse::<f64>().ok());
                match number {
                    Some(number) if number.is_finite() => Cow::Owned(number.to_string().into_bytes()),
                    _ => Cow::Borrowed(raw_id),
                }
            }
            _ => Cow::Borrowed(raw_id),
        }
    }
}

/// What a request was, as far as its answer concerns the sidecar.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Nothing to us.
    Other,
    /// The host's `initialize`.
    Initialize,
    /// A `featureSets/update` under a number of ours.
    Grant(u64),
    /// `channels/register`, or the request form of `channels/changed`: the ids submitted.
    Register(Vec<String>),
    /// `channels/open`.
    Open,
    /// Events of the producer, as a parcel of that number.
    Events(u64),
}

/// One request without its answer.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The id as it was spelled.
    pub(crate) id: Spelled,
    pub(crate) asked: Asked,
    /// The batch it came in, where that batch is answered by us.
    pub(crate) batch: Option<u64>,
    /// Told when it is answered, where somebody wants to know.
    pub(super) seen: Option<Seen>,
}

/// The requests of one peer.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pending: HashMap<Id, Waiting>,
    count: usize,
}

/// What waits under one id; nearly always one request.
#[derive(Debug)]
struct Waiting {
    first: Pending,
    more: VecDeque<Pending>,
}

impl Requests {
    /// False: there are too many already, and this one is not remembered.
    pub(crate) fn add(&mut self, pending: Pending) -> bool {
        let fits = self.count < MAX_PENDING;
        if fits {
            self.count += 1;
            match self.pending.entry(Id::of(&pending.id)) {
                Entry::Vacant(free) => {
                    free.insert(Waiting { first: pending, more: VecDeque::new() });
                }
                Entry::Occupied(mut taken) => taken.get_mut().more.push_back(pending),
            }
        }
        fits
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The request that an answer with this id answers: of several under one id the oldest.
    pub(crate) fn take(&mut self, raw_id: &[u8]) -> Option<Pending> {
        let Entry::Occupied(mut taken) = self.pending.entry(Id::of(raw_id)) else { return None };
        self.count -= 1;
        Some(match taken.get_mut().more.pop_front() {
            Some(next) => std::mem::replace(&mut taken.get_mut().first, next),
            None => taken.remove().first,
        })
    }

    /// Nobody waits for the answer to this request any more, and none need come. What was nothing to us is forgotten;
    /// what it would have been told of is given back.
    pub(super) fn cancel(&mut self, raw_id: &[u8]) -> Option<Seen> {
        let first = &mut self.pending.get_mut(&Id::of(raw_id))?.first;
        if matches!(first.asked, Asked::Other) && first.batch.is_none() {
            return self.take(raw_id)?.seen;
        }
        first.seen.take()
    }

    /// Every request, taken out; in no order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Pending> {
        self.count = 0;
        let all = std::mem::take(&mut self.pending).into_values();
        all.flat_map(|waiting| std::iter::once(waiting.first).chain(waiting.more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(id: &'static [u8]) -> Pending {
        Pending { id: Spelled::from_slice(id), asked: Asked::Other, batch: None, seen: None }
    }

    #[test]
    fn an_id_is_known_however_it_is_spelled_but_never_across_types() {
        let mut requests = Requests::default();
        for (asked, answered) in [
            (&b"1.0"[..], &b"1"[..]),
            (b"\"\\u0031x\"", b"\"1x\""),
            (b"1e2", b"100"),
            (b"null", b"null"),
            (b"12345678901234567890123", b"12345678901234567890123"),
            (b"\"\"", b"\"\""),
            (b"-0.5", b"-5e-1"),
        ] {
            requests.add(pending(asked));
            assert!(requests.take(answered).is_some(), "{}", String::from_utf8_lossy(asked));
        }
        for (asked, answered) in [(&b"1"[..], &b"\"1\""[..]), (b"0", b"null"), (b"\"a\"", b"\"A\"")] {
            requests.add(pending(asked));
            assert!(requests.take(answered).is_none());
            assert!(requests.take(asked).is_some());
        }
        assert_eq!(requests.len(), 0);
    }

    #[test]
    fn past_the_bound_nothing_is_remembered() {
        let mut requests = Requests::default();
        for n in 0..=MAX_PENDING {
            let id = Spelled::from_slice(n.to_string().as_bytes());
            requests.add(Pending { id, asked: Asked::Other, batch: None, seen: None });
        }
        assert_eq!(requests.len(), MAX_PENDING);
        assert!(requests.take(MAX_PENDING.to_string().as_bytes()).is_none());
        assert!(requests.take(b"0").is_some());
    }
}
