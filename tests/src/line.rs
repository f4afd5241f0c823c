//! One line that a fake peer received, and how tests read it.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;
use serde_json::value::RawValue;

/// One received line, without its line end.
#[derive(Debug)]
pub struct Said {
    /// The bytes as they came.
    pub text: Vec<u8>,
    /// When they came.
    pub at: Instant,
}

impl Said {
    /// The line as text; bytes that are not UTF-8 are replaced.
    pub fn str(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// The line as a value; `Null` where it cannot be read as one (a lone surrogate, deep nesting).
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.text).unwrap_or(Value::Null)
    }

    /// The raw text of a top-level member.
    pub fn raw(&self, name: &str) -> Option<String> {
        let members: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(&self.text).ok()?;
        members.get(name).map(|value| value.get().to_owned())
    }

    /// The method, if the line is a request or a notification.
    pub fn method(&self) -> Option<String> {
        self.raw("method").and_then(|raw| serde_json::from_str(&raw).ok())
    }

    /// Whether this is a response to the id spelled `id`.
    pub fn answers(&self, id: &str) -> bool {
        self.text.len() >= id.len()
            && self.raw("id").as_deref() == Some(id)
            && self.raw("method").is_none()
            && (self.raw("result").is_some() || self.raw("error").is_some())
    }
}

/// `error.code` of a response.
pub fn error_code(response: &Value) -> Option<i64> {
    response["error"]["code"].as_i64()
}

/// `result.coalesce.outcome` of a response, or of a per-message result.
pub fn outcome(response: &Value) -> Option<&str> {
    let result = response.get("result").unwrap_or(response);
    result["coalesce"]["outcome"].as_str()
}

/// The object that carries the refusal's fields: the result, or the error's `data` (contract section 8.1).
pub fn refusal(response: &Value) -> &Value {
    if response.get("error").is_some() {
        &response["error"]["data"]
    } else {
        response.get("result").unwrap_or(response)
    }
}
