//! What an operator sets for one producer, as the engine needs it (contract 2).

use crate::limit::LimitSettings;
use crate::rules::Rules;

/// Everything the engine is configured with; a reload replaces it whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Held work is not released after this long, in ms; 0: never (contract 9.4).
    pub expires_after_ms: u64,
    /// What is known of the host.
    pub host: HostSettings,
    /// Holding and releasing.
    pub coalesce: CoalesceSettings,
    /// Rates of new work.
    pub limits: LimitSettings,
    /// Pace towards the host, forwards a second; 0: unlimited.
    pub forward_rate_per_s: f64,
    /// Forwards outstanding to the host at most.
    pub in_flight: usize,
    /// The largest content admitted, in canonical bytes; 0: no limit of ours (contract 8.7).
    pub max_content_bytes: u64,
    /// The time given when `unavailable` has no better figure, in ms.
    pub retry_after_ms: u64,
    /// Uncoalesced events are kept and delivered as held work is, for producers that never resend
    /// (contract 13.2).
    pub store_uncoalesced: bool,
    /// Dead letters kept with their content; past it the oldest keep only what identifies them.
    pub max_dead_letters: usize,
    /// What gives a subject to events whose producer does not (contract 13.1).
    pub rules: Rules,
}

/// `[producer.host]`; what depends on the host's version is in [`Host`](crate::engine::Host).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSettings {
    /// What becomes of work in doubt on a lane without dedup.
    pub in_doubt: InDoubt,
    /// A host that tells no policy is given held work after this long, in ms (contract 7.5).
    pub policy_wait_ms: u64,
}

/// What becomes of work in doubt where the host does not drop repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InDoubt {
    /// It is left for an operator.
    Hold,
    /// It is sent again: at least once.
    Resend,
}

/// `[producer.coalesce]` (contract 2, 6, 7); times in ms, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoalesceSettings {
    /// When to take over.
    pub mode: Mode,
    /// Release once the subject has been quiet this long.
    pub quiet_ms: u64,
    /// Release at the latest this long after the subject first held unread work.
    pub max_hold_ms: u64,
    /// Whether a running inference makes both of those wait.
    pub while_busy: bool,
    /// … for this long after the newest `started` at most.
    pub busy_max_ms: u64,
    /// Tags that release at once.
    pub urgent_tags: Vec<String>,
    /// Where a replacement stands in the order.
    pub position: Position,
    /// Whether `coalesce.initial` establishes history `none`.
    pub initial: bool,
    /// Subjects tracked; past it work is appended.
    pub max_subjects: usize,
    /// Bytes held; past it work is released early, past that refused.
    pub max_held_bytes: u64,
    /// How long an admitted occurrence is remembered.
    pub retry_window_ms: u64,
    /// A batch that is not rendered in this long becomes its fallback.
    pub render_timeout_ms: u64,
}

/// When the sidecar coalesces (contract 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Unless the host coalesces itself.
    Auto,
    /// In front of every MCPL host.
    Always,
    /// Never.
    Off,
}

/// Where a replacement stands among what is held (contract 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Where the replaced one stood.
    Slot,
    /// Behind everything.
    Tail,
    /// `Slot` in channel scope, `Tail` in feature-set scope.
    Auto,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            expires_after_ms: 0,
            host: HostSettings { in_doubt: InDoubt::Hold, policy_wait_ms: 10_000 },
            coalesce: CoalesceSettings {
                mode: Mode::Auto,
                quiet_ms: 1_500,
                max_hold_ms: 5_000,
                while_busy: true,
                busy_max_ms: 120_000,
                urgent_tags: vec!["chat:addressed".to_owned()],
                position: Position::Auto,
                initial: true,
                max_subjects: 65_536,
                max_held_bytes: 64 << 20,
                retry_window_ms: 3_600_000,
                render_timeout_ms: 5_000,
            },
            limits: LimitSettings { rate_per_s: 0.0, burst: 0, channel_rate_per_s: 0.0, channel_burst: 0 },
            forward_rate_per_s: 0.0,
            in_flight: 64,
            max_content_bytes: 1 << 20,
            retry_after_ms: 1_000,
            store_uncoalesced: false,
            max_dead_letters: 10_000,
            rules: Rules::default(),
        }
    }
}
