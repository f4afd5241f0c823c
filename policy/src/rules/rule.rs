//! One rule: what it matches, and what it says of that.

use std::fmt;

use mcpl_codec::{Coalesce, Lane, Ruled, Scope};
use regex::Regex;

use super::seen::Seen;
use super::template::Template;

/// One `[[producer.subject]]` (contract 13.1): everything that is given must match.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The lane.
    pub lane: Option<Lane>,
    /// What its ids and names must match.
    pub patterns: Patterns,
    /// It has one of these tags; none here: it need not.
    pub tags_any: Vec<String>,
    /// It has none of these.
    pub tags_none: Vec<String>,
    /// How its key is made.
    pub key: Template,
    /// Where its subject lives.
    pub scope: Place,
    /// No version of the subject was ever sent before.
    pub initial: bool,
    /// It is a withdrawal; its content is the deletion notice.
    pub retract: bool,
    /// One `eventId` with new content is a new occurrence.
    pub distinct: bool,
}

/// Where a rule's subjects live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the event's own scope: the channel of a message, the feature set of a push.
    Own,
    /// In the channel of a message, or the one that a push's `origin` names; a push that names none is not
    /// matched.
    Channel,
    /// In the feature set; a message has none and is not matched.
    FeatureSet,
    /// In a scope of this name, across lanes.
    Named(Box<str>),
}

/// The regular expressions of a rule, each found anywhere in its text unless it is anchored.
#[derive(Clone, Default)]
pub struct Patterns {
    /// Of `eventId`.
    pub event_id: Option<Regex>,
    /// Of `messageId`: a string, or a number as it is spelled.
    pub message_id: Option<Regex>,
    /// Of a push's `featureSet`.
    pub feature_set: Option<Regex>,
    /// Of a message's `channelId`, or the channel that a push's `origin` names.
    pub channel: Option<Regex>,
}

/// One of the patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    EventId,
    MessageId,
    FeatureSet,
    Channel,
}

impl Field {
    const ALL: [Self; 4] = [Self::EventId, Self::MessageId, Self::FeatureSet, Self::Channel];

    /// The text of an event that is matched.
    pub(super) fn of<'s>(self, seen: &'s Seen<'_>) -> Option<&'s str> {
        match self {
            Self::EventId => seen.event.event_id.as_deref(),
            Self::MessageId => seen.message_id.as_deref(),
            Self::FeatureSet => seen.event.feature_set.as_deref(),
            Self::Channel => seen.channel(),
        }
    }
}

impl Patterns {
    pub(super) fn of(&self, field: Field) -> Option<&Regex> {
        match field {
            Field::EventId => self.event_id.as_ref(),
            Field::MessageId => self.message_id.as_ref(),
            Field::FeatureSet => self.feature_set.as_ref(),
            Field::Channel => self.channel.as_ref(),
        }
    }

    /// Where the group of this name is: in which pattern, and its number there.
    pub(super) fn group(&self, name: &str) -> Option<(Field, usize)> {
        Field::ALL.into_iter().find_map(|field| {
            let mut names = self.of(field)?.capture_names();
            names.position(|group| group == Some(name)).map(|number| (field, number))
        })
    }

    /// The names of all groups, in the order of the patterns.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        let patterns = Field::ALL.into_iter().filter_map(|field| self.of(field));
        patterns.flat_map(|pattern| pattern.capture_names().flatten())
    }

    fn texts(&self) -> [Option<&str>; 4] {
        Field::ALL.map(|field| self.of(field).map(Regex::as_str))
    }
}

impl PartialEq for Patterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts() == other.texts()
    }
}

impl fmt::Debug for Patterns {
    /// Shows no text: a pattern may come from a variable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Patterns(…)")
    }
}

impl Rule {
    /// Whether it matches: every condition that is given holds.
    pub(super) fn matches(&self, seen: &mut Seen<'_>) -> bool {
        self.lane.is_none_or(|lane| lane == seen.event.lane)
            && Field::ALL.into_iter().all(|field| self.finds(field, seen))
            && self.is_placed(seen)
            && (self.tags_any.is_empty() || self.tags_any.iter().any(|tag| has(seen, tag)))
            && !self.tags_none.iter().any(|tag| has(seen, tag))
    }

    fn finds(&self, field: Field, seen: &Seen<'_>) -> bool {
        let Some(pattern) = self.patterns.of(field) else { return true };
        field.of(seen).is_some_and(|text| pattern.is_match(text))
    }

    /// The event has the scope that its subject is to live in.
    fn is_placed(&self, seen: &Seen<'_>) -> bool {
        match (&self.scope, seen.event.lane) {
            (Place::Named(_), _) => true,
            (Place::Channel, _) | (Place::Own, Lane::Channel) => {
                seen.channel().is_some_and(|channel| !channel.is_empty())
            }
            (Place::FeatureSet, Lane::Channel) => false,
            (Place::Own | Place::FeatureSet, Lane::Push) => seen.event.feature_set.is_some(),
        }
    }

    /// What it says of an event that it matches; `None` where it makes no key of it.
    pub(super) fn coalesce(&self, seen: &Seen<'_>) -> Option<Coalesce> {
        let key = self.key.fill(&self.patterns, seen)?;
        let scope = match (&self.scope, seen.event.lane) {
            (Place::Named(name), _) => Scope::Named(name.clone()),
            (Place::Channel, Lane::Push) => Scope::Channel(seen.channel()?.into()),
            (Place::Own | Place::Channel | Place::FeatureSet, _) => Scope::Own,
        };
        Some(Coalesce {
            key: key.into(),
            channel: None,
            deferred: false,
            retract: self.retract,
            initial: self.initial && !self.retract,
            data: None,
            ruled: Some(Ruled { scope, distinct: self.distinct }),
        })
    }
}

fn has(seen: &mut Seen<'_>, tag: &str) -> bool {
    seen.tags().iter().any(|found| *found == *tag)
}
