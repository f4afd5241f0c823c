//! What must be true of all that left the sidecar, and of what is on disk.

mod renders;
mod seen;
mod steps;
mod wires;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use bytes::Bytes;
use mcpl_policy::Settings;
use mcpl_policy::engine::{Answer, Fate, Seq, StoreState};
use mcpl_policy::journal::{MetaRow, Table};

pub(super) use self::renders::Timing;
use self::renders::{Batch, Undo};
pub(super) use self::seen::Seen;
pub(super) use self::steps::Ends;
pub(super) use self::wires::Seat;
use crate::book::Book;
use crate::draft::Draft;

/// How far the answer of a host to a forward got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// There is none.
    None,
    /// The engine has it, and nothing of that can get to disk.
    Waits,
    /// It is dealt with by this step.
    Dealt(Seq),
    /// The same, and its session is over: if that step is lost, so is the answer.
    Last(Seq),
}

/// One occurrence that was admitted, by its number.
#[derive(Clone, Debug)]
struct Occurrence {
    id: String,
    draft: Draft,
    admitted_ms: u64,
    /// What a retry is answered.
    answer: Answer,
    /// That left the sidecar.
    told: bool,
    /// The bytes of its first forward that left.
    sent: Option<Bytes>,
    /// When its last forward left.
    left_ms: Option<u64>,
    /// A forward left, and no durable step knows what became of it.
    unsure: bool,
    /// The session in which that was; no other may leave in it.
    asked: Option<u64>,
    reply: Reply,
    /// Since when: from then on the host remembers it, if it took it.
    since_ms: u64,
    /// The same of one before that.
    doubt: bool,
    /// An operator had it sent anew: it may come after what came after it.
    renewed: bool,
    /// How often a host took it for new.
    had: u32,
    /// It was sent again where that may double it, as somebody wanted.
    loose: bool,
    /// It ended so, on disk.
    ended: Option<Fate>,
    batch: Batch,
}

/// What was seen of an `eventId`, whatever became of it.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    accepted: bool,
    duplicate: bool,
    refused: bool,
    submitted: bool,
    dropped: bool,
}

/// What a step says, which counts once it is on disk.
#[derive(Clone, Debug)]
enum Note {
    Closed(u64, Fate),
    Again(u64),
}

/// A request of the producer's that is not answered.
#[derive(Clone, Debug)]
struct Asked {
    id: String,
    conflict: bool,
}

#[derive(Debug)]
pub(super) struct Oracle {
    settings: Settings,
    drafts: HashMap<String, Draft>,
    tickets: HashMap<u64, Asked>,
    all: BTreeMap<u64, Occurrence>,
    newest: HashMap<String, Vec<u64>>,
    evidence: HashMap<String, Evidence>,
    /// Fate and revision, as the newest step has it.
    standing: BTreeMap<u64, (Fate, u32)>,
    notes: VecDeque<(Seq, Note)>,
    /// What batches were, before steps that are not on disk.
    undo: Vec<Undo>,
    /// The newest step that is.
    durable: Seq,
    /// Notices that were in a request which left.
    given: BTreeSet<u64>,
    /// The batch that each notice was told with.
    told: HashMap<u64, u64>,
    seen: Seen,
}

/// What the producer makes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Accepted,
    Later,
    Never,
}

/// Where the clocks and the disk stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now_ms: u64,
    pub(super) wall_ms: i64,
    pub(super) store: StoreState,
}

fn next_of(book: &Book) -> u64 {
    book.row(Table::Meta, 0).map_or(1, |row| MetaRow::decode(row).unwrap().next)
}

