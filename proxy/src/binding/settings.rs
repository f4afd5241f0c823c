//! From the configuration of a producer to what the engine and a session are run under (contract 2).

use mcpl_policy::Settings;
use mcpl_policy::limit::LimitSettings;
use mcpl_policy::profile::Dedup;
use mcpl_policy::settings::{CoalesceSettings, HostSettings, InDoubt, Mode, Position};

use crate::config;
use crate::exchange::Terms;
use crate::telemetry::seat::Carrier;
use crate::transport::Facts;

fn mode(mode: config::Mode) -> Mode {
    match mode {
        config::Mode::Auto => Mode::Auto,
        config::Mode::Always => Mode::Always,
        config::Mode::Off => Mode::Off,
        config::Mode::Observe => Mode::Observe,
    }
}

/// The engine's settings.
pub fn settings(producer: &config::Producer, max_dead_letters: usize) -> Settings {
    let (coalesce, limits) = (&producer.coalesce, &producer.limits);
    Settings {
        expires_after_ms: producer.expires_after_ms,
        host: HostSettings {
            in_doubt: match producer.host.in_doubt {
                config::InDoubt::Hold => InDoubt::Hold,
                config::InDoubt::Resend => InDoubt::Resend,
            },
            policy_wait_ms: producer.host.policy_wait_ms,
        },
        coalesce: CoalesceSettings {
            mode: mode(coalesce.mode),
            quiet_ms: coalesce.quiet_ms,
            max_hold_ms: coalesce.max_hold_ms,
            while_busy: coalesce.while_busy,
            busy_max_ms: coalesce.busy_max_ms,
            urgent_tags: coalesce.urgent_tags.clone(),
            position: match coalesce.position {
                config::Position::Slot => Position::Slot,
                config::Position::Tail => Position::Tail,
                config::Position::Auto => Position::Auto,
            },
            initial: coalesce.initial,
            max_subjects: coalesce.max_subjects,
            max_held_bytes: coalesce.max_held_bytes,
            retry_window_ms: coalesce.retry_window_ms,
            render_timeout_ms: coalesce.render_timeout_ms,
        },
        limits: LimitSettings {
            rate_per_s: limits.rate_per_s,
            burst: limits.burst,
            channel_rate_per_s: limits.channel_rate_per_s,
            channel_burst: limits.channel_burst,
        },
        forward_rate_per_s: limits.forward_rate_per_s,
        in_flight: limits.in_flight,
        max_content_bytes: limits.max_content_bytes,
        retry_after_ms: producer.refusals.retry_after_ms,
        store_uncoalesced: producer.forward.uncoalesced == config::Uncoalesced::Store,
        max_dead_letters,
        rules: producer.subjects.clone(),
    }
}

/// What a session is run under.
pub fn terms(producer: &config::Producer) -> Terms {
    Terms {
        classifier: producer.classifier(),
        profile: producer.host.profile.into(),
        dedup: producer.host.dedup.map(|dedup| match dedup {
            config::Dedup::None => Dedup::None,
            config::Dedup::Push => Dedup::Push,
            config::Dedup::Both => Dedup::Both,
        }),
        mode: mode(producer.coalesce.mode),
        retry_window_ms: producer.coalesce.retry_window_ms,
        render_timeout_ms: producer.coalesce.render_timeout_ms,
        max_content_bytes: producer.limits.max_content_bytes,
        retry_after_ms: producer.refusals.retry_after_ms,
        shims: producer.host.shims,
        undelivered: producer.undelivered,
        producer: producer.name.as_str().into(),
        renames: producer.subjects.iter().any(|rule| rule.distinct),
    }
}

/// How the producer is reached, as far as that is known before it is.
pub fn carrier(producer: &config::Producer) -> Carrier {
    let facts = match &producer.peer {
        config::Peer::Command(_) => Facts::PIPE,
        config::Peer::Connect(endpoint) if endpoint.scheme == config::Scheme::Tcp => Facts::TCP,
        config::Peer::Connect(_) => Facts::WEBSOCKET,
    };
    (&facts).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_render_may_take_is_told_to_the_engine_and_to_the_session() {
        let (mut producer, _) = config::defaults("bench");
        assert_eq!(settings(&producer, 1).coalesce.render_timeout_ms, 5_000);
        producer.coalesce.render_timeout_ms = 70;
        assert_eq!(settings(&producer, 1).coalesce.render_timeout_ms, 70);
        assert_eq!(terms(&producer).render_timeout_ms, 70);
    }
}
