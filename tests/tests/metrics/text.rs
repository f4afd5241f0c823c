//! A strict reader of Prometheus' text format 0.0.4: what it does not allow is a panic that says where.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

/// Labels of one sample, by name.
pub(crate) type Labels = BTreeMap<String, String>;

/// One metric.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) help: String,
    /// Full name (with `_bucket`, `_sum`, `_count`), labels, value.
    pub(crate) samples: Vec<(String, Labels, f64)>,
}

/// One series of a histogram.
#[derive(Default)]
struct Series {
    /// Where a bucket ends, and how many there are up to there.
    buckets: Vec<(f64, f64)>,
    sum: Option<f64>,
    count: Option<f64>,
}

/// Everything that was scraped.
#[derive(Debug, Default)]
pub(crate) struct Scrape(pub(crate) BTreeMap<String, Family>);

impl Scrape {
    /// Reads a whole answer.
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has no end");
        let meta = Regex::new(r"^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$").unwrap();
        let sample = Regex::new(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$").unwrap();
        let mut families: BTreeMap<String, Family> = BTreeMap::new();
        let (mut current, mut seen) = (String::new(), BTreeSet::new());
        for line in text.lines() {
            if let Some(said) = meta.captures(line) {
                let name = said[2].to_owned();
                if name != current {
                    assert!(!families.contains_key(&name), "{name} is there twice");
                    current.clone_from(&name);
                }
                let family = families.entry(name).or_default();
                assert!(family.samples.is_empty(), "after its samples: {line}");
                let text = if &said[1] == "HELP" { &mut family.help } else { &mut family.kind };
                assert!(text.is_empty(), "said twice: {line}");
                said[3].clone_into(text);
                continue;
            }
            let said = sample.captures(line).unwrap_or_else(|| panic!("no sample: {line:?}"));
            let family = families.get_mut(&current).unwrap_or_else(|| panic!("of nothing: {line}"));
            let suffixes: &[&str] =
                if family.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            let names = suffixes.iter().any(|suffix| said[1] == format!("{current}{suffix}"));
            assert!(names, "not of {current}: {line}");
            let labels = labels(said.get(2).map_or("", |labels| labels.as_str()));
            let value = number(&said[3]);
            assert!(seen.insert((said[1].to_owned(), labels.clone())), "there twice: {line}");
            family.samples.push((said[1].to_owned(), labels, value));
        }
        for (name, family) in &families {
            family.check(name);
        }
        Self(families)
    }

    /// The value of the only sample of `name` that has these labels, and no other label but `ignored`.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let found: Vec<f64> = self.matching(name, labels).collect();
        assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
        found[0]
    }

    /// The values of all samples of `name` that have these labels.
    pub(crate) fn matching(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = f64> {
        let families = self.0.values().flat_map(|family| &family.samples);
        families
            .filter(move |(full, has, _)| {
                full == name
                    && labels.iter().all(|(label, value)| has.get(*label).is_some_and(|is| is == value))
            })
            .map(|(.., value)| *value)
    }

    /// Everything that must not go down: counters, and what histograms count.
    pub(crate) fn monotonic(&self) -> BTreeMap<(String, Labels), f64> {
        let families = self.0.values().filter(|family| family.kind != "gauge");
        let samples = families.flat_map(|family| &family.samples);
        samples.map(|(name, labels, value)| ((name.clone(), labels.clone()), *value)).collect()
    }
}

impl Family {
    fn check(&self, name: &str) {
        assert!(["counter", "gauge", "histogram"].contains(&&*self.kind), "{name}: type {:?}", self.kind);
        assert!(!self.help.is_empty() && !self.samples.is_empty(), "{name}: no help, or no sample");
        assert_eq!(self.kind == "counter", name.ends_with("_total"), "{name}");
        assert!(self.samples.iter().all(|(.., value)| *value >= 0.0), "{name}: below nought");
        if self.kind != "histogram" {
            return;
        }
        let mut series: BTreeMap<Labels, Series> = BTreeMap::new();
        for (full, labels, value) in &self.samples {
            let mut labels = labels.clone();
            let bound = labels.remove("le").map(|bound| number(&bound));
            let of = series.entry(labels).or_default();
            match (full.strip_prefix(name), bound) {
                (Some("_bucket"), Some(bound)) => of.buckets.push((bound, *value)),
                (Some("_sum"), None) => of.sum = Some(*value),
                (Some("_count"), None) => of.count = Some(*value),
                _ => panic!("{full}: an `le` too many, or too few"),
            }
        }
        for (labels, Series { buckets, sum, count }) in series {
            assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{name} {labels:?}: {buckets:?}");
            let last = buckets.last().unwrap_or_else(|| panic!("{name}: no bucket"));
            assert_eq!((last.0, Some(last.1)), (f64::INFINITY, count), "{name} {labels:?}");
            assert!(sum.is_some(), "{name} {labels:?}: no sum");
        }
    }
}

fn labels(text: &str) -> Labels {
    let label = Regex::new(r#"^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)"#).unwrap();
    let (mut rest, mut found) = (text, Labels::new());
    while !rest.is_empty() {
        let said = label.captures(rest).unwrap_or_else(|| panic!("no label: {rest:?}"));
        let value = said[2].replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
        assert!(found.insert(said[1].to_owned(), value).is_none(), "a label twice: {text}");
        rest = &rest[said[0].len()..];
    }
    found
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        text => text.parse().unwrap_or_else(|_| panic!("no number: {text:?}")),
    }
}

#[test]
fn what_is_not_prometheus_text_is_refused() {
    let good = "# HELP a_total x\n# TYPE a_total counter\na_total{b=\"c\\n\",d=\"\"} 1\na_total 2\n";
    assert_eq!(Scrape::read(good).value("a_total", &[("b", "c\n")]), 1.0);
    for bad in [
        "# HELP a x\n# TYPE a gauge\na 1",
        "# HELP a x\n# TYPE a gauge\na 1\na 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a x\n# TYPE a gauge\nb 1\n",
        "# HELP a x\n# TYPE a gauge\na{b=c} 1\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"\"\"} 1\n",
        "# TYPE a gauge\na 1\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
    ] {
        assert!(std::panic::catch_unwind(|| Scrape::read(bad)).is_err(), "{bad}");
    }
}
