//! `certs`: a development CA, and what a certificate says (contract sections 1, 12).

#![allow(clippy::unwrap_used)] // A panic is how a test reports.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use mcpl_certs::{ClientFiles, ClientStore, ServerFiles, ServerStore, is_pinned};
use mcpl_tests::sidecar_binary;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConnection, StreamOwned};
use serde_json::Value;
use tempfile::TempDir;

const OPS: &str = "spiffe://example.org/ops";

/// A folder in which commands are run.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        // The shell's umask must not open a key.
        let mut command = Command::new("sh");
        command.args(["-c", "umask 000; exec \"$0\" certs \"$@\""]).arg(sidecar_binary()).args(args);
        command.current_dir(self.0.path()).output().unwrap()
    }

    /// Runs what must go well; stdout.
    #[track_caller]
    fn done(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs what must be refused as usage; stderr.
    #[track_caller]
    fn refused(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn shown(&self, file: &str) -> Value {
        serde_json::from_str::<Value>(&self.done(&["show", "--json", file])).unwrap()[0].take()
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.at(name)).unwrap().permissions().mode() & 0o777
    }

    fn files(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let read = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())
        };
        let mut files: Vec<_> = fs::read_dir(self.at(folder)).unwrap().map(read).collect();
        files.sort();
        files
    }
}

/// Full days left, of a certificate that was made for so many a moment ago.
#[track_caller]
fn is_days(shown: &Value, days: i64) {
    let left = shown["daysLeft"].as_i64().unwrap();
    assert!(left == days || left == days - 1, "{left}, not {days}");
}

/// A CA in `ca`, a server's pair `ca/localhost`, and a client's `ops`.
fn issued() -> Place {
    let place = Place::new();
    place.done(&["init", "--dir", "ca"]);
    place.done(&["issue", "--dir", "ca", "--name", "localhost", "--name", "127.0.0.1"]);
    place.done(&["issue", "--dir", "ca", "--client", "--uri", OPS, "--out", "ops"]);
    place
}

#[test]
fn keys_are_their_owners_whatever_the_umask() {
    let place = issued();
    assert_eq!(place.mode("ca"), 0o700);
    for key in ["ca/ca.key", "ca/localhost.key", "ops.key"] {
        assert_eq!(place.mode(key), 0o600, "{key}");
    }
    for certificate in ["ca/ca.crt", "ca/localhost.crt", "ops.crt"] {
        assert_eq!(place.mode(certificate), 0o644, "{certificate}");
    }
    let names: Vec<_> = place.files("ca").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["ca.crt", "ca.key", "localhost.crt", "localhost.key"]);
}

#[test]
fn nothing_is_overwritten() {
    let place = issued();
    let before = place.files("ca");
    for args in [
        &["init", "--dir", "ca"][..],
        &["issue", "--dir", "ca", "--name", "localhost"],
        &["issue", "--dir", "ca", "--name", "x", "--out", "ca/ca"],
    ] {
        let said = place.refused(args);
        assert!(said.contains("exists already; hint: "), "{said}");
        assert_eq!(place.files("ca"), before);
    }
    // Half of a pair is as good as all of it.
    fs::remove_file(place.at("ca/localhost.key")).unwrap();
    assert!(
        place.refused(&["issue", "--dir", "ca", "--name", "localhost"]).contains("localhost.crt: exists")
    );
    assert!(!place.at("ca/localhost.key").exists());
    assert!(
        place.refused(&["issue", "--dir", "ca", "--name", "x", "--out", "ca/ca"]).contains("exists already")
    );
}

#[test]
fn what_is_issued_is_trusted_by_a_listener_and_a_client() {
    let place = issued();
    let server = ServerStore::open(ServerFiles {
        cert_file: place.at("ca/localhost.crt"),
        key_file: place.at("ca/localhost.key"),
        client_ca_file: Some(place.at("ca/ca.crt")),
    })
    .unwrap();
    let client = ClientStore::open(ClientFiles {
        ca_file: Some(place.at("ca/ca.crt")),
        identity: Some((place.at("ops.crt"), place.at("ops.key"))),
    })
    .unwrap();
    assert!(server.warnings().is_empty() && client.warnings().is_empty());

    for name in ["localhost", "127.0.0.1"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let config = server.config();
        let serving = thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
            let mut asked = [0; 4];
            tls.read_exact(&mut asked).unwrap();
            tls.write_all(&asked).unwrap();
            let leaf = tls.conn.peer_certificates().unwrap()[0].clone();
            is_pinned(&leaf, &[OPS.to_owned()])
        });
        let connection = ClientConnection::new(client.config(), ServerName::try_from(name).unwrap()).unwrap();
        let mut tls = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
        tls.write_all(b"ping").unwrap();
        let mut answered = [0; 4];
        tls.read_exact(&mut answered).unwrap();
        assert_eq!(&answered, b"ping");
        assert!(serving.join().unwrap(), "the client is who it is meant to be");
    }
}

