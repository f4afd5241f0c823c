//! What lies in the journal of producers that are not served: renamed, or taken out of the configuration.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::journal::OpenFault;
use crate::journal::account::{Books, Kept};

/// Says it in the log, as soon as it is read; the start does not wait for that.
pub(super) fn tell(dir: PathBuf, served: BTreeSet<String>) {
    tokio::task::spawn_blocking(move || match left(&dir, &served) {
        Ok(left) => {
            for Left { producer, held, waiting } in left {
                tracing::warn!(
                    %producer,
                    held,
                    waiting,
                    "the journal has work of a producer that is not served: what is held stays held, and what is in \
                     doubt or dead waits for an operator; serve it again, or see `journal list`"
                );
            }
        }
        Err(fault) => {
            tracing::warn!(%fault, "the journal could not be read for producers that are not served");
        }
    });
}

/// Work of a producer that is not served.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    producer: String,
    /// Held or deferred, or given to a host that has not answered.
    held: u64,
    /// In doubt or dead.
    waiting: u64,
}

fn left(dir: &Path, served: &BTreeSet<String>) -> Result<Vec<Left>, OpenFault> {
    let Some(books) = Books::at(dir)? else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for producer in books.producers().filter(|name| !served.contains(*name)) {
        let mut left = Left { producer: producer.to_owned(), held: 0, waiting: 0 };
        books.read(producer, Kept::Open, 0, &mut |account| {
            if let Ok(account) = account {
                let waits = account.fate.is_end() || account.fate.is_in_doubt();
                *(if waits { &mut left.waiting } else { &mut left.held }) += 1;
            }
            ControlFlow::Continue(())
        })?;
        if left.held + left.waiting > 0 {
            all.push(left);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use mcpl_codec::Refusal;
    use mcpl_policy::fate::Fate;

    use super::*;
    use crate::journal::account::sample::{ended, open, work, write};

    #[test]
    fn only_work_of_producers_that_are_not_served_is_counted() {
        let tmp = tempfile::tempdir().unwrap();
        let some = |fate: Fate, number| open(number, "e", &work(fate));
        let mut changes = some(Fate::Held, 1);
        changes.extend(some(Fate::InDoubt, 2));
        changes.extend(some(Fate::Dead(Refusal::not_permitted()), 3));
        write(tmp.path(), "renamed", changes.clone());
        write(tmp.path(), "served", changes);
        write(tmp.path(), "over", ended(1, "e", Fate::Delivered));
        let left = left(tmp.path(), &BTreeSet::from(["served".to_owned()])).unwrap();
        assert_eq!(left, [Left { producer: "renamed".to_owned(), held: 1, waiting: 2 }]);
    }
}
