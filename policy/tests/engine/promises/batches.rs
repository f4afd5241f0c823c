//! Batches, whatever comes wherever they stand: a row for every pair (contract 6.5).

mod inputs;
mod states;
mod table;

use bytes::Bytes;
use mcpl_policy::Input;
use mcpl_policy::engine::{Fate, Rendering};
use mcpl_policy::journal::{HistoryRow, Place, SubjectRow, Table};

use self::inputs::Next;
use self::states::State;
use self::table::wanted;
use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;

/// What comes of a pair.
struct Row {
    /// What the event is answered: the outcome, and the occurrence it displaced; `host`: in the host's own words.
    answer: String,
    /// The notices that the producer is asked to render, each batch in brackets.
    asked: String,
    /// What the host is given: the `eventId`, and its content unless that is its own.
    given: String,
    /// Where each occurrence stands on disk, and what is known to have been read.
    recorded: String,
}

impl Row {
    fn texts(&self) -> [&str; 4] {
        [&self.answer, &self.asked, &self.given, &self.recorded]
    }
}

fn content(text: &str) -> Rendering {
    Rendering::Content {
        content: Bytes::copy_from_slice(text.as_bytes()),
        timestamp: Bytes::from_static(b"\"2026-01-01T00:00:00Z\""),
    }
}

/// An event of the subject: of a channel where that is what goes, with a time where that passes.
fn of(id: &str, next: Next) -> Draft {
    let draft = Draft::push(id, "fs-a").key("k");
    match next {
        Next::Unregistered => draft.channel("chan-a"),
        Next::Expired => draft.expires(1_767_225_600_000 + 31_000),
        _ => draft,
    }
}

fn outcome(answer: Option<Answered>) -> String {
    match answer {
        None => String::new(),
        Some(Answered::Ours(outcome, prior)) => {
            prior.map_or_else(|| outcome.as_str().to_owned(), |prior| format!("{} {prior}", outcome.as_str()))
        }
        Some(Answered::Host(outcome)) => {
            format!("host {}", outcome.map_or("refused", |outcome| outcome.as_str()))
        }
        Some(other) => format!("{other:?}"),
    }
}

fn standing(rig: &Rig, id: &str) -> Option<String> {
    let (fate, _) = rig.standing(id)?;
    let row = rig.book.number(id).and_then(|number| rig.book.work(number));
    let due = if row.as_ref().is_some_and(|row| row.due && !row.fate.is_submitted() && !row.fate.is_end()) {
        ", due"
    } else {
        ""
    };
    let place = match row.map(|row| row.place) {
        Some(Place::Batch(batch)) => format!(" in a batch of {}", batch.total),
        Some(Place::Rendered) => " as rendered".to_owned(),
        Some(Place::Plain) => " plain".to_owned(),
        Some(Place::Fixed) => " fixed".to_owned(),
        Some(Place::Stored) => " stored".to_owned(),
        None => String::new(),
    };
    let fate = match fate {
        Fate::Submitted | Fate::SubmittedAfter(_) => "out",
        Fate::Dead(_) => "dead",
        Fate::Deferred(_) => "deferred",
        ref other => other.state(),
    };
    Some(format!("{id} {fate}{place}{due}"))
}

fn recorded(rig: &Rig) -> String {
    let all = ["p", "n1", "n2", "m1", "x"].into_iter().filter_map(|id| standing(rig, id));
    let subject = rig.book.table(Table::Subject).next();
    let history = subject.map(|(id, row)| match SubjectRow::decode(id, row).unwrap().history {
        HistoryRow::None => "history none",
        HistoryRow::Some => "history some",
        HistoryRow::Unknown => "history unknown",
    });
    all.chain(history.map(str::to_owned)).collect::<Vec<_>>().join("; ")
}

fn row(state: State, next: Next) -> Row {
    let mut rig = Rig::open(settings(|settings| {
        // Nothing goes by itself, and nothing but the way to the host keeps anything back.
        settings.coalesce.quiet_ms = 600_000;
        settings.coalesce.max_hold_ms = 3_600_000;
        if next == Next::Expired {
            settings.coalesce.render_timeout_ms = 60_000;
        }
    }));
    state.reach(&mut rig, &|id| of(id, next));
    let (asked, told) = (rig.asked.len(), rig.told.len());
    let ticket = next.happen(&mut rig, |id| of(id, next));
    // What had a reason and was kept back goes now.
    rig.feed(Input::Congested(false));
    let names = |params: &serde_json::Value| {
        let notices = params["notices"].as_array().unwrap();
        notices.iter().map(|notice| notice["eventId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let asked: Vec<String> =
        rig.asked[asked..].iter().map(|(_, params)| format!("[{}]", names(params).join(" "))).collect();
    let given = rig.given[told..].iter().map(|(id, text)| {
        if *text == format!("content of {id}") { id.clone() } else { format!("{id} = {text}") }
    });
    Row {
        answer: outcome(ticket.and_then(|ticket| rig.answer(ticket))),
        asked: asked.join(" "),
        given: given.collect::<Vec<_>>().join(", "),
        recorded: recorded(&rig),
    }
}

#[test]
fn whatever_comes_wherever_a_batch_stands_there_is_a_row_for_it() {
    let mut wrong = Vec::new();
    for state in State::ALL {
        for next in Next::ALL {
            let (row, wanted) = (row(state, next), wanted(state, next));
            if row.texts() != wanted {
                wrong.push(format!("{state:?}, {next:?}: {:?} and not {wanted:?}", row.texts()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Both lists are whole: the compiler sees to the rows, and a pair that is not in the lists would not be tried.
#[test]
fn no_pair_is_left_out() {
    for (at, state) in State::ALL.into_iter().enumerate() {
        assert_eq!(state as usize, at);
    }
    for (at, next) in Next::ALL.into_iter().enumerate() {
        assert_eq!(next as usize, at);
    }
    assert_eq!(
        (State::ALL.len(), Next::ALL.len()),
        (State::Fallback as usize + 1, Next::PlainThroughRefused as usize + 1)
    );
}
