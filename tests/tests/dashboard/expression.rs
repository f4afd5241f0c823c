//! What an expression of Prometheus reads, and whether there is such a thing: names, labels, values.

use mcpl_sidecar::telemetry::names::{self, Kind, Metric};
use regex::Regex;

/// Labels that Prometheus adds to everything it scrapes.
const SCRAPED: &[&str] = &["job", "instance"];

/// What Prometheus has of itself, or the text says besides the metrics.
const FOREIGN: &[(&str, &[&str])] = &[
    ("up", &[]),
    ("scrape_duration_seconds", &[]),
    ("scrape_samples_scraped", &[]),
    ("target_info", &["service_name", "service_version"]),
];

const GROUPING: &[&str] = &["by", "without", "on", "ignoring", "group_left", "group_right"];
const WORDS: &[&str] = &["and", "or", "unless", "offset", "bool", "sum", "min", "max", "avg", "count"];

/// One place where an expression reads a metric.
#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) name: String,
    /// Label, operator, value.
    pub(crate) matchers: Vec<(String, String, String)>,
    /// The function it is the first argument of.
    within: String,
}

/// An expression, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Expression {
    pub(crate) selectors: Vec<Selector>,
    /// Labels that its sums keep, or that its sides are joined by.
    pub(crate) groups: Vec<String>,
    /// It is a sum by labels: it has no others.
    pub(crate) summed: bool,
}

fn tokens(text: &str) -> Vec<String> {
    let token =
        Regex::new(r#"^(?:[a-zA-Z_:][\w:]*|"[^"]*"|'[^']*'|[0-9.]+[a-z]*|=~|!~|!=|[=<>]=?|\[[^\]]*\]|.)"#);
    let token = token.expect("a pattern");
    let (mut rest, mut found) = (text.trim_start(), Vec::new());
    while let Some(next) = token.find(rest) {
        found.push(next.as_str().to_owned());
        rest = rest[next.end()..].trim_start();
    }
    assert!(rest.is_empty(), "not understood: {rest:?} of {text:?}");
    found
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

impl Expression {
    pub(crate) fn read(text: &str) -> Self {
        let tokens = tokens(text);
        let at = |index: usize| tokens.get(index).map_or("", String::as_str);
        let before = |index: usize, back: usize| index.checked_sub(back).map_or("", at);
        let (mut index, mut read) = (0, Self::default());
        while index < tokens.len() {
            let token = at(index);
            if GROUPING.contains(&token) {
                read.summed |= token == "by";
                index += 1;
                while at(index) != ")" {
                    read.groups.extend(is_name(at(index)).then(|| at(index).to_owned()));
                    index += 1;
                }
            } else if is_name(token) && at(index + 1) != "(" && !WORDS.contains(&token) {
                let within = if before(index, 1) == "(" { before(index, 2) } else { "" };
                let mut selector =
                    Selector { name: token.to_owned(), matchers: Vec::new(), within: within.to_owned() };
                if at(index + 1) == "{" {
                    index += 2;
                    while at(index) != "}" {
                        let value = at(index + 2).trim_matches('"').to_owned();
                        selector.matchers.push((at(index).to_owned(), at(index + 1).to_owned(), value));
                        index += if at(index + 3) == "," { 4 } else { 3 };
                        assert!(index < tokens.len(), "a brace is not closed: {text}");
                    }
                }
                read.selectors.push(selector);
            }
            index += 1;
        }
        assert!(!read.selectors.is_empty(), "it reads nothing: {text}");
        read
    }

    /// What is wrong with it.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = self.selectors.iter().flat_map(Selector::faults).collect();
        for selector in &self.selectors {
            let strange = self.groups.iter().filter(|group| !selector.has(group));
            faults.extend(strange.map(|group| format!("{} has no label {group}", selector.name)));
        }
        faults
    }

    /// Whether what it gives has this label.
    pub(crate) fn gives(&self, label: &str) -> bool {
        if self.summed {
            return self.groups.iter().any(|group| group == label);
        }
        self.selectors.iter().all(|selector| selector.has(label))
    }

    /// The metrics it reads.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        self.selectors.iter().filter_map(Selector::metric)
    }
}

