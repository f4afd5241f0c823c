//! `journal show`.

use std::fmt::Write as _;

use mcpl_policy::engine::{Waits, Word};
use mcpl_policy::fate::Fate;

use super::args::{Show, Where};
use super::plain::plain;
use super::{Place, control, found, unreadable, unwritten};
use crate::cli::out;
use crate::journal::account::{Account, Batch, By, Scope};

/// Writes the account to stdout.
pub(super) fn show(show: &Show, places: &[Place]) -> Result<(), u8> {
    let text = text(show, places)?;
    out::print(&text).map_err(|why| unwritten(&why))
}

fn text(show: &Show, places: &[Place]) -> Result<String, u8> {
    let found::Found { accounts, mut account, place } = found::by_any_name(&show.what, places)?;
    if show.content {
        let text = accounts.text(&account.producer, account.number).map_err(|fault| unreadable(&fault))?;
        if let Some(text) = text {
            account.show_event(&text);
        }
        let notices = accounts.notices(&account).map_err(|fault| unreadable(&fault))?;
        account.show_notices(&notices);
    }
    account.tell();
    let seen = control::history(&place.dir, &account);
    if !seen.is_empty() {
        account.history = Some(seen);
    }
    if show.json {
        // Names of ours as keys: it can always be written.
        let text = serde_json::to_string(&account).unwrap_or_default();
        return Ok(text + "\n");
    }
    Ok(page(&account, show))
}

/// The account as a page for people.
fn page(account: &Account, show: &Show) -> String {
    let says = account.says.clone().unwrap_or_else(|| account.fate.told());
    let mut page = format!("{}: {}\n", plain(&account.id), plain(&says));
    for end in [("replaced by", &account.replaced_by), ("withdrawn by", &account.withdrawn_by)] {
        if let (how, Some(by)) = end {
            line(&mut page, how, Some(told(by)));
        }
    }
    line(&mut page, "event id", Some(account.event_id.clone()).filter(|id| !id.is_empty()));
    line(&mut page, "message id", account.message_id.as_ref().map(|id| id.get().to_owned()));
    line(&mut page, "slot", account.slot.map(|slot| slot.to_string()));
    line(&mut page, "lane", account.lane.map(ToOwned::to_owned));
    match &account.scope {
        Some(Scope::FeatureSet(name)) => line(&mut page, "feature set", Some(name.clone())),
        Some(Scope::Channel(id)) => line(&mut page, "channel", Some(id.clone())),
        None => {}
    }
    line(&mut page, "key", account.key.clone());
    line(&mut page, "admitted", account.admitted.clone());
    if let Some(coalesce) = &account.coalesce {
        let prior =
            coalesce.prior_event_id.as_deref().map_or_else(String::new, |id| format!(", displaced {id}"));
        line(&mut page, "sender told", Some(format!("{}{prior}", coalesce.outcome)));
    }
    // Of what is held it is said already.
    let waits = Waits::ALL.iter().find(|waits| Some(waits.as_str()) == account.waits);
    let waits = waits.filter(|_| account.fate != Fate::Held).map(|waits| waits.told().to_owned());
    line(&mut page, "waits", waits);
    line(&mut page, "tries", account.attempts.map(|tries| tries.to_string()));
    line(&mut page, "not before", account.not_before.clone());
    line(&mut page, "expires", account.expires_at.clone());
    line(&mut page, "size", account.bytes.map(|bytes| format!("{bytes} bytes")));
    line(&mut page, "notices", account.batch.map(stands_for));
    if let Some(refusal) = &account.refusal {
        let limit = refusal.limit_bytes.map_or_else(String::new, |limit| format!(", over {limit} bytes"));
        line(&mut page, "refusal", Some(format!("{}{limit}", refusal.refusal)));
    }
    line(&mut page, "delivery", Some(account.delivery.to_owned()));
    let reason = account.decision.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    line(&mut page, "decision", Some(format!("{}{reason}", account.decision.state)));
    line(&mut page, "outcome", Some(account.outcome.to_owned()));
    line(&mut page, "revision", Some(account.revision.to_string()));
    history(&mut page, account);
    if show.content {
        let event = account.event.as_ref().map_or("not kept any more", |event| event.get());
        line(&mut page, "event", Some(event.to_owned()));
        for notice in account.notices.iter().flatten() {
            line(&mut page, "notice", Some(notice.get().to_owned()));
        }
    }
    let advice = advice(account, &show.at);
    if !advice.is_empty() {
        page.push('\n');
        page.push_str(&advice);
    }
    page
}

