//! `[producer] preset`: the subject rules of a known producer, as if they stood in the file after the user's own
//! (contract 13.1).

use toml::de::{DeTable, DeValue};

use super::errors::Faults;
use super::keys::{PRODUCER, SUBJECT, Shape};
use super::read::{Reader, Section, Value};

/// Every preset: its name in the file, and the rules it brings.
const ALL: [(&str, &str); 3] = [
    ("discord-mcpl", include_str!("presets/discord-mcpl.toml")),
    ("portal-mcpl", include_str!("presets/portal-mcpl.toml")),
    ("heartbeat-mcpl", include_str!("presets/heartbeat-mcpl.toml")),
];

/// The names a file may use.
pub(super) const NAMES: &[&str] = &[ALL[0].0, ALL[1].0, ALL[2].0];

/// Puts the rules of each producer's preset behind those it has.
pub(super) fn expand(file: &mut Section) {
    let producers = file.values.iter_mut().filter(|(key, ..)| key.name == "producer");
    for (_, _, value) in producers {
        if let Some(Value::Tables(producers)) = value {
            producers.iter_mut().for_each(expand_one);
        }
    }
}

fn expand_one(producer: &mut Section) {
    let Some(name) = producer.choice("preset").map(ToOwned::to_owned) else { return };
    let mut brought = rules(&name);
    // What the file has itself, as the effective configuration does, is not brought again: it could never match.
    brought.retain(|rule| !producer.tables("subject").iter().any(|own| is_same(own, rule)));
    let place = producer.place("preset");
    let own = producer.values.iter_mut().find(|(key, ..)| key.name == "subject");
    match (own, PRODUCER.iter().find(|key| key.name == "subject")) {
        (Some((_, _, Some(Value::Tables(own)))), _) => own.extend(brought),
        // The user's own are faulty, which is said of them.
        (Some(_), _) | (None, None) => {}
        (None, Some(key)) => {
            producer.values.push((key, place..place, Some(Value::Tables(brought))));
        }
    }
}

/// Whether two rules say the same, defaults included.
fn is_same(one: &Section, other: &Section) -> bool {
    SUBJECT.iter().all(|key| match key.shape {
        Shape::List => one.list(key.name) == other.list(key.name),
        Shape::Flag => one.flag(key.name) == other.flag(key.name),
        _ => one.choice(key.name) == other.choice(key.name),
    })
}

/// The rules of a preset.
fn rules(name: &str) -> Vec<Section> {
    let Some((_, text)) = ALL.iter().find(|(known, _)| *known == name) else { return Vec::new() };
    let Ok(document) = DeTable::parse(text) else { return Vec::new() };
    let mut faults = Faults::new(text);
    let producer = document.get_ref().get("producer").map(toml::Spanned::get_ref);
    let subjects = match producer {
        Some(DeValue::Table(producer)) => producer.get("subject").map(toml::Spanned::get_ref),
        _ => None,
    };
    let Some(DeValue::Array(subjects)) = subjects else { return Vec::new() };
    let mut reader = Reader { faults: &mut faults, env: &|_| None };
    let mut read = |table: &DeTable<'_>| reader.section(table, 0, SUBJECT, "producer.subject");
    subjects.iter().filter_map(|item| item.get_ref().as_table()).map(&mut read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::subject;

    #[test]
    fn every_preset_is_sound() {
        for (name, text) in ALL {
            let written = text.matches("[[producer.subject]]").count();
            let rules = rules(name);
            assert_eq!(rules.len(), written, "{name}");
            let mut faults = Faults::new(text);
            assert_eq!(rules.iter().filter_map(|rule| subject::rule(&mut faults, rule)).count(), written);
            assert!(faults.is_empty(), "{name}");
        }
        assert_eq!(rules("no such").len(), 0);
    }
}
