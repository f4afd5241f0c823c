//! The reader, the schema and the effective configuration agree on keys and defaults.

use serde_json::Value as Json;

use super::*;

/// Every key of the schema: its dotted path and what the schema says of it.
fn keys(schema: &Json, path: &str, out: &mut Vec<(String, Json)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        out.push((path.clone(), property.clone()));
        keys(property, &path, out);
        keys(&property["items"], &path, out);
    }
}

fn all() -> Vec<(String, Json)> {
    let mut all = Vec::new();
    keys(&schema(), "", &mut all);
    all
}

fn paths(table: &toml::Table, path: &str, out: &mut Vec<String>) {
    for (name, value) in table {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            toml::Value::Table(inner) if name != "env" => paths(inner, &path, out),
            toml::Value::Array(items) => {
                items.iter().filter_map(|i| i.as_table()).for_each(|t| paths(t, &path, out));
            }
            _ => {}
        }
        out.push(path);
    }
}

/// A file with nothing in it but this key, in its table.
fn only(path: &str, value: &str) -> String {
    let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
    match table {
        "" => format!("{name} = {value}\n"),
        "producer" => format!("[[producer]]\n{name} = {value}\n"),
        "producer.refusals.rule" | "producer.subject" => {
            format!("[[producer]]\n[[{table}]]\n{name} = {value}\n")
        }
        _ if table.starts_with("producer.") => format!("[[producer]]\n[{table}]\n{name} = {value}\n"),
        _ => format!("[{table}]\n{name} = {value}\n"),
    }
}

#[test]
fn every_key_of_the_documented_file_is_in_the_schema_and_the_reverse() {
    let mut documented = Vec::new();
    paths(
        &format!(
            "{WHOLE}\n[[producer]]\nconnect = 'x'\nlisten_auth.token_env = 'x'\nconnect_auth.token_file = 'x'"
        )
        .parse()
        .unwrap(),
        "",
        &mut documented,
    );
    documented.sort();
    documented.dedup();
    let mut schema: Vec<String> = all().into_iter().map(|(path, _)| path).collect();
    schema.sort();
    assert_eq!(schema, documented);
}

#[test]
fn every_key_of_the_schema_is_accepted_and_no_other() {
    for (path, _) in all() {
        // A value of the wrong type for every key shows that the key itself is known.
        let known = read(&only(&path, "1979-05-27")).unwrap_err().to_string();
        assert!(
            known.contains(&format!("`{path}` must be ")) && !known.contains("unknown key"),
            "{path}: {known}"
        );
        let unknown = read(&only(&format!("{path}_x"), "1")).unwrap_err().to_string();
        assert!(unknown.contains("unknown key"), "{path}: {unknown}");
    }
    for key in ["drain", "producer.drain_ms", "producer.presets", "producer.subjects", "producer.host.shim"] {
        assert!(read(&only(key, "1")).unwrap_err().to_string().contains("unknown key"), "{key}");
    }
    assert!(read(&format!("{LEAST}coalesce.mode = \"observed\"")).is_err());
}

#[test]
fn defaults_and_limits_of_the_schema_are_the_readers() {
    let least = LEAST.replace("stdio", "ws://x:1").replace("command = [\"prog\"]", "connect = 'ws://x'");
    let config = read(&format!(
        "[admin]\nlisten = '127.0.0.1:1'\n{least}listen_auth.token_env = 'X'\nconnect_auth.token_env = 'X'\n\
         [[producer.refusals.rule]]\nrefusal = 'x'\n[[producer.subject]]\nkey = 'x'\n"
    ))
    .unwrap();
    let effective: toml::Table = config.effective().parse().unwrap();
    let mut defaults = 0;
    for (path, property) in all() {
        if let Some(default) = property.get("default") {
            let mut at = &toml::Value::Table(effective.clone());
            for name in path.split('.') {
                at = at.get(name).unwrap_or_else(|| panic!("{path}"));
                at = at.get(0).filter(|first| first.is_table()).unwrap_or(at);
            }
            assert_eq!(&serde_json::to_value(at).unwrap(), default, "{path}");
            defaults += 1;
        }
        if property["type"] == "integer" {
            let range = (property["minimum"].as_i64(), property["maximum"].as_i64());
            let (Some(least), Some(most)) = range else { continue };
            for (n, ok) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
                let said = read(&only(&path, &n.to_string())).unwrap_err().to_string();
                assert_eq!(!said.contains(&format!("`{path}` = {n}")), ok, "{path} = {n}: {said}");
            }
        }
        for name in property["enum"].as_array().into_iter().flatten() {
            let said = read(&only(&path, &name.to_string())).unwrap_err().to_string();
            assert!(!said.contains(&path), "{path} = {name}: {said}");
        }
    }
    assert!(defaults > 25, "{defaults}");
}

#[test]
fn objects_of_the_schema_are_closed() {
    fn closed(value: &Json) {
        if value["type"] == "object" && value.get("properties").is_some() {
            assert_eq!(value["additionalProperties"], false);
        }
        value.as_object().into_iter().flatten().for_each(|(_, v)| closed(v));
        value.as_array().into_iter().flatten().for_each(closed);
    }
    let schema = schema();
    closed(&schema);
    assert_eq!(schema["required"], serde_json::json!(["producer"]));
    assert_eq!(schema["properties"]["producer"]["items"]["required"], serde_json::json!(["name", "listen"]));
}