#[test]
fn show_tells_people_and_programs_the_same() {
    let place = issued();
    let leaf = place.shown("ca/localhost.crt");
    assert_eq!(leaf["file"], "ca/localhost.crt");
    assert_eq!((&leaf["kind"], &leaf["subject"]), (&"leaf".into(), &"CN=localhost".into()));
    assert_eq!(leaf["names"], serde_json::json!(["localhost", "127.0.0.1"]));
    assert_eq!(leaf["uses"], serde_json::json!(["server"]));
    is_days(&leaf, 90);
    assert_eq!(
        (&leaf["issuer"], &leaf["key"]),
        (&"CN=mcpl-sidecar development CA".into(), &"ECDSA P-256".into())
    );
    assert!(leaf["notBefore"].as_str() < leaf["notAfter"].as_str());
    let ca = place.shown("ca/ca.crt");
    assert_eq!((&ca["kind"], &ca["names"]), (&"ca".into(), &serde_json::json!([])));
    is_days(&ca, 1825);

    let text = place.done(&["show", "ca/localhost.crt", "ca/ca.crt", "ops.crt"]);
    for part in [
        "ca/localhost.crt, 1 of 1: leaf\n",
        "ca/ca.crt, 1 of 1: CA\n",
        "localhost, 127.0.0.1\n",
        OPS,
        " days left\n",
        "ECDSA P-256\n",
        leaf["sha256"].as_str().unwrap(),
        ca["sha256"].as_str().unwrap(),
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains('\u{1b}'), "a pipe gets no colour");
}

#[test]
fn show_shows_what_can_be_read_and_fails_for_the_rest() {
    let place = issued();
    fs::write(place.at("garbage"), "-----BEGIN CERTIFICATE-----\nc2VjcmV0c2VjcmV0\n").unwrap();
    let output = place.run(&["show", "nowhere.crt", "garbage", "ca/ca.key", "ca/ca.crt"]);
    assert_eq!(output.status.code(), Some(64));
    let (said, shown) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    for part in
        ["nowhere.crt: cannot be read", "garbage: is no well-formed PEM", "ca/ca.key: holds no certificate"]
    {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(said.lines().count(), 3);
    assert!(shown.contains("ca/ca.crt, 1 of 1: CA") && !said.contains("c2Vj"), "{shown} {said}");
}

#[test]
fn days_and_names_are_as_asked_and_end_with_the_ca() {
    let place = Place::new();
    place.done(&["init", "--dir", "ca", "--name", "Bench", "--days", "30"]);
    assert_eq!(place.shown("ca/ca.crt")["subject"], "CN=Bench");
    place.done(&["issue", "--dir", "ca", "--name", "a.example.org", "--uri", OPS, "--days", "7"]);
    let brief = place.shown("ca/a.example.org.crt");
    assert_eq!(brief["names"], serde_json::json!(["a.example.org", OPS]));
    is_days(&brief, 7);
    let said = place.done(&["issue", "--dir", "ca", "--uri", OPS, "--client"]);
    assert!(said.contains("when its CA ends") && said.contains("ca/ops.key"), "{said}");
    assert_eq!(place.shown("ca/ops.crt")["notAfter"], place.shown("ca/ca.crt")["notAfter"]);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let place = issued();
    fs::create_dir(place.at("other")).unwrap();
    fs::copy(place.at("ca/ca.crt"), place.at("other/ca.crt")).unwrap();
    fs::copy(place.at("ops.key"), place.at("other/ca.key")).unwrap();
    let before = place.files("ca");
    for (args, part) in [
        (&["issue", "--dir", "ca"][..], "--name"),
        (&["issue", "--dir", "ca", "--name", "a b"], "DNS name"),
        (&["issue", "--dir", "ca", "--name", "spiffe://x/y"], "--uri"),
        (&["issue", "--dir", "ca", "--uri", "ops"], "spiffe://"),
        (&["issue", "--dir", "ca", "--name", "x", "--days", "0"], "--days"),
        (&["issue", "--dir", "nowhere", "--name", "x"], "nowhere/ca.crt: cannot be read"),
        (&["issue", "--dir", "other", "--name", "x"], "ca.key: is not the key of the first certificate"),
        (&["init", "--dir", "ca/ca.crt/x"], "cannot be written"),
        (&["init", "--dir", "new", "--name", ""], "--name"),
        (&["show"], "FILE"),
    ] {
        let said = place.refused(args);
        assert!(said.contains(part), "{args:?}: {said}");
        assert_eq!(place.files("ca"), before, "{args:?}");
    }
    assert!(!place.at("new").exists());
}

#[test]
fn a_ca_key_that_any_user_can_read_is_said() {
    let place = issued();
    fs::set_permissions(place.at("ca/ca.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let output = place.run(&["issue", "--dir", "ca", "--name", "x"]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("warning: ca/ca.key: any user of this machine can read"), "{said}");
}

/// Another implementation's word, where there is one; the handshake above has proven it already.
#[test]
fn openssl_takes_the_chain_too() {
    if !Path::new("/usr/bin/openssl").exists() {
        return;
    }
    let place = issued();
    for (purpose, file) in [("sslserver", "ca/localhost.crt"), ("sslclient", "ops.crt")] {
        let verify = ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", "ca/ca.crt", file];
        let output =
            Command::new("/usr/bin/openssl").args(verify).current_dir(place.at("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let told = ["x509", "-in", "ops.crt", "-noout", "-fingerprint", "-sha256"];
    let output = Command::new("/usr/bin/openssl").args(told).current_dir(place.at("")).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told.trim().split_once('=').unwrap().1, place.shown("ops.crt")["sha256"]);
}
