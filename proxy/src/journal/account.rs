//! One occurrence as people and machines see it, from its rows (contract 9.2, 9.3).

mod batch;
mod books;
mod clock;
mod content;
mod past;
mod told;

use std::borrow::Cow;

use bytes::Bytes;
use mcpl_codec::refusal::Refusal as CodecRefusal;
use mcpl_codec::{Event, Lane, raw};
use mcpl_policy::engine::{Belongs, Outcome, Waits, Word};
use mcpl_policy::fate::Fate;
use mcpl_policy::journal::{BatchRow, ReceiptRow, WorkRow};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::batch::Batch;
pub use self::books::{Books, Kept, Portion, TakeAccount, oldest_held};
pub use self::clock::Clock;
pub(crate) use self::clock::rfc3339;
pub use self::content::{Content, SHOWN_BYTES};
pub use self::past::Past;
pub(crate) use self::past::{says, says_of_withdrawal};
use self::told::Told;

/// The states in which the journal keeps an occurrence whole; the others of [`Fate::STATES`] are known by their
/// receipts.
pub const OPEN_STATES: [&str; 5] =
    ["held", "deferred", "outcome-unknown", "manual-reconciliation", "dead-letter"];

/// Where one occurrence stands.
///
/// As JSON its members are those of the contract, and what is not known of it is left out. The text of the event is
/// in it only if it was asked for ([`Account::show_event`]).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// `<producer>/<number>`, by which it is shown and settled.
    pub id: String,
    /// Whose it is.
    pub producer: String,
    /// The slot of a `wrap` that has it; ids are of one slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<usize>,
    /// What it is known by: its `eventId`, else its `messageId`. Empty if nothing says it any more.
    pub event_id: String,
    /// Its `messageId`, as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Box<RawValue>>,
    /// [`Fate::state`].
    pub state: &'static str,
    /// How far it was delivered.
    pub delivery: &'static str,
    /// What was decided.
    pub decision: Decision,
    /// What was seen of it.
    pub outcome: &'static str,
    /// How often that changed; what an operator names to settle it.
    pub revision: u32,
    /// `push/event` or `channels/incoming`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<&'static str>,
    /// What it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The key of its subject, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The number of its subject among those of its producer, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<u64>,
    /// What it waits for, while it does: [`Waits::as_str`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<&'static str>,
    /// When it was accepted, RFC 3339; time in which the sidecar did not run is not counted, so that it may be shown
    /// later than it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admitted: Option<String>,
    /// How often the host was not ready for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// It is not tried again before this, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// It is not handed over after this, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// What replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<By>,
    /// What withdrew it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawn_by: Option<By>,
    /// Why the host refused it for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// What its sender was told of coalescing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalesce: Option<Coalesce>,
    /// The length of the event as it was sent, where its text is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The event as it was sent: the params of a `push/event`, or the message. Only if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Box<RawValue>>,
    /// It is a batch that is not rendered yet: how many notices it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
    /// What is kept of those notices, oldest first. Only if it was asked for ([`Account::show_notices`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<Vec<Box<RawValue>>>,
    /// How it stands, in a sentence. Only if it was asked for ([`Account::tell`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// What happened to it, oldest first. Only if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Past>>,
    /// What its sender was told of coalescing.
    #[serde(skip)]
    pub(super) told: Option<Outcome>,
    /// The lane it came on, while it is in the journal as a whole.
    #[serde(skip)]
    pub(super) sent_on: Option<Lane>,
    /// What its notices are known by.
    #[serde(skip)]
    pub(super) batch_row: Option<BatchRow>,
    /// Its number.
    #[serde(skip)]
    pub number: u64,
    /// Where it stands.
    #[serde(skip)]
    pub fate: Fate,
    /// It is in the journal as a whole, not by its receipt alone.
    #[serde(skip)]
    pub open: bool,
    /// Handed over in a session that is over, and never answered for.
    #[serde(skip)]
    pub doubtful: bool,
}

