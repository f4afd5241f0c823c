//! Who gets in (contract section 12).

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rcgen::ExtendedKeyUsagePurpose;
use rustls::{AlertDescription, CertificateError, Error, ProtocolVersion, ServerConfig};

use crate::fixture::{Ca, EXPIRED, Folder, Issued, Shaken, VALID, client, shake};
use crate::name::Name;
use crate::{ClientFiles, ClientStore, is_pinned, names, pem, provider};

const OPS: &str = "spiffe://example.org/ops";

/// A server that presents whatever it is given, as one that does not look at its own certificate would.
fn careless(issued: &Issued) -> Arc<ServerConfig> {
    let key = pem::private_key_in(issued.key.as_bytes(), "key".as_ref()).unwrap().into_der();
    ServerConfig::builder_with_provider(provider::ring())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.der.clone()], key)
        .unwrap()
        .into()
}

#[track_caller]
fn refused(shaken: &Shaken, for_that: impl Fn(&CertificateError) -> bool) {
    let outcome = &shaken.outcome;
    assert!(matches!(outcome, Err(Error::InvalidCertificate(why)) if for_that(why)), "{outcome:?}");
}

fn expired(why: &CertificateError) -> bool {
    matches!(why, CertificateError::ExpiredContext { .. })
}

fn unknown(why: &CertificateError) -> bool {
    matches!(why, CertificateError::UnknownIssuer)
}

#[test]
fn the_right_server_and_the_right_client_meet() {
    let (ours, theirs) = (Ca::new("ours"), Ca::new("theirs"));
    let (folder, me) = (Folder::new(), theirs.client(OPS));
    let server = folder.mutual(&ours.server("localhost"), &theirs.pem());
    let mut shaken = shake(client(&ours.pem(), Some(&me)), server.config(), "localhost");
    shaken.outcome.clone().unwrap();
    assert_eq!(shaken.client.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(shaken.client.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    let leaf = &shaken.server.peer_certificates().unwrap()[0];
    assert_eq!(names(leaf), [OPS]);
    assert!(is_pinned(leaf, &[OPS.to_owned()]));
    shaken.carries("hello");
}

#[test]
fn a_server_of_another_ca_is_refused() {
    let (ours, others) = (Ca::new("ca"), Ca::new("ca"));
    let shaken = shake(client(&ours.pem(), None), careless(&others.server("localhost")), "localhost");
    refused(&shaken, |why| matches!(why, CertificateError::BadSignature));
    let named_otherwise = Ca::new("others");
    let shaken =
        shake(client(&ours.pem(), None), careless(&named_otherwise.server("localhost")), "localhost");
    refused(&shaken, unknown);
}

#[test]
fn an_expired_server_is_refused() {
    let ca = Ca::new("ca");
    let name = Name::host("localhost").unwrap();
    let late = ca.issue(&[name], EXPIRED, ExtendedKeyUsagePurpose::ServerAuth);
    let shaken = shake(client(&ca.pem(), None), careless(&late), "localhost");
    refused(&shaken, expired);
}

#[test]
fn a_server_of_another_name_is_refused() {
    let ca = Ca::new("ca");
    for asked in ["example.org", "localhost.example.org", "127.0.0.1"] {
        let shaken = shake(client(&ca.pem(), None), careless(&ca.server("localhost")), asked);
        refused(&shaken, |why| matches!(why, CertificateError::NotValidForNameContext { .. }));
    }
    let shaken = shake(client(&ca.pem(), None), careless(&ca.server("127.0.0.1")), "127.0.0.1");
    shaken.outcome.unwrap();
}

#[test]
fn the_system_does_not_trust_a_ca_of_ours() {
    let Ok(store) = ClientStore::open(ClientFiles::default()) else {
        // A machine without roots trusts nobody, which is said.
        let fault = ClientStore::open(ClientFiles::default()).unwrap_err().to_string();
        return assert!(fault.contains("none can be loaded"), "{fault}");
    };
    let shaken = shake(store.config(), careless(&Ca::new("ca").server("localhost")), "localhost");
    refused(&shaken, unknown);
}

#[test]
fn a_client_without_a_certificate_is_refused() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let server = folder.mutual(&ca.server("localhost"), &ca.pem());
    let shaken = shake(client(&ca.pem(), None), server.config(), "localhost");
    assert_eq!(shaken.outcome.unwrap_err(), Error::NoCertificatesPresented);
}

#[test]
fn a_client_of_another_ca_is_refused() {
    let (ca, others) = (Ca::new("ca"), Ca::new("others"));
    let folder = Folder::new();
    let server = folder.mutual(&ca.server("localhost"), &ca.pem());
    let shaken = shake(client(&ca.pem(), Some(&others.client(OPS))), server.config(), "localhost");
    refused(&shaken, unknown);
}

#[test]
fn an_expired_client_is_refused() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let server = folder.mutual(&ca.server("localhost"), &ca.pem());
    // Good when the client loaded it, and for two seconds after.
    let name = Name::uri(OPS).unwrap();
    let brief = ca.issue(&[name], (-100, 1), ExtendedKeyUsagePurpose::ClientAuth);
    let config = client(&ca.pem(), Some(&brief));
    let until = crate::fixture::now() + 2;
    while crate::fixture::now() <= until {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    refused(&shake(config, server.config(), "localhost"), expired);
}

#[test]
fn a_servers_certificate_is_no_clients() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let server = folder.mutual(&ca.server("localhost"), &ca.pem());
    let shaken = shake(client(&ca.pem(), Some(&ca.server("localhost"))), server.config(), "localhost");
    assert!(matches!(shaken.outcome, Err(Error::InvalidCertificate(_))), "{:?}", shaken.outcome);
}

