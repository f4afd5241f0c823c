//! What must be said of the run in `run.rs`: every metric, every series that is not nought.

use std::collections::BTreeMap;

use mcpl_sidecar::telemetry::names::{self, Metric, attribute};

use super::text::{Family, Labels};

/// What is told of one metric. A series goes by the values of its labels, without those that all series here share;
/// one that is not named is nought, or not there.
#[derive(Debug)]
pub(crate) enum Told {
    /// These, exactly.
    Are(&'static [(&'static str, u32)]),
    /// So many durations, exactly; together they are no longer than the run for each, and not negative.
    Took(&'static [(&'static str, u32)]),
    /// Between these, for this reason.
    Between(f64, f64, &'static str),
    /// The end of the certificate that the run was given.
    Ends(&'static [&'static str]),
    /// The bytes of the two events that are held at the end, as they were sent.
    Held,
}

/// What the run knows of itself.
#[derive(Debug)]
pub(crate) struct Run {
    /// Seconds that it took.
    pub(crate) took: f64,
    /// When its certificate ends.
    pub(crate) ends: f64,
    /// Bytes that are held when it is over.
    pub(crate) held: f64,
}

use Told::{Are, Between, Ends, Held, Took};

/// The table. The name of every metric is here.
pub(crate) const TOLD: &[(&Metric, Told)] = &[
    (
        &names::SERVER_OPERATION,
        Took(&[
            ("channels/incoming", 2),
            ("channels/register", 2),
            ("context/beforeInference", 7),
            ("featureSets/update", 2),
            ("initialize", 2),
            ("ping", 28),
            ("push/event", 16),
            ("push/event -32031 -32031", 1),
            ("push/event -32602 -32602", 1),
            ("push/event session_ended", 1),
            ("push/event unavailable", 1),
        ]),
    ),
    (
        &names::CLIENT_OPERATION,
        Took(&[
            ("channels/incoming", 2),
            ("channels/incoming session_ended", 1),
            ("channels/register", 2),
            ("context/beforeInference", 7),
            ("featureSets/update", 2),
            ("initialize", 2),
            ("ping", 28),
            ("push/event", 6),
            ("push/event -32030 -32030", 1),
            ("push/event -32031 -32031", 1),
            ("push/event -32602 -32602", 1),
            ("push/event session_ended", 1),
            ("push/render", 2),
            ("push/render -32603 -32603", 1),
        ]),
    ),
    (&names::SERVER_SESSION, Took(&[("", 1)])),
    (&names::CLIENT_SESSION, Took(&[("", 1)])),
    (
        &names::EVENTS,
        Are(&[
            ("channel appended", 2),
            ("channel passed", 1),
            ("push again", 1),
            ("push appended", 1),
            ("push first", 10),
            ("push noted", 1),
            ("push passed", 2),
            ("push refused", 2),
            ("push replaced", 1),
            ("push retracted", 2),
        ]),
    ),
    (
        &names::REFUSALS,
        Are(&[
            ("invalid host", 1),
            ("invalid sidecar", 1),
            ("too_large host", 1),
            ("unavailable host", 1),
            ("unavailable sidecar", 1),
        ]),
    ),
    (&names::RATE_LIMITED, Are(&[("", 1)])),
    (
        &names::ENDS,
        Are(&[
            ("dead-letter", 1),
            ("delivered", 7),
            ("manual-reconciliation", 1),
            ("replaced", 1),
            ("withdrawn", 2),
        ]),
    ),
    (&names::HELD, Are(&[("", 2)])),
    (&names::HELD_SUBJECTS, Are(&[("", 3)])),
    (&names::HELD_BYTES, Held),
    (&names::SUBJECTS, Are(&[("", 14)])),
    (&names::OUT, Are(&[("", 1)])),
    (&names::RENDERING, Are(&[("", 1)])),
    (&names::IN_DOUBT, Are(&[("", 1)])),
    (&names::DEAD, Are(&[("", 1)])),
    (&names::HOLD, Took(&[("channel", 2), ("push", 9)])),
    (
        &names::FORWARD,
        Took(&[
            ("channel", 1),
            ("channel session_ended", 1),
            ("push", 6),
            ("push -32030", 1),
            ("push -32602", 1),
        ]),
    ),
    (&names::RETRIES, Are(&[("", 1)])),
    // A pace and a slow disk have runs of their own in `rare.rs`.
    (&names::PACED, Are(&[])),
    (&names::RENDERS, Are(&[("content", 1), ("failed", 1), ("late", 1)])),
    (&names::AHEAD, Are(&[])),
    (&names::PASSED, Are(&[("to_host", 46), ("to_producer", 45)])),
    (&names::PASSED_BYTES, Between(1.0, 1e6, "ids that the peers give have as many digits as it takes")),
    (&names::DROPPED, Are(&[("to_producer", 1), ("to_host", 2)])),
    (&names::SESSIONS, Are(&[("", 2)])),
    (&names::SESSIONS_ACTIVE, Are(&[("", 1)])),
    (&names::COMMIT, Between(1.0, 500.0, "how many steps share a transaction is a matter of time")),
    (&names::STEPS, Between(1.0, 500.0, "a step may be merged into the next before it is handed over")),
    (&names::JOURNAL_BYTES, Between(4096.0, 1e8, "pages that SQLite made")),
    (&names::JOURNAL_STATE, Are(&[("good", 1)])),
    (&names::CERTIFICATE, Ends(&["connect", "listen"])),
    (&names::RELOADS, Are(&[("applied", 1), ("rejected", 1)])),
    // That they are counted where a collector hangs is a test of traces.
    (&names::EXPORT_DROPPED, Are(&[])),
];

