//! The channels that are registered with the host (contract 5).

use std::collections::HashSet;

use foldhash::fast::FixedState;
use mcpl_codec::raw;

use super::names::NAME_BYTES;
use super::{MAX_NAMES, Say};

#[derive(Debug, Default)]
pub(super) struct Channels {
    ids: HashSet<Box<str>, FixedState>,
    /// The host answered a registration in this session, so that what it did not accept is unregistered.
    answered: bool,
    /// There were more than are kept: an id that is not found may be registered.
    partial: bool,
}

impl Channels {
    pub(super) fn add(&mut self, id: &str) {
        if id.len() > NAME_BYTES || (self.ids.len() >= MAX_NAMES && !self.ids.contains(id)) {
            self.partial = true;
        } else {
            self.ids.insert(id.into());
        }
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.ids.remove(id);
    }

    pub(super) fn answered(&mut self) {
        self.answered = true;
    }

    pub(super) fn registered(&self, id: &str) -> Say {
        match (self.ids.contains(id), self.answered && !self.partial) {
            (true, _) => Say::Yes,
            (false, true) => Say::No,
            (false, false) => Say::Unknown,
        }
    }
}

/// The ids in a list of channels, `params[member]`: an array of `{id}` or of strings. What has no readable
/// id is left out, and so is what comes after the first 65,537.
pub fn channel_ids(params: &[u8], member: &str) -> Vec<Box<str>> {
    raw::member(params, member).map(ids).unwrap_or_default()
}

/// The ids that the host's result for a registration of `submitted` accepts: `results` with `accepted`,
/// else `registered`, else all.
pub(super) fn accepted(submitted: &[impl AsRef<str>], result: &[u8]) -> Vec<Box<str>> {
    let array = |name| raw::member(result, name).filter(|list| raw::kind(list) == raw::Kind::Array);
    if let Some(results) = array("results") {
        raw::elements(results)
            .enumerate()
            .take(MAX_NAMES + 1)
            .filter(|(_, one)| raw::member(one, "accepted").map(raw::kind) != Some(raw::Kind::Bool(false)))
            // A result without an id is that of the channel in its place.
            .filter_map(|(place, one)| id(one).or_else(|| submitted.get(place).map(|id| id.as_ref().into())))
            .collect()
    } else if let Some(registered) = array("registered") {
        ids(registered)
    } else {
        super::boxed(submitted)
    }
}

fn ids(list: &[u8]) -> Vec<Box<str>> {
    // One more than are kept, so that the list is seen to be too long.
    raw::elements(list).filter_map(id).take(MAX_NAMES + 1).collect()
}

fn id(channel: &[u8]) -> Option<Box<str>> {
    let id = match raw::kind(channel) {
        raw::Kind::Object => raw::member(channel, "id")?,
        _ => channel,
    };
    raw::string(id).map(Box::from)
}
