//! Who is on the other end, and certificates that change while the program runs (contract section 12).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

#[path = "tls/host.rs"]
mod host;
#[path = "tls/producer.rs"]
mod producer;
#[path = "tls/rotation.rs"]
mod rotation;
#[path = "tls/start.rs"]
mod start;

use std::path::Path;
use std::sync::Arc;

use mcpl_tests::{Carrier, Identity, Knock, LineSocket, PATIENCE, Refused, World};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant, sleep, timeout};
use tokio_rustls::TlsConnector;

/// Why a host was not let in.
#[derive(Debug)]
enum Shut {
    /// TLS said no; what it said.
    Tls(String),
    /// HTTP said no: status and body.
    Http(u16, String),
}

/// A world over TLS whose listener and producer are told apart by the tables of the test.
async fn world() -> World {
    World::new().await.over(Carrier::Secure)
}

/// One attempt at the program's port as a host with these settings; with the certificate that the program showed.
async fn knock(port: u16, settings: Arc<ClientConfig>) -> Result<(LineSocket, Vec<u8>), Shut> {
    let attempt = async {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("it is listened to");
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        let stream = TlsConnector::from(settings)
            .connect(name, stream)
            .await
            .map_err(|error| Shut::Tls(error.to_string()))?;
        let shown = stream.get_ref().1.peer_certificates().expect("it shows one")[0].to_vec();
        let knock = Knock::at(&format!("wss://127.0.0.1:{port}/host"));
        match LineSocket::knock(stream, knock).await {
            Ok((socket, _)) => Ok((socket, shown)),
            Err(Refused::Answer(status, body)) => Err(Shut::Http(status, body)),
            // In TLS 1.3 the server looks at the client's certificate when the client is through.
            Err(Refused::Broken(why)) => Err(Shut::Tls(why)),
        }
    };
    timeout(PATIENCE, attempt).await.expect("an answer in time")
}

/// Waits until the program listens.
async fn listens(world: &mut World) {
    let end = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", world.port())).await.is_err() {
        assert!(world.program().runs(), "the program does not run");
        assert!(Instant::now() < end, "the program does not listen");
        sleep(Duration::from_millis(10)).await;
    }
}

/// A file that is there whole or not at all.
fn put(path: &Path, text: &str) {
    let fresh = path.with_extension("fresh");
    std::fs::write(&fresh, text).expect("a folder to write in");
    std::fs::rename(fresh, path).expect("a folder to write in");
}

/// The program's certificates as files `me.crt`, `me.key`.
fn place(world: &World, me: &Identity) {
    me.write(world.folder(), "me");
}

const MINE: &str = "cert_file = \"me.crt\"\nkey_file = \"me.key\"";
