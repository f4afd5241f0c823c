//! Every example is what it claims to be.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use mcpl_sidecar::config::{self, Purpose};

fn examples(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| {
            path.extension().is_some_and(|e| e == extension) && path.file_name().unwrap() != "Cargo.toml"
        })
        .collect()
}

fn env(name: &str) -> Option<String> {
    ["HOME", "DISCORD_TOKEN"].contains(&name).then(|| "/x".to_owned())
}

#[test]
fn every_example_configuration_loads_and_prints() {
    let files = examples("toml");
    assert!(files.len() >= 2);
    for file in files {
        let loaded = config::load_for(Purpose::Run, &file, &env).unwrap_or_else(|e| panic!("{e}"));
        let printed = loaded.effective();
        config::parse(Purpose::Run, &file, &printed, &env).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    }
}

#[test]
fn every_mcp_servers_entry_is_a_wrap() {
    let files = examples("json");
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let entries: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (name, entry) in entries["mcpServers"].as_object().unwrap() {
            assert_eq!(entry["command"], "mcpl-sidecar", "{name}");
            let args: Vec<&str> =
                entry["args"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
            assert_eq!(args[0], "wrap");
            assert!(args.iter().position(|a| *a == "--").is_some_and(|at| at + 1 < args.len()), "{args:?}");
        }
    }
}
