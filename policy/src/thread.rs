//! What a trace has to do with an occurrence: marks, of itself and of what it stands for (contract 10.1).
//!
//! A mark is what the driver knows one occurrence's span by, and means nothing here. The engine folds marks as it
//! folds occurrences, keeps them where those are kept, and gives them back with what is handed over. Where the driver
//! follows no traces there are none.

use std::collections::VecDeque;
use std::fmt;

/// Marks of one occurrence, its own included: past it the oldest are gone.
pub const MAX_MARKS: usize = 128;

/// The longest luggage that is kept, in bytes; longer is as none.
pub const MAX_LUGGAGE_BYTES: usize = 9 << 10;

/// What the driver knows the span of one occurrence by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark(pub [u8; 24]);

/// The marks of an occurrence and of all that it displaced, and so of all that displaced before.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Thread {
    /// Of what it displaced, in the order in which that was; one fewer than [`MAX_MARKS`] at most.
    folded: VecDeque<Mark>,
    own: Option<Own>,
}

/// What is the occurrence's own.
#[derive(Clone, PartialEq, Eq)]
struct Own {
    mark: Mark,
    luggage: Box<[u8]>,
}

impl Thread {
    /// Of an occurrence that displaced nothing. `luggage` is what goes along with its mark, and with no mark of what
    /// was folded; more than [`MAX_LUGGAGE_BYTES`] is as none.
    pub fn new(mark: Mark, luggage: &[u8]) -> Self {
        let luggage = if luggage.len() > MAX_LUGGAGE_BYTES { &[] } else { luggage };
        Self { folded: VecDeque::new(), own: Some(Own { mark, luggage: luggage.into() }) }
    }

    /// The occurrence's own mark and luggage; `None`: its own trace is not followed.
    pub fn own(&self) -> Option<(Mark, &[u8])> {
        self.own.as_ref().map(|own| (own.mark, &*own.luggage))
    }

    /// The marks of what it displaced, the first one first.
    pub fn folded(&self) -> impl ExactSizeIterator<Item = Mark> {
        self.folded.iter().copied()
    }

    /// The occurrence displaces that of `older`.
    pub fn take_in(&mut self, mut older: Self) {
        if self.folded.is_empty() {
            // What was gathered changes hands; it is not copied at every edit of a subject.
            std::mem::swap(&mut self.folded, &mut older.folded);
        }
        let own = older.own.map(|own| own.mark);
        for mark in older.folded.into_iter().chain(own) {
            self.fold(mark);
        }
    }

    fn fold(&mut self, mark: Mark) {
        if self.folded.len() + 1 >= MAX_MARKS {
            self.folded.pop_front();
        }
        self.folded.push_back(mark);
    }

    /// What is read back mark by mark; more of them than are kept, or none at all, is no thread.
    pub(crate) fn restored(folded: VecDeque<Mark>, own: Option<(Mark, &[u8])>) -> Option<Self> {
        let fits = folded.len() < MAX_MARKS && own.is_none_or(|own| own.1.len() <= MAX_LUGGAGE_BYTES);
        let some = own.is_some() || !folded.is_empty();
        let own = own.map(|(mark, luggage)| Own { mark, luggage: luggage.into() });
        (fits && some).then_some(Self { folded, own })
    }
}

impl fmt::Debug for Thread {
    /// Without the luggage: it is a peer's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own.as_ref().map(|own| (own.mark, own.luggage.len()));
        f.debug_struct("Thread").field("folded", &self.folded).field("own", &own).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: u64) -> Mark {
        let mut mark = [0; 24];
        mark[..8].copy_from_slice(&number.to_le_bytes());
        Mark(mark)
    }

    fn thread(number: u64) -> Thread {
        Thread::new(mark(number), b"luggage")
    }

    fn folded(thread: &Thread) -> Vec<Mark> {
        thread.folded().collect()
    }

    #[test]
    fn what_displaces_stands_for_all_that_stood_before_it() {
        let (mut second, mut third, mut other) = (thread(2), thread(3), thread(9));
        second.take_in(thread(1));
        other.take_in(thread(8));
        third.take_in(second);
        third.take_in(other);
        assert_eq!(folded(&third), [1, 2, 8, 9].map(mark));
        assert_eq!(third.own(), Some((mark(3), &b"luggage"[..])));
    }

    #[test]
    fn one_that_is_not_followed_loses_nothing_of_what_it_displaced() {
        let mut unmarked = Thread::default();
        unmarked.take_in(thread(1));
        assert_eq!((folded(&unmarked), unmarked.own()), (vec![mark(1)], None));
        let mut next = thread(3);
        next.take_in(unmarked);
        assert_eq!(folded(&next), [mark(1)]);
    }

    #[test]
    fn the_newest_128_are_kept_with_its_own() {
        let mut newest = thread(0);
        for number in 1..300 {
            let mut next = thread(number);
            next.take_in(newest);
            newest = next;
        }
        assert_eq!(folded(&newest), (172..299).map(mark).collect::<Vec<_>>());
        let mut other = thread(900);
        other.take_in(thread(899));
        other.take_in(newest);
        assert_eq!(other.folded().len() + 1, MAX_MARKS);
        assert_eq!(folded(&other).first(), Some(&mark(173)), "what was folded last is the newest");
    }

    #[test]
    fn luggage_that_is_too_long_is_none_and_none_is_told() {
        let most = vec![7; MAX_LUGGAGE_BYTES];
        assert_eq!(Thread::new(mark(1), &most).own(), Some((mark(1), &most[..])));
        assert_eq!(Thread::new(mark(1), &[most, vec![7]].concat()).own(), Some((mark(1), &b""[..])));
        assert!(!format!("{:?}", Thread::new(mark(1), b"77777777")).contains("55, 55"));
    }
}
