//! A host and a port.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A host and a port: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authority {
    /// A name or an IP address, without the brackets of IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Authority {
    /// Whether only this machine reaches it. Of names only `localhost` is known to be loopback.
    pub fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Reads `HOST:PORT`; `port` is taken where the text has none.
    pub(super) fn read(text: &str, port: Option<u16>) -> Result<Self, String> {
        let (host, rest) = if let Some(inside) = text.strip_prefix('[') {
            let (host, rest) = inside.split_once(']').ok_or("`[` without its `]`")?;
            host.parse::<Ipv6Addr>().map_err(|_| "what stands in `[ ]` is no IPv6 address")?;
            (host, rest)
        } else {
            let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            if rest.matches(':').count() > 1 {
                return Err("an IPv6 address stands in `[ ]`".to_owned());
            }
            check_host(host)?;
            (host, rest)
        };
        let port = match rest.strip_prefix(':') {
            Some(digits) => read_port(digits)?,
            None if rest.is_empty() => port.ok_or("the port is missing")?,
            None => return Err("only a port may follow `]`".to_owned()),
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Whether a text is a name or an IPv4 address; the error says what is wrong with it.
pub(super) fn check_host(host: &str) -> Result<(), String> {
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    if host.len() > 253 || !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) {
        return Err("the host is neither a name nor an IP address".to_owned());
    }
    // Four numbers that are no address would otherwise be looked up as a name, and fail much later.
    if host.bytes().all(|b| b.is_ascii_digit() || b == b'.') && host.parse::<IpAddr>().is_err() {
        return Err("the host is no IPv4 address".to_owned());
    }
    Ok(())
}

fn read_port(digits: &str) -> Result<u16, String> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err("the port is no number".to_owned());
    }
    digits.parse().map_err(|_| "the port is over 65535".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known() {
        for (text, loopback) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("localhost:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("10.0.0.1:1", false),
            ("example.org:1", false),
        ] {
            assert_eq!(Authority::read(text, None).unwrap().is_loopback(), loopback, "{text}");
        }
    }
}
