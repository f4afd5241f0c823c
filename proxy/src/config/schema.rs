//! The JSON Schema of the configuration file.

use serde_json::{Map, Value, json};

use super::keys::{FILE, Fallback, Key, Shape};

/// The schema (draft 2020-12) of the file, TOML read as JSON (contract section 1, `schema`).
///
/// It cannot say everything the loader checks: addresses, regular expressions, references and paths are
/// strings here.
pub fn schema() -> Value {
    let mut root = object(FILE);
    root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".to_owned(), json!("mcpl-sidecar configuration"));
    Value::Object(root)
}

fn object(keys: &[Key]) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in keys {
        properties.insert(key.name.to_owned(), property(key));
        if matches!(key.default, Fallback::Required) {
            required.push(key.name);
        }
    }
    let mut out = Map::new();
    out.insert("type".to_owned(), json!("object"));
    out.insert("additionalProperties".to_owned(), json!(false));
    out.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        out.insert("required".to_owned(), json!(required));
    }
    if keys.iter().any(|k| k.name == "connect") {
        out.insert("oneOf".to_owned(), json!([{"required": ["command"]}, {"required": ["connect"]}]));
    }
    if keys.iter().any(|k| k.name == "token_as") {
        out.insert("oneOf".to_owned(), json!([{"required": ["token_file"]}, {"required": ["token_env"]}]));
    }
    out
}

fn property(key: &Key) -> Value {
    let mut out = match &key.shape {
        Shape::Text | Shape::Path => members(json!({"type": "string"})),
        Shape::Choice(names) => members(json!({"enum": names})),
        Shape::Integer(i64::MIN, i64::MAX) => members(json!({"type": "integer"})),
        Shape::Integer(least, most) => members(json!({"type": "integer", "minimum": least, "maximum": most})),
        Shape::Rate(least, most) => {
            members(json!({"type": "number", "anyOf": [{"const": 0}, {"minimum": least}], "maximum": most}))
        }
        Shape::Flag => members(json!({"type": "boolean"})),
        Shape::List => members(json!({"type": "array", "items": {"type": "string"}})),
        Shape::Secrets => members(json!({"type": "object", "additionalProperties": {"type": "string"}})),
        Shape::Table(keys) => object(keys),
        Shape::Tables(keys) => members(json!({"type": "array", "items": object(keys)})),
    };
    match key.name {
        "name" => drop(out.insert("pattern".to_owned(), json!("^[a-z0-9][a-z0-9._-]{0,63}$"))),
        "command" | "producer" => drop(out.insert("minItems".to_owned(), json!(1))),
        _ => {}
    }
    let default = match key.default {
        Fallback::Required | Fallback::Absent | Fallback::Defaults => None,
        Fallback::Text(text) => Some(json!(text)),
        Fallback::Integer(n) => Some(json!(n)),
        Fallback::Number(n) => Some(json!(n)),
        Fallback::Flag(b) => Some(json!(b)),
        Fallback::List(list) => Some(json!(list)),
    };
    if let Some(default) = default {
        out.insert("default".to_owned(), default);
    }
    out.insert("description".to_owned(), json!(key.about));
    Value::Object(out)
}

/// The members of a literal that is an object.
fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
