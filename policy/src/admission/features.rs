//! The feature sets that the producer declares (contract 5).

use std::collections::HashMap;

use foldhash::fast::FixedState;
use mcpl_codec::raw;

use super::names::NAME_BYTES;
use super::{MAX_NAMES, Say};

type Uses = Box<[Box<str>]>;

/// The feature sets of a producer's `initialize` result. Without any they are unknown.
#[derive(Debug, Clone, Default)]
pub struct FeatureSets {
    /// What each set uses; `None`: it does not say.
    sets: HashMap<Box<str>, Option<Uses>, FixedState>,
    /// There are more of them than are kept.
    partial: bool,
}

impl FeatureSets {
    /// Reads the raw `result` of the producer's answer to `initialize`:
    /// `capabilities.experimental.mcpl.featureSets`, an object by name or an array of `{name}`.
    ///
    /// At most 65,536 sets are kept; of more, those that are not kept are unknown.
    pub fn of(result: &[u8]) -> Self {
        let mut features = Self::default();
        let path = ["capabilities", "experimental", "mcpl", "featureSets"];
        let Some(declared) = raw::at(result, &path) else { return features };
        let mut room = MAX_NAMES;
        match raw::kind(declared) {
            raw::Kind::Object => {
                for (name, set) in raw::members(declared) {
                    if let Some(name) = name.decode() {
                        features.declare(&name, set, &mut room);
                    }
                }
            }
            raw::Kind::Array => {
                for set in raw::elements(declared) {
                    let name = match raw::kind(set) {
                        raw::Kind::Object => raw::member(set, "name").and_then(raw::string),
                        _ => raw::string(set),
                    };
                    if let Some(name) = name {
                        features.declare(&name, set, &mut room);
                    }
                }
            }
            _ => {}
        }
        features
    }

    /// How many sets are known.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// `room`: how many more names of capabilities may be kept, over all sets.
    fn declare(&mut self, name: &str, set: &[u8], room: &mut usize) {
        if name.len() > NAME_BYTES || (self.sets.len() >= MAX_NAMES && !self.sets.contains_key(name)) {
            self.partial = true;
            return;
        }
        let uses = uses(set, *room);
        *room -= uses.as_ref().map_or(0, |uses| uses.len());
        // A set that is declared twice may mean either.
        self.sets.entry(name.into()).and_modify(|known| *known = None).or_insert(uses);
    }

    pub(super) fn declares(&self, name: &str) -> Say {
        match (self.sets.contains_key(name), self.is_empty() || self.partial) {
            (true, _) => Say::Yes,
            (false, true) => Say::Unknown,
            (false, false) => Say::No,
        }
    }

    /// The capabilities that a set needs; `None`: nobody knows.
    pub(super) fn uses(&self, name: &str) -> Option<&[Box<str>]> {
        self.sets.get(name)?.as_deref()
    }
}

/// The names in `uses`, or `None` where it is absent, empty, or cannot be kept.
fn uses(set: &[u8], room: usize) -> Option<Uses> {
    let list = raw::member(set, "uses")?;
    let names: Vec<Box<str>> =
        raw::elements(list).filter_map(raw::string).take(room + 1).map(Box::from).collect();
    let kept = !names.is_empty() && names.len() <= room && names.iter().all(|name| name.len() <= NAME_BYTES);
    kept.then(|| names.into_boxed_slice())
}