/// The decision of a disposition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Its name.
    pub state: &'static str,
    /// Why; `pending` has no reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// What an occurrence belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// A feature set.
    FeatureSet(String),
    /// A channel.
    Channel(String),
}

/// The occurrence that put an end to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct By {
    /// Its id.
    pub id: String,
    /// What it is known by, while that is remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

/// A refusal, in the members that a producer gets (contract 8.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// Its kind.
    pub refusal: String,
    /// Whether to send it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Not before this, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The limit it is over, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
}

/// What a sender was told (contract 6.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coalesce {
    /// What became of it.
    pub outcome: &'static str,
    /// The occurrence it displaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_event_id: Option<String>,
}

/// The rows of one occurrence.
#[derive(Debug, Default)]
pub struct Rows {
    /// Where it stands, while it is open.
    pub work: Option<WorkRow>,
    /// Its text, while that is kept.
    pub text: Option<Bytes>,
    /// What it was answered and how it ended, inside the retry window.
    pub receipt: Option<ReceiptRow>,
    /// What the occurrence that put an end to it is known by.
    pub by: Option<String>,
    /// How many notices are kept of it, where it is a pending batch.
    pub kept: usize,
    /// Everything that came up to this one has a reason to go, as the row about all of them says.
    pub due: u64,
}

impl Account {
    /// The account that these rows give of an occurrence; `None`: they say nothing of it.
    pub fn of(producer: &str, number: u64, rows: Rows, clock: Option<&Clock>) -> Option<Self> {
        let Rows { work, text, receipt, by, kept, due } = rows;
        let told = match (&work, &receipt) {
            (Some(work), _) => Told::by_work(work),
            (None, Some(receipt)) => Told::by_receipt(receipt),
            (None, None) => return None,
        };
        let event = work.as_ref().zip(text.clone()).map(|(work, text)| read(work.lane, text));
        let known = [
            work.as_ref().and_then(|work| work.event_id.as_deref()).map(ToOwned::to_owned),
            receipt.as_ref().map(|receipt| receipt.event_id.to_string()),
            event.as_ref().and_then(identity),
        ];
        let facts = told.fate.facts();
        let decision = facts.decision();
        let live = work.as_ref().filter(|work| !matches!(work.fate, Fate::Dead(_)));
        let by = receipt
            .as_ref()
            .filter(|receipt| work.is_none() && receipt.by > 0)
            .map(|receipt| By { id: format!("{producer}/{}", receipt.by), event_id: by });
        let withdrawn = *told.fate == Fate::Withdrawn;
        let batch_row = work.as_ref().and_then(batch::batch_of);
        Some(Self {
            id: format!("{producer}/{number}"),
            producer: producer.to_owned(),
            slot: None,
            event_id: known.into_iter().flatten().find(|id| !id.is_empty()).unwrap_or_default(),
            message_id: event.as_ref().and_then(|event| event.message_id.as_deref()).and_then(json),
            state: told.fate.state(),
            delivery: facts.delivery().as_str(),
            decision: Decision { state: decision.state().as_str(), reason: decision.reason() },
            outcome: facts.outcome().as_str(),
            revision: told.revision,
            lane: work.as_ref().map(|work| work.lane.method()),
            scope: event.as_ref().and_then(scope),
            key: event.as_ref().and_then(key),
            subject: work.as_ref().and_then(|work| work.subject),
            waits: work
                .as_ref()
                .and_then(|work| Waits::of(&work.fate, work.due || work.arrived <= due))
                .map(Waits::as_str),
            admitted: clock.and_then(|clock| clock.told(told.admitted_ms)),
            attempts: live.map(|work| work.attempts).filter(|attempts| *attempts > 0),
            not_before: live.zip(clock).and_then(|(work, clock)| clock.ahead(work.not_before_ms)),
            expires_at: live.and_then(|work| work.expires_ms).and_then(clock::rfc3339),
            replaced_by: by.clone().filter(|_| !withdrawn),
            withdrawn_by: by.filter(|_| withdrawn),
            refusal: match told.fate {
                Fate::Dead(refusal) => Some(Refusal::of(refusal)),
                _ => None,
            },
            coalesce: told.outcome.map(|outcome| Coalesce {
                outcome: outcome.as_str(),
                prior_event_id: told.prior.map(ToOwned::to_owned),
            }),
            bytes: text.as_ref().map(|text| text.len() as u64),
            event: None,
            batch: batch_row.as_ref().map(|row| Batch::of(row, kept)),
            notices: None,
            says: None,
            history: None,
            told: told.outcome,
            sent_on: work.as_ref().map(|work| work.lane),
            batch_row,
            number,
            fate: told.fate.clone(),
            open: work.is_some(),
            doubtful: work.as_ref().is_some_and(|work| work.doubtful),
        })
    }

