//! The log: to stderr, text or JSON, at the level of `[telemetry] log` (contract section 1).
//!
//! Logging never blocks, never fails and never panics: lines go through a bounded [`sink`] to a thread of
//! its own, so that a host which does not read our stderr holds nothing up. Of one kind of line only so
//! many are written; the rest are counted ([`noise`]). `RUST_LOG` is not looked at.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt as _};

use self::noise::Noise;
use self::sink::{Lines, Sink};
use crate::config::{LogFormat, LogLevel, Telemetry};

pub mod noise;
pub mod sink;

/// How long the last lines may take to be written when the program ends.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The running log. When it is dropped, what is still to be written is, if stderr takes it in time.
#[derive(Debug)]
#[must_use = "the log ends when this is dropped"]
pub struct Log {
    sink: Sink,
    sums: Option<Sums>,
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(sums) = &self.sums {
            for line in sums.all() {
                self.sink.lines().send(&line);
            }
        }
        self.sink.finish(LAST_WORDS);
    }
}

/// Starts the log of this process; the first call counts.
pub fn start(telemetry: &Telemetry) -> Log {
    let level = match telemetry.log {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let sums = Sums { noise: Arc::default(), format: telemetry.log_format, start: Instant::now() };
    let ticking = sums.clone();
    let sink = Sink::start(io::stderr(), move || ticking.due());
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let layer = layer(telemetry.log_format, colour, sink.lines(), Quiet { level, sums: sums.clone() });
    // Only a test has started a log before.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer));
    Log { sink, sums: Some(sums) }
}

fn layer<S>(format: LogFormat, colour: bool, lines: Lines, quiet: Quiet) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'s> tracing_subscriber::registry::LookupSpan<'s> + Send + Sync,
{
    let layer =
        tracing_subscriber::fmt::layer().with_ansi(colour).log_internal_errors(false).with_writer(lines);
    match format {
        LogFormat::Text => layer.with_filter(quiet).boxed(),
        // There is one span at most: it is said once.
        LogFormat::Json => layer.json().with_span_list(false).with_filter(quiet).boxed(),
    }
}

/// What is not logged: what is below the level, and more of the same.
struct Quiet {
    level: LevelFilter,
    sums: Sums,
}

impl<S> Filter<S> for Quiet {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        // What carries telemetry would log what it carries, credentials and all.
        let foreign = ["h2", "hyper", "tonic", "tower"].into_iter().any(|name| {
            metadata.target().strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        });
        // It says at debug that no metrics are recorded, of ones that are never kept.
        let misleading = metadata.target() == "opentelemetry" && *metadata.level() > Level::WARN;
        *metadata.level() <= self.level && !foreign && !misleading
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let now = self.sums.now();
        let mut noise = self.sums.noise.lock().unwrap_or_else(PoisonError::into_inner);
        let metadata = event.metadata();
        noise.admit(metadata.callsite(), now, || Kind {
            level: *metadata.level(),
            target: metadata.target(),
            message: Message::of(event),
        })
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }
}

/// What a kind of line looks like.
#[derive(Debug)]
struct Kind {
    level: Level,
    target: &'static str,
    /// The message of the first line that was not written.
    message: String,
}

/// The lines that were not written, and how to say so.
#[derive(Clone, Debug)]
struct Sums {
    noise: Arc<Mutex<Noise<tracing::callsite::Identifier, Kind>>>,
    format: LogFormat,
    start: Instant,
}

impl Sums {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The sums that are due now, as lines.
    fn due(&self) -> Vec<Vec<u8>> {
        self.at(self.now())
    }

    /// All sums.
    fn all(&self) -> Vec<Vec<u8>> {
        self.at(u64::MAX)
    }

    fn at(&self, now: u64) -> Vec<Vec<u8>> {
        let due = self.noise.lock().unwrap_or_else(PoisonError::into_inner).due(now);
        due.into_iter().map(|(kind, count)| self.line(&kind, count)).collect()
    }

    fn line(&self, kind: &Kind, count: u64) -> Vec<u8> {
        let mut time = String::new();
        // Writing to a String cannot fail.
        let _ = SystemTime.format_time(&mut Writer::new(&mut time));
        let sum = format!("… {count} more like it: {}", kind.message);
        let line = match self.format {
            LogFormat::Text => format!("{time} {:>5} {}: {sum}\n", kind.level, kind.target),
            LogFormat::Json => {
                let fields = serde_json::json!({"message": sum, "more": count});
                let (level, target) = (kind.level.as_str(), kind.target);
                let line = serde_json::json!({"timestamp": time, "level": level, "fields": fields, "target": target});
                format!("{line}\n")
            }
        };
        line.into_bytes()
    }
}

/// The message of an event, cut and on one line.
struct Message(String);

impl Message {
    const LONGEST: usize = 120;

    fn of(event: &Event<'_>) -> String {
        let mut message = Self(String::new());
        event.record(&mut message);
        let mut short: String = message.0.chars().take(Self::LONGEST).flat_map(char::escape_debug).collect();
        if message.0.chars().nth(Self::LONGEST).is_some() {
            short.push('…');
        }
        short
    }
}

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests;
