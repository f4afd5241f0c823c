//! Every name that leaves the program by telemetry: metrics, attributes, and the closed sets their values come from
//! (contract 10.1, 10.2).
//!
//! What begins with `mcp.`, `rpc.`, `jsonrpc.`, `network.` and `error.` is OpenTelemetry's, as of [`CONVENTIONS`]; what
//! begins with `mcpl.` is ours. No value is a peer's text: what is not in its set is [`OTHER`].

/// A closed set of values.
macro_rules! closed {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// Their names.
            pub const NAMES: &'static [&'static str] = &[$($text,)+];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Its name.
            pub fn as_str(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// The one of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

mod method;
mod sets;

pub use self::method::Method;
pub use self::sets::{
    Came, Direction, End, Failure, Refusal, Reload, Rendered, Role, Signal, Source, Store, Transport, Version,
};

/// The conventions the foreign names are taken from, and the place they live in since MCP's left the general ones.
pub const CONVENTIONS: &str = "semantic-conventions-genai 0.1.0 (docs/gen-ai/mcp.md)";

/// The schema of the general conventions that those build on.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.1";

/// The instrumentation scope of everything.
pub const SCOPE: &str = "mcpl-sidecar";

/// A value that is not in its closed set.
pub const OTHER: &str = "_OTHER";

/// Names of attributes.
pub mod attribute {
    /// The configured producer's `name`.
    pub const PRODUCER: &str = "mcpl.producer";
    /// `push` or `channel`.
    pub const LANE: &str = "mcpl.lane";
    /// What became of an event when it came.
    pub const OUTCOME: &str = "mcpl.event.outcome";
    /// The kind of a refusal (contract 8.1).
    pub const REFUSAL: &str = "mcpl.refusal";
    /// Who refused.
    pub const SOURCE: &str = "mcpl.refusal.source";
    /// How an accepted occurrence ended.
    pub const END: &str = "mcpl.occurrence.end";
    /// Which way a message went.
    pub const DIRECTION: &str = "mcpl.direction";
    /// What came of a render.
    pub const RENDER: &str = "mcpl.render.result";
    /// What came of a reload.
    pub const RELOAD: &str = "mcpl.reload.result";
    /// What the journal takes.
    pub const STORE: &str = "mcpl.journal.state";
    /// What a certificate is for.
    pub const CERTIFICATE: &str = "mcpl.certificate.role";
    /// Which of the exported signals.
    pub const SIGNAL: &str = "mcpl.signal";
    /// The method of a message.
    pub const METHOD: &str = "mcp.method.name";
    /// The version that both peers agreed on.
    pub const PROTOCOL_VERSION: &str = "mcp.protocol.version";
    /// What went wrong; absent where nothing did.
    pub const ERROR: &str = "error.type";
    /// The code of a JSON-RPC error.
    pub const STATUS: &str = "rpc.response.status_code";
    /// `pipe` or `tcp`.
    pub const TRANSPORT: &str = "network.transport";
    /// `websocket`, where it is one.
    pub const PROTOCOL: &str = "network.protocol.name";
    /// On spans: the id of a request, as it is spelled.
    pub const REQUEST_ID: &str = "jsonrpc.request.id";
    /// On spans: the random part of our own ids, which names the session.
    pub const SESSION_ID: &str = "mcp.session.id";
    /// On spans: the tool of a `tools/call`.
    pub const TOOL: &str = "gen_ai.tool.name";
    /// On spans: the prompt of a `prompts/get`.
    pub const PROMPT: &str = "gen_ai.prompt.name";
    /// On spans: `execute_tool` for a `tools/call`.
    pub const OPERATION: &str = "gen_ai.operation.name";
    /// On spans: what the subject's scope is, `featureSet` or `channel`.
    pub const SCOPE: &str = "mcpl.subject.scope";
    /// On spans: what coalescing made of an occurrence (contract 6.6).
    pub const COALESCED: &str = "mcpl.coalesce.outcome";
    /// On spans: how long what is handed over was held, in ms.
    pub const HOLD_MS: &str = "mcpl.hold_ms";
    /// On events of spans: how long until the next attempt, in ms.
    pub const WAIT_MS: &str = "mcpl.wait_ms";
}

/// Names of events on spans.
pub mod event {
    /// An event was refused, or what was handed over.
    pub const REFUSED: &str = "mcpl.refused";
    /// What was handed over is tried again.
    pub const RETRY: &str = "mcpl.retry";
}

/// Every name that a span may carry: its attributes, and those of its events.
pub const SPAN_ATTRIBUTES: &[&str] = &[
    attribute::PRODUCER,
    attribute::METHOD,
    attribute::PROTOCOL_VERSION,
    attribute::ERROR,
    attribute::STATUS,
    attribute::TRANSPORT,
    attribute::PROTOCOL,
    attribute::REQUEST_ID,
    attribute::SESSION_ID,
    attribute::TOOL,
    attribute::PROMPT,
    attribute::OPERATION,
    attribute::SCOPE,
    attribute::COALESCED,
    attribute::HOLD_MS,
    attribute::WAIT_MS,
    attribute::REFUSAL,
    attribute::SOURCE,
];

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows while the program runs.
    Counter,
    /// It is what it is now.
    Gauge,
    /// How many took how long.
    Histogram,
}

