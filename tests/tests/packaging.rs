//! What the sidecar is installed with agrees with itself and with the program: the image, the unit, the manifest.
//! What it takes tools to see (`systemd-analyze`, Kubernetes' schemas, the build of the image) is in `.ci/packaging`.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use mcpl_tests::{PATIENCE, World, sidecar_binary};
use regex::Regex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long a child is given at most once the program stops.
const CHILD_ENDS_S: f64 = 3.5;

fn example(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(path);
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// What the pattern's group finds, each time.
fn all(pattern: &str, text: &str) -> Vec<String> {
    Regex::new(pattern).unwrap().captures_iter(text).map(|it| it[1].to_owned()).collect()
}

fn only(pattern: &str, text: &str) -> String {
    let found = all(pattern, text);
    let [one] = found.as_slice() else { panic!("{pattern} was found {} times", found.len()) };
    one.clone()
}

/// The effective configuration.
fn checked(config: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sidecar.toml");
    fs::write(&file, config).unwrap();
    let mut check = Command::new(sidecar_binary());
    let said = check.args(["check", "--config"]).arg(&file).stdin(Stdio::null()).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

/// The configuration in the manifest's `ConfigMap`: the lines under its key that are indented by four.
fn mapped() -> String {
    let manifest = example("kubernetes/sidecar.yaml");
    let (_, text) = manifest.split_once("\n  sidecar.toml: |\n").expect("the key is in the manifest");
    let lines = text.lines().map_while(|line| match line {
        "" => Some(""),
        _ => line.strip_prefix("    "),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The seconds a stop may take by this configuration.
fn stop_s(config: &str) -> f64 {
    only(r"(?m)^drain_ms = (\d+)$", &checked(config)).parse::<f64>().unwrap() / 1000.0 + CHILD_ENDS_S
}

/// The files a configuration names.
fn files(config: &str) -> BTreeSet<String> {
    all(r#"(?m)^(?:\w+_file|state_dir) = "(.+?)""#, config).into_iter().collect()
}

#[test]
fn the_configuration_in_the_manifest_is_valid_and_finds_what_is_mounted() {
    let (manifest, config) = (example("kubernetes/sidecar.yaml"), mapped());
    checked(&config);
    let mounts = all(r"mountPath: ([^,}\s]+)", &manifest);
    let files = files(&config);
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let (folder, name) = file.rsplit_once('/').unwrap();
        let from = all(r"--from-file=(\S+)", &manifest);
        let here = mounts.iter().any(|mount| mount == folder);
        assert!(here, "{file} lies in none of {mounts:?}");
        assert!(folder == "/state" || from.iter().any(|it| it == name), "no secret is made with {name}");
    }
}

#[test]
fn whoever_stops_the_sidecar_waits_longer_than_it_takes() {
    let unit = only(r"(?m)^TimeoutStopSec=(\d+)$", &example("systemd/mcpl-sidecar.service"));
    let pod = only(r"terminationGracePeriodSeconds: (\d+)", &example("kubernetes/sidecar.yaml"));
    let engine = only(r"--stop-timeout (\d+)", &example("container/sidecar.toml"));
    for (given, config) in [
        (unit, example("systemd/sidecar.toml")),
        (pod, mapped()),
        (engine, example("container/sidecar.toml")),
    ] {
        let needed = stop_s(&config);
        assert!(given.parse::<f64>().unwrap() > needed, "{given} s are given and {needed} s needed");
    }
}

#[test]
fn the_unit_loads_the_secrets_that_its_configuration_names() {
    let (unit, config) = (example("systemd/mcpl-sidecar.service"), example("systemd/sidecar.toml"));
    let loaded: BTreeSet<_> = all(r"(?m)^LoadCredential=([^:]+):", &unit).into_iter().collect();
    let named = files(&config).into_iter();
    let named: BTreeSet<_> = named
        .filter_map(|it| it.strip_prefix("/run/credentials/mcpl-sidecar.service/").map(str::to_owned))
        .collect();
    assert_eq!(loaded, named);
    assert!(!named.is_empty());
    let state = only(r"(?m)^StateDirectory=(.+)$", &unit);
    assert_eq!(only(r#"(?m)^state_dir = "(.+)""#, &checked(&config)), format!("/var/lib/{state}"));
}

#[test]
fn the_unit_starts_nothing_again_that_starting_cannot_mend() {
    let unit = example("systemd/mcpl-sidecar.service");
    let given = only(r"(?m)^RestartPreventExitStatus=(.+)$", &unit);
    let given: BTreeSet<i32> = given.split(' ').map(|code| code.parse().unwrap()).collect();
    let code = |arguments: &[&str]| {
        let mut command = Command::new(sidecar_binary());
        command.args(arguments).stdin(Stdio::null()).output().unwrap().status.code().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sidecar.toml");
    let path = file.to_str().unwrap();
    let producer =
        "[[producer]]\nname = \"a\"\nlisten = \"tcp://127.0.0.1:0\"\nconnect = \"tcp://127.0.0.1:1\"\n";
    fs::write(&file, format!("colour = 1\n{producer}")).unwrap();
    let invalid = code(&["run", "--config", path]);
    // A state directory that is a file.
    fs::write(&file, format!("state_dir = \"sidecar.toml\"\n{producer}")).unwrap();
    let unusable = code(&["run", "--config", path]);
    assert_eq!(given, BTreeSet::from([invalid, unusable, code(&["run", "--colour"])]));
}

#[tokio::test]
async fn a_probe_of_the_manifest_is_answered_without_a_token_by_any_name() {
    let manifest = example("kubernetes/sidecar.yaml");
    let admin = only(r"(?s)(\[admin\].*?)\n\n", &mapped());
    let listen = only(r#"listen = "(.+?)""#, &admin);
    let (address, port) = listen.rsplit_once(':').unwrap();
    assert_eq!(address, "0.0.0.0", "the kubelet asks from outside the pod");
    assert_eq!(all(r"\{name: admin, containerPort: (\d+)\}", &manifest), [port]);
    let probes = all(r"Probe:[^\n]*\n\s*httpGet: \{path: (\S+), port: admin\}", &manifest);
    assert_eq!(probes, ["/ready", "/ready", "/live"]);

    // The same listener, with its token, on a port of this test's.
    let spare = World::unreachable();
    let token = spare.folder().join("admin.token");
    fs::write(&token, "secret").unwrap();
    let here = format!("127.0.0.1:{}", spare.port());
    let admin = admin
        .replace(&listen, &format!("{address}:{}", spare.port()))
        .replace(&only(r#"token_file = "(.+?)""#, &admin), token.to_str().unwrap());
    let _world = World::new().await.top(&admin).start().await;
    for probe in probes {
        assert_eq!(asked(&here, &probe).await, 200, "{probe}");
    }
    assert_eq!(asked(&here, "/v1/producers").await, 401);
}

/// The status of a request as the kubelet makes it: by the pod's address.
async fn asked(at: &str, path: &str) -> u16 {
    let ask = async {
        let mut stream = loop {
            match TcpStream::connect(at).await {
                Ok(stream) => break stream,
                Err(_) => sleep(std::time::Duration::from_millis(10)).await,
            }
        };
        let request = format!("GET {path} HTTP/1.1\r\nHost: 10.1.2.3:9464\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).await.unwrap();
        told.split(' ').nth(1).unwrap().parse().unwrap()
    };
    timeout(PATIENCE, ask).await.expect("no answer came in time")
}
