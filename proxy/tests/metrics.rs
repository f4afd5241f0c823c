//! The page of metrics has what the program has: names, kinds, labels and their values.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcpl_sidecar::telemetry::names::{self, Kind};

/// The rows of the table under a heading, as cells.
fn table(heading: &str) -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap().to_owned();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// What a cell has between backticks.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

#[test]
fn every_metric_is_explained_and_none_that_is_not_there() {
    let mut told = BTreeMap::new();
    for row in table("What each one tells") {
        let [metric, kind, labels, tells, act] = &row[..] else { panic!("{row:?}") };
        assert!(!tells.is_empty() && !act.is_empty(), "{metric}");
        let name = quoted(metric).pop_first().unwrap();
        assert!(told.insert(name, (kind.clone(), quoted(labels))).is_none(), "{metric} is there twice");
    }
    let known: BTreeMap<_, _> = names::METRICS
        .iter()
        .map(|metric| {
            let kind = match metric.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            let labels = metric.labels.iter().map(|label| label.name.replace('.', "_"));
            (metric.prometheus(), (kind.to_owned(), labels.collect()))
        })
        .collect();
    assert_eq!(told, known);
}

#[test]
fn every_label_is_explained_with_its_values() {
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in table("Labels") {
        told.insert(quoted(&row[0]).pop_first().unwrap(), quoted(&row[1]));
    }
    for label in names::METRICS.iter().flat_map(|metric| metric.labels) {
        let name = label.name.replace('.', "_");
        let values = told.get(&name).unwrap_or_else(|| panic!("{name} is not explained"));
        // Long sets are told in words.
        if let Some(known) = label.values.filter(|known| known.len() < 12 && !name.contains("version")) {
            assert_eq!(*values, known.iter().map(|value| (*value).to_owned()).collect(), "{name}");
        }
    }
}
