//! Certificates that are renewed while they are in use (contract section 12).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

mod control;

use std::os::unix::fs::symlink;
use std::path::Path;

use mcpl_certs::{Authority, CertificateDer, ClientFiles, ClientStore, Leaf, Made, Name};
use mcpl_tests::{PATIENCE, World, WsPeer};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::{Duration, Instant, sleep};
use tokio_rustls::TlsConnector;

/// Issues `tls.crt` and `tls.key` for 127.0.0.1 in a folder of that name, and has `live` lead there from now on,
/// as a volume of secrets does.
fn renew(folder: &Path, name: &str) {
    std::fs::create_dir_all(folder.join(name)).unwrap();
    let leaf = Leaf { names: vec![Name::host("127.0.0.1").unwrap()], client: false, days: 30 };
    let Made { cert_file, key_file, .. } =
        Authority::open(&folder.join("ca")).unwrap().issue(&leaf, &folder.join(name).join("tls")).unwrap();
    assert!(cert_file.ends_with("tls.crt") && key_file.ends_with("tls.key"), "{}", cert_file.display());
    lead(folder, name);
}

fn lead(folder: &Path, name: &str) {
    symlink(name, folder.join("next")).unwrap();
    std::fs::rename(folder.join("next"), folder.join("live")).unwrap();
}

/// A host, and the certificate it was shown.
async fn host(world: &mut World) -> (WsPeer, CertificateDer<'static>) {
    let ca_file = Some(world.folder().join("ca/ca.crt"));
    let store = ClientStore::open(ClientFiles { ca_file, identity: None }).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TlsConnector::from(store.config()).connect(name, world.dial().await).await.unwrap();
    let shown = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    let Ok(peer) = WsPeer::dial_on(stream, "/host", &[]).await else { panic!("it is not let in") };
    (peer, shown)
}

/// `GET /v1/reloads` once it counts so many, applied and rejected.
async fn reloads(state: &Path, applied: u64, rejected: u64) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let (_, body) = control::get(state, "/v1/reloads").await;
        if (body["applied"].as_u64(), body["rejected"].as_u64()) == (Some(applied), Some(rejected)) {
            return body;
        }
        assert!(Instant::now() < end, "{applied} and {rejected} were expected: {body}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_renewed_certificate_counts_for_new_hosts_and_a_bad_one_does_not() {
    let world = World::new().await.listen("wss", "/host");
    let folder = world.folder().to_owned();
    Authority::create(&folder.join("ca"), "ca", 30).unwrap();
    renew(&folder, "v1");
    let tls = "cert_file = \"live/tls.crt\"\nkey_file = \"live/tls.key\"";
    let mut world = world.table("listen_tls", tls).start().await;
    let (mut old, first) = host(&mut world).await;
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"first"}"#;
    old.send(line).await;
    let (from_us, mut to_us) = world.reached_bare().await.into_split();
    let mut heard = BufReader::new(from_us).lines();
    assert_eq!(heard.next_line().await.unwrap().as_deref(), Some(line));
    let session = async |old: &mut WsPeer, to_us: &mut tokio::net::tcp::OwnedWriteHalf| {
        let line = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
        to_us.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        assert_eq!(old.text().await, line, "the session goes on");
    };

    renew(&folder, "v2");
    let last = reloads(&world.state(), 1, 0).await;
    assert!(last["last"]["why"].as_str().unwrap().ends_with("live/tls.crt"), "{last}");
    session(&mut old, &mut to_us).await;
    let (silent, second) = host(&mut world).await;
    assert_ne!(first, second);
    session(&mut old, &mut to_us).await;

    std::fs::create_dir(folder.join("v3")).unwrap();
    std::fs::copy(folder.join("v2/tls.crt"), folder.join("v3/tls.crt")).unwrap();
    std::fs::copy(folder.join("v1/tls.key"), folder.join("v3/tls.key")).unwrap();
    lead(&folder, "v3");
    reloads(&world.state(), 1, 1).await;
    let (_, body) = control::get(&world.state(), "/v1/producers").await;
    let tls = &body[0]["listenTls"];
    assert!(tls["fault"].as_str().unwrap().contains("live/tls.key"), "{body}");
    assert!(tls["certificateNotAfter"].as_str().unwrap().ends_with('Z'), "{body}");
    let (again, third) = host(&mut world).await;
    assert_eq!(second, third, "the one before stays");
    session(&mut old, &mut to_us).await;

    renew(&folder, "v4");
    reloads(&world.state(), 2, 1).await;
    let (_, body) = control::get(&world.state(), "/v1/producers").await;
    assert!(body[0]["listenTls"].get("fault").is_none(), "{body}");
    session(&mut old, &mut to_us).await;
    let said = world.program().stderr();
    assert_eq!(said.matches("changed certificates cannot be used").count(), 1, "{said}");
    drop((silent, again));
}
