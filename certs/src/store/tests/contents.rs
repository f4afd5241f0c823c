//! What a store takes, and what it says of the rest.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rcgen::{ExtendedKeyUsagePurpose, KeyPair};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::fixture::{Ca, EXPIRED, Folder, Issued, TO_COME, now};
use crate::name::Name;
use crate::store::Files as _;
use crate::{ClientFiles, ClientStore, Fault, ServerFiles, ServerStore, Warning, Wrong};

fn open(folder: &Folder, issued: &Issued, clients: Option<&str>) -> Result<ServerStore, Fault> {
    let (cert_file, key_file) = folder.put("tls", issued);
    let client_ca_file = clients.map(|text| folder.write("clients.crt", text));
    ServerStore::open(ServerFiles { cert_file, key_file, client_ca_file })
}

fn wrong(issued: &Issued, clients: Option<&str>) -> (String, Wrong) {
    let folder = Folder::new();
    let fault = open(&folder, issued, clients).unwrap_err();
    (fault.path.file_name().unwrap().to_str().unwrap().to_owned(), fault.wrong)
}

fn leaf(ca: &Ca, span: crate::fixture::Span) -> Issued {
    ca.issue(&[Name::host("localhost").unwrap()], span, ExtendedKeyUsagePurpose::ServerAuth)
}

#[test]
fn what_is_wrong_is_said_of_its_file() {
    let (ca, other) = (Ca::new("ca"), Ca::new("other"));
    let good = ca.server("localhost");
    let cert = |cert: &str| Issued { cert: cert.to_owned(), ..good.clone() };
    let key = |key: &str| Issued { key: key.to_owned(), ..good.clone() };
    let file = |name: &str| name.to_owned();

    assert_eq!(wrong(&cert("garbage"), None), (file("tls.crt"), Wrong::NoCertificate));
    assert_eq!(wrong(&key("garbage"), None), (file("tls.key"), Wrong::NoKey));
    let of_another = other.server("localhost");
    assert!(matches!(wrong(&key(&of_another.key), None), (name, Wrong::OtherKey(_)) if name == "tls.key"));
    // The CA first: its key is another.
    let reversed = cert(&format!("{}{}", ca.pem(), good.cert));
    assert!(matches!(wrong(&reversed, None), (_, Wrong::OtherKey(_))));
    let no_der = "-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n";
    assert_eq!(wrong(&cert(no_der), None), (file("tls.crt"), Wrong::BadCertificate(1)));
    let second = format!("{}{no_der}", good.cert);
    assert_eq!(wrong(&cert(&second), None), (file("tls.crt"), Wrong::BadCertificate(2)));
    let no_key = "-----BEGIN PRIVATE KEY-----\nAQID\n-----END PRIVATE KEY-----\n";
    assert_eq!(wrong(&key(no_key), None), (file("tls.key"), Wrong::UnusableKey));
    assert!(matches!(wrong(&leaf(&ca, EXPIRED), None), (name, Wrong::Expired(_)) if name == "tls.crt"));
    assert!(matches!(wrong(&leaf(&ca, TO_COME), None), (name, Wrong::NotYetValid(_)) if name == "tls.crt"));

    assert_eq!(wrong(&good, Some(&good.cert)), (file("clients.crt"), Wrong::NoAuthority));
    let expired = Ca::valid("old", EXPIRED).pem();
    assert_eq!(wrong(&good, Some(&expired)), (file("clients.crt"), Wrong::NoAuthority));
    assert_eq!(wrong(&good, Some(no_der)), (file("clients.crt"), Wrong::BadCertificate(1)));
}

#[test]
fn faults_help_and_show_no_byte_of_a_file() {
    let (ca, other) = (Ca::new("ca"), Ca::new("other"));
    let good = ca.server("localhost");
    let of_another = Issued { key: other.server("localhost").key, ..good.clone() };
    // The key where the certificate should be.
    let swapped = Issued { cert: good.key.clone(), key: good.cert.clone(), der: good.der.clone() };
    let cut = Issued { key: good.key[..good.key.len() / 2].to_owned(), ..good.clone() };
    for bad in [&of_another, &swapped, &cut, &leaf(&ca, EXPIRED), &leaf(&ca, TO_COME)] {
        let folder = Folder::new();
        let fault = open(&folder, bad, None).unwrap_err();
        let shown = format!("{fault} {fault:?}");
        assert!(shown.contains("tls.") && shown.contains("; hint: "), "{shown}");
        for text in [&bad.cert, &bad.key] {
            for line in text.lines().filter(|line| line.len() > 4 && !line.starts_with("--")) {
                assert!(!shown.contains(&line[..line.len().min(12)]), "{shown}");
            }
        }
    }
    let folder = Folder::new();
    let fault = open(&folder, &leaf(&ca, EXPIRED), None).unwrap_err().to_string();
    assert!(fault.contains("expired at 20") && fault.contains("Z; hint: put a renewed"), "{fault}");
    let shown = format!("{:?} {:?}", folder.server(&good), folder.client(&ca.pem(), Some(&good)));
    assert!(shown.contains("tls.key") && !shown.contains("BEGIN"), "{shown}");
}

