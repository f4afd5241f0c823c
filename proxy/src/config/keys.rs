//! Every key a file may have: its shape, default and meaning, in one table.
//!
//! The reader, the schema and the effective configuration are all made from this table, so that they
//! cannot disagree. A later key is a line here and a field of the model.

use super::model::{Dedup, InDoubt, LogFormat, LogLevel, Mode, Position, Profile, Uncoalesced};
use super::preset;

mod reach;
mod rules;

pub(super) use self::rules::SUBJECT;

use self::reach::{CONNECT_AUTH, CONNECT_TLS, LISTEN_AUTH, LISTEN_TLS};
use self::rules::RULE;

/// What a value looks like.
#[derive(Debug)]
pub(super) enum Shape {
    /// A string; `${VAR}` is filled in.
    Text,
    /// A string naming a file or folder, relative to the configuration file.
    Path,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// An integer in a range, both ends included.
    Integer(i64, i64),
    /// 0, or a number in a range, both ends included.
    Rate(f64, f64),
    /// `true` or `false`.
    Flag,
    /// An array of strings.
    List,
    /// A table of strings whose names are the user's and whose values are secret.
    Secrets,
    /// A table with these keys.
    Table(&'static [Key]),
    /// An array of tables with these keys.
    Tables(&'static [Key]),
}

/// What a key is worth when the file does not have it.
#[derive(Debug)]
pub(super) enum Fallback {
    /// It has to be there.
    Required,
    /// Nothing, or what the description says.
    Absent,
    /// A table of defaults.
    Defaults,
    Text(&'static str),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(&'static [&'static str]),
}

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) default: Fallback,
    /// One sentence, for the schema.
    pub(super) about: &'static str,
}

const fn key(name: &'static str, shape: Shape, default: Fallback, about: &'static str) -> Key {
    Key { name, shape, default, about }
}

/// Ten years: longer times are slips of the finger, and sums of times cannot overflow below it.
const LONGEST_MS: i64 = 315_360_000_000;
const MS: Shape = Shape::Integer(0, LONGEST_MS);
const SOME_MS: Shape = Shape::Integer(1, LONGEST_MS);
/// The least retry window: producers resend for up to an hour.
const HOUR_MS: i64 = 3_600_000;
/// A rate under one in eleven days is a slip of the finger; one over a million a second cannot be paced.
const RATE: Shape = Shape::Rate(0.000_001, 1_000_000.0);
const BURST: Shape = Shape::Integer(0, 1_000_000_000);
/// One message is held in memory whole.
const LARGEST_MESSAGE_BYTES: i64 = 1 << 30;
/// Under this the handshake itself would not pass.
const SMALLEST_MESSAGE_BYTES: i64 = 1024;
const LARGEST_STORE_BYTES: i64 = 1 << 40;
/// Under this the journal would be full before it held anything.
const SMALLEST_JOURNAL_BYTES: i64 = 1 << 20;
/// A message that waits longer than this for the disk is a connection that hangs.
const LONGEST_WAIT_MS: i64 = 60_000;
/// Who stops the program waits for it.
const LONGEST_DRAIN_MS: i64 = 600_000;
/// Dead letters are kept with their content.
const MOST_DEAD_LETTERS: i64 = 1_000_000;

use self::Fallback::{Absent, Defaults, Flag, Integer, List, Number, Required, Text};

/// The file.
pub(super) static FILE: &[Key] = &[
    key(
        "state_dir",
        Shape::Path,
        Absent,
        "Folder of the journal. Default: $XDG_STATE_HOME/mcpl-sidecar, else ~/.local/state/mcpl-sidecar.",
    ),
    key(
        "max_journal_bytes",
        Shape::Integer(SMALLEST_JOURNAL_BYTES, LARGEST_STORE_BYTES),
        Integer(2_147_483_648),
        "Size of the journal on disk; past it new work is unavailable.",
    ),
    key(
        "max_dead_letters",
        Shape::Integer(0, MOST_DEAD_LETTERS),
        Integer(10_000),
        "Dead letters kept whole; past it the oldest keep only what identifies them.",
    ),
    key(
        "journal_wait_ms",
        Shape::Integer(0, LONGEST_WAIT_MS),
        Integer(250),
        "How long a message that must not overtake held work waits for the disk, at most.",
    ),
    key(
        "drain_ms",
        Shape::Integer(0, LONGEST_DRAIN_MS),
        Integer(10_000),
        "How long the program goes on releasing what it may after SIGTERM, at most.",
    ),
    key("admin", Shape::Table(ADMIN), Absent, "The admin listener; absent: none."),
    key(
        "telemetry",
        Shape::Table(TELEMETRY),
        Defaults,
        "Logs and the OTLP exporter; OTEL_* environment variables win.",
    ),
    key("producer", Shape::Tables(PRODUCER), Required, "The producers, one table each."),
];

static ADMIN: &[Key] = &[
    key("listen", Shape::Text, Required, "Where it listens: ADDRESS:PORT."),
    key(
        "token_file",
        Shape::Path,
        Absent,
        "File with the bearer token; required when the address is not loopback.",
    ),
    key(
        "show_content",
        Shape::Flag,
        Flag(false),
        "Whether who asks for an occurrence, and the live page, is shown the content of events.",
    ),
    key("tls", Shape::Table(LISTEN_TLS), Absent, "TLS on the admin listener; absent: plain HTTP."),
];

/// `[telemetry]`.
pub(super) static TELEMETRY: &[Key] = &[
    key(
        "otlp_endpoint",
        Shape::Text,
        Absent,
        "URL of the OTLP collector, http:// or https://; absent: nothing is exported. OTEL_ variables win.",
    ),
    key("log", Shape::Choice(LogLevel::NAMES), Text("info"), "The least severe level that is logged."),
    key("log_format", Shape::Choice(LogFormat::NAMES), Text("text"), "The form of a log line."),
];

/// `[[producer]]`.
pub(super) static PRODUCER: &[Key] = &[
    key("name", Shape::Text, Required, "The binding: [a-z0-9][a-z0-9._-]{0,63}, unique in the file."),
    key("listen", Shape::Text, Required, "Where the host reaches us: stdio, tcp://, ws:// or wss://."),
    key("command", Shape::List, Absent, "The producer to spawn: program and arguments. This or `connect`."),
    key(
        "connect",
        Shape::Text,
        Absent,
        "The producer to dial: tcp://, ws://, wss:// or mcpl://. This or `command`.",
    ),
    key("env", Shape::Secrets, Absent, "Environment variables for the command, added to ours."),
    key("cwd", Shape::Path, Absent, "Working directory of the command; absent: ours."),
    key("expires_after_ms", MS, Integer(0), "Held work not released after this long expires; 0: never."),
    key(
        "connect_timeout_ms",
        SOME_MS,
        Integer(30_000),
        "How long the host's first messages wait for the producer.",
    ),
    key(
        "undelivered",
        Shape::Flag,
        Flag(false),
        "Whether the producer is told when something it was told is accepted became a dead letter.",
    ),
    key(
        "preset",
        Shape::Choice(preset::NAMES),
        Absent,
        "The subject rules of a known producer, after yours.",
    ),
    key(
        "listen_tls",
        Shape::Table(LISTEN_TLS),
        Absent,
        "TLS towards the host; with a wss:// `listen`, always.",
    ),
    key(
        "listen_auth",
        Shape::Table(LISTEN_AUTH),
        Absent,
        "Who may come in by a ws:// or wss:// `listen`; absent: whoever reaches it, but no browser.",
    ),
    key(
        "connect_tls",
        Shape::Table(CONNECT_TLS),
        Absent,
        "TLS towards the producer, with a wss:// or mcpl:// `connect`; absent: the system's roots.",
    ),
    key(
        "connect_auth",
        Shape::Table(CONNECT_AUTH),
        Absent,
        "What we show a ws://, wss:// or mcpl:// `connect`; absent: nothing.",
    ),
    key("host", Shape::Table(HOST), Defaults, "What is known of the host."),
    key("coalesce", Shape::Table(COALESCE), Defaults, "What is held, and when it is released."),
    key("forward", Shape::Table(FORWARD), Defaults, "What becomes of events that are not coalesced."),
    key("limits", Shape::Table(LIMITS), Defaults, "Rates and sizes."),
    key("refusals", Shape::Table(REFUSALS), Defaults, "How the host's refusals are read."),
    key(
        "subject",
        Shape::Tables(SUBJECT),
        Absent,
        "What events without `coalesce` are about; the first rule that matches counts.",
    ),
];

static HOST: &[Key] = &[
    key("profile", Shape::Choice(Profile::NAMES), Text("generic"), "Which host it is."),
    key(
        "dedup",
        Shape::Choice(Dedup::NAMES),
        Absent,
        "Lanes on which the host drops what it has had. Default: by profile.",
    ),
    key(
        "in_doubt",
        Shape::Choice(InDoubt::NAMES),
        Text("hold"),
        "Work in doubt on a lane without dedup: hold for an operator, or resend. Default under `wrap`: resend.",
    ),
    key(
        "policy_wait_ms",
        MS,
        Integer(10_000),
        "From a host that tells us no policy, held work goes after this long.",
    ),
    key(
        "shims",
        Shape::List,
        List(&[]),
        "What host and producer need to get on: feature-sets-object, policy-receipt.",
    ),
];

static COALESCE: &[Key] = &[
    key(
        "mode",
        Shape::Choice(Mode::NAMES),
        Text("auto"),
        "auto: step aside for a host that coalesces itself; always; off; observe: change nothing and count what auto would do.",
    ),
    key("quiet_ms", MS, Integer(1500), "Release once the subject has been quiet this long."),
    key(
        "max_hold_ms",
        MS,
        Integer(5000),
        "Release at the latest this long after the subject was first held.",
    ),
    key("while_busy", Shape::Flag, Flag(true), "Keep holding while the host's inference runs."),
    key("busy_max_ms", MS, Integer(120_000), "An inference counts as running for this long at most."),
    key("urgent_tags", Shape::List, List(&["chat:addressed"]), "Tags that release at once."),
    key(
        "position",
        Shape::Choice(Position::NAMES),
        Text("auto"),
        "Place of a replacement: slot, tail, or auto (channel scope: slot, feature-set scope: tail).",
    ),
    key("initial", Shape::Flag, Flag(true), "Whether coalesce.initial establishes history `none`."),
    key(
        "max_subjects",
        Shape::Integer(1, 16_777_216),
        Integer(65_536),
        "Subjects tracked; past it: append, never refuse.",
    ),
    key(
        "max_held_bytes",
        Shape::Integer(1, LARGEST_STORE_BYTES),
        Integer(67_108_864),
        "Bytes held; past it: release early; past that: unavailable.",
    ),
    key(
        "retry_window_ms",
        Shape::Integer(HOUR_MS, LONGEST_MS),
        Integer(HOUR_MS),
        "How long an admitted occurrence is remembered; an hour at least.",
    ),
    key(
        "render_timeout_ms",
        SOME_MS,
        Integer(5000),
        "How long a render may take before the fallback is used.",
    ),
];

static FORWARD: &[Key] = &[key(
    "uncoalesced",
    Shape::Choice(Uncoalesced::NAMES),
    Text("pass"),
    "pass: the host answers them; store: accepted into the journal and delivered as held work is.",
)];

static LIMITS: &[Key] = &[
    key("rate_per_s", RATE, Number(0.0), "New work admitted a second; 0: unlimited."),
    key(
        "burst",
        BURST,
        Integer(0),
        "Bucket of rate_per_s, full at the start; 0: same as the rate, at least 1.",
    ),
    key(
        "channel_rate_per_s",
        RATE,
        Number(0.0),
        "New work admitted a second for each channel id; 0: unlimited.",
    ),
    key("channel_burst", BURST, Integer(0), "Bucket of channel_rate_per_s; 0: same as the rate, at least 1."),
    key(
        "forward_rate_per_s",
        RATE,
        Number(0.0),
        "Forwards a second towards the host; held work waits. 0: unlimited.",
    ),
    key("in_flight", Shape::Integer(1, 65_536), Integer(64), "Forwards outstanding to the host."),
    key(
        "max_content_bytes",
        Shape::Integer(0, LARGEST_MESSAGE_BYTES),
        Integer(1_048_576),
        "Largest content of one event, in JCS bytes; 0: no limit of ours.",
    ),
    key(
        "max_message_bytes",
        Shape::Integer(SMALLEST_MESSAGE_BYTES, LARGEST_MESSAGE_BYTES),
        Integer(67_108_864),
        "Largest JSON-RPC message on the wire.",
    ),
];

static REFUSALS: &[Key] = &[
    key("retry_after_ms", MS, Integer(1000), "The figure of an `unavailable` that has no better one."),
    key("rule", Shape::Tables(RULE), Absent, "Rules, tried before the profile's own; the first match wins."),
];

/// The methods of the two event lanes.
pub(super) const METHODS: &[&str] = &["push/event", "channels/incoming"];

/// The dotted paths of the tables that have a key of this name.
pub(super) fn homes(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), FILE)];
    while let Some((path, table)) = open.pop() {
        for key in table {
            if key.name == name {
                found.push(path.clone());
            }
            if let Shape::Table(inner) | Shape::Tables(inner) = &key.shape {
                let dot = if path.is_empty() { "" } else { "." };
                open.push((format!("{path}{dot}{}", key.name), inner));
            }
        }
    }
    found.sort();
    found
}

/// Whether the table at a dotted path is an array of tables.
pub(super) fn is_array(path: &str) -> bool {
    matches!(path, "producer" | "producer.refusals.rule" | "producer.subject")
}
