//! What a session did, counted: for the summary line of `wrap` and for logs (contract 1).

use std::fmt;
use std::ops::AddAssign;

use mcpl_policy::engine::{Answer, Fate, Outcome};
use mcpl_policy::refusal::{Ours, Shortage};

use super::decisions::{self, shown};
use super::figures::Figures;

/// What coalescing made of accepted occurrences, by outcome (contract 6.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Outcomes {
    /// Held, and nothing of their subject was ever read.
    pub first: u64,
    /// They displaced what was unread.
    pub replaced: u64,
    /// Held behind what was, or may have been, read.
    pub appended: u64,
    /// Withdrawals of what nobody had read.
    pub retracted: u64,
    /// Deletion notices of what may have been read.
    pub noted: u64,
    /// Withdrawals with nothing to tell.
    pub consumed: u64,
}

impl Outcomes {
    /// All of them.
    pub fn total(&self) -> u64 {
        let Self { first, replaced, appended, retracted, noted, consumed } = self;
        first + replaced + appended + retracted + noted + consumed
    }

    fn note(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::First => &mut self.first,
            Outcome::Replaced => &mut self.replaced,
            Outcome::Appended => &mut self.appended,
            Outcome::Retracted => &mut self.retracted,
            Outcome::Noted => &mut self.noted,
            Outcome::Consumed => &mut self.consumed,
        };
        *count += 1;
    }
}

impl AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        self.first += other.first;
        self.replaced += other.replaced;
        self.appended += other.appended;
        self.retracted += other.retracted;
        self.noted += other.noted;
        self.consumed += other.consumed;
    }
}

/// Counts of one or several sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages that went through in their own bytes.
    pub passed: u64,
    /// Occurrences that a newer one replaced, or that were withdrawn, before the host was given them.
    pub folded: u64,
    /// Events refused, by us or by the host.
    pub refused: u64,
    /// Occurrences the host was given and took.
    pub delivered: u64,
    /// Forwards tried again.
    pub retried: u64,
    /// Accepted work that the host refused for good.
    pub dead: u64,
    /// Accepted work that expired.
    pub expired: u64,
    /// Work handed over and never answered, left for an operator.
    pub in_doubt: u64,
    /// Messages that waited for the journal in vain and went ahead of held work (contract 7.6).
    pub ahead: u64,
    /// Answers of the producer to renders that it was not asked for, or had answered.
    pub strays: u64,
    /// Answers to renders that nobody waited for any more: discarded (contract 6.5).
    pub late: u64,
    /// What coalescing made of the occurrences that were accepted.
    pub outcomes: Outcomes,
    /// Events kept as they are for the host (contract 13.2).
    pub stored: u64,
    /// Occurrences that came again and were answered as before.
    pub again: u64,
    /// Of those refused, the ones over a rate.
    pub limited: u64,
    /// The same and more, by lane, outcome, kind and direction.
    pub figures: Figures,
}

impl Tally {
    /// The engine answered an event.
    pub(super) fn answered(&mut self, answer: &Answer) {
        match answer {
            Answer::Accepted { outcome, .. } | Answer::Host { outcome: Some((outcome, _)), .. } => {
                self.outcomes.note(*outcome);
            }
            Answer::Stored => self.stored += 1,
            Answer::Refused(ours) => {
                self.limited += u64::from(matches!(ours, Ours::Unavailable(Shortage::Rate, _)));
            }
            Answer::Host { outcome: None, .. } | Answer::Unanswered | Answer::Again(_) => {}
        }
    }

    pub(crate) fn ended(&mut self, producer: &str, event_id: &str, fate: &Fate) {
        let event_id = shown(event_id);
        self.figures.ended(fate);
        match fate {
            Fate::Delivered => {
                self.delivered += 1;
                decisions::ended(producer, event_id, fate);
            }
            Fate::Replaced | Fate::Withdrawn => {
                self.folded += 1;
                decisions::ended(producer, event_id, fate);
            }
            Fate::Expired => {
                self.expired += 1;
                tracing::info!(producer, event_id, "an occurrence expired before the host could be given it");
            }
            Fate::Dead(refusal) => {
                self.dead += 1;
                tracing::warn!(
                    producer,
                    event_id,
                    refusal = refusal.kind.as_str(),
                    "the host refused an accepted occurrence for good: dead letter"
                );
            }
            Fate::InDoubt | Fate::InDoubtAfter(_) => {
                self.in_doubt += 1;
                tracing::warn!(
                    producer,
                    event_id,
                    "the host never answered for an occurrence it was given, and would not drop a repeat: in doubt"
                );
            }
            _ => decisions::ended(producer, event_id, fate),
        }
    }

    pub(super) fn retrying(&mut self, producer: &str, event_id: &str, wait_ms: u64) {
        self.retried += 1;
        let event_id = shown(event_id);
        tracing::debug!(
            producer,
            event_id,
            wait_ms,
            "the host cannot take an occurrence now; it is tried again"
        );
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.folded += other.folded;
        self.refused += other.refused;
        self.delivered += other.delivered;
        self.retried += other.retried;
        self.dead += other.dead;
        self.expired += other.expired;
        self.in_doubt += other.in_doubt;
        self.ahead += other.ahead;
        self.strays += other.strays;
        self.late += other.late;
        self.outcomes += other.outcomes;
        self.stored += other.stored;
        self.again += other.again;
        self.limited += other.limited;
        self.figures += other.figures;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            folded,
            refused,
            delivered,
            retried,
            dead,
            expired,
            in_doubt,
            ahead,
            strays,
            late,
            ..
        } = self;
        write!(
            f,
            "{passed} passed, {delivered} delivered, {folded} folded, {refused} refused, {retried} retried, \
             {dead} dead letters, {expired} expired, {in_doubt} in doubt"
        )?;
        if *ahead > 0 {
            write!(f, ", {ahead} went ahead of a slow journal")?;
        }
        if *strays > 0 {
            write!(f, ", {strays} answers to no render")?;
        }
        if *late > 0 {
            write!(f, ", {late} renders answered late")?;
        }
        Ok(())
    }
}
