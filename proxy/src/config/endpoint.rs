//! Addresses: where we listen, what we dial.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// How bytes travel to an [`Endpoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `tcp://`: lines over TCP.
    Tcp,
    /// `ws://`: WebSocket.
    Ws,
    /// `wss://`: WebSocket over TLS.
    Wss,
    /// `mcpl://`: resolves to `wss://` (contract section 12); to dial only.
    Mcpl,
}

impl Scheme {
    /// The name before `://`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ws => "ws",
            Self::Wss => "wss",
            Self::Mcpl => "mcpl",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Tcp, Self::Ws, Self::Wss, Self::Mcpl]
            .into_iter()
            .find(|s| name.eq_ignore_ascii_case(s.as_str()))
    }

    fn default_port(self) -> Option<u16> {
        match self {
            Self::Tcp => None,
            Self::Ws => Some(80),
            Self::Wss | Self::Mcpl => Some(443),
        }
    }
}

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

fn check_host(host: &str) -> Result<(), String> {
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

/// An address with a scheme. `Display` leaves the target out: a query may hold a token.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// How bytes travel.
    pub scheme: Scheme,
    /// Host and port; the port is the scheme's own where the text had none.
    pub at: Authority,
    /// Path and query as written, `/` at least; empty for `tcp://`.
    pub target: String,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.at)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which side of a connection an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// We wait there: `tcp`, `ws`, `wss`; port 0 is any free one.
    Listen,
    /// We go there: also `mcpl`.
    Connect,
}

impl Side {
    pub(super) fn forms(self) -> &'static str {
        match self {
            Self::Listen => "write `stdio`, `tcp://HOST:PORT`, `ws://HOST:PORT` or `wss://HOST:PORT`",
            Self::Connect => "write `tcp://HOST:PORT`, `ws://HOST…`, `wss://HOST…` or `mcpl://HOST…`",
        }
    }
}

impl Endpoint {
    /// Reads an address; the error says what is wrong and holds nothing of the text.
    pub(super) fn read(text: &str, side: Side) -> Result<Self, String> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err("there is no scheme".to_owned());
        };
        let Some(scheme) = Scheme::named(scheme).filter(|s| side == Side::Connect || *s != Scheme::Mcpl)
        else {
            return Err("that scheme is not taken here".to_owned());
        };
        if rest.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("white space may not be in an address".to_owned());
        }
        if rest.contains('#') {
            return Err("a fragment (`#…`) may not be in an address".to_owned());
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("a user or password (`…@`) may not be in an address".to_owned());
        }
        let at =
            Authority::read(authority, if side == Side::Connect { scheme.default_port() } else { None })?;
        if at.port == 0 && side == Side::Connect {
            return Err("port 0 cannot be dialled".to_owned());
        }
        let target = match (scheme, target) {
            (Scheme::Tcp, "" | "/") => String::new(),
            (Scheme::Tcp, _) => return Err("tcp:// has no path".to_owned()),
            (_, "") => "/".to_owned(),
            (_, query) if query.starts_with('?') => format!("/{query}"),
            (_, path) => path.to_owned(),
        };
        if has_dot_segment(&target) {
            return Err("`.` and `..` may not be segments of the path".to_owned());
        }
        Ok(Self { scheme, at, target })
    }
}

fn has_dot_segment(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    path.split('/').any(|segment| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dial(text: &str) -> Result<String, String> {
        Endpoint::read(text, Side::Connect).map(|e| format!("{e}{}", e.target))
    }

    #[test]
    fn addresses_are_read() {
        for (text, whole) in [
            ("tcp://127.0.0.1:7000", "tcp://127.0.0.1:7000"),
            ("tcp://[::1]:7000/", "tcp://[::1]:7000"),
            ("TCP://db-1.example:1", "tcp://db-1.example:1"),
            ("ws://example.org", "ws://example.org:80/"),
            ("wss://example.org/a/b?c=../d", "wss://example.org:443/a/b?c=../d"),
            ("wss://example.org?x", "wss://example.org:443/?x"),
            ("mcpl://example.org/x", "mcpl://example.org:443/x"),
        ] {
            assert_eq!(dial(text).as_deref(), Ok(whole), "{text}");
        }
        assert!(Endpoint::read("tcp://0.0.0.0:0", Side::Listen).is_ok(), "any free port");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "tcp",
            "tcp:/x:1",
            "http://x:1",
            "https://x/",
            "unix:///x",
            "tcp://",
            "tcp://:1",
            "tcp://x",
            "tcp://x:",
            "tcp://x:0",
            "tcp://x:65536",
            "tcp://x:-1",
            "tcp://x:1x",
            "tcp://x:1/path",
            "tcp://::1:1",
            "tcp://[::1",
            "tcp://[::1]1",
            "tcp://[x]:1",
            "tcp://a b:1",
            "tcp://1.2.3:1",
            "tcp://256.1.1.1:1",
            "ws://u:p@x/",
            "ws://x/#f",
            "mcpl:///x",
            "mcpl://u@x/",
            "mcpl://x/a/../b",
            "mcpl://x/%2E%2e",
            "mcpl://x/.",
            "ws://x/\n",
        ] {
            assert!(dial(text).is_err(), "{text}: {:?}", dial(text));
        }
        for text in ["mcpl://x/y", "ws://x", "http://127.0.0.1:1"] {
            assert!(Endpoint::read(text, Side::Listen).is_err(), "{text}");
        }
    }

    #[test]
    fn errors_and_display_hold_no_secret() {
        assert!(!dial("ws://hush@x/").unwrap_err().contains("hush"));
        let endpoint = Endpoint::read("ws://x/?token=hush", Side::Connect).unwrap();
        assert!(!format!("{endpoint} {endpoint:?}").contains("hush"));
    }

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