#[test]
fn a_client_of_another_name_gets_in_and_is_not_pinned() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let server = folder.mutual(&ca.server("localhost"), &ca.pem());
    let other = ca.client("spiffe://example.org/dev");
    let shaken = shake(client(&ca.pem(), Some(&other)), server.config(), "localhost");
    shaken.outcome.unwrap();
    assert!(!is_pinned(&shaken.server.peer_certificates().unwrap()[0], &[OPS.to_owned()]));
}

#[test]
fn each_connection_shows_its_certificate_anew() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let server = folder.mutual(&ca.server("localhost"), &ca.pem());
    let config = client(&ca.pem(), Some(&ca.client(OPS)));
    for _ in 0..3 {
        let shaken = shake(config.clone(), server.config(), "localhost");
        assert_eq!(shaken.server.handshake_kind(), Some(rustls::HandshakeKind::Full));
    }
}

#[test]
fn each_server_is_verified_anew() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    // It offers to resume, and a client that wants to is taken at its word.
    let server = folder.server(&ca.server("localhost")).config();
    let config = client(&ca.pem(), None);
    let mut willing = (*config).clone();
    willing.resumption = rustls::client::Resumption::in_memory_sessions(8);
    let willing = Arc::new(willing);
    let kinds = |config: &Arc<rustls::ClientConfig>| {
        [(); 2].map(|()| shake(config.clone(), server.clone(), "localhost").client.handshake_kind().unwrap())
    };
    assert_eq!(kinds(&willing), [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed]);
    assert_eq!(kinds(&config), [rustls::HandshakeKind::Full; 2]);
}

#[test]
fn tls_1_2_is_served() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let server = folder.server(&ca.server("localhost"));
    let mut roots = rustls::RootCertStore::empty();
    for der in pem::certificates_in(ca.pem().as_bytes(), "ca".as_ref()).unwrap() {
        roots.add(der).unwrap();
    }
    let old = rustls::ClientConfig::builder_with_provider(provider::ring())
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let shaken = shake(old.into(), server.config(), "localhost");
    shaken.outcome.unwrap();
    assert_eq!(shaken.server.protocol_version(), Some(ProtocolVersion::TLSv1_2));
}

/// A `ClientHello` (or `ServerHello`) of TLS 1.1 in its record.
fn hello_1_1(kind: u8, after_random: &[u8]) -> Vec<u8> {
    let mut body = vec![3, 2];
    body.extend([7; 32]);
    body.extend(after_random);
    let mut message = vec![kind, 0, 0, body.len() as u8];
    message.extend(body);
    let mut record = vec![22, 3, 2, 0, message.len() as u8];
    record.extend(message);
    record
}

#[test]
fn a_client_of_tls_1_1_is_refused_with_an_alert() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let mut server = rustls::ServerConnection::new(folder.server(&ca.server("localhost")).config()).unwrap();
    // No session; ECDHE-ECDSA-AES128-SHA and ECDHE-ECDSA-AES128-GCM-SHA256; no compression; then curves and points,
    // so that nothing but the version is amiss.
    let rest = [
        0, 0, 4, 0xc0, 0x09, 0xc0, 0x2b, 1, 0, 0, 30, 0, 10, 0, 4, 0, 2, 0, 23, 0, 11, 0, 2, 1, 0, 0, 13, 0,
        4, 0, 2, 4, 3, 0, 23, 0, 0, 0xff, 1, 0,
    ];
    let mut rest = rest.to_vec();
    rest.extend([1, 0]);
    let length = rest.len() - 11;
    rest[10] = length as u8;
    let hello = hello_1_1(1, &rest);
    let mut modern = hello.clone();
    server.read_tls(&mut &hello[..]).unwrap();
    let error = server.process_new_packets().unwrap_err();
    assert!(matches!(error, Error::PeerIncompatible(_)), "{error:?}");
    let mut said = Vec::new();
    server.write_tls(&mut said).unwrap();
    assert_eq!(said[0], 21, "an alert");
    assert_eq!(said[5..7], [2, AlertDescription::ProtocolVersion.into()]);

    // The same words in TLS 1.2 are answered.
    modern[10] = 3;
    let mut server = rustls::ServerConnection::new(folder.server(&ca.server("localhost")).config()).unwrap();
    server.read_tls(&mut &modern[..]).unwrap();
    server.process_new_packets().unwrap();
}

#[test]
fn a_server_of_tls_1_1_is_refused() {
    let ca = Ca::new("ca");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let name = "localhost".try_into().unwrap();
    let mut connection = rustls::ClientConnection::new(client(&ca.pem(), None), name).unwrap();
    far.write_all(&hello_1_1(2, &[0, 0xc0, 0x2b, 0])).unwrap();
    let error = connection.complete_io(&mut near).unwrap_err().to_string();
    assert!(error.contains("incompatible"), "{error}");
}

#[test]
fn leaves_of_a_day_are_valid() {
    let ca = Ca::new("ca");
    let name = Name::host("localhost").unwrap();
    let leaf = ca.issue(&[name], VALID, ExtendedKeyUsagePurpose::ServerAuth);
    let folder = Folder::new();
    let store = folder.server(&leaf);
    assert!((store.not_after() - crate::fixture::now() - VALID.1).abs() < 10);
}
