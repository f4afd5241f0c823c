//! One occurrence among the journals that the arguments name.

use super::{HINT, Place, unreadable};
use crate::cli::{exit, out};
use crate::journal::account::{Account, Books};

/// An occurrence, and where it is.
pub(super) struct Found<'p> {
    pub(super) place: &'p Place,
    pub(super) accounts: Books,
    pub(super) account: Account,
}

/// The occurrence with this id; or the exit code, with the reason on stderr.
pub(super) fn by_id<'p>(id: &str, places: &'p [Place]) -> Result<Found<'p>, u8> {
    let Some((producer, number)) = parts(id) else {
        out::complain(&format!(
            "error: {id:?} is no id: those are PRODUCER/NUMBER, such as discord/12; `mcpl-sidecar journal list` shows them"
        ));
        return Err(exit::USAGE);
    };
    let found = search(places, |accounts| {
        accounts.account(producer, number).map(|account| account.into_iter().collect())
    })?;
    only(id, found)
}

/// The occurrence with this id or this `eventId`.
pub(super) fn by_any_name<'p>(name: &str, places: &'p [Place]) -> Result<Found<'p>, u8> {
    if let Some((producer, number)) = parts(name) {
        let found = search(places, |accounts| {
            accounts.account(producer, number).map(|account| account.into_iter().collect())
        })?;
        if !found.is_empty() {
            return only(name, found);
        }
    }
    let found = search(places, |accounts| {
        let names: Vec<&str> = accounts.producers().collect();
        names
            .into_iter()
            .map(|producer| accounts.find(producer, name))
            .filter_map(Result::transpose)
            .collect()
    })?;
    only(name, found)
}

fn search(
    places: &[Place],
    look: impl Fn(&Books) -> Result<Vec<Account>, crate::journal::OpenFault>,
) -> Result<Vec<Found<'_>>, u8> {
    let mut found = Vec::new();
    for place in places {
        let Some(accounts) = place.accounts()? else { continue };
        let mut all = look(&accounts).map_err(|fault| unreadable(&fault))?;
        for account in &mut all {
            place.sign(account);
        }
        // One reader for each: there is more than one only if several producers use one eventId.
        while all.len() > 1
            && let Some(account) = all.pop()
            && let Some(accounts) = place.accounts()?
        {
            found.push(Found { place, accounts, account });
        }
        found.extend(all.pop().map(|account| Found { place, accounts, account }));
    }
    Ok(found)
}

fn only<'p>(name: &str, mut found: Vec<Found<'p>>) -> Result<Found<'p>, u8> {
    if found.len() > 1 {
        let slots = found.iter().any(|one| one.place.slot.is_some());
        let mut all: Vec<String> = found.iter().map(|one| told(&one.account)).collect();
        all.sort();
        let give = if slots { "give its slot with --slot" } else { "give one of these ids" };
        out::complain(&format!("error: several are known as {name:?}: {}; {give}", all.join(", ")));
        return Err(exit::USAGE);
    }
    found.pop().ok_or_else(|| {
        out::complain(&format!(
            "error: nothing is known of {name:?}: it passed straight to the host, was refused, or ended longer ago than \
             retry_window_ms; {HINT}"
        ));
        exit::USAGE
    })
}

fn told(account: &Account) -> String {
    let slot = account.slot.map_or_else(String::new, |slot| format!(" in slot {slot}"));
    format!("{}{slot}", account.id)
}

/// The producer and the number of an id: digits, no sign, no nought before them.
fn parts(id: &str) -> Option<(&str, u64)> {
    let (producer, number) = id.rsplit_once('/')?;
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    plain.then(|| number.parse().ok()).flatten().filter(|number| *number < 1 << 44).map(|n| (producer, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_producer_and_a_number_as_they_are_written() {
        assert_eq!(parts("discord/12"), Some(("discord", 12)));
        for other in [
            "discord",
            "discord/",
            "discord/012",
            "discord/0",
            "discord/-1",
            "discord/+1",
            "12",
            "a/17592186044416",
        ] {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