/// What happened to it, a line each: when, at which revision, what.
fn history(page: &mut String, account: &Account) {
    for (at, past) in account.history.iter().flatten().enumerate() {
        let when = past.at.as_deref().unwrap_or("");
        let revision = past.revision.map_or_else(String::new, |revision| format!("rev {revision}"));
        let name = if at == 0 { "history" } else { "" };
        line(page, name, Some(format!("{when:<24} {revision:<6} {}", past.says)));
    }
}

fn line(page: &mut String, name: &str, value: Option<String>) {
    if let Some(value) = value {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "  {name:<12} {}", plain(&value));
    }
}

fn told(by: &By) -> String {
    let event_id = by.event_id.as_deref().map_or_else(String::new, |id| format!(" ({id})"));
    format!("{}{event_id}", by.id)
}

/// How many notices a batch stands for, and what of them its producer will be handed back.
fn stands_for(Batch { notices, kept }: Batch) -> String {
    if kept == notices {
        format!("{notices}, all kept")
    } else {
        format!("{notices}, the newest {kept} kept")
    }
}

/// What can be done about it, as it is to be typed.
fn advice(account: &Account, at: &Where) -> String {
    let mut advice = String::new();
    let about = match &account.fate {
        _ if account.open && account.fate.is_submitted() => {
            "The host has not answered for it. In the next session it goes again where the host drops repeats; else it\n\
             waits for you then. Nothing need be done now, but what you know can be said:\n"
        }
        _ if account.open && account.fate.is_in_doubt() => {
            "Look at the host first: it has this event, or it has not. Then say which:\n"
        }
        Fate::Dead(_) if account.open && account.bytes.is_none() => {
            "Its content is not kept any more, so that it cannot be sent again.\n"
        }
        Fate::Dead(_) if account.open => {
            "It is not sent again by itself. Mend what the host refuses it for, or let it go:\n"
        }
        _ => "",
    };
    advice.push_str(about);
    for word in account.words() {
        let (flag, what) = match word {
            Word::Submitted => ("--submitted", "the host has it"),
            Word::NotSubmitted => ("--not-submitted", "the host does not have it: hand it over anew"),
            // For what is in doubt it is the same as --not-submitted.
            Word::Again if account.words().contains(&Word::NotSubmitted) => continue,
            Word::Again => ("--again", "hand it over anew"),
            Word::Drop => ("--drop", "let it go: no host is given it"),
        };
        let (id, revision) = (plain(&account.id), account.revision);
        let journal = whose(account, at);
        let _ = writeln!(
            advice,
            "  mcpl-sidecar journal resolve {id} {flag} --expect {revision}{journal}   # {what}"
        );
    }
    advice
}

/// The arguments that say whose journal it is, as they were given.
fn whose(account: &Account, at: &Where) -> String {
    let quoted = |text: &str| {
        if text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)) {
            text.to_owned()
        } else {
            format!("'{}'", plain(text).replace('\'', r"'\''"))
        }
    };
    let mut whose = String::new();
    if let Some(config) = &at.config {
        let _ = write!(whose, " --config {}", quoted(&config.to_string_lossy()));
    }
    if let Some(name) = &at.name {
        let _ = write!(whose, " --name {}", quoted(name));
    }
    if let Some(slot) = account.slot {
        let _ = write!(whose, " --slot {slot}");
    }
    whose
}

#[cfg(test)]
mod tests;
