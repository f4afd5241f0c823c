//! What traces an occurrence must stand for: its own, and those of all that ended displaced by it, as those who watch
//! are told.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use mcpl_policy::engine::{Seen, Waits};
use mcpl_policy::journal::{Table, WorkRow};
use mcpl_policy::thread::{MAX_MARKS, Mark, Thread};

use crate::book::Book;

/// The mark of what is known by this name. Names of one length are of one trace.
pub(crate) fn mark(event_id: &str) -> Mark {
    let hash = |what: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        what(&mut hasher);
        hasher.finish().to_le_bytes()
    };
    let trace = hash(&|hasher| event_id.len().hash(hasher));
    let span = hash(&|hasher| event_id.hash(hasher));
    let mut mark = Mark([0; 24]);
    for (part, bytes) in mark.0.chunks_exact_mut(8).zip([trace, trace, span]) {
        part.copy_from_slice(&bytes);
    }
    mark
}

/// Of every fourth the trace is not followed.
fn own(event_id: &str) -> Option<Mark> {
    let mark = mark(event_id);
    (mark.0[23] & 3 > 0).then_some(mark)
}

/// What comes with what is known by this name.
pub(crate) fn thread(event_id: &str) -> Option<Box<Thread>> {
    own(event_id).map(|mark| Box::new(Thread::new(mark, event_id.as_bytes())))
}

/// What is known of one that is live.
#[derive(Clone, Debug)]
struct Live {
    event_id: Box<str>,
    /// An operator is to say what becomes of it.
    laid_aside: bool,
    folded: Vec<Mark>,
}

/// The marks of all that is live, by number.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    live: HashMap<u64, Live>,
    /// The same before the last step.
    before: HashMap<u64, Live>,
}

impl Marks {
    /// A step was told of.
    pub(crate) fn learn(&mut self, told: &[Seen]) {
        self.before = self.live.clone();
        for seen in told {
            let event_id = seen.event_id.clone();
            let live = self.live.entry(seen.number).or_insert(Live {
                event_id,
                laid_aside: false,
                folded: Vec::new(),
            });
            live.laid_aside = seen.waits == Some(Waits::Operator);
        }
        for seen in told.iter().filter(|seen| !seen.open) {
            let Some(Live { event_id, mut folded, .. }) = self.live.remove(&seen.number) else { continue };
            folded.extend(own(&event_id));
            // What an operator has to settle takes nothing in: it is on disk as it was when it was laid aside.
            if let Some(into) = self.live.get_mut(&seen.by).filter(|into| !into.laid_aside) {
                into.folded.extend(folded);
            }
        }
    }

    /// The rows of what is live say it.
    pub(crate) fn assert_written(&self, book: &Book) {
        for (number, row) in book.table(Table::Work) {
            let row = WorkRow::decode(number, row).unwrap();
            let Live { event_id, folded, .. } = &self.live[&number];
            assert_same(event_id, folded, row.thread.as_deref());
        }
    }

    /// What is handed over says it: as it was before this step, or after it, or on the way.
    pub(crate) fn assert_handed(&self, event_id: &str, thread: Option<&Thread>) {
        let named = |(number, live): (&u64, &Live)| {
            (*live.event_id == *event_id && !live.laid_aside).then(|| (*number, live.folded.clone()))
        };
        let known = |all: &HashMap<u64, Live>| {
            all.iter().filter_map(named).max_by_key(|(number, _)| *number).unwrap_or_default()
        };
        let ((before, was), (after, mut is)) = (known(&self.before), known(&self.live));
        let count = thread.map_or(0, |thread| thread.folded().len());
        match before == after {
            true if count + 1 < MAX_MARKS => is.truncate(count.max(was.len())),
            false if after == 0 => is = was,
            _ => {}
        }
        assert_same(event_id, &is, thread);
    }
}

fn assert_same(event_id: &str, folded: &[Mark], thread: Option<&Thread>) {
    let kept = &folded[(folded.len() + 1).saturating_sub(MAX_MARKS)..];
    let told: Vec<Mark> = thread.into_iter().flat_map(Thread::folded).collect();
    assert_eq!(told, kept, "what {event_id} stands for");
    let wanted = own(event_id).map(|mark| (mark, event_id.as_bytes()));
    assert_eq!(thread.and_then(Thread::own), wanted, "{event_id} itself");
    assert!(thread.is_none_or(|thread| thread.own().is_some() || thread.folded().len() > 0), "of nothing");
}
