//! The standard variables as far as they are numbers, names and switches: what makes no sense is said once, and is as
//! if it were not there (contract 2, 10).

use std::time::Duration;

use crate::config::Env;

/// How many spans wait at once.
pub(super) const QUEUE: &str = "OTEL_BSP_MAX_QUEUE_SIZE";
/// How many spans go at once.
pub(super) const BATCH: &str = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE";
/// How long a span waits at most, in ms.
pub(super) const DELAY: &str = "OTEL_BSP_SCHEDULE_DELAY";
/// How often metrics go, in ms.
pub(super) const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";

/// Those that are whole numbers over 0.
const NUMBERS: [&str; 4] = [QUEUE, BATCH, DELAY, INTERVAL];

/// What an exporter may be called. Some there are not here, or are there anyway.
const EXPORTERS: [&str; 5] = ["otlp", "none", "prometheus", "console", "logging"];

fn said(env: Env<'_>, name: &str) -> Option<String> {
    env(name).map(|said| said.trim().to_owned()).filter(|said| !said.is_empty())
}

/// A variable that is a number over 0, as the specification has nothing for a 0.
pub(super) fn number(env: Env<'_>, name: &str) -> Option<u64> {
    said(env, name)?.parse().ok().filter(|number| *number > 0)
}

/// The same of one in ms.
pub(super) fn duration(env: Env<'_>, name: &str) -> Option<Duration> {
    number(env, name).map(Duration::from_millis)
}

/// What makes no sense, each with its name and not with its value.
pub(super) fn complaints(env: Env<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let numbers = NUMBERS.into_iter().filter(|name| said(env, name).is_some() && number(env, name).is_none());
    all.extend(numbers.map(|name| format!("{name} is no whole number over 0: the default counts")));
    for name in ["OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"] {
        let list = said(env, name).unwrap_or_default();
        let known = |exporter: &str| exporter.is_empty() || EXPORTERS.contains(&exporter);
        if !list.split(',').all(|exporter| known(exporter.trim())) {
            all.push(format!("{name} names what is no exporter here: give otlp or none"));
        }
    }
    let switch = said(env, "OTEL_SDK_DISABLED").unwrap_or_default().to_ascii_lowercase();
    if !["", "true", "false"].contains(&&*switch) {
        all.push("OTEL_SDK_DISABLED is neither true nor false: it counts as false".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_said_by_name_and_never_by_value() {
        let of = |name: &'static str, value: &'static str| {
            complaints(&|asked| (asked == name).then(|| value.to_owned()))
        };
        for (name, value) in [
            (QUEUE, "00"),
            (BATCH, "1.5"),
            (DELAY, "5s"),
            (INTERVAL, "-1"),
            ("OTEL_TRACES_EXPORTER", "otlp,pigeon"),
            ("OTEL_SDK_DISABLED", "yes"),
        ] {
            let said = of(name, value);
            assert!(said.len() == 1 && said[0].contains(name) && !said[0].contains(value), "{said:?}");
        }
        for (name, value) in
            [(QUEUE, " 7 "), (DELAY, ""), ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_SDK_DISABLED", "TRUE")]
        {
            assert!(of(name, value).is_empty(), "{name}={value}");
        }
        assert_eq!(number(&|_| Some(" 7 ".to_owned()), QUEUE), Some(7));
    }
}
