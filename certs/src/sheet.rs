//! What a certificate says, for people and programs.

use std::path::Path;

use ring::digest::{SHA256, digest};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::fault::{Fault, Wrong};
use crate::{names, pem};

/// What a certificate says. Texts are as they were written by whoever made it: they may hold anything.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sheet {
    /// Whose it is: a distinguished name.
    pub subject: String,
    /// Who made it.
    pub issuer: String,
    /// What its holder is called, as [`names`](crate::names()) reads it.
    pub names: Vec<String>,
    /// When it begins to be valid, Unix seconds.
    pub not_before: i64,
    /// When it ends to be valid, Unix seconds.
    pub not_after: i64,
    /// Its key: algorithm and size, for instance `ECDSA P-256`.
    pub key: String,
    /// The SHA-256 of the whole certificate: upper-case hexadecimal with colons, as other tools write it.
    pub sha256: String,
    /// Whether it is the certificate of a CA.
    pub authority: bool,
    /// What its holder may use it for, if it says so: `server`, `client`.
    pub uses: Vec<&'static str>,
}

impl Sheet {
    /// Of each certificate of a PEM file, in its order.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the file cannot be read, is no PEM, or one of its certificates is none.
    pub fn of(path: &Path) -> Result<Vec<Self>, Fault> {
        let all = pem::certificates(path)?;
        let sheet = |(number, der): (usize, &[u8])| {
            Self::new(der).ok_or_else(|| Wrong::BadCertificate(number + 1).at(path))
        };
        all.iter().map(AsRef::as_ref).enumerate().map(sheet).collect()
    }

    /// Full days from `now` (Unix seconds) to its end; negative if that is past.
    pub fn days_left(&self, now: i64) -> i64 {
        (self.not_after - now).div_euclid(24 * 60 * 60)
    }

    fn new(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let validity = certificate.validity();
        let uses = certificate.extended_key_usage().ok().flatten().map_or_else(Vec::new, |extension| {
            let said = extension.value;
            let uses = [(said.server_auth || said.any, "server"), (said.client_auth || said.any, "client")];
            uses.into_iter().filter_map(|(said, to)| said.then_some(to)).collect()
        });
        Some(Self {
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            names: names::of(&certificate),
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
            key: kind(certificate.public_key()),
            sha256: fingerprint(der),
            authority: certificate.is_ca(),
            uses,
        })
    }
}

fn fingerprint(der: &[u8]) -> String {
    let bytes = digest(&SHA256, der);
    let hex: Vec<String> = bytes.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    hex.join(":")
}

fn kind(key: &SubjectPublicKeyInfo<'_>) -> String {
    let curve =
        || key.algorithm.parameters.as_ref().and_then(|oid| oid.as_oid().ok()).map(|oid| oid.to_id_string());
    let algorithm = key.algorithm.algorithm.to_id_string();
    match (algorithm.as_str(), key.parsed()) {
        ("1.3.101.112", _) => "Ed25519".to_owned(),
        ("1.3.101.113", _) => "Ed448".to_owned(),
        (_, Ok(PublicKey::RSA(rsa))) => format!("RSA {}", rsa.key_size()),
        (_, Ok(PublicKey::EC(point))) => match curve().as_deref() {
            Some("1.2.840.10045.3.1.7") => "ECDSA P-256".to_owned(),
            Some("1.3.132.0.34") => "ECDSA P-384".to_owned(),
            Some("1.3.132.0.35") => "ECDSA P-521".to_owned(),
            _ => format!("ECDSA, {} bits", point.key_size()),
        },
        _ => format!("of the kind {algorithm}"),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};

    use super::*;
    use crate::fixture::{Ca, EXPIRED, Folder, now};
    use crate::name::Name;

    #[test]
    fn a_chain_is_told_one_by_one() {
        let ca = Ca::new("The CA");
        let leaf = ca.server("localhost");
        let folder = Folder::new();
        let sheets =
            Sheet::of(&folder.write("chain.pem", &format!("{}{}{}", leaf.key, leaf.cert, ca.pem()))).unwrap();
        let [leaf, ca] = &sheets[..] else { panic!("{sheets:?}") };
        assert!(!leaf.authority && ca.authority);
        assert_eq!((&leaf.issuer, &ca.issuer), (&ca.subject, &ca.subject));
        assert!(ca.subject.contains("CN=The CA"), "{}", ca.subject);
        assert_eq!(leaf.names, ["localhost"]);
        assert_eq!((leaf.uses.as_slice(), ca.uses.as_slice()), (&["server"][..], &[][..]));
        assert_eq!(leaf.key, "ECDSA P-256");
        assert!(leaf.not_before < now() && now() < leaf.not_after);
        assert_eq!(leaf.days_left(now()), 1);
        assert_ne!(leaf.sha256, ca.sha256);
    }

    #[test]
    fn a_day_left_is_a_full_day() {
        let ca = Ca::new("ca");
        let names = [Name::host("localhost").unwrap()];
        let late = ca.issue(&names, EXPIRED, ExtendedKeyUsagePurpose::ClientAuth);
        let folder = Folder::new();
        let sheet = &Sheet::of(&folder.write("late.pem", &late.cert)).unwrap()[0];
        assert_eq!(sheet.uses, ["client"]);
        assert_eq!(sheet.days_left(now()), -1);
        assert_eq!(sheet.days_left(sheet.not_after), 0);
        assert_eq!(sheet.days_left(sheet.not_after - 86_399), 0);
        assert_eq!(sheet.days_left(sheet.not_after - 86_400), 1);
    }

    #[test]
    fn a_fingerprint_is_that_of_the_whole_certificate() {
        // SHA-256 of "abc": FIPS 180-2, B.1.
        assert_eq!(
            fingerprint(b"abc"),
            "BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD"
        );
        let leaf = Ca::new("ca").server("localhost");
        assert_eq!(Sheet::new(&leaf.der).unwrap().sha256, fingerprint(&leaf.der));
    }

    #[test]
    fn keys_are_told_by_kind_and_size() {
        for (kind, told) in
            [(&rcgen::PKCS_ECDSA_P384_SHA384, "ECDSA P-384"), (&rcgen::PKCS_ED25519, "Ed25519")]
        {
            let key = KeyPair::generate_for(kind).unwrap();
            let mut params = CertificateParams::default();
            params.distinguished_name = DistinguishedName::new();
            params.distinguished_name.push(DnType::OrganizationName, "org");
            let sheet = Sheet::new(params.self_signed(&key).unwrap().der()).unwrap();
            assert_eq!(sheet.key, told);
            assert_eq!(sheet.subject, "O=org");
        }
    }

    #[test]
    fn what_is_no_certificate_is_said_with_its_number() {
        let folder = Folder::new();
        let text = format!(
            "{}-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n",
            Ca::new("ca").server("localhost").cert
        );
        let fault = Sheet::of(&folder.write("bad.pem", &text)).unwrap_err();
        assert_eq!(fault.wrong, Wrong::BadCertificate(2));
    }
}
