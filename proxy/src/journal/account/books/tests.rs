//! Books from journals on disk.

use mcpl_codec::Refusal;
use tempfile::tempdir;

use super::*;
use crate::journal::account::sample::{
    WALL_MS, Written, batch, ended, meta, open, put, receipt, spoil, work, write,
};

fn read(dir: &Path, kept: Kept) -> (Vec<Account>, Vec<Spoilt>) {
    let accounts = Books::open(dir).unwrap();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for producer in accounts.producers() {
        accounts
            .read(producer, kept, 0, &mut |account| {
                match account {
                    Ok(account) => good.push(account),
                    Err(spoilt) => bad.push(spoilt),
                }
                ControlFlow::Continue(())
            })
            .unwrap();
    }
    (good, bad)
}

fn told(accounts: &[Account]) -> Vec<(u64, &str, &str)> {
    accounts.iter().map(|account| (account.number, &*account.event_id, account.state)).collect()
}

#[test]
fn a_directory_without_a_journal_has_no_accounts() {
    let tmp = tempdir().unwrap();
    assert!(Books::at(tmp.path()).unwrap().is_none());
    assert!(Books::at(&tmp.path().join("never")).unwrap().is_none());
    assert_eq!(oldest_held(tmp.path()), None);
}

#[test]
fn what_is_open_and_what_has_ended_are_told_apart_and_in_order() {
    let tmp = tempdir().unwrap();
    let mut replaced = receipt("c", Fate::Replaced);
    replaced.by = 4;
    let mut changes = open(2, "b", &work(Fate::Submitted));
    changes.extend(ended(1, "a", Fate::Delivered));
    changes.push(put(Table::Receipt, 3, replaced.encode()));
    changes.extend(open(4, "d", &work(Fate::Held)));
    write(tmp.path(), "discord", changes);
    let (all, bad) = read(tmp.path(), Kept::All);
    let whole = [(1, "a", "delivered"), (2, "b", "outcome-unknown"), (3, "c", "replaced"), (4, "d", "held")];
    assert_eq!((told(&all), bad.len()), (whole.to_vec(), 0));
    assert_eq!(all[2].replaced_by.as_ref().unwrap().event_id.as_deref(), Some("d"));
    assert_eq!(told(&read(tmp.path(), Kept::Open).0), [whole[1], whole[3]]);
}

#[test]
fn more_than_a_window_is_told_once_each() {
    let tmp = tempdir().unwrap();
    let count = 2 * WINDOW_ROWS as u64 + 100;
    let changes = (1..=count).flat_map(|n| match n % 4 {
        0 | 1 => ended(n, "e", Fate::Delivered),
        2 => open(n, "e", &work(Fate::Held)),
        // Older than the retry window.
        _ => vec![put(Table::Work, n, work(Fate::InDoubt).encode())],
    });
    write(tmp.path(), "discord", changes.collect());
    let numbers: Vec<u64> = read(tmp.path(), Kept::All).0.iter().map(|account| account.number).collect();
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
    let open: Vec<u64> = read(tmp.path(), Kept::Open).0.iter().map(|account| account.number).collect();
    assert_eq!(open, (1..=count).filter(|n| n % 4 > 1).collect::<Vec<_>>());
    let accounts = Books::open(tmp.path()).unwrap();
    let mut some = Vec::new();
    let take: TakeAccount<'_> = &mut |account| {
        some.push(account.unwrap().number);
        if some.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    accounts.read("discord", Kept::All, 1500, take).unwrap();
    assert_eq!(some, [1500, 1501, 1502], "from a number on, until it is enough");
}

