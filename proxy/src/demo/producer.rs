//! The producer's own manners: what it says of itself, and whether it may speak of subjects.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::{Value, json};

use super::peer::{Mind, Reply};
use super::script::CHANNEL;

/// The producer.
pub(super) struct Producer {
    /// The host said that it coalesces events. Only then a producer sends `coalesce`.
    pub(super) coalesced: Rc<Cell<bool>>,
    /// The feature sets it declares.
    pub(super) declared: &'static [&'static str],
    /// It declares them in an array.
    pub(super) listed: bool,
}

impl Producer {
    /// The params of its registration.
    pub(super) fn channels() -> Value {
        json!({"channels": [{"id": CHANNEL, "label": "Alerts"}]})
    }
}

impl Mind for Producer {
    fn hear(&mut self, method: &str, params: &Value) -> Option<Reply> {
        if method == "initialize" {
            let mcpl = &params["capabilities"]["experimental"]["mcpl"];
            self.coalesced.set(mcpl["eventCoalescing"]["pushEvents"] == true);
            let sets: Value = if self.listed {
                self.declared.iter().map(|name| json!({"name": name, "description": name})).collect()
            } else {
                let set = |name: &&str| ((*name).to_owned(), json!({"description": name}));
                Value::Object(self.declared.iter().map(set).collect())
            };
            return Some(Reply::Result(json!({
                "protocolVersion": "2024-11-05",
                "serverInfo": {"name": "demo", "version": "1.0.0"},
                "capabilities": {"experimental": {"mcpl": {"version": "0.4", "featureSets": sets}}}
            })));
        }
        Some(Reply::Result(json!({})))
    }
}
