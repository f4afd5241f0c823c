//! The two performances side by side, as text of at most 100 columns.

use std::fmt::Write as _;

use serde_json::Value;

use super::answer;
use super::script::{Event, Scene, UNLUCKY};
use super::stage::{Played, Record, Told};

/// Columns of the table of events: number, sent, without, answer, with.
const EVENT: [usize; 5] = [3, 32, 19, 9, 27];
/// Columns of the table of refusals: event, without, with.
const REFUSAL: [usize; 3] = [22, 36, 38];
/// Columns of the sums.
const SUM: [usize; 3] = [54, 9, 9];

/// Colours, where there is a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    /// There is one.
    pub(super) on: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn faint(self, text: &str) -> String {
        self.with("2", text)
    }
}

/// What there is to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Events sent, not counting those that were sent again.
    pub(super) sent: usize,
    /// Events the host took.
    pub(super) given: usize,
    /// Refusals in words only.
    pub(super) in_words: usize,
    /// Refusals with fields.
    pub(super) in_fields: usize,
    /// Events that the sidecar's own rate limit kept back.
    pub(super) limited: usize,
    /// Events that a passing failure of the host kept from it for good.
    pub(super) lost: usize,
}

impl Sums {
    pub(super) fn of(played: &Played) -> Self {
        let told: Vec<&Told> = played.scenes.iter().flatten().flat_map(told).collect();
        let answers = || told.iter().flat_map(|told| &told.answers);
        let refused = || answers().filter(|answer| !answer::is_accepted(answer));
        let in_fields = refused().filter(|answer| answer::refusal(answer).is_some()).count();
        let taken = |id: &str| played.book.iter().any(|given| given.taken && given.id == id);
        Self {
            sent: told.len(),
            given: played.book.iter().filter(|given| given.taken).count(),
            in_words: refused().count() - in_fields,
            in_fields,
            limited: refused().filter(|answer| answer::is_over_rate(answer)).count(),
            lost: UNLUCKY.iter().filter(|id| !taken(id)).count(),
        }
    }
}

fn told(record: &Record) -> &[Told] {
    match record {
        Record::Sent(told) => std::slice::from_ref(told),
        Record::Flood(_, all) => all,
        Record::Turn(_) => &[],
    }
}

/// The whole of it.
pub(super) fn table(script: &[Scene], without: &Played, with: &Played, paint: Paint) -> String {
    let mut sheet = Sheet { text: String::new(), paint, numbers: numbers(with) };
    sheet.say(
        "One producer, one host that knows neither coalescing nor structured refusals, one script, played",
    );
    sheet.say(
        "twice: over a plain pipe, and through the sidecar. Everything below was observed, not foretold.",
    );
    sheet.scenes(script, without, with);
    sheet.legend();
    sheet.refusals(without, with);
    sheet.sums(without, with);
    sheet.text
}

/// The second act.
pub(super) fn second(script: &[Scene], without: &Played, with: &Played, paint: Paint) -> String {
    let mut sheet = Sheet { text: String::new(), paint, numbers: numbers(with) };
    sheet.say("");
    sheet.say(
        &paint.bold("Second act: a producer that does as discord-mcpl 0.1.4 does, in front of the same host"),
    );
    for line in [
        "It names no subject, gives every edit of a message the same eventId, looks at no refusal and sends",
        "nothing twice. The sidecar was told `preset = \"discord-mcpl\"` and nothing else of its events.",
    ] {
        sheet.say(line);
    }
    sheet.scenes(script, without, with);
    for line in [
        "",
        "  The host drops as a duplicate what has an eventId that it knows: without the sidecar nobody is",
        "  told what an edited message says in the end. It also reads this producer's array of feature sets",
        "  as names 0, 1, ... and would refuse every push; the column without the sidecar leaves that out,",
        "  the other has `shims = [\"feature-sets-object\"]`.",
    ] {
        sheet.say(line);
    }
    let (plain, ours) = (Sums::of(without), Sums::of(with));
    sheet.head("In all, of the second act", SUM, ["", "without", "with"]);
    sheet.sum("events discord-mcpl sent", plain.sent, ours.sent);
    sheet.sum("events the model was shown", plain.given, ours.given);
    sheet.sum("edits the host dropped as duplicates", plain.in_words, ours.in_words + ours.in_fields);
    sheet.text
}

/// The numbers of the rows, by event.
fn numbers(played: &Played) -> Vec<(Event, usize)> {
    let rows = played.scenes.iter().flatten().filter(|record| !matches!(record, Record::Turn(_)));
    rows.enumerate()
        .flat_map(|(at, record)| told(record).iter().map(move |told| (told.event.clone(), at + 1)))
        .collect()
}

