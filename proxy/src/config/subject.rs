//! `[[producer.subject]]`: what a producer's events are about (contract 13.1).

use mcpl_codec::Lane;
use mcpl_policy::rules::{Patterns, Place, Rule, Template};
use regex::Regex;

use super::errors::Faults;
use super::read::Section;
use super::rule::{inside, pattern};

/// Where the keys stand.
const PATH: &str = "producer.subject";

/// The patterns, in the order of the file's documentation.
const PATTERNS: [&str; 4] = ["event_id", "message_id", "feature_set", "channel"];

/// The rule a table describes; `None` if something is wrong with it, which is noted.
pub(super) fn rule(faults: &mut Faults<'_>, section: &Section) -> Option<Rule> {
    let lane = section.choice("method").and_then(Lane::of);
    let patterns = patterns(faults, section);
    let key = key(faults, section, patterns.as_ref());
    let scope = place(faults, section, lane);
    flags(faults, section);
    if lane == Some(Lane::Channel) && section.has("feature_set") {
        faults.add(
            section.place("feature_set"),
            format!("`{PATH}.feature_set` matches no message of channels/incoming, which has none"),
            "take it out, or make the method \"push/event\"",
        );
    }
    Some(Rule {
        lane,
        patterns: patterns?,
        tags_any: section.list("tags_any"),
        tags_none: section.list("tags_none"),
        key: key?,
        scope: scope?,
        initial: section.flag("initial"),
        retract: section.flag("retract"),
        distinct: section.flag("distinct"),
    })
}

/// `None` if one of them cannot be read, or if a group's name is used twice.
fn patterns(faults: &mut Faults<'_>, section: &Section) -> Option<Patterns> {
    let mut sound = true;
    let mut seen: Vec<String> = Vec::new();
    let [event_id, message_id, feature_set, channel] = PATTERNS.map(|name| {
        let text = section.text(name);
        let read = text.and_then(|text| pattern(faults, text, &format!("{PATH}.{name}")));
        sound = sound && (read.is_some() || !section.has(name));
        let regex: Option<Regex> = read.map(|pattern| pattern.0);
        let groups: Vec<String> =
            regex.iter().flat_map(|regex| regex.capture_names().flatten().map(ToOwned::to_owned)).collect();
        for group in &groups {
            if seen.contains(group) {
                let shown = text.filter(|text| text.secret).map_or(group.as_str(), |_| "…");
                faults.add(
                    section.place(name),
                    format!("`{PATH}.{name}` has a group `{shown}`, and so has another pattern of the rule"),
                    "give each group a name of its own",
                );
                sound = false;
            }
        }
        seen.extend(groups);
        regex
    });
    sound.then_some(Patterns { event_id, message_id, feature_set, channel })
}

fn key(faults: &mut Faults<'_>, section: &Section, patterns: Option<&Patterns>) -> Option<Template> {
    let Some(text) = section.text("key") else {
        if !section.has("key") {
            let hint = "write how the key is made, such as key = \"message:{id}\"";
            faults.add(section.at, format!("`{PATH}.key` is missing"), hint);
        }
        return None;
    };
    match Template::parse(&text.value, patterns) {
        Ok(template) => Some(template),
        Err(fault) => {
            let (mut at, mut place) = (text.at.start, String::new());
            if !text.secret {
                let n = text.value.get(..fault.offset).unwrap_or_default().chars().count() + 1;
                place = format!(" at its character {n}");
                at = inside(faults.text(), text, fault.offset).unwrap_or(at);
            }
            faults.add(at, format!("`{PATH}.key` makes no key{place}: {fault}"), fault.hint);
            None
        }
    }
}

fn place(faults: &mut Faults<'_>, section: &Section, lane: Option<Lane>) -> Option<Place> {
    let Some(text) = section.text("scope") else { return (!section.has("scope")).then_some(Place::Own) };
    match (&*text.value, lane) {
        ("channel", _) => Some(Place::Channel),
        ("feature_set", Some(Lane::Channel)) => {
            faults.add(
                text.at.start,
                format!("`{PATH}.scope` = \"feature_set\" has no message of channels/incoming"),
                "write \"channel\" or a name of yours, or make the method \"push/event\"",
            );
            None
        }
        ("feature_set", _) => Some(Place::FeatureSet),
        (name, _) if (1..=64).contains(&name.len()) && !name.contains(char::is_control) => {
            Some(Place::Named(name.into()))
        }
        _ => {
            faults.add(
                text.at.start,
                format!("`{PATH}.scope` cannot be \"{}\"", text.shown()),
                "write \"channel\", \"feature_set\" or a name of yours of 1 to 64 bytes, such as \"messages\"",
            );
            None
        }
    }
}

fn flags(faults: &mut Faults<'_>, section: &Section) {
    if section.flag("retract") && section.flag("initial") {
        faults.add(
            section.place("retract").max(section.place("initial")),
            format!("`{PATH}.retract` and `{PATH}.initial` exclude each other: a withdrawal begins nothing"),
            "take one of the two out, or write two rules",
        );
    }
}