impl Told {
    /// What the scrape has otherwise.
    pub(crate) fn faults(&self, metric: &Metric, family: &Family, run: &Run) -> Vec<String> {
        let part = |suffix: &str| {
            let name = format!("{}{suffix}", metric.prometheus());
            let samples = family.samples.iter().filter(|(full, ..)| *full == name);
            samples.map(|(_, labels, value)| (series(metric, labels), *value)).collect::<BTreeMap<_, _>>()
        };
        let mut faults = Vec::new();
        let mut same = |found: &BTreeMap<String, f64>, told: &[(&str, u32)]| {
            let found: BTreeMap<&str, f64> = found
                .iter()
                .filter(|(_, value)| **value != 0.0)
                .map(|(key, value)| (key.as_str(), *value))
                .collect();
            let told: BTreeMap<&str, f64> =
                told.iter().map(|(key, value)| (*key, f64::from(*value))).collect();
            if found != told {
                faults.push(format!("{}: {found:?}, not {told:?}", metric.name));
            }
        };
        match self {
            Are(told) => same(&part(""), told),
            Took(told) => {
                let (counts, sums) = (part("_count"), part("_sum"));
                same(&counts, told);
                let beyond =
                    counts.iter().filter(|(key, count)| !(0.0..=run.took * **count).contains(&sums[*key]));
                let beyond: Vec<_> =
                    beyond.map(|(key, _)| format!("{}: {key} took {}", metric.name, sums[key])).collect();
                faults.extend(beyond);
            }
            Between(least, most, because) => {
                let found = part(if family.kind == "histogram" { "_count" } else { "" });
                if found.is_empty() || found.values().any(|value| !(least..=most).contains(&value)) {
                    faults.push(format!("{}: {found:?}, though {because}", metric.name));
                }
            }
            Ends(_) | Held => {
                let (keys, value): (&[&str], f64) =
                    if let Ends(roles) = self { (roles, run.ends) } else { (&[""], run.held) };
                let told: BTreeMap<String, f64> = keys.iter().map(|key| ((*key).to_owned(), value)).collect();
                let found = part("");
                if found != told {
                    faults.push(format!("{}: {found:?}, not {told:?}", metric.name));
                }
            }
        }
        faults
    }
}

/// What a series goes by: the values of its labels in the order of the metric's.
fn series(metric: &Metric, labels: &Labels) -> String {
    let prometheus = |name: &str| name.replace('.', "_");
    for label in labels.keys().filter(|label| *label != "le") {
        assert!(
            metric.labels.iter().any(|known| prometheus(known.name) == *label),
            "{}: {label}",
            metric.name
        );
    }
    let shared = [
        (attribute::PRODUCER, "main"),
        (attribute::TRANSPORT, "tcp"),
        (attribute::PROTOCOL, "websocket"),
        (attribute::PROTOCOL_VERSION, "2024-11-05"),
    ];
    let mut values = Vec::new();
    for known in metric.labels {
        let value = labels.get(&prometheus(known.name)).map(String::as_str);
        if let Some(closed) = known.values {
            assert!(value.is_none_or(|value| closed.contains(&value)), "{}: {value:?}", metric.name);
        }
        match shared.iter().find(|(name, _)| *name == known.name) {
            Some((_, always)) if value == Some(*always) => {}
            // One that all share is missed where it is not.
            Some((name, _)) => values.push(format!("{name}={}", value.unwrap_or("-"))),
            None => values.extend(value.map(str::to_owned)),
        }
    }
    values.join(" ")
}
