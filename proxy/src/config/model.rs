//! The configuration as plain data: what the rest of the program reads (contract section 2).
//!
//! Durations are milliseconds (`_ms`), sizes bytes (`_bytes`). Every value in here has been validated;
//! nothing in here is printed with its secrets (see the `Debug` of [`Command`]).

use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;

use mcpl_policy::rules::Rules;
use regex::Regex;

use super::endpoint::Endpoint;
use super::identity::{Admin, ConnectAuth, ConnectTls, ListenAuth, ListenTls};

/// A whole configuration file, validated, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where the journal and the lock lie; absolute, or relative to the working directory if the file was.
    pub state_dir: PathBuf,
    /// Size of the journal on disk, in bytes; past it new work is `unavailable` (contract 9.5).
    pub max_journal_bytes: u64,
    /// Dead letters kept whole; past it the oldest keep only what identifies them (contract 9.5).
    pub max_dead_letters: usize,
    /// How long a message that must not overtake held work waits for the disk, in ms (contract 7.6).
    pub journal_wait_ms: u64,
    /// How long the program goes on releasing after SIGTERM, in ms; at most ten minutes.
    pub drain_ms: u64,
    /// The admin listener; `None`: there is none.
    pub admin: Option<Admin>,
    /// Logs and the exporter.
    pub telemetry: Telemetry,
    /// The producers, in the order of the file; names are unique.
    pub producers: Vec<Producer>,
}

/// `[telemetry]`: logs and the OTLP exporter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telemetry {
    /// The OTLP collector's URL (`http://` or `https://`); `None`: nothing is exported.
    pub otlp_endpoint: Option<String>,
    /// The least severe level that is logged.
    pub log: LogLevel,
    /// The form of a log line.
    pub log_format: LogFormat,
}

/// One `[[producer]]`: a binding.
#[derive(Clone, Debug, PartialEq)]
pub struct Producer {
    /// The binding's name: `[a-z0-9][a-z0-9._-]{0,63}`.
    pub name: String,
    /// Where the host reaches us.
    pub listen: Listen,
    /// TLS there; there with `wss://`, and only then.
    pub listen_tls: Option<ListenTls>,
    /// Who may come in there; only with `ws://` and `wss://`.
    pub listen_auth: Option<ListenAuth>,
    /// The producer itself.
    pub peer: Peer,
    /// TLS towards it; only with `wss://` and `mcpl://`. `None`: all defaults.
    pub connect_tls: Option<ConnectTls>,
    /// What it is shown of us; only with `ws://`, `wss://` and `mcpl://`.
    pub connect_auth: Option<ConnectAuth>,
    /// Held work not released after this long expires; 0: never.
    pub expires_after_ms: u64,
    /// How long the host's first messages wait for the producer (contract 3.1).
    pub connect_timeout_ms: u64,
    /// What is known of the host.
    pub host: Host,
    /// Coalescing and release.
    pub coalesce: Coalesce,
    /// What becomes of events that are not coalesced.
    pub forward: Forward,
    /// Rates and sizes.
    pub limits: Limits,
    /// How refusals are read.
    pub refusals: Refusals,
    /// The producer is told when something it was told is accepted became a dead letter (contract 13.5).
    pub undelivered: bool,
    /// What events without `coalesce` are about: the user's rules, then the preset's (contract 13.1).
    pub subjects: Rules,
}

/// Where the host reaches us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Our own stdin and stdout.
    Stdio,
    /// A listener: `tcp://`, `ws://` or `wss://`. Port 0 takes any free port.
    On(Endpoint),
}

/// How the producer is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Spawn it; it speaks on its stdin and stdout.
    Command(Command),
    /// Dial it: `tcp://`, `ws://`, `wss://` or `mcpl://`.
    Connect(Endpoint),
}

/// A producer to spawn. Its `Debug` shows the program only: arguments, `env` and `cwd` may come from
/// variables.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments; never empty once loaded by [`super::load`].
    pub argv: Vec<OsString>,
    /// Variables added to our own environment.
    pub env: Vec<(String, String)>,
    /// Working directory; `None`: ours.
    pub cwd: Option<PathBuf>,
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command").field("program", &self.argv.first()).finish_non_exhaustive()
    }
}

/// `[producer.host]`: what is known of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Which host it is (contract 8.10).
    pub profile: Profile,
    /// Lanes on which the host drops what it has had; `None`: as the profile says.
    pub dedup: Option<Dedup>,
    /// What becomes of work in doubt on a lane without dedup (contract 9.3).
    pub in_doubt: InDoubt,
    /// A host that tells us no policy: held work goes after this long (contract 7.5).
    pub policy_wait_ms: u64,
    /// What host and producer need to get on.
    pub shims: Shims,
}

/// `host.shims`: what is changed between a host and a producer that would not get on otherwise (contract 13.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shims {
    /// `feature-sets-object`: the host is shown a producer's array of feature sets as an object.
    pub feature_sets_object: bool,
    /// `policy-receipt`: a `featureSets/update` that the producer does not know is answered as accepted.
    pub policy_receipt: bool,
}

impl Shims {
    /// The names a file may use.
    pub const NAMES: &'static [&'static str] = &["feature-sets-object", "policy-receipt"];
}

