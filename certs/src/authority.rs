//! A certificate authority for development: a certificate and a key in a folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use time::OffsetDateTime;

use crate::deposit;
use crate::fault::{Fault, Wrong};
use crate::name::Name;
use crate::store::{Pair, open_key, seconds};
use crate::{Warning, pem, provider};

/// The certificate of a CA in its folder.
const CERTIFICATE: &str = "ca.crt";
/// Its key.
const KEY: &str = "ca.key";

const DAY: i64 = 24 * 60 * 60;
/// Clocks of two machines may differ by this much, in seconds.
const SKEW: i64 = 5 * 60;

/// A CA for development: whoever can read its key can be anybody to those that trust it.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// When its certificate expires, Unix seconds.
    not_after: i64,
    warning: Option<Warning>,
}

/// A leaf that is asked for.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// What its holder is called; one at least.
    pub names: Vec<Name>,
    /// For a client rather than for a server: each is refused in the other's place.
    pub client: bool,
    /// Days from now until it expires; never beyond the CA's own end.
    pub days: u32,
}

/// A certificate and its key that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The certificate's file.
    pub cert_file: PathBuf,
    /// The key's file, which only its owner can read.
    pub key_file: PathBuf,
    /// When the certificate expires, Unix seconds.
    pub not_after: i64,
}

impl Authority {
    /// Makes a CA of this common name: `ca.crt` and `ca.key` in the folder, which is made if it is not there. It can
    /// issue leaves and no other CA.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if one of the files exists, which is left as it is, or cannot be written.
    pub fn create(dir: &Path, name: &str, days: u32) -> Result<Made, Fault> {
        let made = Made::new(dir.join(CERTIFICATE), dir.join(KEY), now() + i64::from(days) * DAY);
        let unmade = |error: rcgen::Error| Wrong::Unmade(error.to_string()).at(&made.cert_file);
        let mut params = params(name, made.not_after).map_err(unmade)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(unmade)?;
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(unmade)?;
        made.write(&issuer.pem(), &issuer.key().serialize_pem())?;
        Ok(made)
    }

    /// The CA in a folder.
    ///
    /// # Errors
    ///
    /// The [`Fault`] of the file that is not a CA's certificate that is valid now, or not its key.
    pub fn open(dir: &Path) -> Result<Self, Fault> {
        let (cert_file, key_file) = (dir.join(CERTIFICATE), dir.join(KEY));
        let (certificate, key) = (pem::text(&cert_file)?, pem::text(&key_file)?);
        let pair = Pair::new((&certificate, &cert_file), (&key, &key_file), &provider::ring(), now())?;
        if !pair.authority {
            return Err(Wrong::NoAuthority.at(&cert_file));
        }
        let key = pem::private_key_in(&key, &key_file)?.into_der();
        let key = KeyPair::try_from(&key).map_err(|_| Wrong::UnusableKey.at(&key_file))?;
        let issuer =
            Issuer::from_ca_cert_der(&pair.leaf, key).map_err(|_| Wrong::BadCertificate(1).at(&cert_file))?;
        Ok(Self { issuer, not_after: pair.not_after, warning: open_key(&key_file) })
    }

    /// Makes a leaf with a key of its own: `BASE.crt` and `BASE.key`, in a folder that is made if it is not there.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if one of the files exists, which is left as it is, or cannot be written.
    pub fn issue(&self, leaf: &Leaf, base: &Path) -> Result<Made, Fault> {
        let end = |ending: &str| {
            let mut path = OsString::from(base);
            path.push(ending);
            PathBuf::from(path)
        };
        let not_after = self.not_after.min(now() + i64::from(leaf.days) * DAY);
        let made = Made::new(end(".crt"), end(".key"), not_after);
        let unmade = |error: rcgen::Error| Wrong::Unmade(error.to_string()).at(&made.cert_file);
        let common_name = leaf.names.first().map_or_else(String::new, ToString::to_string);
        let mut params = params(&common_name, not_after).map_err(unmade)?;
        params.subject_alt_names =
            leaf.names.iter().map(Name::entry).collect::<Result<Vec<SanType>, _>>().map_err(unmade)?;
        params.use_authority_key_identifier_extension = true;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![if leaf.client {
            ExtendedKeyUsagePurpose::ClientAuth
        } else {
            ExtendedKeyUsagePurpose::ServerAuth
        }];
        let key = KeyPair::generate().map_err(unmade)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(unmade)?;
        made.write(&certificate.pem(), &key.serialize_pem())?;
        Ok(made)
    }

    /// When the CA's certificate expires, Unix seconds.
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// Said if any user of the machine can read the CA's key.
    pub fn warning(&self) -> Option<&Warning> {
        self.warning.as_ref()
    }
}

impl Made {
    fn new(cert_file: PathBuf, key_file: PathBuf, not_after: i64) -> Self {
        Self { cert_file, key_file, not_after }
    }

    fn write(&self, certificate: &str, key: &str) -> Result<(), Fault> {
        if let Some(folder) = self.key_file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            deposit::folder(folder)?;
        }
        deposit::pair(
            (&self.key_file, key, deposit::PRIVATE),
            (&self.cert_file, certificate, deposit::PUBLIC),
        )
    }
}

fn now() -> i64 {
    seconds(SystemTime::now())
}

/// The longest common name, in characters (X.520).
const LONGEST: usize = 64;

