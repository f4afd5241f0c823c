//! What `examples/` gives to Prometheus and Grafana reads metrics that there are, and says what the pages say
//! (contract 10.2). What it takes Prometheus to see is in `.ci/prometheus.py`.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

mod alerts;
mod expression;
mod page;
mod panels;

use std::path::{Path, PathBuf};

use regex::Regex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The anchors of a page's headings.
fn anchors(page: &str) -> Vec<String> {
    let heading = Regex::new(r"(?m)^#+ (.*)$").unwrap();
    let anchor = |text: &str| {
        let kept = text.to_lowercase();
        let kept = kept.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.map(|it| if it == ' ' { '-' } else { it }).collect()
    };
    heading.captures_iter(page).map(|it| anchor(it[1].trim())).collect()
}
