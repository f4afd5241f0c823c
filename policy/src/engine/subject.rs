//! What occurrences are about, and what is known to have been read of it (contract 0, 6).

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use foldhash::quality::FixedState;
use lru::LruCache;
use mcpl_codec::{DigestKey, Event, Lane, Scope, digest};
use slotmap::{SlotMap, new_key_type};

use super::work::{Role, Work, WorkKey};
use crate::journal::{HistoryRow, SubjectRow};

new_key_type! {
    /// Names a tracked subject.
    pub(super) struct SubjectKey;
}

/// Whether any version of a subject was ever released (contract 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum History {
    None,
    Some,
    Unknown,
}

/// One subject: what was read, what is on its way, what is unread.
#[derive(Debug)]
pub(super) struct Subject {
    /// Its number in the journal.
    pub(super) number: u64,
    name: Arc<str>,
    pub(super) history: History,
    /// The forward that holds the next version back (contract 7.4).
    pub(super) blocking: Option<u64>,
    /// Forwards the host has not answered; while there are any the subject counts as read.
    pub(super) out: u32,
    /// The unread occurrence that a newer one replaces, or that a notice joins.
    pub(super) occupant: Option<WorkKey>,
    /// What is unread of batches that are rendered or being rendered: before the occupant, and displaced by all
    /// but notices (contract 6.5). Mostly none; one more only for each 25 s that a forward is out unanswered.
    pub(super) rendered: Vec<WorkKey>,
    /// What is unread and nothing replaces: told in the order of its arrival, before what came after it. Mostly none.
    pub(super) fixed: Vec<WorkKey>,
    /// How much is unread or in doubt, the occupant included.
    pub(super) works: u32,
    /// What has a reason to go and waits for the answer to `blocking`.
    pub(super) behind: BTreeMap<u64, WorkKey>,
    /// It is among what this input changed.
    pub(super) touched: bool,
}

impl Subject {
    /// History as it counts now (contract 7.4: while a forward is unanswered the subject counts as read).
    pub(super) fn reading(&self) -> History {
        if self.out > 0 { History::Some } else { self.history }
    }

    /// `key` is unread.
    pub(super) fn seat(&mut self, key: WorkKey, work: &Work) {
        match work.role {
            Role::Stored => {}
            _ if work.doubtful => self.fixed.push(key),
            Role::Plain | Role::Pending(_) => self.occupant = Some(key),
            Role::Rendered => self.rendered.push(key),
            Role::Fixed => self.fixed.push(key),
        }
    }

    /// `key` is that no more.
    pub(super) fn unseat(&mut self, key: WorkKey) {
        if self.occupant == Some(key) {
            self.occupant = None;
        }
        self.rendered.retain(|&other| other != key);
        self.fixed.retain(|&other| other != key);
    }

    /// It lives in a scope of the operator's (contract 13.1).
    pub(super) fn is_named(&self) -> bool {
        self.name.starts_with('n')
    }

    fn is_idle(&self) -> bool {
        self.out == 0 && self.works == 0
    }

    /// Its row, changed last at `used`, in ms of running time.
    pub(super) fn row(&self, used: u64) -> SubjectRow {
        let history = super::record::history(self.history, self.out > 0);
        SubjectRow { name: (*self.name).into(), history, used }
    }
}

/// The subjects tracked, at most `max_subjects`; those with nothing unread make room, the least recently
/// used first (contract 6.7).
#[derive(Debug)]
pub(super) struct Subjects {
    by_name: HashMap<Arc<str>, SubjectKey, FixedState>,
    table: SlotMap<SubjectKey, Subject>,
    idle: LruCache<SubjectKey, (), FixedState>,
    scratch: String,
    key: DigestKey,
    /// The number the next one gets.
    next: u64,
    /// Numbers of those that are tracked no more, since that was last asked.
    dropped: Vec<u64>,
    /// The newest use that rows told of: steps are counted anew by each engine, uses are not.
    used: u64,
}

/// The longest scope id that a subject's name holds, in bytes; a longer one is known by its fingerprint.
const MAX_SPELLED_BYTES: usize = 512;

impl Subjects {
    pub(super) fn new(seed: u64, key: DigestKey) -> Self {
        Self {
            key,
            by_name: HashMap::with_hasher(FixedState::with_seed(seed)),
            table: SlotMap::with_key(),
            idle: LruCache::unbounded_with_hasher(FixedState::with_seed(seed ^ 1)),
            scratch: String::new(),
            next: 1,
            dropped: Vec::new(),
            used: 0,
        }
    }

    /// What a row says of the use by step `seq`: more than of any use before this engine.
    pub(super) fn used(&self, seq: u64) -> u64 {
        self.used + seq
    }

