//! What happened to an occurrence, in the order in which it did (contract 9.2).

use mcpl_policy::engine::Waits;
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

impl Account {
    /// Puts into it what it says in words, and what its rows tell of its history.
    pub fn tell(&mut self) {
        let by = self.replaced_by.as_ref().or(self.withdrawn_by.as_ref());
        let says = says(&self.fate, self.waits, by);
        let mut history = vec![self.accepted()];
        if let Some(tries) = self.attempts {
            let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
            history.push(Past {
                at: None,
                revision: None,
                says: format!("the host could not take it, {times}"),
            });
        }
        if self.revision > 1 || self.fate != Fate::Held {
            history.push(Past { at: None, revision: Some(self.revision), says: says.clone() });
        }
        (self.says, self.history) = (Some(says), Some(history));
    }

    /// Its history as it was seen, `seen` oldest first: it says more than its rows do.
    pub fn recall(&mut self, seen: Vec<Past>) {
        let Some(first) = seen.first() else { return };
        // What came before it was seen is known from its rows only.
        let before = (first.revision != Some(1)).then(|| self.accepted());
        self.history = Some(before.into_iter().chain(seen).collect());
    }

    fn accepted(&self) -> Past {
        let told = self.coalesce.as_ref().map_or_else(String::new, |told| match &told.prior_event_id {
            Some(prior) => format!(", and took the place of {prior}"),
            None => format!(" ({})", told.outcome),
        });
        Past { at: self.admitted.clone(), revision: None, says: format!("accepted{told}") }
    }
}
