//! How producers stand, told to those who watch: looked at often enough for people, and only while somebody does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::desk::FrontDesk;
use crate::admin::desk::{BindingView, Desk as _};
use crate::journal::account::rfc3339;
use crate::stream::{Hub, Notice};

/// How often it is looked.
const EVERY: Duration = Duration::from_millis(500);

/// What was told of a producer.
#[derive(Default)]
struct Told {
    status: Value,
    said: Option<BindingView>,
    diary: u64,
}

/// Tells the hub what changes, for as long as it is polled.
pub(super) async fn beat(desk: Rc<FrontDesk>, hub: Hub) {
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    let mut look = tokio::time::interval(EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        if hub.is_watched() {
            look_once(&desk, &hub, &mut told).await;
        }
    }
}

async fn look_once(desk: &FrontDesk, hub: &Hub, told: &mut BTreeMap<String, Told>) {
    let views = desk.producers().await;
    let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
    // Who is served no more is told once.
    for (name, told) in told.iter_mut().filter(|(name, _)| !views.iter().any(|view| view.name == **name)) {
        told.say(hub, name, at_ms, json!({ "producer": name, "served": false }), None);
    }
    for view in views {
        let mut status = json!({ "producer": view.name, "served": true });
        if let (Ok(Value::Object(said)), Value::Object(status)) =
            (serde_json::to_value(&view.said), &mut status)
        {
            // What observe mode would do is for GET /v1/producers to say.
            status.extend(said.into_iter().filter(|(name, _)| name != "observed"));
        }
        told.entry(view.name.clone()).or_default().say(hub, &view.name, at_ms, status, view.said);
    }
}

impl Told {
    fn say(&mut self, hub: &Hub, name: &str, at_ms: i64, status: Value, said: Option<BindingView>) {
        if self.status == status {
            return;
        }
        let lines = lines(self.said.as_ref(), said.as_ref());
        if !lines.is_empty() {
            let at = rfc3339(at_ms).unwrap_or_default();
            let mut text = String::new();
            for line in lines {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{at} {line}");
            }
            hub.notify(Notice::diary(name, at_ms, self.diary, &text));
            self.diary += text.len() as u64;
        }
        hub.notify(Notice::status(name, at_ms, status.clone()));
        (self.status, self.said) = (status, said.or(self.said.take()));
    }
}

/// What happened between two looks, for people.
fn lines(before: Option<&BindingView>, now: Option<&BindingView>) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(now) = now else { return lines };
    match (before.is_some_and(|before| before.session), now.session) {
        (false, true) => {
            lines.push(format!("a session with {}", now.peer.as_deref().unwrap_or("its host")));
        }
        (true, false) => lines.push("the session is over".to_owned()),
        (true, true) if before.and_then(|before| before.peer.as_deref()) != now.peer.as_deref() => {
            lines.push(format!("a newer session with {}", now.peer.as_deref().unwrap_or("its host")));
        }
        _ => {}
    }
    if before.is_some_and(|before| before.store != now.store) {
        lines.push(match now.store {
            "good" => "the journal takes everything".to_owned(),
            "short" => "the journal is short of room: new work is refused".to_owned(),
            _ => "the journal takes nothing".to_owned(),
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(session: bool, peer: &str, store: &'static str) -> BindingView {
        BindingView { session, peer: session.then(|| peer.to_owned()), store, ..BindingView::default() }
    }

    #[test]
    fn the_diary_says_what_changed_and_nothing_else() {
        let up = view(true, "a:1", "good");
        assert_eq!(lines(None, Some(&up)), ["a session with a:1"]);
        assert_eq!(lines(Some(&up), Some(&up)), [] as [String; 0]);
        assert_eq!(lines(Some(&up), Some(&view(true, "a:2", "good"))), ["a newer session with a:2"]);
        assert_eq!(
            lines(Some(&up), Some(&view(false, "", "gone"))),
            ["the session is over", "the journal takes nothing"]
        );
        assert_eq!(lines(Some(&up), None), [] as [String; 0]);
    }
}