#[test]
fn keys_of_the_usual_kinds_are_taken() {
    for kind in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_ED25519] {
        let key = KeyPair::generate_for(kind).unwrap();
        let cert =
            rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let issued = Issued { cert: cert.pem(), key: key.serialize_pem(), der: cert.der().clone() };
        open(&Folder::new(), &issued, None).unwrap();
    }
}

#[test]
fn a_bundle_needs_one_ca_and_says_what_it_leaves_out() {
    let ca = Ca::new("ca");
    let good = ca.server("localhost");
    let (old, to_come) = (Ca::valid("old", EXPIRED).pem(), Ca::valid("to come", TO_COME).pem());
    let folder = Folder::new();
    let store = open(&folder, &good, Some(&format!("{old}{}{to_come}{}", ca.pem(), good.cert))).unwrap();
    let file = folder.at("clients.crt");
    fs::set_permissions(folder.at("tls.key"), Permissions::from_mode(0o640)).unwrap();
    assert_eq!(store.warnings(), [Warning::UnusedAuthorities { file, unused: 3, all: 4 }]);
    let said = store.warnings()[0].to_string();
    assert!(said.contains("clients.crt: 3 of 4 certificates") && said.contains("; hint: "), "{said}");
}

#[test]
fn a_bundle_is_looked_at_again_when_one_of_its_cas_begins_or_ends() {
    let (ca, next) = (Ca::valid("ca", (-100, 500)), Ca::valid("next", (300, 9000)));
    let folder = Folder::new();
    let files = ClientFiles { ca_file: Some(folder.at("ca.crt")), identity: None };
    let texts = [format!("{}{}", ca.pem(), next.pem()).into_bytes()];
    let begin = files.build(&texts, now()).map(|built| built.until).unwrap().unwrap();
    assert!((290..=300).contains(&(begin - now())), "{begin}");
    let both = files.build(&texts, begin).unwrap();
    assert!(both.warnings.is_empty());
    let end = both.until.unwrap();
    assert!((490..=501).contains(&(end - now())), "{end}");
    let last = files.build(&texts, end).unwrap();
    assert_eq!(last.warnings.len(), 1);
    let over = files.build(&texts, last.until.unwrap());
    assert_eq!(over.err().map(|fault| fault.wrong), Some(Wrong::NoAuthority));
}

#[test]
fn a_key_that_any_user_can_read_is_served_and_said() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let (store, key) = (folder.server(&ca.server("localhost")), folder.at("tls.key"));
    let client = folder.client(&ca.pem(), Some(&ca.client("spiffe://x/y")));
    for (mode, open) in [(0o600, false), (0o640, false), (0o644, true), (0o602, true), (0o400, false)] {
        fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(folder.at("me.key"), Permissions::from_mode(mode)).unwrap();
        assert_eq!(store.warnings(), if open { vec![Warning::OpenKey(key.clone())] } else { Vec::new() });
        assert_eq!(client.warnings().len(), usize::from(open));
    }
    assert!(Warning::OpenKey(key).to_string().contains("hint: chmod 600"));
}

#[test]
fn a_key_that_cannot_be_read_is_said() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    folder.server(&ca.server("localhost"));
    let files =
        ServerFiles { cert_file: folder.at("tls.crt"), key_file: folder.at("tls.key"), client_ca_file: None };
    fs::set_permissions(&files.key_file, Permissions::from_mode(0o000)).unwrap();
    let fault = without_privileges(move || ServerStore::open(files).unwrap_err().to_string());
    assert!(fault.contains("tls.key: cannot be read (permission denied); hint: let the user"), "{fault}");
    let missing = ClientFiles { ca_file: Some(folder.at("nowhere.crt")), identity: None };
    let fault = ClientStore::open(missing).unwrap_err().to_string();
    assert!(fault.contains("nowhere.crt: cannot be read (entity not found)"), "{fault}");
}

/// In a thread that may not read what its owner may not, even if it is root's.
fn without_privileges<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::spawn(|| {
        let mut sets = capabilities(None).unwrap();
        sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, sets).unwrap();
        run()
    })
    .join()
    .unwrap()
}

#[test]
fn a_pipe_is_not_waited_for() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    folder.put("tls", &ca.server("localhost"));
    let pipe = folder.at("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let files = ServerFiles { cert_file: folder.at("tls.crt"), key_file: pipe, client_ca_file: None };
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(ServerStore::open(files).unwrap_err().wrong));
    let wrong = told.recv_timeout(std::time::Duration::from_secs(30)).expect("it waits for the pipe");
    assert!(matches!(wrong, Wrong::Unreadable(_)));
}