impl Oracle {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            drafts: HashMap::new(),
            tickets: HashMap::new(),
            all: BTreeMap::new(),
            newest: HashMap::new(),
            evidence: HashMap::new(),
            standing: BTreeMap::new(),
            notes: VecDeque::new(),
            undo: Vec::new(),
            durable: 0,
            given: BTreeSet::new(),
            told: HashMap::new(),
            seen: Seen::default(),
        }
    }

    pub(super) fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }

    pub(super) fn reload(&mut self, settings: &Settings) {
        self.settings = settings.clone();
        self.renders_unsure();
    }

    /// The producer asks.
    pub(super) fn asked(&mut self, ticket: u64, draft: &Draft) {
        let first = self.drafts.entry(draft.id.clone()).or_insert_with(|| draft.clone());
        let asked = Asked { id: draft.id.clone(), conflict: first != draft };
        assert!(self.tickets.insert(ticket, asked).is_none());
    }

    /// Whether occurrence `number` is of this event.
    pub(super) fn is(&self, number: u64, id: &str) -> bool {
        self.all.get(&number).is_some_and(|one| one.id == id)
    }

    /// A request passes on, or is answered as never taken; which it was.
    pub(super) fn passed(&mut self, ticket: u64) -> String {
        self.tickets.remove(&ticket).expect("answered once, to one who asked").id
    }

    fn remembers(&self, one: &Occurrence, now_ms: u64) -> bool {
        one.admitted_ms + self.settings.coalesce.retry_window_ms >= now_ms
    }

    /// An answer left the sidecar.
    pub(super) fn answered(
        &mut self,
        ticket: u64,
        answer: &Answer,
        book: &Book,
        moment: Moment,
    ) -> (String, Told) {
        let Asked { id, conflict } = self.tickets.remove(&ticket).expect("answered once, to one who asked");
        let told = match answer {
            Answer::Accepted { .. } | Answer::Stored | Answer::Host { outcome: Some(_), .. } => {
                assert!(!conflict, "{id} is another one");
                self.accepted(&id, answer, book);
                Told::Accepted
            }
            Answer::Host { outcome: None, .. } => Told::Never,
            Answer::Unanswered => Told::Later,
            Answer::Again(_) => unreachable!("it was read"),
            Answer::Refused(ours) => {
                let refusal = ours.refusal();
                if format!("{ours:?}").contains("Disk") {
                    assert_ne!(moment.store, StoreState::Good, "{id}: the disk takes everything");
                    self.seen.disk += 1;
                }
                if refusal.retryable == Some(true) { Told::Later } else { Told::Never }
            }
        };
        (id, told)
    }

    /// What was answered as accepted is on disk, and is answered the same each time.
    fn accepted(&mut self, id: &str, answer: &Answer, book: &Book) {
        let numbers = self.newest.get(id).map_or(&[][..], Vec::as_slice);
        assert!(!numbers.is_empty(), "{id}: accepted, and nowhere written down");
        let durable: Vec<u64> = numbers.iter().copied().filter(|&number| number < next_of(book)).collect();
        assert!(!durable.is_empty(), "{id}: accepted before it was on disk");
        // It may have been admitted again, past the window, while this answer was on its way.
        let number = durable.into_iter().rev().find(|number| self.all[number].answer == *answer);
        let number =
            number.unwrap_or_else(|| panic!("{id}: a retry gets the original result, not {answer:?}"));
        let one = self.all.get_mut(&number).unwrap();
        assert!(
            one.ended.is_some() || book.row(Table::Work, number).is_some(),
            "{id}: accepted, and its work is not on disk"
        );
        if std::mem::replace(&mut one.told, true) {
            self.seen.retried += 1;
        }
    }

    /// What is not on disk never was: the sidecar was killed, or a commit failed.
    pub(super) fn rolled_back(&mut self, book: &Book, killed: bool) {
        let next = next_of(book);
        let lost = self.all.split_off(&next);
        let subjects: Vec<_> = lost.values().map(|one| (one.draft.subject(), one.draft.deferred)).collect();
        self.renders_rolled_back(&subjects, killed);
        for (number, one) in lost {
            assert!(!one.told, "{}: was answered as accepted, and is gone", one.id);
            assert!(one.sent.is_none(), "{}: was handed over, and is gone", one.id);
            self.newest.get_mut(&one.id).unwrap().retain(|&other| other != number);
        }
        self.notes.clear();
        self.standing = self
            .all
            .keys()
            .filter_map(|&number| {
                let work = book.work(number).map(|row| (row.fate, row.revision));
                let standing = work.or_else(|| book.receipt(number).map(|row| (row.fate, row.revision)));
                standing.map(|standing| (number, standing))
            })
            .collect();
        for one in self.all.values_mut() {
            if killed {
                (one.reply, one.asked) = (Reply::None, None);
            }
            one.reply = match one.reply {
                Reply::None | Reply::Last(_) => Reply::None,
                Reply::Waits | Reply::Dealt(_) => Reply::Waits,
            };
        }
        self.audit(book);
    }

    /// The engine is as the disk says, and has dealt anew with the answers it had.
    pub(super) fn restored(&mut self, seq: Seq) {
        for one in self.all.values_mut().filter(|one| one.reply == Reply::Waits) {
            one.reply = Reply::Dealt(seq);
        }
        self.renders_restored(seq);
    }

    /// The session is over: answers that could not be dealt with are not known any more.
    pub(super) fn session_over(&mut self) {
        self.renders_unsure();
        for one in self.all.values_mut() {
            one.asked = None;
            one.reply = match one.reply {
                Reply::None | Reply::Waits => Reply::None,
                Reply::Dealt(seq) | Reply::Last(seq) => Reply::Last(seq),
            };
        }
    }

    /// Everything accepted ended in one way, or is on disk; and what ended is not.
    pub(super) fn audit(&self, book: &Book) {
        for (&number, one) in &self.all {
            let (work, text) = (book.row(Table::Work, number), book.row(Table::Content, number));
            if one.ended.is_some() {
                assert!(work.is_none() && text.is_none(), "{}: ended, and still on disk", one.id);
            } else {
                assert!(work.is_some(), "{}: neither on disk nor ended", one.id);
            }
        }
        let known: BTreeSet<u64> = self.all.keys().copied().collect();
        for table in [Table::Work, Table::Content, Table::Receipt] {
            for (number, _) in book.table(table) {
                assert!(known.contains(&number), "row {number} of {table:?} is of nothing");
            }
        }
    }

    /// Whether an occurrence of this event is live, and may be forgotten by now.
    pub(super) fn is_past(&self, id: &str, now_ms: u64) -> bool {
        let numbers = self.newest.get(id).map_or(&[][..], Vec::as_slice);
        let mut all = numbers.iter().map(|number| &self.all[number]);
        all.any(|one| one.ended.is_none() && !self.remembers(one, now_ms))
    }

    /// A recovered engine still knows what it promised to know.
    pub(super) fn known(&self, now_ms: u64) -> Vec<(String, u64)> {
        let known = self.newest.iter().filter_map(|(id, numbers)| Some((id.clone(), *numbers.last()?)));
        known.filter(|(_, number)| self.remembers(&self.all[number], now_ms)).collect()
    }

    /// Nothing is left but what an operator can see.
    pub(super) fn at_rest(&mut self, book: &Book) {
        self.audit(book);
        for (number, one) in &self.all {
            if one.ended.is_none() {
                let fate = book.work(*number).expect("audited").fate;
                let waits = fate.is_in_doubt() || matches!(fate, Fate::Dead(_));
                assert!(waits, "{}: is left as {fate:?}", one.id);
                self.seen.left += 1;
            }
        }
    }
}