struct Sheet {
    text: String,
    paint: Paint,
    numbers: Vec<(Event, usize)>,
}

impl Sheet {
    fn say(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn row<const N: usize>(widths: [usize; N], cells: [&str; N]) -> String {
        let mut line = String::new();
        for (cell, width) in cells.into_iter().zip(widths) {
            // Writing to a String cannot fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
        line.trim_end().to_owned()
    }

    fn head<const N: usize>(&mut self, title: &str, widths: [usize; N], cells: [&str; N]) {
        let (title, line) = (self.paint.bold(title), Self::row(widths, cells));
        let line = self.paint.faint(&line);
        self.say("");
        self.say(&title);
        self.say(&line);
        let rule = "-".repeat(widths.iter().sum::<usize>() + 2 * (N - 1));
        let rule = self.paint.faint(&rule);
        self.say(&rule);
    }

    fn scenes(&mut self, script: &[Scene], without: &Played, with: &Played) {
        for ((scene, without_scene), with_scene) in script.iter().zip(&without.scenes).zip(&with.scenes) {
            self.scene(scene.title, (without_scene, without), (with_scene, with));
        }
    }

    fn scene(&mut self, title: &str, without: (&[Record], &Played), with: (&[Record], &Played)) {
        let head = ["#", "the producer sends", "given without it", "answered", "given with the sidecar"];
        self.head(title, EVENT, head);
        for (plain, ours) in without.0.iter().zip(with.0) {
            match (plain, ours) {
                (Record::Sent(plain), Record::Sent(ours)) => {
                    let number = self.number(ours);
                    let (plain_given, ours_given) = (given(plain, without.1), given(ours, with.1));
                    let with_cell = ours_given.clone().unwrap_or_else(|| self.why_not(ours, with.1));
                    let cells = [
                        &*number,
                        &ours.event.label,
                        plain_given.as_deref().unwrap_or("- refused"),
                        &outcome(ours),
                        &with_cell,
                    ];
                    let line = Self::row(EVENT, cells);
                    let line = if ours_given.is_some() { line } else { self.paint.faint(&line) };
                    self.say(&line);
                }
                (Record::Flood(label, plain), Record::Flood(_, ours)) => {
                    let number = ours.first().map_or_else(String::new, |first| self.number(first));
                    let count = |all: &[Told], played| {
                        all.iter().filter(|told| given(told, played).is_some()).count()
                    };
                    let (plain_count, ours_count) = (count(plain, without.1), count(ours, with.1));
                    let ours_cell = format!("{ours_count} of them, {} refused", ours.len() - ours_count);
                    let plain_cell = format!("{plain_count} of them");
                    let line = Self::row(EVENT, [&number, label, &plain_cell, "", &ours_cell]);
                    self.say(&line);
                }
                (Record::Turn(plain), Record::Turn(ours)) => {
                    let cells = ["", "the host's turn: the model reads", &events(*plain), "", &events(*ours)];
                    let line = Self::row(EVENT, cells);
                    let line = self.paint.bold(&line);
                    self.say(&line);
                }
                _ => {}
            }
        }
    }

    /// The same event sent anew is a row of its own.
    fn number(&self, told: &Told) -> String {
        let mut same =
            self.numbers.iter().filter(|(event, _)| event.is_same(&told.event)).map(|(_, number)| *number);
        let number = if answer_is_repeat(told) { same.next_back() } else { same.next() };
        number.map_or_else(String::new, |number| format!("{number:>2}"))
    }

    /// Why the host was not given an event that the sidecar took, or did not take.
    fn why_not(&self, told: &Told, played: &Played) -> String {
        if !told.answers.last().is_some_and(answer::is_accepted) {
            return "- refused".to_owned();
        }
        let later = played.scenes.iter().flatten().flat_map(self::told).find_map(|later| {
            let coalesce = answer::coalesce(later.answers.last()?);
            (coalesce["priorEventId"] == *told.event.id).then(|| (later, coalesce["outcome"].clone()))
        });
        let Some((later, outcome)) = later else { return "- nothing is left to tell".to_owned() };
        let number = self.number(later);
        let verb = if outcome == "replaced" { "replaced" } else { "withdrawn" };
        format!("- {verb} unread by {}", number.trim())
    }

    fn legend(&mut self) {
        self.say("");
        for (word, why) in [
            ("first", "nothing of its subject was ever read: it is held, and may still change"),
            ("replaced", "nobody has read the older one: this one takes its place"),
            ("appended", "the older one was read, so it is history: this one is told as news"),
            ("retracted", "withdrawn unread: as if it had never been sent"),
            ("noted", "withdrawn after it was read: the deletion itself is told"),
        ] {
            let line = format!("  {word:<9}  {why}");
            self.say(&line);
        }
        self.say("  This host does not tell its policy in advance, so the first event of a kind goes straight through");
        self.say(
            "  and the host's answer decides; from then on events are held until the host takes its turn.",
        );
    }

    fn refusals(&mut self, without: &Played, with: &Played) {
        let head = ["event", "without the sidecar", "with it"];
        self.head("What the producer was told", REFUSAL, head);
        let pairs = without.scenes.iter().flatten().zip(with.scenes.iter().flatten());
        for (plain, ours) in pairs {
            let at = told(ours).iter().position(|told| !told.answers.iter().all(answer::is_accepted));
            let failed = |record: &Record| {
                told(record).iter().any(|told| !told.answers.iter().all(answer::is_accepted))
            };
            if !failed(plain) && !failed(ours) {
                continue;
            }
            let at = at.unwrap_or(0);
            if let (Some(plain), Some(ours)) = (told(plain).get(at), told(ours).get(at)) {
                self.refusal(plain, ours, with);
            }
        }
    }

    fn refusal(&mut self, plain: &Told, ours: &Told, with: &Played) {
        let left: Vec<String> = plain.answers.iter().flat_map(answer::words).collect();
        let mut right = Vec::new();
        for (nth, answer) in ours.answers.iter().enumerate() {
            right.extend((nth > 0).then(|| "sent again after that time:".to_owned()));
            right.extend(answer::words(answer));
            right.extend(answer::fields(answer));
        }
        let tries = with.book.iter().filter(|given| given.id == ours.event.id).count();
        if ours.answers.first().is_some_and(answer::is_accepted) && tries > 1 {
            right.push(format!("told to the host again: taken at try {tries}"));
        }
        let mut label = Some(format!("{} {}", self.number(ours).trim(), ours.event.label));
        for at in 0..left.len().max(right.len()) {
            let cell = |cells: &[String]| cells.get(at).cloned().unwrap_or_default();
            let label = label.take().unwrap_or_default();
            let line = Self::row(REFUSAL, [&label, &cell(&left), &cell(&right)]);
            self.say(&line);
        }
    }

    fn sum(&mut self, what: &str, without: usize, with: usize) {
        let line = Self::row(SUM, [what, &format!("{without:>7}"), &format!("{with:>4}")]);
        self.say(&line);
    }

    fn sums(&mut self, without: &Played, with: &Played) {
        let (plain, ours) = (Sums::of(without), Sums::of(with));
        self.head("In all", SUM, ["", "without", "with"]);
        for (what, plain, ours) in [
            ("events the producer had to tell", plain.sent, ours.sent),
            ("events the host was given", plain.given, ours.given),
            ("events kept back by the sidecar's own rate limit", plain.limited, ours.limited),
            ("refusals in English only", plain.in_words, ours.in_words),
            ("refusals with fields that a program can act on", plain.in_fields, ours.in_fields),
            ("events lost to a passing failure of the host", plain.lost, ours.lost),
        ] {
            self.sum(what, plain, ours);
        }
        if let Some(tally) = with.tally {
            self.say("");
            self.say("The sidecar's own count, as `wrap` says it at its end:");
            let tally = tally.to_string();
            let (first, rest) =
                tally.split_at(tally.len().min(tally.find(" retried").map_or(80, |at| at + 9)));
            self.say(&format!("  {first}"));
            self.say(&format!("  {}", rest.trim_start()));
        }
    }
}

fn events(count: usize) -> String {
    if count == 1 { "1 event".to_owned() } else { format!("{count} events") }
}

/// What the host was given of an event, if the producer was told that it is accepted.
fn given(told: &Told, played: &Played) -> Option<String> {
    told.answers.last().filter(|answer| answer::is_accepted(answer))?;
    let given = played.book.iter().find(|given| given.taken && given.is(&told.event))?;
    Some(given.text.clone())
}

fn outcome(told: &Told) -> String {
    let Some(last) = told.answers.last() else { return String::new() };
    match (answer::coalesce(last)["outcome"].as_str(), answer::is_accepted(last)) {
        (Some(outcome), _) => outcome.to_owned(),
        (None, true) => "accepted".to_owned(),
        (None, false) => "refused".to_owned(),
    }
}

fn answer_is_repeat(told: &Told) -> bool {
    told.answers.first().is_some_and(|answer: &Value| answer::refusal(answer) == Some("duplicate"))
}