fn params(common_name: &str, not_after: i64) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::default();
    let time = |seconds| OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| rcgen::Error::Time);
    params.not_before = time(now() - SKEW)?;
    params.not_after = time(not_after)?;
    params.distinguished_name = DistinguishedName::new();
    let common_name: String = common_name.chars().take(LONGEST).collect();
    params.distinguished_name.push(DnType::CommonName, DnValue::Utf8String(common_name));
    Ok(params)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixture::{Folder, shake};
    use crate::{ClientFiles, ClientStore, ServerFiles, ServerStore, Sheet, names};

    const OPS: &str = "spiffe://example.org/ops";

    fn leaf(name: &str) -> Leaf {
        Leaf { names: vec![Name::host(name).unwrap()], client: false, days: 30 }
    }

    #[test]
    fn what_it_issues_is_accepted_on_both_sides() {
        let folder = Folder::new();
        let ca = Authority::create(&folder.at("ca"), "a test", 100).unwrap();
        let authority = Authority::open(&folder.at("ca")).unwrap();
        let server = Leaf {
            names: vec![Name::host("localhost").unwrap(), Name::host("127.0.0.1").unwrap()],
            ..leaf("localhost")
        };
        let server = authority.issue(&server, &folder.at("server")).unwrap();
        let client = Leaf { names: vec![Name::uri(OPS).unwrap()], client: true, days: 30 };
        let client = authority.issue(&client, &folder.at("client")).unwrap();

        let listener = ServerStore::open(ServerFiles {
            cert_file: server.cert_file.clone(),
            key_file: server.key_file.clone(),
            client_ca_file: Some(ca.cert_file.clone()),
        })
        .unwrap();
        let identity = |made: &Made| Some((made.cert_file.clone(), made.key_file.clone()));
        let dialler = |identity| {
            ClientStore::open(ClientFiles { ca_file: Some(ca.cert_file.clone()), identity }).unwrap()
        };
        assert!(listener.warnings().is_empty() && listener.not_after() == server.not_after);
        for name in ["localhost", "127.0.0.1"] {
            let shaken = shake(dialler(identity(&client)).config(), listener.config(), name);
            shaken.outcome.clone().unwrap();
            assert_eq!(names(&shaken.server.peer_certificates().unwrap()[0]), [OPS]);
        }
        // A server's certificate is no client's.
        let shaken = shake(dialler(identity(&server)).config(), listener.config(), "localhost");
        assert!(shaken.outcome.is_err());
        let sheet = &Sheet::of(&server.cert_file).unwrap()[0];
        assert_eq!((sheet.uses.as_slice(), sheet.authority), (&["server"][..], false));
        assert_eq!(sheet.issuer, "CN=a test");
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = Folder::new();
        Authority::create(folder.path(), "one", 100).unwrap();
        let (cert, key) = (fs::read(folder.at("ca.crt")).unwrap(), fs::read(folder.at("ca.key")).unwrap());
        assert_eq!(Authority::create(folder.path(), "two", 100).unwrap_err().wrong, Wrong::Exists);
        let authority = Authority::open(folder.path()).unwrap();
        authority.issue(&leaf("a"), &folder.at("a")).unwrap();
        let fault = authority.issue(&leaf("b"), &folder.at("a")).unwrap_err();
        assert!(fault.to_string().contains("exists already; hint: choose another name"), "{fault}");
        assert!(authority.issue(&leaf("b"), &folder.at("ca")).is_err());
        assert_eq!(
            (cert, key),
            (fs::read(folder.at("ca.crt")).unwrap(), fs::read(folder.at("ca.key")).unwrap())
        );
    }

    #[test]
    fn a_leaf_ends_with_its_ca_at_the_latest() {
        let folder = Folder::new();
        let ca = Authority::create(folder.path(), "ca", 10).unwrap();
        let authority = Authority::open(folder.path()).unwrap();
        let made = authority.issue(&leaf("localhost"), &folder.at("leaf")).unwrap();
        assert_eq!((made.not_after, authority.not_after()), (ca.not_after, ca.not_after));
        assert_eq!(Sheet::of(&made.cert_file).unwrap()[0].not_after, ca.not_after);
        let brief = authority.issue(&Leaf { days: 3, ..leaf("localhost") }, &folder.at("brief")).unwrap();
        assert!((brief.not_after - now() - 3 * DAY).abs() < 10);
    }

    #[test]
    fn only_a_ca_issues() {
        let folder = Folder::new();
        let open = |dir: &str| Authority::open(&folder.at(dir)).err().map(|fault| fault.wrong);
        assert!(matches!(open("nowhere"), Some(Wrong::Unreadable(_))));
        for dir in ["a", "b"] {
            Authority::create(&folder.at(dir), dir, 10).unwrap();
        }
        let authority = Authority::open(&folder.at("a")).unwrap();
        assert_eq!(authority.warning(), None);
        authority.issue(&leaf("localhost"), &folder.at("c/leaf")).unwrap();
        for (from, to) in [("leaf.crt", "ca.crt"), ("leaf.key", "ca.key")] {
            fs::rename(folder.at("c").join(from), folder.at("c").join(to)).unwrap();
        }
        assert_eq!(open("c"), Some(Wrong::NoAuthority));
        fs::copy(folder.at("b/ca.key"), folder.at("a/ca.key")).unwrap();
        assert!(matches!(open("a"), Some(Wrong::OtherKey(_))));
    }

    #[test]
    fn a_common_name_is_cut_at_its_bound() {
        let folder = Folder::new();
        let made = Authority::create(folder.path(), &"ü".repeat(100), 10).unwrap();
        let subject = &Sheet::of(&made.cert_file).unwrap()[0].subject;
        assert_eq!(subject.chars().filter(|c| *c == 'ü').count(), LONGEST);
    }
}