/// `[producer.coalesce]`: coalescing (contract 6) and release (contract 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coalesce {
    /// Whether we coalesce.
    pub mode: Mode,
    /// A subject is released once it has been quiet this long.
    pub quiet_ms: u64,
    /// … and at the latest this long after it was first held.
    pub max_hold_ms: u64,
    /// Keep holding while the host's inference runs.
    pub while_busy: bool,
    /// … for this long from the newest `started` at most.
    pub busy_max_ms: u64,
    /// Tags that release at once.
    pub urgent_tags: Vec<String>,
    /// Where a replacement stands in the order.
    pub position: Position,
    /// Whether `coalesce.initial` establishes history `none`.
    pub initial: bool,
    /// Subjects tracked; past it: append, never refuse.
    pub max_subjects: usize,
    /// Bytes held; past it: release early; past that: `unavailable`.
    pub max_held_bytes: u64,
    /// How long an admitted occurrence is remembered; at least an hour.
    pub retry_window_ms: u64,
    /// How long a render may take before the fallback is used.
    pub render_timeout_ms: u64,
}

/// `[producer.forward]`: events that are not coalesced (contract 13.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Who accepts them.
    pub uncoalesced: Uncoalesced,
}

/// `[producer.limits]`: rates and sizes (contract 8.7, 8.8).
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// New work admitted a second; 0: unlimited, else at least 0.000001.
    pub rate_per_s: f64,
    /// Bucket size of `rate_per_s`; 0: the rate, at least 1.
    pub burst: u32,
    /// New work admitted a second for each channel id; 0: unlimited.
    pub channel_rate_per_s: f64,
    /// Bucket size of `channel_rate_per_s`; 0: the rate, at least 1.
    pub channel_burst: u32,
    /// Forwards a second towards the host; 0: unlimited. Held work waits, it is not refused.
    pub forward_rate_per_s: f64,
    /// Forwards outstanding to the host; at least 1.
    pub in_flight: usize,
    /// Largest content of one occurrence, in JCS bytes; 0: no limit of ours.
    pub max_content_bytes: u64,
    /// Largest JSON-RPC message on the wire, line end not counted.
    pub max_message_bytes: usize,
}

/// `[producer.refusals]`: how refusals are read (contract 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    /// The figure of an `unavailable` that has no better one.
    pub retry_after_ms: u64,
    /// The user's rules; the first match wins, before the profile's own.
    pub rules: Vec<Rule>,
}

/// `[[producer.refusals.rule]]`: conditions, all of which must match, and what the answer then is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The error code.
    pub code: Option<i64>,
    /// Matches the error's message.
    pub message: Option<Pattern>,
    /// Matches the result's reason.
    pub reason: Option<Pattern>,
    /// The lane's method: `push/event` or `channels/incoming`.
    pub method: Option<String>,
    /// The kind of refusal; an open set (contract 8.1).
    pub refusal: String,
    /// Whether a resend makes sense.
    pub retryable: Option<bool>,
    /// When, in milliseconds; never with `invalid` or `duplicate`.
    pub retry_after_ms: Option<u64>,
    /// The limit that applies; only with `too_large`, at least 1.
    pub limit_bytes: Option<u64>,
}

/// A compiled regular expression that compares by its text.
#[derive(Clone)]
pub struct Pattern(pub Regex);

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        &self.0
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

/// Shows no text: a pattern may come from a variable.
impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pattern(…)")
    }
}

/// An enumeration whose members have one name each in the file.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// The names a file may use, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($text,)+];

            /// The name in the file.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The member of that name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

choice! {
    /// `host.profile`: which host it is (contract 8.10).
    Profile {
        /// Nothing is known of it.
        Generic = "generic",
        /// connectome's agent-framework.
        AgentFramework = "agent-framework",
        /// cc-bridge.
        CcBridge = "cc-bridge",
    }
}

choice! {
    /// `host.dedup`: lanes on which the host drops what it has had.
    Dedup {
        /// On neither lane.
        None = "none",
        /// On `push/event`.
        Push = "push",
        /// On `push/event` and `channels/incoming`.
        Both = "both",
    }
}

choice! {
    /// `host.in_doubt`: what becomes of work in doubt on a lane without dedup (contract 9.3).
    InDoubt {
        /// It waits for an operator.
        Hold = "hold",
        /// It is sent again: at least once.
        Resend = "resend",
    }
}

choice! {
    /// `coalesce.mode`: whether we coalesce (contract 4.3).
    Mode {
        /// Step aside for a host that coalesces itself.
        Auto = "auto",
        /// Coalesce whatever the host says.
        Always = "always",
        /// Leave `coalesce` and the host's advertisement alone.
        Off = "off",
        /// Change nothing, and count what `auto` would have done (contract 13.4).
        Observe = "observe",
    }
}

choice! {
    /// `forward.uncoalesced`: who accepts an event that is not coalesced.
    Uncoalesced {
        /// The host: it passes through, and the host's answer is the answer.
        Pass = "pass",
        /// The sidecar: it is journaled, answered `accepted`, and delivered as held work is.
        Store = "store",
    }
}

choice! {
    /// `coalesce.position`: where a replacement stands in the order.
    Position {
        /// In the place of what it replaces.
        Slot = "slot",
        /// At the end.
        Tail = "tail",
        /// Channel scope: slot; feature-set scope: tail.
        Auto = "auto",
    }
}

choice! {
    /// `connect_auth.token_as`: where a producer is shown our token.
    TokenForm {
        /// `Authorization: Bearer …`.
        Header = "header",
        /// `token=…`, at the end of the query.
        Query = "query",
        /// `mcpl.bearer.…`, an entry of `Sec-WebSocket-Protocol`.
        Subprotocol = "subprotocol",
    }
}

choice! {
    /// `telemetry.log`: the least severe level that is logged.
    LogLevel {
        /// Nothing is logged.
        Off = "off",
        /// What went wrong.
        Error = "error",
        /// … and what may.
        Warn = "warn",
        /// … and what sessions do.
        Info = "info",
        /// … and what messages do.
        Debug = "debug",
        /// … and everything else.
        Trace = "trace",
    }
}

choice! {
    /// `telemetry.log_format`: the form of a log line.
    LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}