    /// Some are tracked no more, and that was not asked for yet.
    pub(super) fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// The number that the next one gets.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Numbers below `next` are not given any more.
    pub(super) fn skip_to(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// The subject of this number, if it is tracked still. Looks through all of them.
    pub(super) fn numbered(&self, number: u64) -> Option<SubjectKey> {
        self.table.iter().find(|(_, subject)| subject.number == number).map(|(key, _)| key)
    }

    /// Numbers of those that are tracked no more, once.
    pub(super) fn dropped(&mut self) -> impl Iterator<Item = u64> {
        std::mem::take(&mut self.dropped).into_iter()
    }

    /// Takes back a subject from its row. The least recently used must come first; `settle` says whether it is
    /// idle, once its work is there.
    pub(super) fn restore(&mut self, number: u64, row: &SubjectRow) -> SubjectKey {
        let history = match row.history {
            HistoryRow::None => History::None,
            HistoryRow::Some => History::Some,
            HistoryRow::Unknown => History::Unknown,
        };
        self.next = self.next.max(number + 1);
        self.used = self.used.max(row.used);
        self.add(number, Arc::from(&*row.name), history)
    }

    fn add(&mut self, number: u64, name: Arc<str>, history: History) -> SubjectKey {
        let key = self.table.insert(Subject {
            number,
            name: Arc::clone(&name),
            history,
            blocking: None,
            out: 0,
            occupant: None,
            rendered: Vec::new(),
            fixed: Vec::new(),
            works: 0,
            behind: BTreeMap::new(),
            touched: false,
        });
        self.by_name.insert(name, key);
        key
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// How many of them may not make room for others: something of theirs is held, or out.
    pub(super) fn busy(&self) -> usize {
        self.table.len() - self.idle.len()
    }

    /// All that are tracked.
    pub(super) fn all(&self) -> impl Iterator<Item = &Subject> {
        self.table.values()
    }

    /// Whether one more subject can be tracked within `most`.
    pub(super) fn has_room(&self, most: usize) -> bool {
        self.table.len() < most || !self.idle.is_empty()
    }

    /// The subject `event` is about, if it is tracked; it counts as used.
    pub(super) fn find(&mut self, event: &Event) -> Option<SubjectKey> {
        self.spell(event);
        let key = *self.by_name.get(self.scratch.as_str())?;
        self.idle.promote(&key);
        Some(key)
    }

    /// Starts tracking the subject `event` is about; `None` where every slot holds unread work.
    ///
    /// Idle until work is added; `settle` says so.
    pub(super) fn track(&mut self, event: &Event, history: History, most: usize) -> Option<SubjectKey> {
        while self.table.len() >= most {
            let (oldest, ()) = self.idle.pop_lru()?;
            self.drop_entry(oldest);
        }
        self.spell(event);
        let name: Arc<str> = Arc::from(self.scratch.as_str());
        let number = self.next;
        self.next += 1;
        Some(self.add(number, name, history))
    }

    pub(super) fn get(&self, key: SubjectKey) -> Option<&Subject> {
        self.table.get(key)
    }

    pub(super) fn get_mut(&mut self, key: SubjectKey) -> Option<&mut Subject> {
        self.table.get_mut(key)
    }

    /// After a change: notes whether the subject may make room for others.
    pub(super) fn settle(&mut self, key: SubjectKey) {
        match self.table.get(key) {
            Some(subject) if subject.is_idle() => {
                self.idle.put(key, ());
            }
            _ => {
                self.idle.pop(&key);
            }
        }
    }

    /// Forgets a subject that a refused occurrence began; if more was said of it since, only what that one
    /// said of its history.
    pub(super) fn unlearn(&mut self, key: SubjectKey) {
        let Some(subject) = self.table.get_mut(key) else { return };
        if subject.history == History::None {
            subject.history = History::Unknown;
        }
        if subject.is_idle() && subject.history == History::Unknown {
            self.idle.pop(&key);
            self.drop_entry(key);
        }
    }

    fn drop_entry(&mut self, key: SubjectKey) {
        if let Some(subject) = self.table.remove(key) {
            self.by_name.remove(&subject.name);
            self.dropped.push(subject.number);
        }
    }

    /// The tuple (scope kind, scope id, key) as one text: no scope id holds a NUL that could shift it,
    /// for the length of the scope id comes first (its last digit first).
    fn spell(&mut self, event: &Event) {
        let coalesce = event.coalesce.as_ref().and_then(|coalesce| coalesce.as_ref().ok());
        let channel = coalesce.and_then(|coalesce| coalesce.channel.as_deref());
        let ruled = coalesce.and_then(|coalesce| coalesce.ruled.as_ref()).map(|ruled| &ruled.scope);
        let (kind, scope) = match (event.lane, channel) {
            _ if let Some(Scope::Named(name)) = ruled => ('n', &**name),
            (Lane::Channel, _) => ('c', event.channel.as_deref().unwrap_or_default()),
            (Lane::Push, Some(channel)) => ('c', channel),
            (Lane::Push, None) if let Some(Scope::Channel(channel)) = ruled => ('c', &**channel),
            (Lane::Push, None) => ('f', event.feature_set.as_deref().unwrap_or_default()),
        };
        self.scratch.clear();
        self.scratch.push(kind);
        let mut length = scope.len();
        while length > 0 {
            self.scratch.push(char::from(b'0' + (length % 10) as u8));
            length /= 10;
        }
        self.scratch.push(':');
        if scope.len() > MAX_SPELLED_BYTES {
            // Writing to a String cannot fail.
            let _ = write!(self.scratch, "{:032x}", digest::fingerprint(&self.key, scope));
        } else {
            self.scratch.push_str(scope);
        }
        self.scratch.push_str(coalesce.map_or("", |coalesce| &coalesce.key));
    }
}
