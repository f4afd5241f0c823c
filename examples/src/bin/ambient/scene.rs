//! The script: what happens in the two rooms, and what each event says of its subject.

use serde_json::{Value, json};

/// The rooms; each is a channel of the host's.
pub(crate) const ROOMS: [&str; 2] = ["lobby", "workshop"];
/// The feature set of presence.
pub(crate) const PRESENCE: &str = "ambient.presence";
/// The feature set of the digests.
pub(crate) const ACTIVITY: &str = "ambient.activity";
/// The key of a channel's activity: the channel is in the scope already.
pub(crate) const ACTIVITY_KEY: &str = "activity";

/// One event, before it is put on the wire.
#[derive(Debug)]
pub(crate) struct Event {
    /// What it is called here; on the wire the run's name follows.
    pub(crate) id: &'static str,
    room: &'static str,
    text: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Message { author: &'static str, id: &'static str, change: Change, tags: &'static [&'static str] },
    Presence { who: &'static str, change: Change },
    Notice { data: Value },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Create,
    Edit,
    Delete,
}
use Change::{Create, Delete, Edit};

/// The scenes, in order.
pub(crate) fn scenes() -> [Vec<Event>; 3] {
    let (lobby, workshop) = (ROOMS[0], ROOMS[1]);
    let nobody_reads = vec![
        message("m1.1", lobby, "m1", "Ada", Create, "Has anyone seen the red notebook?"),
        presence("ada.1", lobby, "ada", Create, "Ada is here"),
        notice("lobby.1", lobby, "Ada", "reacted"),
        message("m1.2", lobby, "m1", "Ada", Edit, "Has anyone seen the blue notebook?"),
        message("m2.1", lobby, "m2", "Ben", Create, "It is on the windowsill."),
        presence("ben.1", lobby, "ben", Create, "Ben is here"),
        presence("ada.2", lobby, "ada", Edit, "Ada is typing"),
        message("m3.1", lobby, "m3", "Ben", Create, "Wrong room, sorry."),
        message("m3.2", lobby, "m3", "Ben", Delete, "Ben deleted a message."),
        notice("lobby.2", lobby, "Ben", "pinned a message"),
        message("m4.1", workshop, "m4", "Cleo", Create, "The kiln is at 900 degrees."),
        message("m4.2", workshop, "m4", "Cleo", Edit, "The kiln is at 950 degrees."),
        notice("workshop.1", workshop, "Cleo", "reacted"),
        presence("ada.3", lobby, "ada", Edit, "Ada is away"),
        notice("lobby.3", lobby, "Ada", "reacted"),
    ];
    let it_was_read = vec![
        message("m1.3", lobby, "m1", "Ada", Edit, "Has anyone seen the blue notebook? Found it."),
        message("m2.2", lobby, "m2", "Ben", Delete, "Ben deleted a message."),
        presence("ada.4", lobby, "ada", Edit, "Ada is typing"),
        presence("ada.5", lobby, "ada", Edit, "Ada is here"),
        presence("ben.2", lobby, "ben", Delete, ""),
        notice("lobby.4", lobby, "Cleo", "joined"),
    ];
    let the_agent_is_asked = vec![
        presence("ada.6", lobby, "ada", Edit, "Ada is typing"),
        notice("lobby.5", lobby, "Cleo", "reacted"),
        addressed("m5.1", lobby, "m5", "Ada", "@agent What did I miss?"),
    ];
    [nobody_reads, it_was_read, the_agent_is_asked]
}

fn message(
    event: &'static str,
    room: &'static str,
    id: &'static str,
    author: &'static str,
    change: Change,
    text: &str,
) -> Event {
    Event { id: event, room, text: text.into(), kind: Kind::Message { author, id, change, tags: &[] } }
}

fn addressed(
    event: &'static str,
    room: &'static str,
    id: &'static str,
    author: &'static str,
    text: &str,
) -> Event {
    let kind = Kind::Message { author, id, change: Create, tags: &["chat:mention"] };
    Event { id: event, room, text: text.into(), kind }
}

fn presence(event: &'static str, room: &'static str, who: &'static str, change: Change, text: &str) -> Event {
    Event { id: event, room, text: text.into(), kind: Kind::Presence { who, change } }
}

/// The text is what a host gets if nobody is there to render: it has to make sense alone.
fn notice(event: &'static str, room: &'static str, who: &str, did: &str) -> Event {
    let text = format!("Something happened in {room}. The latest: {who} {did}.");
    Event { id: event, room, text, kind: Kind::Notice { data: json!({"who": who, "did": did}) } }
}

impl Event {
    /// Its method and params. `minute` is the script's clock; `run` makes its ids unlike another run's.
    ///
    /// Without `coalesced` the host has not said that it understands `coalesce`, so it is left out: everything
    /// is told as it happens.
    pub(crate) fn request(&self, minute: usize, run: &str, coalesced: bool) -> (&'static str, Value) {
        let stamp = format!("2026-03-01T12:{minute:02}:00Z");
        let mut event = json!({"eventId": format!("{}@{run}", self.id), "timestamp": stamp});
        if coalesced {
            event["coalesce"] = self.coalesce(run);
        }
        match &self.kind {
            Kind::Message { author, id, tags, .. } => {
                event["channelId"] = json!(self.room);
                event["messageId"] = json!(format!("{id}@{run}"));
                event["author"] = json!({"id": author.to_lowercase(), "name": author});
                event["tags"] = json!(tags);
                event["content"] = self.content();
                ("channels/incoming", json!({"messages": [event]}))
            }
            Kind::Presence { .. } | Kind::Notice { .. } => {
                let set = if matches!(self.kind, Kind::Notice { .. }) { ACTIVITY } else { PRESENCE };
                event["featureSet"] = json!(set);
                // For the reader of the event: it never selects a subject.
                event["origin"] = json!({"source": "ambient", "channelId": self.room});
                event["payload"] = json!({"content": self.content()});
                ("push/event", event)
            }
        }
    }

    /// What the event says of its subject.
    fn coalesce(&self, run: &str) -> Value {
        let (mut coalesce, change) = match &self.kind {
            // The lane says the channel. A message's id is new in each run, so its key is.
            Kind::Message { id, change, .. } => (json!({"key": format!("message:{id}@{run}")}), *change),
            Kind::Presence { who, change } => {
                (json!({"key": format!("presence:{who}"), "channelId": self.room}), *change)
            }
            Kind::Notice { data } => {
                let key =
                    json!({"key": ACTIVITY_KEY, "channelId": self.room, "deferred": true, "data": data});
                (key, Edit)
            }
        };
        match change {
            Create => coalesce["initial"] = json!(true),
            Delete => coalesce["retract"] = json!(true),
            Edit => {}
        }
        coalesce
    }

    fn content(&self) -> Value {
        if self.is_silent() { json!([]) } else { json!([{"type": "text", "text": self.text}]) }
    }

    /// Whether there is nothing in it for a host that does not coalesce.
    pub(crate) fn is_silent(&self) -> bool {
        self.text.is_empty()
    }
}
