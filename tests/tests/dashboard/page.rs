//! What `docs/metrics.md` says of when to act, and what the alerts do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use mcpl_sidecar::telemetry::names;
use regex::Regex;

use super::alerts::alerts;
use super::expression::Expression;
use super::root;

/// What no rule can see, because it is a matter of what was expected.
const FOR_PEOPLE: &[(&str, &str)] = &[("mcpl.events", "passed")];

/// What stands under "act when", by metric.
fn act_when() -> BTreeMap<&'static str, String> {
    let page = fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let row = |name: &str| {
        let line = page.lines().find(|line| line.starts_with(&format!("| `{name}` | ")));
        let line = line.unwrap_or_else(|| panic!("{name} has no row"));
        line.trim_end_matches(" |").rsplit(" | ").next().unwrap().to_owned()
    };
    names::METRICS.iter().map(|metric| (metric.name, row(&metric.prometheus()))).collect()
}

#[test]
fn every_alert_stands_in_the_row_of_a_metric_that_it_reads() {
    let word = Regex::new("`(Mcpl[A-Za-z]+)`").unwrap();
    let mut unnamed: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for alert in alerts() {
        let reads: BTreeSet<_> = Expression::read(&alert.expression).metrics().map(|it| it.name).collect();
        unnamed.insert(alert.name, reads);
    }
    let known = unnamed.clone();
    for (metric, cell) in act_when() {
        for name in word.captures_iter(&cell) {
            let reads = known.get(&name[1]).unwrap_or_else(|| panic!("there is no {}", &name[1]));
            assert!(reads.contains(metric), "{} does not read {metric}", &name[1]);
            unnamed.remove(&name[1]);
        }
    }
    // It is of Prometheus' own metric.
    unnamed.remove("McplDown");
    assert!(unnamed.is_empty(), "{unnamed:?}");
}

#[test]
fn every_value_that_calls_for_action_has_an_alert() {
    let word = Regex::new("`([^`]+)`").unwrap();
    let seconds = Regex::new(r"over (\d+) s\b").unwrap();
    let alerts = alerts();
    let mut wrong = Vec::new();
    for (metric, cell) in act_when() {
        let of = names::METRICS.iter().find(|it| it.name == metric).unwrap();
        let words: Vec<&str> = word.captures_iter(&cell).map(|it| it.get(1).unwrap().as_str()).collect();
        let named = || alerts.iter().filter(|alert| words.contains(&&*alert.name));
        for value in &words {
            let is_value =
                of.labels.iter().any(|label| label.values.is_some_and(|known| known.contains(value)));
            let read = |alert: &super::alerts::Alert| {
                let read = Expression::read(&alert.expression);
                read.selectors
                    .iter()
                    .any(|it| it.matchers.iter().any(|(.., is)| is.split('|').any(|is| is == *value)))
            };
            if is_value && !FOR_PEOPLE.contains(&(metric, value)) && !named().any(read) {
                wrong.push(format!("{metric}: {value}"));
            }
        }
        for number in seconds.captures_iter(&cell) {
            if !named().any(|alert| alert.expression.ends_with(&format!("> {}", &number[1]))) {
                wrong.push(format!("{metric}: {}", &number[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