#[test]
fn what_a_running_program_commits_is_seen_at_once() {
    let tmp = tempdir().unwrap();
    let mut running = Written::new(tmp.path(), "discord");
    let accounts = Books::open(tmp.path()).unwrap();
    assert!(accounts.account("discord", 1).unwrap().is_none());
    running.write(open(1, "a", &work(Fate::Held)));
    assert_eq!(accounts.account("discord", 1).unwrap().unwrap().state, "held");
    let mut changes = ended(1, "a", Fate::Delivered);
    changes.extend(
        [Table::Work, Table::Content].map(|table| mcpl_policy::journal::Change::Delete { table, id: 1 }),
    );
    running.write(changes);
    let account = accounts.account("discord", 1).unwrap().unwrap();
    assert_eq!((account.state, account.revision, account.open), ("delivered", 2, false));
    assert_eq!(accounts.text("discord", 1).unwrap(), None);
    assert!(accounts.account("other", 1).unwrap().is_none(), "another producer's");
}

#[test]
fn an_event_id_finds_the_newest_and_what_is_older_than_every_receipt() {
    let tmp = tempdir().unwrap();
    let mut dead = work(Fate::Dead(Refusal::invalid()));
    dead.event_id = Some("old".into());
    let mut changes = vec![put(Table::Work, 1, dead.encode())];
    changes.extend(open(2, "text", &work(Fate::Held)).into_iter().take(2));
    changes.extend(ended(3, "twice", Fate::Delivered));
    changes.extend(open(4, "twice", &work(Fate::Held)));
    write(tmp.path(), "discord", changes);
    let accounts = Books::open(tmp.path()).unwrap();
    let found = |event_id: &str| accounts.find("discord", event_id).unwrap().map(|account| account.number);
    assert_eq!([found("old"), found("text"), found("twice")], [Some(1), Some(2), Some(4)]);
    assert_eq!([found("never"), found("")], [None, None]);
}