/// A label of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name, one of [`attribute`].
    pub name: &'static str,
    /// Its values; `None`: the configured producers' names.
    pub values: Option<&'static [&'static str]>,
}

/// A metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The unit, in UCUM.
    pub unit: &'static str,
    /// What it tells.
    pub about: &'static str,
    /// Its labels.
    pub labels: &'static [Label],
}

const PRODUCER: Label = Label { name: attribute::PRODUCER, values: None };
const LANE: Label = Label { name: attribute::LANE, values: Some(&["push", "channel"]) };
const METHOD: Label = Label { name: attribute::METHOD, values: Some(Method::NAMES) };
const FAILURE: Label = Label { name: attribute::ERROR, values: Some(Failure::NAMES) };
const STATUS: Label = Label { name: attribute::STATUS, values: Some(Failure::NAMES) };
const TRANSPORT: Label = Label { name: attribute::TRANSPORT, values: Some(Transport::NAMES) };
const PROTOCOL: Label = Label { name: attribute::PROTOCOL, values: Some(&["websocket"]) };
const VERSION: Label = Label { name: attribute::PROTOCOL_VERSION, values: Some(Version::NAMES) };

const OPERATION: &[Label] = &[PRODUCER, METHOD, FAILURE, STATUS, TRANSPORT, PROTOCOL, VERSION];
const SESSION: &[Label] = &[PRODUCER, FAILURE, TRANSPORT, PROTOCOL, VERSION];

/// Where the buckets of MCP's own histograms end, in seconds, as the conventions have it.
pub const MCP_BUCKETS: &[f64] =
    &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// Where the buckets of how long work is held or handed over end, in seconds.
pub const HOLD_BUCKETS: &[f64] =
    &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 600.0, 3600.0];

/// Where the buckets of commits end, in seconds.
pub const COMMIT_BUCKETS: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

macro_rules! metrics {
    ($($id:ident: $kind:ident $name:literal $unit:literal $labels:expr, $about:literal;)+) => {
        $(#[doc = $about] pub const $id: Metric = Metric {
            name: $name, kind: Kind::$kind, unit: $unit, about: $about, labels: $labels,
        };)+

        /// Every metric.
        pub const METRICS: &[&Metric] = &[$(&$id,)+];
    };
}

