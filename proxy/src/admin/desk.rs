//! What the routes ask for, and what they may be told.

use std::future::Future;

use serde::Serialize;
use serde_json::Value;

pub use mcpl_policy::engine::Word;

use crate::config::Shown;
use crate::exchange::Outcomes;
use crate::journal::account::Content;
use crate::stream::Hub;

/// Where the admin routes get what they tell, and where they leave what they are asked to do.
///
/// Nothing here needs a time limit of its own: a caller waits [`super::ANSWER_WITHIN`] and then drops the
/// future. What was asked for may be done all the same.
pub trait Desk: 'static {
    /// Why the program is not ready; empty: it is (contract 10.3).
    fn unready(&self) -> impl Future<Output = Vec<String>>;
    /// Every metric in Prometheus' text (contract 10.2); `None`: none are kept.
    fn metrics(&self) -> impl Future<Output = Option<String>> {
        std::future::ready(None)
    }
    /// Every producer that is served, in the order of their names.
    fn producers(&self) -> impl Future<Output = Vec<ProducerView>>;
    /// How often the configuration, and what it names, was taken over.
    fn reloads(&self) -> ReloadsView;
    /// The account of the occurrence with this `eventId`, of this producer or of the only one that has it.
    fn occurrence(
        &self,
        event_id: String,
        producer: Option<String>,
    ) -> impl Future<Output = Result<AccountView, Trouble>>;
    /// The accounts of what is held, deferred, in doubt or dead.
    fn work(&self, portion: Portion) -> impl Future<Output = Result<Listed, Trouble>>;
    /// The event stream, where there is one.
    fn stream(&self) -> Option<Hub> {
        None
    }
    /// It is noted what happens from now on, wherever it does.
    fn watch(&self) -> impl Future<Output = Result<(), Trouble>> {
        async { Ok(()) }
    }
    /// Releases what a producer's binding holds (contract 7.1).
    fn flush(&self, producer: String) -> impl Future<Output = Result<(), Trouble>>;
    /// Takes an operator's word; the account after it. The change is on disk when this is told.
    fn resolve(&self, settlement: Settlement) -> impl Future<Output = Result<Value, Trouble>>;
}

/// One occurrence as `GET /v1/occurrences/{eventId}` shows it.
#[derive(Clone, Debug, Serialize)]
pub struct AccountView {
    /// The account; without the value of a key.
    #[serde(flatten)]
    pub account: Value,
    /// What was sent; `None`: it is not to be shown.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

impl From<Value> for AccountView {
    fn from(account: Value) -> Self {
        Self { account, content: None }
    }
}

/// Which accounts of work are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// Of this producer only.
    pub producer: Option<String>,
    /// Only what follows this one: producer and number.
    pub after: Option<(String, u64)>,
    /// So many at most; at least 1, at most [`super::LISTED`].
    pub limit: usize,
}

/// Accounts of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The accounts, [`Portion::limit`] of them at most.
    pub accounts: Vec<Value>,
    /// There is more after this one.
    pub more: Option<(String, u64)>,
}

/// An operator's word about one occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Whose it is.
    pub producer: String,
    /// Its number.
    pub number: u64,
    /// What is said of it.
    pub word: Word,
    /// The revision it was seen at; `None`: whichever it is.
    pub expect: Option<u32>,
}

/// One producer as `GET /v1/producers` shows it. Of a binding that did not answer in time only the name is
/// known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProducerView {
    /// The binding's name.
    pub name: String,
    /// What the configuration says of it.
    #[serde(flatten)]
    pub place: PlaceView,
    /// What the binding said.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub said: Option<BindingView>,
}

/// Where a producer and its host are, and by which certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceView {
    /// Where its hosts reach us, as configured; values of the query are `***`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Where it is dialled, in three forms; `None`: it is spawned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Shown>,
    /// The certificate its hosts are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_tls: Option<TlsView>,
    /// The certificate it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_tls: Option<TlsView>,
}

/// How a certificate of ours stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TlsView {
    /// When it expires (RFC 3339); `None`: we show none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_not_after: Option<String>,
    /// Why what is on disk now does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// How often the configuration, and what it names, was taken over since the program started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReloadsView {
    /// So often.
    pub applied: u64,
    /// So often it was not, and what there was stayed.
    pub rejected: u64,
    /// The newest; `None`: there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastReload>,
}

/// One time that it was taken over, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastReload {
    /// When (RFC 3339).
    pub at: String,
    /// `applied` or `rejected`.
    pub result: &'static str,
    /// What was taken over, or why it was not.
    pub why: String,
}

/// A binding as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingView {
    /// A host and the producer are connected.
    pub session: bool,
    /// The host, as it names itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The names of its certificate, where it showed one that was verified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peer_names: Vec<String>,
    /// Occurrences held.
    pub held: u64,
    /// Their bytes, as sent.
    pub held_bytes: u64,
    /// Subjects tracked.
    pub subjects: u64,
    /// Forwards that the host has not answered.
    pub out: u64,
    /// Occurrences in doubt.
    pub in_doubt: u64,
    /// Dead letters.
    pub dead: u64,
    /// The journal: `good`, `short` or `gone`.
    pub store: &'static str,
    /// What its sessions did since the program started.
    pub counts: CountsView,
    /// What it would have done, in observe mode (contract 13.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedView>,
}

/// What the sessions of a binding did since the program started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CountsView {
    /// Messages that went through in their own bytes.
    pub passed: u64,
    /// Occurrences that were accepted, coalesced or stored.
    pub accepted: u64,
    /// Those that the host took.
    pub delivered: u64,
    /// Those that a newer one or a withdrawal kept from it.
    pub folded: u64,
    /// Events refused, by the sidecar or by the host.
    pub refused: u64,
    /// Of those, the ones over a rate.
    pub limited: u64,
    /// Forwards tried again.
    pub retried: u64,
    /// Accepted work that the host refused for good.
    pub dead: u64,
    /// Accepted work that expired.
    pub expired: u64,
}

/// What a binding in observe mode would have done since the program started, and would hold now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedView {
    /// Occurrences that would have been accepted, by what coalescing would have made of them.
    pub outcomes: Outcomes,
    /// Uncoalesced events that would have been stored.
    pub stored: u64,
    /// Occurrences that came again and would have been answered as before.
    pub again: u64,
    /// Occurrences that the host would have been given.
    pub delivered: u64,
    /// Those that a newer one or a withdrawal would have kept from it.
    pub folded: u64,
    /// Events that would have been refused, and refusals that would have been rewritten.
    pub refused: u64,
    /// Of those, the ones over a rate.
    pub limited: u64,
    /// How often the pace towards the host would have made work wait.
    pub paced: u64,
    /// Occurrences that would have expired.
    pub expired: u64,
    /// Occurrences that would be held now.
    pub held: u64,
    /// Their bytes, as sent.
    pub held_bytes: u64,
    /// Subjects that would be tracked.
    pub subjects: u64,
}

/// Why something was not told or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No producer of that name is served: 404.
    NoProducer,
    /// No such occurrence is known: 404.
    NoOccurrence,
    /// Several producers have an occurrence of that `eventId`: 409.
    Several(Vec<String>),
    /// There is nothing to say of an occurrence that stands like this: 409. The state, as `journal list`
    /// names it.
    NotOpen(&'static str),
    /// Its text is not kept any more, so that it can only be dropped: 409.
    NoText,
    /// It changed since it was looked at; this is its revision: 412.
    Revision(u32),
    /// The binding is ending, or too busy to be asked: 503.
    Busy,
    /// The journal cannot be read: 503. Why, in words.
    Journal(String),
}
