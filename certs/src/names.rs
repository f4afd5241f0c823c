//! What a certificate says its holder is called.

use std::net::IpAddr;

use rustls_pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The subject alternative names of a certificate as text: DNS names in lower case, addresses, URIs, e-mail
/// addresses, in the certificate's order. The subject's common name is no name (RFC 6125, 6.4.4).
///
/// Each text says by its form of which kind it is (`10.0.0.1` is an address, `spiffe://x/y` a URI, `a@b` an e-mail
/// address, anything else a DNS name). A name whose text looks like one of another kind, and one with anything but
/// visible ASCII in it, is left out: so none can pass for what it is not, nor forge a line of a log. A certificate
/// that cannot be parsed has no names.
pub fn names(leaf: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(leaf) else { return Vec::new() };
    of(&certificate)
}

/// Whether one of the certificate's names ([`names`]) is one of these.
///
/// The comparison is exact, but for the case of DNS names and the spelling of addresses (`::1` is
/// `0:0:0:0:0:0:0:1`). There are no patterns: `*.example.org` is the name of a certificate for just that, and stands
/// for no other. Without names to compare with, nobody is pinned: the answer is `false`.
pub fn is_pinned(leaf: &CertificateDer<'_>, names: &[String]) -> bool {
    let pins: Vec<String> = names.iter().filter_map(|name| readable(name)).map(|(_, pin)| pin).collect();
    self::names(leaf).iter().any(|name| pins.contains(name))
}

/// As [`names`], of a certificate that is parsed already.
pub(crate) fn of(certificate: &X509Certificate<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for extension in certificate.extensions() {
        if let ParsedExtension::SubjectAlternativeName(names) = extension.parsed_extension() {
            found.extend(names.general_names.iter().filter_map(name));
        }
    }
    found
}

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A network address.
    Address,
    /// A URI.
    Uri,
    /// An e-mail address.
    Mail,
    /// A host.
    Dns,
}

/// The form of a name, and the one text that all of its spellings have; `None` if it is no name at all.
pub(crate) fn readable(text: &str) -> Option<(Form, String)> {
    if let Ok(address) = text.parse::<IpAddr>() {
        Some((Form::Address, address.to_string()))
    } else if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        None
    } else if text.contains(':') {
        Some((Form::Uri, text.to_owned()))
    } else if text.contains('@') {
        Some((Form::Mail, text.to_owned()))
    } else {
        Some((Form::Dns, text.to_ascii_lowercase()))
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    let (said, text) = match name {
        GeneralName::DNSName(text) => (Form::Dns, (*text).to_owned()),
        GeneralName::URI(text) => (Form::Uri, (*text).to_owned()),
        GeneralName::RFC822Name(text) => (Form::Mail, (*text).to_owned()),
        GeneralName::IPAddress(bytes) => (Form::Address, address(bytes)?.to_string()),
        _ => return None,
    };
    let (looks, text) = readable(&text)?;
    (looks == said).then_some(text)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SanType};

    use super::*;

    fn leaf(names: Vec<SanType>) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names;
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn dns(text: &str) -> SanType {
        SanType::DnsName(text.try_into().unwrap())
    }

    fn uri(text: &str) -> SanType {
        SanType::URI(text.try_into().unwrap())
    }

    fn pinned(leaf: &CertificateDer<'_>, name: &str) -> bool {
        is_pinned(leaf, &["nobody".to_owned(), name.to_owned()])
    }

    #[test]
    fn names_of_every_kind_come_as_text_in_their_order() {
        let leaf = leaf(vec![
            uri("spiffe://Example.org/Discord"),
            dns("Discord.Example.org"),
            SanType::IpAddress([10, 0, 0, 1].into()),
            SanType::IpAddress("2001:db8:0::1".parse().unwrap()),
            SanType::Rfc822Name("Ops@example.org".try_into().unwrap()),
            dns("*.example.org"),
        ]);
        let expected = [
            "spiffe://Example.org/Discord",
            "discord.example.org",
            "10.0.0.1",
            "2001:db8::1",
            "Ops@example.org",
            "*.example.org",
        ];
        assert_eq!(names(&leaf), expected);
        for name in expected {
            assert!(pinned(&leaf, name), "{name}");
        }
    }

    #[test]
    fn a_pin_is_one_name_exactly() {
        let leaf = leaf(vec![
            uri("spiffe://x/ops"),
            dns("a.example.org"),
            dns("*.example.net"),
            SanType::IpAddress("::1".parse().unwrap()),
        ]);
        for pin in ["A.EXAMPLE.org", "0:0:0:0:0:0:0:1", "*.example.net"] {
            assert!(pinned(&leaf, pin), "{pin}");
        }
        for pin in [
            "",
            "*",
            "*.example.org",
            "b.example.net",
            "example.org",
            "a.example.org.",
            "spiffe://x/Ops",
            "spiffe://x/ops/",
            "spiffe://x",
            "spiffe://x/op",
            "127.0.0.1",
            "rcgen self signed cert",
        ] {
            assert!(!pinned(&leaf, pin), "{pin}");
        }
        assert!(!is_pinned(&leaf, &[]));
    }

    #[test]
    fn no_name_passes_for_one_of_another_kind() {
        let leaf = leaf(vec![
            dns("spiffe://x/ops"),
            dns("10.0.0.1"),
            dns("ops@example.org"),
            uri("example.org"),
            uri("10.0.0.2"),
            SanType::Rfc822Name("example.net".try_into().unwrap()),
        ]);
        assert_eq!(names(&leaf), [""; 0]);
        for pin in ["spiffe://x/ops", "10.0.0.1", "ops@example.org", "example.org", "10.0.0.2", "example.net"]
        {
            assert!(!pinned(&leaf, pin), "{pin}");
        }
    }

    #[test]
    fn a_name_that_would_forge_a_line_is_none() {
        let leaf =
            leaf(vec![dns("a\nINFO all is well"), uri("spiffe://x/a b"), dns("\u{1b}[2J"), dns("good")]);
        assert_eq!(names(&leaf), ["good"]);
        assert!(!pinned(&leaf, "a\nINFO all is well"));
    }

    #[test]
    fn what_is_no_certificate_has_no_names() {
        let leaf = CertificateDer::from(vec![1, 2, 3]);
        assert_eq!(names(&leaf), [""; 0]);
        assert!(!is_pinned(&leaf, &[String::new()]));
    }
}