#[test]
fn a_pending_batch_is_told_with_the_notices_that_are_kept_and_can_be_read() {
    let tmp = tempdir().unwrap();
    let mut changes = batch(1, "few", 2);
    changes.extend(batch(2, "many", 130));
    changes.extend(open(3, "plain", &work(Fate::Held)));
    write(tmp.path(), "discord", changes);
    let counts = |accounts: &[Account]| {
        let count = |account: &Account| account.batch.map(|batch| (batch.notices, batch.kept));
        accounts.iter().map(count).collect::<Vec<_>>()
    };
    let (accounts, bad) = read(tmp.path(), Kept::Open);
    assert_eq!((counts(&accounts), bad.len()), (vec![Some((2, 2)), Some((130, 64)), None], 0));
    let books = Books::open(tmp.path()).unwrap();
    let named = |account: &Account| {
        let notices =
            books.notices(account).unwrap().into_iter().map(|text| String::from_utf8(text).unwrap());
        notices.collect::<Vec<_>>()
    };
    assert_eq!(named(&accounts[0])[1], r#"{"eventId":"n1","timestamp":"t","data":1}"#);
    let many = named(&accounts[1]);
    assert!(many[0].contains("\"n66\"") && many[63].contains("\"n129\""), "oldest first: {many:?}");
    assert_eq!(named(&accounts[2]), <[String; 0]>::default());
    let spoilt = |id| spoil(tmp.path(), Table::Notice, id);
    spoilt(2 * 64 + 3);
    spoilt(2 * 64 + 7);
    let (accounts, bad) = read(tmp.path(), Kept::Open);
    assert_eq!(counts(&accounts)[1], Some((130, 62)));
    let bad: Vec<_> = bad.iter().map(|spoilt| (spoilt.table, spoilt.id)).collect();
    assert_eq!(bad, [(Table::Notice, 128 + 3), (Table::Notice, 128 + 7)], "both are named");
    assert_eq!(books.notices(&accounts[1]).unwrap().len(), 62);
}

#[test]
fn what_is_damaged_is_named_and_the_rest_is_told() {
    let tmp = tempdir().unwrap();
    let changes = (1..=5).flat_map(|n| open(n, &format!("e{n}"), &work(Fate::Held))).collect();
    write(tmp.path(), "discord", changes);
    spoil(tmp.path(), Table::Work, 1);
    spoil(tmp.path(), Table::Receipt, 2);
    spoil(tmp.path(), Table::Content, 3);
    let (good, bad) = read(tmp.path(), Kept::All);
    assert_eq!(
        told(&good).iter().map(|(n, id, _)| (*n, *id)).collect::<Vec<_>>(),
        [(1, "e1"), (2, "e2"), (3, "e3"), (4, "e4"), (5, "e5")],
        "every one has something left to tell"
    );
    assert_eq!((good[2].bytes, good[3].bytes.is_some()), (None, true));
    let mut named: Vec<(Table, u64)> = bad.iter().map(|spoilt| (spoilt.table, spoilt.id)).collect();
    named.sort_unstable();
    assert_eq!(named, [(Table::Work, 1), (Table::Content, 3), (Table::Receipt, 2)]);
    spoil(tmp.path(), Table::Meta, 0);
    let (good, bad) = read(tmp.path(), Kept::Open);
    assert!(good.iter().all(|account| account.admitted.is_none()) && good.len() == 4);
    assert!(bad.iter().any(|spoilt| spoilt.table == Table::Meta), "{bad:?}");
}

#[test]
fn the_oldest_held_work_is_what_waits_for_a_host() {
    let tmp = tempdir().unwrap();
    let admitted = |fate: Fate, admitted_ms: u64| {
        let mut row = work(fate);
        row.admitted_ms = admitted_ms;
        row
    };
    let mut running = Written::new(tmp.path(), "discord");
    assert_eq!(oldest_held(tmp.path()), None);
    // Neither waits for a host.
    running.write(open(1, "dead", &admitted(Fate::Dead(Refusal::invalid()), 1_000)));
    running.write(open(2, "doubt", &admitted(Fate::InDoubt, 2_000)));
    running.write(ended(3, "gone", Fate::Delivered));
    assert_eq!(oldest_held(tmp.path()), None);
    running.write(open(4, "out", &admitted(Fate::Submitted, 30_000)));
    running.write(open(5, "held", &admitted(Fate::Held, 40_000)));
    assert_eq!(oldest_held(tmp.path()), Some((WALL_MS - 30_000) as u64));
    assert_eq!(meta().mono_ms, 60_000);
    spoil(tmp.path(), Table::Meta, 0);
    assert_eq!(oldest_held(tmp.path()), None, "a journal that cannot be read is no reason to take a slot");
}

#[test]
fn what_is_open_can_be_read_in_portions_across_producers() {
    let tmp = tempdir().unwrap();
    for (producer, count) in [("discord", 3), ("portal", 2)] {
        let mut changes: Vec<_> = (1..=count).flat_map(|n| open(n, "e", &work(Fate::Held))).collect();
        changes.extend(ended(9, "over", Fate::Delivered));
        write(tmp.path(), producer, changes);
    }
    let books = Books::open(tmp.path()).unwrap();
    let portion = |producer: Option<&str>, after: Option<(&str, u64)>, limit: usize| {
        let after = after.map(|(name, number)| (name.to_owned(), number));
        let (accounts, more) = books.live(producer, after, limit).unwrap();
        (accounts.into_iter().map(|account| account.id).collect::<Vec<_>>(), more)
    };
    let at = |name: &str, number: u64| Some((name.to_owned(), number));
    let ids = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(portion(None, None, 2), (ids(&["discord/1", "discord/2"]), at("discord", 2)));
    assert_eq!(portion(None, Some(("discord", 2)), 2), (ids(&["discord/3", "portal/1"]), at("portal", 1)));
    assert_eq!(portion(None, Some(("portal", 1)), 2), (ids(&["portal/2"]), None));
    assert_eq!(portion(None, None, 5).1, None, "all of it is no portion");
    assert_eq!(portion(Some("portal"), None, 1), (ids(&["portal/1"]), at("portal", 1)));
    assert_eq!(portion(Some("discord"), Some(("discord", 3)), 1), (ids(&[]), None));
    assert_eq!(portion(Some("nobody"), None, 1), (ids(&[]), None));
}
