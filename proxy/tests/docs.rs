//! The documentation says what the program has: its keys, its sections, its bounds, its links.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mcpl_sidecar::{binding, config, exchange, state, transport};
use regex::Regex;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The rows of a section of a page whose first cell names `key`.
fn row<'p>(page: &'p str, heading: &str, key: &str) -> Option<&'p str> {
    let start = page.find(&format!("\n## {heading}\n"))? + 4;
    let section = page[start..].split("\n## ").next()?;
    let name = format!("`{key}`");
    section.lines().find(|line| {
        line.split('|').nth(1).is_some_and(|cell| cell.split(',').any(|part| part.trim() == name))
    })
}

/// Every key with its table's heading and its default, if it has one.
fn keys(schema: &Value, heading: &str, found: &mut Vec<(String, String, Value)>) {
    let Some(properties) = schema["properties"].as_object() else { return };
    for (name, key) in properties {
        found.push((heading.to_owned(), name.clone(), key["default"].clone()));
        let base = heading.trim_matches(['`', '[', ']']);
        let path = if heading == "Top level" { name.clone() } else { format!("{base}.{name}") };
        if key["items"]["properties"].is_object() {
            keys(&key["items"], &format!("`[[{path}]]`"), found);
        }
        keys(key, &format!("`[{path}]`"), found);
    }
}

#[test]
fn every_key_is_explained_with_its_default() {
    let page = page("docs/configuration.md");
    let mut all = Vec::new();
    keys(&config::schema(), "Top level", &mut all);
    assert!(all.len() > 50, "{}", all.len());
    for (heading, name, default) in all {
        let row =
            row(&page, &heading, &name).unwrap_or_else(|| panic!("{heading}: `{name}` is not explained"));
        let cell = row.split('|').nth(2).unwrap();
        let shown = match &default {
            Value::Null => continue,
            Value::Number(number) if number.as_f64() == Some(0.0) => "0".to_owned(),
            Value::Array(items) => {
                format!("[{}]", items.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        };
        assert!(cell.contains(&format!("`{shown}`")), "{heading} `{name}`: {shown} is not in {cell}");
    }
}

#[test]
fn every_section_that_is_cited_is_a_promise() {
    let page = page("docs/promises.md");
    let told: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    let cited =
        Regex::new(r"[Cc]ontract (?:sections? )?((?:\d+(?:\.\d+a?)?)(?:(?:, | and | to )\d+(?:\.\d+a?)?)*)")
            .unwrap();
    let number = Regex::new(r"\d+(?:\.\d+a?)?").unwrap();
    let mut count = 0;
    for file in sources() {
        let text = std::fs::read_to_string(&file).unwrap();
        for citation in cited.captures_iter(&text) {
            for section in number.find_iter(citation.get(1).unwrap().as_str()) {
                count += 1;
                assert!(told.contains(section.as_str()), "{}: {}", file.display(), section.as_str());
            }
        }
    }
    assert!(count > 100, "{count}");
}

fn sources() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        ["codec", "policy", "certs", "proxy", "tests"].map(|crate_| root().join(crate_)).to_vec();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn every_public_bound_is_told_with_its_number() {
    let page = page("docs/what-passes.md");
    for bound in [
        binding::OUTBOX_BYTES,
        binding::MAX_PROBES,
        binding::FIRST_MESSAGE_BYTES,
        exchange::MAX_BATCHES,
        exchange::MAX_KEPT_BYTES,
        exchange::MAX_PENDING,
        exchange::MAX_RENDERS,
        exchange::MAX_RENDER_BYTES,
        exchange::MAX_ELEMENTS,
        state::slot::MOST,
        transport::stderr::LIMIT_BYTES,
        config::SHOWN,
        config::LARGEST_FILE_BYTES as usize,
        mcpl_sidecar::cli::log::sink::WAITING,
        mcpl_sidecar::cli::log::sink::LONGEST,
        mcpl_sidecar::cli::log::noise::LINES as usize,
        mcpl_policy::engine::MAX_JOINED,
        binding::MAX_ASKED,
        binding::MAX_READS,
        mcpl_sidecar::journal::UNCONFIRMED_BYTES,
        mcpl_sidecar::journal::RESERVE_BYTES as usize,
        mcpl_policy::engine::RETRY_AFTER_MOST_MS as usize,
        mcpl_policy::engine::MAX_RUNNING,
        mcpl_policy::limit::MAX_CHANNELS,
        mcpl_policy::admission::MAX_NAMES,
    ] {
        let mut digits = bound.to_string();
        for at in (1..digits.len()).rev().filter(|at| (digits.len() - at) % 3 == 0).collect::<Vec<_>>() {
            digits.insert(at, ',');
        }
        assert!(
            page.contains(&format!(" {digits} ")) || page.contains(&format!(" {digits},")),
            "{digits} is not told"
        );
    }
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#:]+)(#[^)]*)?\)").unwrap();
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<PathBuf> = docs
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
        .chain([root().join("README.md"), root().join("ARCHITECTURE.md")])
        .collect();
    assert!(pages.len() >= 8);
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in link.captures_iter(&text) {
            let target = page.parent().unwrap().join(&link[1]);
            assert!(target.exists(), "{}: {}", page.display(), &link[1]);
        }
    }
}

#[test]
fn configurations_in_the_documentation_validate() {
    let fence = Regex::new(r"(?s)```toml\n(.*?)```").unwrap();
    let mut count = 0;
    for name in ["README.md", "docs/refusals.md", "docs/producers.md", "docs/troubleshooting.md"] {
        for block in fence.captures_iter(&page(name)) {
            count += 1;
            let text = &block[1];
            let least = "state_dir = 's'\n[[producer]]\nname = 'x'\nlisten = 'stdio'\ncommand = ['x']\n";
            let text = if text.contains("[[producer]]") {
                format!("state_dir = 's'\n{text}")
            } else {
                format!("{least}{text}")
            };
            config::parse(config::Purpose::Run, Path::new("x.toml"), &text, &|_| None)
                .unwrap_or_else(|errors| panic!("{name}: {errors}"));
        }
    }
    assert!(count >= 3, "{count}");
}