metrics! {
    SERVER_OPERATION: Histogram "mcp.server.operation.duration" "s" OPERATION,
        "How long a peer waited for the answer to its request";
    CLIENT_OPERATION: Histogram "mcp.client.operation.duration" "s" OPERATION,
        "How long a peer took to answer a request that was passed or sent to it";
    SERVER_SESSION: Histogram "mcp.server.session.duration" "s" SESSION,
        "How long a host's session lasted";
    CLIENT_SESSION: Histogram "mcp.client.session.duration" "s" SESSION,
        "How long the connection to a producer lasted";
    EVENTS: Counter "mcpl.events" "{event}"
        &[PRODUCER, LANE, Label { name: attribute::OUTCOME, values: Some(Came::NAMES) }],
        "Events that came, by what became of them";
    REFUSALS: Counter "mcpl.refusals" "{refusal}"
        &[
            PRODUCER,
            Label { name: attribute::REFUSAL, values: Some(Refusal::NAMES) },
            Label { name: attribute::SOURCE, values: Some(Source::NAMES) },
        ],
        "Events that were refused, and forwards that the host refused";
    RATE_LIMITED: Counter "mcpl.rate_limited" "{event}" &[PRODUCER],
        "Events refused for being over a rate";
    ENDS: Counter "mcpl.occurrences.ended" "{occurrence}"
        &[PRODUCER, Label { name: attribute::END, values: Some(End::NAMES) }],
        "Accepted occurrences that ended, by how";
    HELD: Gauge "mcpl.held.occurrences" "{occurrence}" &[PRODUCER],
        "Accepted occurrences that the host was not given yet";
    HELD_SUBJECTS: Gauge "mcpl.held.subjects" "{subject}" &[PRODUCER],
        "Subjects of which something is held or handed over";
    HELD_BYTES: Gauge "mcpl.held.size" "By" &[PRODUCER],
        "Bytes of what is held, as sent";
    SUBJECTS: Gauge "mcpl.subjects" "{subject}" &[PRODUCER],
        "Subjects that are tracked";
    OUT: Gauge "mcpl.forwards.in_flight" "{forward}" &[PRODUCER],
        "Forwards that the host has not answered";
    RENDERING: Gauge "mcpl.renders.in_flight" "{render}" &[PRODUCER],
        "Renders that the producer has not answered";
    IN_DOUBT: Gauge "mcpl.in_doubt" "{occurrence}" &[PRODUCER],
        "Occurrences that were handed over and never answered for, which only an operator can settle";
    DEAD: Gauge "mcpl.dead_letters" "{occurrence}" &[PRODUCER],
        "Dead letters that wait for an operator";
    HOLD: Histogram "mcpl.hold.duration" "s" &[PRODUCER, LANE],
        "How long a subject held what is handed over";
    FORWARD: Histogram "mcpl.forward.duration" "s" &[PRODUCER, LANE, FAILURE],
        "How long the host took to answer what was handed over";
    RETRIES: Counter "mcpl.retries" "{forward}" &[PRODUCER],
        "Forwards that the host could not take, to be tried again";
    PACED: Counter "mcpl.forward.waits" "{wait}" &[PRODUCER],
        "How often the pace towards the host made held work wait";
    RENDERS: Counter "mcpl.renders" "{render}"
        &[PRODUCER, Label { name: attribute::RENDER, values: Some(Rendered::NAMES) }],
        "Renders, by what came of them";
    AHEAD: Counter "mcpl.journal.overtaken" "{message}" &[PRODUCER],
        "Messages that waited for the journal in vain and went ahead of held work";
    PASSED: Counter "mcpl.passed.messages" "{message}"
        &[PRODUCER, Label { name: attribute::DIRECTION, values: Some(Direction::NAMES) }],
        "Messages that went through";
    PASSED_BYTES: Counter "mcpl.passed.size" "By"
        &[PRODUCER, Label { name: attribute::DIRECTION, values: Some(Direction::NAMES) }],
        "Bytes of the messages that went through";
    DROPPED: Counter "mcpl.dropped.lines" "{line}"
        &[PRODUCER, Label { name: attribute::DIRECTION, values: Some(Direction::NAMES) }],
        "Lines that were no message, or too long, and were not passed on";
    SESSIONS: Counter "mcpl.sessions" "{session}" &[PRODUCER],
        "Sessions that began";
    SESSIONS_ACTIVE: Gauge "mcpl.sessions.active" "{session}" &[PRODUCER],
        "Sessions that live: 0 or 1 a producer";
    COMMIT: Histogram "mcpl.journal.commit.duration" "s" &[],
        "How long a transaction of the journal took";
    STEPS: Counter "mcpl.journal.steps" "{step}" &[],
        "Steps that are on disk";
    JOURNAL_BYTES: Gauge "mcpl.journal.size" "By" &[],
        "Size of the journal when last measured";
    JOURNAL_STATE: Gauge "mcpl.journal.state" "{state}"
        &[Label { name: attribute::STORE, values: Some(Store::NAMES) }],
        "1 for what the journal takes now, 0 for the rest";
    CERTIFICATE: Gauge "mcpl.certificate.not_after" "s"
        &[PRODUCER, Label { name: attribute::CERTIFICATE, values: Some(Role::NAMES) }],
        "When a certificate of ours ends, in seconds since 1970";
    RELOADS: Counter "mcpl.reloads" "{reload}"
        &[Label { name: attribute::RELOAD, values: Some(Reload::NAMES) }],
        "Reloads of the configuration, by what came of them";
    EXPORT_DROPPED: Counter "mcpl.telemetry.dropped" "{item}"
        &[Label { name: attribute::SIGNAL, values: Some(Signal::NAMES) }],
        "Spans that were not exported: the queue was full, or the collector did not take them";
}

impl Metric {
    /// Its name in Prometheus' text.
    pub fn prometheus(&self) -> String {
        let base = self.name.replace('.', "_");
        let unit = match self.unit {
            "s" => "_seconds",
            "By" => "_bytes",
            _ => "",
        };
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("{base}{unit}{total}")
    }
}
