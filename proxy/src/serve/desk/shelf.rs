//! What is read of the journal for those who ask.

use std::path::PathBuf;

use crate::admin::desk::{AccountView, Listed, Portion};
use crate::journal::OpenFault;
use crate::journal::account::{Account, Books, Past};

/// What the journal says of occurrences. Reading waits for the disk: it is done on a thread that may.
pub(in crate::serve) trait Records: Send + Sync + 'static {
    /// One of a producer, by its number; `past`: what was seen of it; `content`: with what was sent.
    fn one(
        &self,
        producer: &str,
        number: u64,
        past: Vec<Past>,
        content: bool,
    ) -> Result<Option<AccountView>, OpenFault>;
    /// What is dead or in doubt and known by this `eventId`, of each of these producers.
    fn open(&self, producers: &[String], event_id: &str) -> Result<Vec<(String, u64)>, OpenFault>;
    /// What waits.
    fn work(&self, portion: Portion) -> Result<Listed, OpenFault>;
}

/// The journal of a state directory.
pub(in crate::serve) struct Shelf(pub(super) PathBuf);

impl Records for Shelf {
    fn one(
        &self,
        producer: &str,
        number: u64,
        past: Vec<Past>,
        content: bool,
    ) -> Result<Option<AccountView>, OpenFault> {
        let books = Books::open(&self.0)?;
        let Some(mut account) = books.account(producer, number)? else { return Ok(None) };
        let content = if content { Some(books.content(&account)?) } else { None };
        account.tell();
        account.recall(past);
        account.hide_key();
        Ok(Some(AccountView { account: account.json(), content }))
    }

    fn open(&self, producers: &[String], event_id: &str) -> Result<Vec<(String, u64)>, OpenFault> {
        let books = Books::open(&self.0)?;
        let look = |name: &String| {
            let found = books.find_open(name, event_id).transpose()?;
            Some(found.map(|number| (name.clone(), number)))
        };
        producers.iter().filter_map(look).collect()
    }

    fn work(&self, portion: Portion) -> Result<Listed, OpenFault> {
        let Portion { producer, after, limit } = portion;
        let (mut accounts, more) = Books::open(&self.0)?.live(producer.as_deref(), after, limit)?;
        accounts.iter_mut().for_each(Account::hide_key);
        Ok(Listed { accounts: accounts.iter().map(Account::json).collect(), more })
    }
}

#[cfg(test)]
mod tests {
    use mcpl_policy::fate::Fate;
    use tempfile::tempdir;

    use super::*;
    use crate::journal::account::sample::{open, work, write};

    /// What is told of an occurrence whose content is `hush` and whose key is `k`.
    fn told(content: bool) -> (String, String) {
        let tmp = tempdir().unwrap();
        write(tmp.path(), "chat", open(1, "e", &work(Fate::Held)));
        let shelf = Shelf(tmp.path().to_owned());
        let one = shelf.one("chat", 1, Vec::new(), content).unwrap().unwrap();
        let work = shelf.work(Portion { producer: None, after: None, limit: 9 }).unwrap();
        (serde_json::to_string(&one).unwrap(), serde_json::to_string(&work.accounts).unwrap())
    }

    #[test]
    fn content_is_told_of_one_where_it_may_be_and_keys_never() {
        for content in [false, true] {
            let (one, work) = told(content);
            assert_eq!(one.contains(r#""content":"hush","contentBytes":6"#), content, "{one}");
            assert_eq!(one.contains("hush"), content, "{one}");
            assert!(!work.contains("hush"), "lists have none: {work}");
            assert!(!one.contains("\"key\"") && !work.contains("\"key\""), "{one} {work}");
        }
    }
}
