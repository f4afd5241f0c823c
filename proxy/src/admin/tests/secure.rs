//! TLS on the admin listener: who is let in by which certificate, and what a renewal does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcpl_certs::{ClientFiles, ClientStore};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::*;
use crate::config::ListenTls;
use crate::keyring::Keyring;

/// A CA, and what it has issued, in a folder.
struct Ca {
    issuer: Issuer<'static, KeyPair>,
    folder: PathBuf,
}

impl Ca {
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let cert = params.self_signed(&key).unwrap();
        std::fs::write(folder.join(format!("{name}.crt")), cert.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), folder: folder.to_owned() }
    }

    /// `FILE.crt` and `FILE.key`, of this name.
    fn issue(&self, file: &str, name: &str) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names = vec![match name.parse() {
            Ok(ip) => SanType::IpAddress(ip),
            Err(_) => SanType::DnsName(name.try_into().unwrap()),
        }];
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.folder.join(format!("{file}.key")), key.serialize_pem()).unwrap();
        std::fs::write(self.folder.join(format!("{file}.crt")), cert.pem()).unwrap();
    }
}

/// A listener that asks for a certificate of `ca` with the name `ops.example`, and for a token.
struct Place {
    folder: tempfile::TempDir,
    ca: Ca,
    keyring: Keyring,
    at: std::net::SocketAddr,
}

impl Place {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ca = Ca::new(folder.path(), "ca");
        ca.issue("server", "127.0.0.1");
        ca.issue("ops", "ops.example");
        ca.issue("other", "other.example");
        Ca::new(folder.path(), "wrong").issue("stranger", "ops.example");
        std::fs::write(folder.path().join("token"), "hush").unwrap();
        let file = |name: &str| folder.path().join(name);
        let tls = ListenTls {
            cert_file: file("server.crt"),
            key_file: file("server.key"),
            client_ca_file: Some(file("ca.crt")),
            client_names: vec!["ops.example".to_owned()],
        };
        let keyring = Keyring::default();
        let store = keyring.server(&tls).unwrap();
        let terms = Terms {
            address: "127.0.0.1".to_owned(),
            token: Some(Token::in_file(file("token"))),
            tls: Some(Tls { store, client_names: tls.client_names }),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::task::spawn_local(serve_tcp(Rc::new(listener), terms, super::desk(), std::future::pending()));
        Self { folder, ca, keyring, at }
    }

    /// A connection of a client with this certificate.
    async fn client(&self, name: Option<&str>) -> std::io::Result<TlsStream<TcpStream>> {
        let file = |name: String| self.folder.path().join(name);
        let identity = name.map(|name| (file(format!("{name}.crt")), file(format!("{name}.key"))));
        let files = ClientFiles { ca_file: Some(file("ca.crt".to_owned())), identity };
        let config: Arc<_> = ClientStore::open(files).unwrap().config();
        let stream = TcpStream::connect(self.at).await?;
        TlsConnector::from(config).connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await
    }
}

/// What is answered; an error if the connection is refused, which a client hears with its first read.
async fn told(stream: &mut TlsStream<TcpStream>, headers: &str) -> std::io::Result<Told> {
    let request = format!("GET /v1/producers HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut text = Vec::new();
    // Without `Connection: close` a whole answer ends with its body, which is JSON.
    while !(text.ends_with(b"]") || text.ends_with(b"}")) {
        if stream.read_buf(&mut text).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Told::read(std::str::from_utf8(&text).unwrap()))
}

const TOKEN: &str = "Authorization: Bearer hush\r\n";

#[tokio::test]
async fn only_a_pinned_certificate_with_the_token_is_let_in() {
    let scene = async {
        let place = Place::open().await;
        let ops = place.client(Some("ops")).await;
        assert_eq!(told(&mut ops.unwrap(), TOKEN).await.unwrap().status, 200);
        let ops = place.client(Some("ops")).await;
        assert_eq!(told(&mut ops.unwrap(), "").await.unwrap().error(), 401, "a certificate is no token");
        let other = place.client(Some("other")).await;
        let said = told(&mut other.unwrap(), TOKEN).await.unwrap();
        assert_eq!(said.error(), 403, "it can read why");
        assert!(said.body["hint"].as_str().unwrap().contains("client_names"), "{said:?}");
        for name in [None, Some("stranger")] {
            let refused = match place.client(name).await {
                Ok(mut stream) => told(&mut stream, TOKEN).await.is_err(),
                Err(_) => true,
            };
            assert!(refused, "{name:?}");
        }
        let mut plain = TcpStream::connect(place.at).await.unwrap();
        plain.write_all(b"GET /live HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut said = Vec::new();
        // A reset is as good as an end.
        let _ = plain.read_to_end(&mut said).await;
        assert!(!said.starts_with(b"HTTP"), "what is not TLS is not answered");
    };
    LocalSet::new().run_until(scene).await;
}

#[tokio::test]
async fn a_renewed_certificate_counts_for_new_connections_and_drops_none() {
    let scene = async {
        let place = Place::open().await;
        let shown =
            |stream: &TlsStream<TcpStream>| stream.get_ref().1.peer_certificates().unwrap()[0].clone();
        let mut old = place.client(Some("ops")).await.unwrap();
        assert_eq!(told(&mut old, TOKEN).await.unwrap().status, 200);
        place.ca.issue("server", "127.0.0.1");
        assert!(matches!(&place.keyring.refresh()[..], [Ok(file)] if file.ends_with("server.crt")));
        let mut new = place.client(Some("ops")).await.unwrap();
        assert_eq!(told(&mut new, TOKEN).await.unwrap().status, 200);
        assert_ne!(shown(&old), shown(&new));
        assert_eq!(told(&mut old, TOKEN).await.unwrap().status, 200, "the old connection is untouched");
        // A pair of which half is still to come is not published, and that is said once.
        std::fs::write(place.folder.path().join("server.crt"), "-----BEGIN CERTIFICATE-----\nMII").unwrap();
        let news = place.keyring.refresh();
        let [Err(fault)] = &news[..] else { panic!("{news:?}") };
        assert!(fault.to_string().contains("server.crt"), "{fault}");
        assert!(place.keyring.refresh().is_empty());
        let mut kept = place.client(Some("ops")).await.unwrap();
        assert_eq!(told(&mut kept, TOKEN).await.unwrap().status, 200);
        assert_eq!(shown(&kept), shown(&new));
    };
    LocalSet::new().run_until(scene).await;
}

#[tokio::test]
async fn a_handshake_that_is_not_made_ends() {
    let scene = async {
        let place = Place::open().await;
        let mut silent = TcpStream::connect(place.at).await.unwrap();
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let ended = silent.read(&mut [0]).await;
        assert!(matches!(ended, Ok(0) | Err(_)));
        assert!(began.elapsed() >= HANDSHAKE_WITHIN && began.elapsed() < HANDSHAKE_WITHIN * 2);
    };
    LocalSet::new().run_until(scene).await;
}
