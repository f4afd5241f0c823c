//! What the producer has to say, scene by scene.

use serde_json::{Value, json};

/// The channel that is registered with the host.
pub(super) const CHANNEL: &str = "alerts";
/// The feature sets of the first act's producer.
const DECLARED: &[&str] = &["chat", "battery", "heartbeat", "reminders", "reactions"];
/// The one of them that the host does not enable.
pub(super) const DISABLED: &str = "reactions";
/// Events for which the host's storage fails once.
pub(super) const UNLUCKY: [&str; 2] = ["reminder-1", "battery-5"];

const NOON: &str = "2026-03-01T12:00:00Z";

/// A script, and who plays it.
#[derive(Debug)]
pub(super) struct Act {
    pub(super) scenes: Vec<Scene>,
    /// What the sidecar runs under.
    pub(super) settings: &'static str,
    /// The feature sets the producer declares.
    pub(super) declared: &'static [&'static str],
    /// The producer does as released ones do: it lists its feature sets in an array, and sends nothing twice.
    pub(super) released: bool,
}

/// A part of the script, shown under a title of its own.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) title: &'static str,
    pub(super) steps: Vec<Step>,
}

/// One step.
#[derive(Debug)]
pub(super) enum Step {
    /// The producer sends an event and waits for its answer.
    Send(Event),
    /// The same, many times over; shown as one.
    Flood(&'static str, Vec<Event>),
    /// The host prepares its next turn: it is about to read.
    Turn,
}

/// One event.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// `eventId`, or `messageId` on the channel lane.
    pub(super) id: String,
    /// In the table.
    pub(super) label: String,
    /// The content.
    pub(super) text: String,
    lane: Lane,
    coalesce: Option<Coalesce>,
}

#[derive(Clone, Copy, Debug)]
enum Lane {
    Push { feature_set: &'static str },
    Channel,
}

/// What the event says of its subject, to a host that understands it.
#[derive(Clone, Debug)]
pub(super) enum Coalesce {
    /// The first of its subject.
    First(String),
    /// A newer state of it.
    Newer(String),
    /// It is gone; the content is the deletion notice.
    Gone(String),
}

impl Event {
    /// The same id with the same content.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.text == other.text
    }

    /// An event on the push lane. Of its subject only a host hears that understands it.
    pub(super) fn push(
        feature_set: &'static str,
        id: &str,
        label: &str,
        text: &str,
        coalesce: Option<Coalesce>,
    ) -> Self {
        let lane = Lane::Push { feature_set };
        Self { id: id.into(), label: label.into(), text: text.into(), lane, coalesce }
    }

    /// Its method and params. `coalesced`: the host said that it understands `coalesce`, so it is sent.
    pub(super) fn request(&self, coalesced: bool) -> (&'static str, Value) {
        let content = json!([{"type": "text", "text": self.text}]);
        match self.lane {
            Lane::Channel => {
                let message = json!({"channelId": CHANNEL, "messageId": self.id, "timestamp": NOON, "content": content});
                ("channels/incoming", json!({"messages": [message]}))
            }
            Lane::Push { feature_set } => {
                let mut params = json!({"featureSet": feature_set, "eventId": self.id, "timestamp": NOON,
                    "payload": {"content": content}});
                if let Some(coalesce) = self.coalesce.as_ref().filter(|_| coalesced) {
                    params["coalesce"] = coalesce.member();
                }
                ("push/event", params)
            }
        }
    }
}

impl Coalesce {
    fn member(&self) -> Value {
        match self {
            Self::First(key) => json!({"key": key, "initial": true}),
            Self::Newer(key) => json!({"key": key}),
            Self::Gone(key) => json!({"key": key, "retract": true}),
        }
    }
}

/// The first act: a producer that follows the drafts.
pub(super) fn drafts() -> Act {
    Act { scenes: script(), settings: include_str!("demo.toml"), declared: DECLARED, released: false }
}

fn script() -> Vec<Scene> {
    vec![
        Scene {
            title: "A chat: messages are edited and deleted, before and after the model read them",
            steps: chat(),
        },
        Scene { title: "A gauge: only its newest reading matters", steps: gauge() },
        Scene {
            title: "A flood: twelve alerts at once, where the sidecar was told to allow five",
            steps: vec![flood(), Step::Turn],
        },
        Scene { title: "Refusals: the host says no in English", steps: refusals() },
    ]
}

fn chat() -> Vec<Step> {
    let key = |n: u32| format!("message:{n}");
    let create = |n: u32, text: &str| {
        let (id, label) = (format!("message-{n}"), format!("message {n}: {text}"));
        Step::Send(Event::push("chat", &id, &label, text, Some(Coalesce::First(key(n)))))
    };
    let edit = |n: u32, nth: u32, text: &str| {
        let (id, label) = (format!("edit-{n}-{nth}"), format!("edit of {n}: {text}"));
        Step::Send(Event::push("chat", &id, &label, text, Some(Coalesce::Newer(key(n)))))
    };
    let delete = |n: u32| {
        let (id, text) = (format!("delete-{n}"), format!("message {n} deleted"));
        Step::Send(Event::push("chat", &id, &format!("deletion of {n}"), &text, Some(Coalesce::Gone(key(n)))))
    };
    vec![
        create(1, "good morning"),
        create(2, "lunch at nonn?"),
        edit(2, 1, "lunch at noon?"),
        edit(2, 2, "lunch at 12:30?"),
        create(3, "wrong window"),
        delete(3),
        Step::Turn,
        edit(2, 3, "lunch at 13:00?"),
        delete(1),
        Step::Turn,
    ]
}

fn reading(nth: u32, percent: u32) -> Step {
    let text = format!("battery {percent} %");
    let coalesce = if nth == 1 { Coalesce::First } else { Coalesce::Newer };
    let event =
        Event::push("battery", &format!("battery-{nth}"), &text, &text, Some(coalesce("gauge".into())));
    Step::Send(event)
}

fn gauge() -> Vec<Step> {
    vec![reading(1, 80), reading(2, 79), reading(3, 78), reading(4, 77), Step::Turn]
}

fn flood() -> Step {
    let alert = |n: u32| Event {
        id: format!("alert-{n}"),
        label: format!("alert {n}"),
        text: format!("alert {n}"),
        lane: Lane::Channel,
        coalesce: None,
    };
    Step::Flood("twelve alerts", (1..=12).map(alert).collect())
}

fn refusals() -> Vec<Step> {
    let plain = |set, id, label, text| Step::Send(Event::push(set, id, label, text, None));
    vec![
        plain("heartbeat", "heartbeat-1", "heartbeat", "still here"),
        plain("heartbeat", "heartbeat-1", "heartbeat once more", "still here"),
        plain("reactions", "reaction-1", "reaction: disabled", "thumbs up"),
        plain("weather", "weather-1", "weather: undeclared", "rain"),
        plain("reminders", "reminder-1", "reminder: bad disk", "stand-up in 5 min"),
        reading(5, 76),
        Step::Turn,
    ]
}
