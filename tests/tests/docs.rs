//! What the pages show is what the program takes: every configuration in them is valid, every link leads somewhere.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mcpl_tests::sidecar_binary;
use regex::Regex;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every page, with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let of = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = of(root()).chain(of(root().join("docs"))).collect();
    pages.retain(|path| path.extension().is_some_and(|kind| kind == "md"));
    pages.sort();
    pages.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The blocks of this language, each with the line it begins in.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<(usize, &'a str)> {
    let fence = Regex::new(&format!(r"(?ms)^```{language}\n(.*?)^```$")).unwrap();
    let line = |at: usize| page[..at].matches('\n').count() + 1;
    fence.captures_iter(page).map(|it| it.get(1).unwrap()).map(|it| (line(it.start()), it.as_str())).collect()
}

/// A whole file from a block: one that shows a part is given the producer it leaves out.
fn whole(block: &str) -> String {
    let tables = block.find("\n[").map_or(block.len(), |at| at + 1);
    let (top, tables) = if block.starts_with('[') { ("", block) } else { block.split_at(tables) };
    if Regex::new(r"(?m)^\[\[producer\]\]").unwrap().is_match(block) {
        return block.to_owned();
    }
    // A listener's and a dialled address' tables need an address that they mean something for.
    let reach = block.contains("_tls]") || block.contains("_auth]");
    let (listen, connect) = if reach {
        ("wss://127.0.0.1:7000", "connect = \"wss://127.0.0.1:7001\"")
    } else {
        ("tcp://127.0.0.1:7000", "command = [\"producer\"]")
    };
    let mut text = format!("{top}\n[[producer]]\nname = \"discord\"\nlisten = \"{listen}\"\n{connect}\n");
    if reach && !block.contains("[producer.listen_tls]") {
        text.push_str("[producer.listen_tls]\ncert_file = \"tls.crt\"\nkey_file = \"tls.key\"\n");
    }
    let _ = write!(text, "{tables}");
    text
}

#[test]
fn every_configuration_in_the_pages_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sidecar.toml");
    let variable = Regex::new(r"\$\{(\w+)\}").unwrap();
    let mut wrong = String::new();
    let mut seen = 0;
    for (page, text) in pages() {
        for (line, block) in blocks(&text, "toml") {
            let text = whole(block);
            fs::write(&file, &text).unwrap();
            let mut check = Command::new(sidecar_binary());
            check.args(["check", "--config"]).arg(&file).stdin(Stdio::null());
            for name in variable.captures_iter(block) {
                check.env(&name[1], "value");
            }
            let said = check.output().unwrap();
            if !said.status.success() {
                let stderr = String::from_utf8_lossy(&said.stderr);
                let _ = write!(wrong, "\n{}:{line}\n{text}\n{stderr}", page.display());
            }
            seen += 1;
        }
    }
    assert!(seen >= 7, "only {seen} configurations were found in the pages");
    assert!(wrong.is_empty(), "{wrong}");
}

/// Each key of this table of the schema and of those in it: its table as headings name it, its name, its default.
fn keys(table: &Value, path: &str, out: &mut BTreeMap<(String, String), Option<String>>) {
    for (name, key) in table["properties"].as_object().into_iter().flatten() {
        let default = key.get("default").map(ToString::to_string);
        out.insert((path.to_owned(), name.clone()), default);
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        keys(key, &inner, out);
        keys(&key["items"], &inner, out);
    }
}

#[test]
fn the_page_of_the_configuration_has_every_key_and_its_default() {
    let schema = Command::new(sidecar_binary()).arg("schema").stdin(Stdio::null()).output().unwrap();
    let mut wanted = BTreeMap::new();
    keys(&serde_json::from_slice(&schema.stdout).unwrap(), "", &mut wanted);
    let page = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let heading = Regex::new(r"^## `\[+(.+?)\]+`").unwrap();
    let row = Regex::new(r"^\| ((?:`\w+`(?:, )?)+) \| (.+?) \|").unwrap();
    let name = Regex::new(r"`(\w+)`").unwrap();
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for line in page.lines() {
        if line.starts_with("## ") {
            table = heading.captures(line).map_or_else(String::new, |it| it[1].to_owned());
        }
        let Some(row) = row.captures(line) else { continue };
        for name in name.captures_iter(&row[1]).map(|it| it[1].to_owned()) {
            let shown = &row[2];
            match wanted.remove(&(table.clone(), name.clone())) {
                None => wrong.push(format!("[{table}] {name} is no key, or there twice")),
                // A number is the same with a fraction of nothing; a default by profile is said in words.
                Some(Some(default)) if *shown != *format!("`{}`", default.trim_end_matches(".0")) => {
                    let words = shown.starts_with(&format!("`{default}`, "));
                    (!words).then(|| wrong.push(format!("[{table}] {name}: {default}, not {shown}")));
                }
                Some(_) => {}
            }
        }
    }
    wrong.extend(wanted.into_keys().map(|(table, name)| format!("[{table}] {name} is not there")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The anchor of a heading, as the pages are shown.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

#[test]
fn every_link_in_the_pages_leads_somewhere() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let heading = Regex::new(r"(?m)^#+ (.*)$").unwrap();
    let mut wrong = Vec::new();
    for (page, text) in pages() {
        for to in link.captures_iter(&text).map(|it| it[1].to_owned()).filter(|to| !to.contains("://")) {
            let (path, part) = to.split_once('#').unwrap_or((&to, ""));
            let path = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let there = if part.is_empty() {
                path.exists()
            } else {
                fs::read_to_string(&path)
                    .is_ok_and(|text| heading.captures_iter(&text).any(|it| anchor(&it[1]) == part))
            };
            if !there {
                wrong.push(format!("{}: {to}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