impl Selector {
    /// The metric, of which it may be a part.
    pub(crate) fn metric(&self) -> Option<&'static Metric> {
        names::METRICS.iter().copied().find(|metric| {
            let name = metric.prometheus();
            if metric.kind == Kind::Histogram {
                return ["_bucket", "_sum", "_count"].iter().any(|part| self.name == format!("{name}{part}"));
            }
            self.name == name
        })
    }

    fn has(&self, label: &str) -> bool {
        if SCRAPED.contains(&label) || (label == "le" && self.name.ends_with("_bucket")) {
            return true;
        }
        let foreign = FOREIGN.iter().find(|(name, _)| *name == self.name);
        let ours =
            || self.metric().is_some_and(|metric| metric.labels.iter().any(|it| prometheus(it) == label));
        foreign.map_or_else(ours, |(_, labels)| labels.contains(&label))
    }

    fn faults(&self) -> Vec<String> {
        let name = &self.name;
        let mut faults = Vec::new();
        for (label, op, value) in &self.matchers {
            if !self.has(label) {
                faults.push(format!("{name} has no label {label}"));
                continue;
            }
            let values: Vec<&str> = if op.ends_with('~') { value.split('|').collect() } else { vec![value] };
            let known = self.metric().and_then(|of| of.labels.iter().find(|it| prometheus(it) == *label));
            let known = known.and_then(|label| label.values);
            for value in values.into_iter().filter(|value| !value.is_empty() && !value.starts_with('$')) {
                let is = match known {
                    Some(known) => known.contains(&value),
                    // Ours is the only job; what instances and producers there are is not known here.
                    None => label == "job" && value == "mcpl-sidecar",
                };
                if !is {
                    faults.push(format!("{name}: {label} is never {value:?}"));
                }
            }
        }
        let grows = match self.metric() {
            Some(metric) => metric.kind != Kind::Gauge,
            None if FOREIGN.iter().any(|(foreign, _)| foreign == name) => false,
            None => {
                faults.push(format!("there is no {name}"));
                return faults;
            }
        };
        if grows != ["rate", "increase", "changes"].contains(&&*self.within) {
            faults.push(format!("{name}, within {:?}: rates are of what grows", self.within));
        }
        faults
    }
}

/// A label's name in Prometheus' text.
fn prometheus(label: &names::Label) -> String {
    label.name.replace('.', "_")
}

#[test]
fn what_is_not_there_is_found() {
    let faults = |text: &str| Expression::read(text).faults();
    let good = [
        "mcpl_in_doubt > 0",
        r#"sum by (mcpl_producer, le) (rate(mcpl_hold_duration_seconds_bucket{mcpl_lane="push"}[5m]))"#,
        r#"increase(mcpl_reloads_total{mcpl_reload_result=~"applied|rejected"}[$__range]) > 0 and on (job) up == 1"#,
        "min_over_time((mcpl_held_occurrences - mcpl_in_doubt)[10m:1m]) > 0.8 * 1e9",
    ];
    for text in good {
        assert!(faults(text).is_empty(), "{text}: {:?}", faults(text));
    }
    for text in [
        "mcpl_doubt > 0",
        "mcpl_in_doubt_total > 0",
        "rate(mcpl_hold_duration_seconds[5m])",
        r#"mcpl_in_doubt{mcpl_lane="push"}"#,
        r#"mcpl_journal_state{mcpl_journal_state="bad"}"#,
        r#"rate(mcpl_reloads_total{mcpl_reload_result=~"applied|refused"}[1m])"#,
        r#"up{job="another"}"#,
        "sum by (mcpl_lane) (mcpl_in_doubt)",
        "sum by (le) (mcpl_in_doubt)",
        "mcpl_retries_total > 0",
        "rate(mcpl_in_doubt[5m])",
    ] {
        assert!(!faults(text).is_empty(), "{text}");
    }
}
