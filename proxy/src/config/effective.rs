//! The effective configuration as TOML (contract section 1, `check`): defaults included, secrets hidden.

use std::fmt::Write as _;
use std::path::Path;

use super::Purpose;
use super::keys::{FILE, Fallback, Key, Shape};
use super::model::Config;
use super::read::{Section, Text, Value};

/// Stands for a value that is not shown.
const HIDDEN: &str = "***";

/// Writes the effective configuration; it reads back as the same configuration, but for what is hidden.
///
/// Values of `env` are `***`; a string in which a variable was filled in is shown as in the file.
pub(super) fn effective(config: &Config, file: &Section, folder: &Path, purpose: Purpose) -> String {
    let mut printer = Printer { out: String::new(), folder, config, purpose };
    printer.section(file, FILE, "");
    printer.out
}

struct Printer<'c> {
    out: String,
    folder: &'c Path,
    config: &'c Config,
    purpose: Purpose,
}

impl Printer<'_> {
    /// Plain keys first, then tables: TOML has no way back out of a table.
    fn section(&mut self, section: &Section, keys: &'static [Key], path: &str) {
        for key in keys {
            if let Some(value) = self.plain(section, key) {
                self.line(&format!("{} = {value}", key.name));
            } else if path == "producer.host" && key.name == "dedup" {
                self.dedup(section);
            }
        }
        for key in keys {
            let dot = if path.is_empty() { "" } else { "." };
            let inner = format!("{path}{dot}{}", key.name);
            match &key.shape {
                Shape::Table(_) if matches!(key.default, Fallback::Absent) && !section.has(key.name) => {}
                Shape::Table(keys) => {
                    self.line(&format!("\n[{inner}]"));
                    self.section(&section.sub(key.name), keys, &inner);
                }
                Shape::Tables(keys) => {
                    for table in section.tables(key.name) {
                        self.line(&format!("\n[[{inner}]]"));
                        self.section(table, keys, &inner);
                    }
                }
                _ => {}
            }
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// The value of a key as TOML: the file's, else the default; `None` if there is neither.
    fn plain(&self, section: &Section, key: &Key) -> Option<String> {
        match section.value(key.name) {
            Some(Value::Text(text)) if matches!(key.shape, Shape::Path) => Some(self.path(text)),
            Some(Value::Text(text)) if matches!(key.name, "listen" | "connect") => {
                Some(quoted(&super::resolve::veil(&text.written, |name| name == "token")))
            }
            Some(Value::Text(text)) => Some(quoted(&text.written)),
            Some(Value::Integer(n)) => Some(n.to_string()),
            Some(Value::Number(n)) => Some(number(*n)),
            Some(Value::Flag(b)) => Some(b.to_string()),
            Some(Value::List(list)) => Some(array(list.iter().map(|t| t.written.as_str()))),
            Some(Value::Secrets(secrets)) => {
                let mut out = String::from("{");
                for (n, (name, _)) in secrets.iter().enumerate() {
                    let comma = if n == 0 { " " } else { ", " };
                    // Writing to a String cannot fail.
                    let _ = write!(out, "{comma}{} = {}", quoted(name), quoted(HIDDEN));
                }
                out.push_str(if secrets.is_empty() { "}" } else { " }" });
                Some(out)
            }
            Some(Value::Table(_) | Value::Tables(_)) => None,
            None if key.name == "state_dir" => Some(quoted(&self.config.state_dir.to_string_lossy())),
            None if key.name == "in_doubt" && self.purpose == Purpose::Wrap => Some(quoted("resend")),
            None => match key.default {
                Fallback::Required | Fallback::Absent | Fallback::Defaults => None,
                Fallback::Text(text) => Some(quoted(text)),
                Fallback::Integer(n) => Some(n.to_string()),
                Fallback::Number(n) => Some(number(n)),
                Fallback::Flag(b) => Some(b.to_string()),
                Fallback::List(list) => Some(array(list.iter().copied())),
            },
        }
    }

    fn path(&self, text: &Text) -> String {
        if text.secret {
            return quoted(&text.written);
        }
        quoted(&literal(&super::build::resolve(self.folder, &text.value).to_string_lossy()))
    }

    /// The default of `dedup` is the profile's, and with one profile the host's version decides.
    fn dedup(&mut self, section: &Section) {
        let line = match section.choice("profile") {
            Some("generic") => "dedup = \"push\"",
            Some("cc-bridge") => "dedup = \"none\"",
            _ => "# dedup: by the host's version: \"both\" from 0.5, \"push\" before",
        };
        self.line(line);
    }
}

/// A text that reads back as itself: what looks like a variable is escaped.
fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn array<'s>(items: impl Iterator<Item = &'s str>) -> String {
    format!("[{}]", items.map(quoted).collect::<Vec<_>>().join(", "))
}

/// A number as TOML's float; 0.0, not 0, so that its type is seen.
fn number(n: f64) -> String {
    format!("{n:?}")
}
