//! An occurrence as the stream shows it: the members of an account, without key and content.

use mcpl_policy::engine::Waits;
use mcpl_policy::fate::Fate;
use serde::Serialize;

use super::Observation;
use crate::journal::account::{Account, By, Coalesce, Decision, Refusal, Scope, rfc3339};

/// `data` of an observation, and one of a snapshot's `occurrences`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    id: String,
    producer: String,
    event_id: String,
    state: &'static str,
    delivery: &'static str,
    decision: Decision,
    outcome: &'static str,
    revision: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<&'static str>,
    /// It is in the journal as a whole.
    open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    admitted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_by: Option<By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawn_by: Option<By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Refusal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coalesce: Option<Coalesce>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notices: Option<u64>,
}

impl Entry {
    pub(super) fn of(observation: &Observation) -> Self {
        let (seen, producer) = (&observation.seen, &observation.producer);
        let facts = seen.fate.facts();
        let decision = facts.decision();
        let by = (seen.by > 0).then(|| By { id: format!("{producer}/{}", seen.by), event_id: None });
        let is_withdrawn = seen.fate == Fate::Withdrawn;
        let ahead = !seen.fate.is_end() && seen.not_before_ms > observation.mono_ms();
        Self {
            id: format!("{producer}/{}", seen.number),
            producer: producer.as_ref().to_owned(),
            event_id: seen.event_id.as_ref().to_owned(),
            state: seen.fate.state(),
            delivery: facts.delivery().as_str(),
            decision: Decision { state: decision.state().as_str(), reason: decision.reason() },
            outcome: facts.outcome().as_str(),
            revision: seen.revision,
            lane: Some(seen.lane.method()),
            open: seen.open,
            scope: seen.scope.clone().map(Scope::from),
            subject: seen.subject,
            waits: seen.waits.map(Waits::as_str),
            admitted: rfc3339(observation.wall_ms(seen.admitted_ms)),
            attempts: Some(seen.attempts).filter(|attempts| *attempts > 0),
            not_before: ahead.then(|| rfc3339(observation.wall_ms(seen.not_before_ms))).flatten(),
            expires_at: seen.expires_ms.and_then(rfc3339),
            replaced_by: by.clone().filter(|_| !is_withdrawn),
            withdrawn_by: by.filter(|_| is_withdrawn),
            refusal: match &seen.fate {
                Fate::Dead(refusal) => Some(Refusal::of(refusal)),
                _ => None,
            },
            coalesce: seen.outcome.map(|outcome| Coalesce {
                outcome: outcome.as_str(),
                prior_event_id: seen.prior.as_deref().map(ToOwned::to_owned),
            }),
            notices: Some(seen.notices).filter(|notices| *notices > 0),
        }
    }

    /// What is open, as its rows say.
    pub(super) fn of_account(account: Account) -> Self {
        Self {
            id: account.id,
            producer: account.producer,
            event_id: account.event_id,
            state: account.state,
            delivery: account.delivery,
            decision: account.decision,
            outcome: account.outcome,
            revision: account.revision,
            lane: account.lane,
            open: account.open,
            scope: account.scope,
            subject: account.subject,
            waits: account.waits,
            admitted: account.admitted,
            attempts: account.attempts,
            not_before: account.not_before,
            expires_at: account.expires_at,
            replaced_by: account.replaced_by,
            withdrawn_by: account.withdrawn_by,
            refusal: account.refusal,
            coalesce: account.coalesce,
            notices: account.batch.map(|batch| batch.notices),
        }
    }
}
