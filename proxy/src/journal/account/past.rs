//! What happened to an occurrence, in the order in which it did (contract 9.2).

use mcpl_policy::engine::{Outcome, Waits};
use mcpl_policy::fate::Fate;
use serde::Serialize;

use super::{Account, By};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Past {
    /// When, RFC 3339; where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The revision that it made, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// What, in a sentence for people.
    pub says: String,
}

/// How it stands, in a sentence for people; `by`: what put an end to it.
pub(crate) fn says(fate: &Fate, waits: Option<&str>, by: Option<&By>) -> String {
    let by = by.map(|By { id, event_id }| match event_id {
        Some(event_id) => format!("{event_id} ({id})"),
        None => id.clone(),
    });
    match (fate, by) {
        (Fate::Replaced, Some(by)) => format!("displaced: {by} took its place"),
        (Fate::Withdrawn, Some(by)) => format!("displaced: {by} withdrew it"),
        (Fate::Held, _) => {
            let waits = Waits::ALL.iter().find(|known| Some(known.as_str()) == waits);
            waits.map_or_else(|| fate.told(), |waits| format!("held: {}", waits.told()))
        }
        _ => fate.told(),
    }
}

/// How an occurrence stands that withdrew another, or found nothing to withdraw; `None`: it is no such withdrawal.
pub(crate) fn says_of_withdrawal(fate: &Fate, outcome: Option<Outcome>, by: bool) -> Option<String> {
    let is_one = *fate == Fate::Withdrawn && !by;
    let says = match outcome {
        Some(Outcome::Retracted) => "a withdrawal: it did its work, and the host is given nothing",
        Some(Outcome::Consumed) => "a withdrawal with nothing to take back: the host is given nothing",
        _ => return None,
    };
    is_one.then(|| says.to_owned())
}

/// What became of an occurrence when it was accepted, in a sentence for people; `prior`: what it displaced.
fn says_of_outcome(outcome: Option<Outcome>, prior: Option<&str>) -> String {
    let prior = prior.unwrap_or("what was unread");
    match outcome {
        None => "accepted".to_owned(),
        Some(Outcome::First) => "accepted, the first of its subject".to_owned(),
        Some(Outcome::Replaced) => format!("accepted, and took the place of {prior}"),
        Some(Outcome::Appended) => "accepted, behind what the host has or may have of its subject".to_owned(),
        Some(Outcome::Retracted) => format!("accepted: it withdrew {prior}, which no host had read"),
        Some(Outcome::Noted) => {
            "accepted: it withdraws what the host has or may have, which is told so".to_owned()
        }
        Some(Outcome::Consumed) => "accepted: a withdrawal, and there was nothing to take back".to_owned(),
    }
}

impl Account {
    /// Puts into it what it says in words, and what its rows tell of its history.
    pub fn tell(&mut self) {
        let by = self.replaced_by.as_ref().or(self.withdrawn_by.as_ref());
        let says = says_of_withdrawal(&self.fate, self.told, by.is_some())
            .unwrap_or_else(|| says(&self.fate, self.waits, by));
        // A dead letter stays until somebody lets it go; its state is what the host made of it.
        let is_dropped = matches!(self.fate, Fate::Dead(_)) && !self.open;
        let says = if is_dropped { format!("{says}; then dropped by an operator") } else { says };
        let mut history = vec![self.accepted()];
        if self.revision > 1 || self.fate != Fate::Held {
            let tries = match self.attempts {
                None => String::new(),
                Some(1) => " (tried once)".to_owned(),
                Some(tries) => format!(" (tried {tries} times)"),
            };
            history.push(Past { at: None, revision: Some(self.revision), says: format!("{says}{tries}") });
        }
        (self.says, self.history) = (Some(says), Some(history));
    }

    /// Its history as it was seen, `seen` oldest first: it says more than its rows do.
    pub fn recall(&mut self, mut seen: Vec<Past>) {
        let Some(first) = seen.first() else { return };
        // That it was accepted, and as what, its rows know best.
        let mut accepted = self.accepted();
        if first.revision == Some(1) {
            (accepted.at, accepted.revision) = (first.at.clone(), Some(1));
            let plain = [
                Some(says(&Fate::Held, Some(Waits::Reason.as_str()), None)),
                says_of_withdrawal(&Fate::Withdrawn, self.told, false),
            ];
            if plain.iter().flatten().any(|plain| *plain == first.says) {
                seen.remove(0);
            }
        }
        self.history = Some(std::iter::once(accepted).chain(seen).collect());
    }

    fn accepted(&self) -> Past {
        let prior = self.coalesce.as_ref().and_then(|told| told.prior_event_id.as_deref());
        Past { at: self.admitted.clone(), revision: None, says: says_of_outcome(self.told, prior) }
    }
}