    /// Puts the event itself into it.
    pub fn show_event(&mut self, text: &[u8]) {
        let line = batch::line(text);
        self.event = json(&line).or_else(|| {
            // It was read as JSON once; should that be wrong, its text is better than nothing.
            serde_json::value::to_raw_value(&String::from_utf8_lossy(text)).ok()
        });
    }

    /// Takes the value of its key out: a producer may put anything there, and it is told to nobody but the owner of
    /// the journal.
    pub fn hide_key(&mut self) {
        self.key = None;
    }

    /// What an operator may say of it.
    pub fn words(&self) -> &'static [Word] {
        let whole = self.bytes.is_some();
        match self.fate {
            _ if !self.open => &[],
            Fate::Dead(_) if whole => &[Word::Again, Word::Drop],
            Fate::Dead(_) => &[Word::Drop],
            _ if self.fate.is_end() => &[],
            _ if !(self.fate.is_in_doubt() || self.fate.is_submitted()) => &[],
            _ if whole => &[Word::Submitted, Word::NotSubmitted, Word::Again, Word::Drop],
            _ => &[Word::Submitted, Word::Drop],
        }
    }

    /// As a JSON value.
    pub fn json(&self) -> Value {
        // Names of ours as keys: it can always be written.
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Refusal {
    pub(crate) fn of(refusal: &CodecRefusal) -> Self {
        let CodecRefusal { kind, retryable, retry_after_ms, limit_bytes } = refusal;
        Self {
            refusal: kind.as_str().to_owned(),
            retryable: *retryable,
            retry_after_ms: *retry_after_ms,
            limit_bytes: *limit_bytes,
        }
    }
}

fn read(lane: Lane, text: Bytes) -> Event {
    match lane {
        Lane::Push => Event::push(text),
        Lane::Channel => Event::message(text),
    }
}

/// What an event is known by: its `eventId`, else its `messageId` (contract 0).
fn identity(event: &Event) -> Option<String> {
    let named = event.event_id.as_deref().filter(|id| !id.is_empty()).map(ToOwned::to_owned);
    let spelled =
        |id: &[u8]| raw::string(id).map_or_else(|| String::from_utf8_lossy(id).into_owned(), Cow::into_owned);
    named.or_else(|| event.message_id.as_deref().map(spelled))
}

fn scope(event: &Event) -> Option<Scope> {
    Belongs::of(event).map(Scope::from)
}

impl From<Belongs> for Scope {
    fn from(belongs: Belongs) -> Self {
        match belongs {
            Belongs::FeatureSet(name) => Self::FeatureSet(name.into()),
            Belongs::Channel(id) => Self::Channel(id.into()),
        }
    }
}

fn key(event: &Event) -> Option<String> {
    match &event.coalesce {
        Some(Ok(coalesce)) => Some(coalesce.key.to_string()),
        _ => None,
    }
}

/// JSON text as it is.
fn json(text: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8(text.to_vec()).ok()?).ok()
}

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
