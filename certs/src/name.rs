//! A name that a certificate is asked for.

use std::fmt;
use std::net::IpAddr;

use rcgen::SanType;

use crate::names::{Form, readable};

/// A name for a certificate, as [`names`](crate::names()) will read it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    form: Form,
    text: String,
}

/// A text that is no such name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAName(&'static str);

impl Name {
    /// The name of a host: a DNS name, also one that begins with `*.`, or an address.
    ///
    /// # Errors
    ///
    /// What such a name is made of.
    pub fn host(text: &str) -> Result<Self, NotAName> {
        match readable(text) {
            Some((form @ Form::Address, text)) => Ok(Self { form, text }),
            Some((form @ Form::Dns, text)) if is_dns(&text) => Ok(Self { form, text }),
            Some((Form::Uri, _)) => Err(NotAName("a name of a host has no colon; a URI is given with --uri")),
            _ => Err(NotAName("it takes a DNS name (a-z, 0-9, `-`, `.`, `*.` in front), or an address")),
        }
    }

    /// A URI, for instance a SPIFFE id.
    ///
    /// # Errors
    ///
    /// What a URI begins with.
    pub fn uri(text: &str) -> Result<Self, NotAName> {
        let wrong = NotAName("it takes a URI of visible ASCII, for instance spiffe://example.org/discord");
        let scheme = text.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
        let fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        match readable(text) {
            Some((form @ Form::Uri, text)) if fits => Ok(Self { form, text }),
            _ => Err(wrong),
        }
    }

    /// A file's name for it: anything but letters, digits, `.` and `-` is `_`; of a URI, what follows its last `/`.
    pub fn file_stem(&self) -> String {
        let last = self.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
        let stem: String = last.chars().map(plain).collect();
        // Not hidden, and not the CA's own.
        if stem.starts_with('.') || stem == "ca" { format!("_{stem}") } else { stem }
    }

    /// Its entry in a certificate.
    pub(crate) fn entry(&self) -> Result<SanType, rcgen::Error> {
        Ok(match self.form {
            Form::Address => {
                let address: Result<IpAddr, _> = self.text.parse();
                SanType::IpAddress(address.map_err(|_| rcgen::Error::InvalidNameType)?)
            }
            Form::Uri => SanType::URI(self.text.as_str().try_into()?),
            Form::Mail => SanType::Rfc822Name(self.text.as_str().try_into()?),
            Form::Dns => SanType::DnsName(self.text.as_str().try_into()?),
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_dns(text: &str) -> bool {
    let host = text.strip_prefix("*.").unwrap_or(text);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_dns_names_and_addresses() {
        for (given, read) in [
            ("localhost", "localhost"),
            ("Discord.Example.org", "discord.example.org"),
            ("*.example.org", "*.example.org"),
            ("127.0.0.1", "127.0.0.1"),
            ("0:0:0:0:0:0:0:1", "::1"),
        ] {
            assert_eq!(Name::host(given).unwrap().to_string(), read);
        }
        for wrong in [
            "",
            "a b",
            "a..b",
            "-a",
            "a-",
            "a*.b",
            "*.",
            "x@y",
            "ü",
            "a/b",
            "a:80",
            "spiffe://x",
            "1.2.3.4\n",
        ] {
            assert!(Name::host(wrong).is_err(), "{wrong}");
        }
        assert!(Name::host(&"a".repeat(63)).is_ok() && Name::host(&"a".repeat(64)).is_err());
    }

    #[test]
    fn a_uri_has_a_scheme() {
        assert_eq!(Name::uri("spiffe://x/Ops").unwrap().to_string(), "spiffe://x/Ops");
        assert!(Name::uri("urn:x:y").is_ok());
        for wrong in ["", "x", "//x/y", "1:x", "a b:c", "spiffe://x/\u{7f}", "::1"] {
            assert!(Name::uri(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_for_its_file_stays_in_the_folder() {
        let stem = |name: Result<Name, NotAName>| name.unwrap().file_stem();
        assert_eq!(stem(Name::host("localhost")), "localhost");
        assert_eq!(stem(Name::host("*.example.org")), "_.example.org");
        assert_eq!(stem(Name::host("::1")), "__1");
        assert_eq!(stem(Name::host("ca")), "_ca");
        assert_eq!(stem(Name::uri("spiffe://example.org/discord/")), "discord");
        assert_eq!(stem(Name::uri("spiffe://x/..")), "_..");
        assert_eq!(stem(Name::uri("urn:x?y")), "urn_x_y");
    }
}
