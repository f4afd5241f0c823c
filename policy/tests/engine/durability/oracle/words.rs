//! What an operator says.

use mcpl_policy::engine::{Fate, Resolve, Seq, Unresolved, Word};
use mcpl_policy::journal::Table;

use super::Oracle;
use crate::book::Book;

impl Oracle {
    /// The engine dealt with an operator's word; `before` and `after` are what the disk is to say around it.
    pub(in super::super) fn resolved(
        &mut self,
        resolve: &Resolve,
        result: &Result<Fate, Unresolved>,
        (before, after): (&Book, &Book),
        step: Option<Seq>,
    ) {
        let number = resolve.number;
        let row = before.work(number);
        match result {
            Err(why) => {
                // What is live may go on in the same step, by itself.
                let waits = row.as_ref().is_some_and(|row| row.fate.is_in_doubt() || is_dead(&row.fate));
                let same = before.row(Table::Work, number) == after.row(Table::Work, number);
                assert!(same || !waits, "{number}: {why:?}, and changed");
                if let Unresolved::Revision(actual) = why {
                    // Time that passed counts first: it may have changed by that.
                    let mut known = [row, after.work(number)].into_iter().flatten().map(|row| row.revision);
                    assert!(known.any(|revision| revision == *actual), "not at {actual}");
                    let stale = resolve.work.as_ref().is_some_and(|row| row.revision != *actual);
                    assert!(stale || resolve.expect != Some(*actual), "it is as they say");
                    self.seen.wrong_revisions += 1;
                }
            }
            Ok(fate) => {
                let row = row.expect("there is something to settle");
                assert!(resolve.expect.is_none_or(|expect| expect == row.revision), "another revision");
                let id = self.all[&number].id.clone();
                let evidence = self.evidence.entry(id).or_default();
                match resolve.word {
                    Word::Submitted => {
                        assert!(row.fate.is_submitted() || row.fate.is_in_doubt(), "{:?}", row.fate);
                        assert_eq!(*fate, Fate::Delivered);
                        evidence.submitted = true;
                    }
                    Word::Drop => evidence.dropped = true,
                    Word::NotSubmitted | Word::Again => {
                        self.wanted(number, step.expect("it is written down"));
                    }
                }
                self.seen.resolved[resolve.word as usize] += 1;
            }
        }
    }
}

fn is_dead(fate: &Fate) -> bool {
    matches!(fate, Fate::Dead(_))
}
