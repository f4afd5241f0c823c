//! Addresses: where we listen, what we dial.

use std::fmt;

use serde::Serialize;

use super::authority::Authority;
use super::resolve;

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
}

/// An address with a scheme: as it was written, as it is compared, and as it is dialled (MCPL RFC-004, 5).
/// `Display` leaves path and query out, which may hold a token; so does `Debug`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// How bytes travel.
    pub scheme: Scheme,
    /// Host and port, normalised: the host in lower case, a name outside ASCII in its ASCII form; the port
    /// is the scheme's own where the text had none.
    pub at: Authority,
    /// Path and query, normalised, `/` at least; empty for `tcp://`.
    pub target: String,
    /// As in the file, byte for byte, variables not filled in.
    configured: String,
    /// Normalised; with `mcpl://` in that form.
    canonical: String,
    /// What is dialled: for `mcpl://` its `wss://`, else as `canonical`.
    resolved: String,
    /// A variable was filled in.
    filled: bool,
}

/// The three forms of an [`Endpoint`], fit to be shown: values of the query are `***`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// As in the file.
    pub configured: String,
    /// As it is compared.
    pub canonical: String,
    /// As it is dialled.
    pub resolved: String,
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
        let parts = resolve::check(rest)?;
        let (at, target, canonical, resolved) = if scheme == Scheme::Tcp {
            if !matches!(parts.target, "" | "/") {
                return Err("tcp:// has no path".to_owned());
            }
            let mut at = Authority::read(parts.authority, None)?;
            at.host.make_ascii_lowercase();
            let address = format!("tcp://{at}");
            (at, String::new(), address.clone(), address)
        } else {
            if side == Side::Listen && !resolve::has_port(parts.authority) {
                return Err("the port is missing".to_owned());
            }
            let wire = if scheme == Scheme::Mcpl { Scheme::Wss } else { scheme };
            let (at, target, resolved) = resolve::resolve(wire.as_str(), rest)?;
            let canonical = match resolved.strip_prefix("wss:") {
                Some(rest) if scheme == Scheme::Mcpl => format!("mcpl:{rest}"),
                _ => resolved.clone(),
            };
            (at, target, canonical, resolved)
        };
        if at.port == 0 && side == Side::Connect {
            return Err("port 0 cannot be dialled".to_owned());
        }
        Ok(Self { scheme, at, target, configured: text.to_owned(), canonical, resolved, filled: false })
    }

    /// The same address, of which the file says this.
    pub(super) fn written_as(mut self, written: &str) -> Self {
        self.filled = written != self.configured;
        written.clone_into(&mut self.configured);
        self
    }

    /// As in the file, byte for byte. May hold a secret.
    pub fn configured(&self) -> &str {
        &self.configured
    }

    /// As it is compared: two spellings of one address are equal here. May hold a secret.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// As it is dialled or listened at. May hold a secret.
    pub fn resolved(&self) -> &str {
        &self.resolved
    }

    /// The path, without the query; empty for `tcp://`.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The query, without its `?`; `None`: there is none.
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    /// The three forms without what may be secret: values of the query and, where a variable was filled in,
    /// the path are `***`.
    pub fn shown(&self) -> Shown {
        let veil = |address: &str| match address.split_once("://") {
            Some((scheme, rest)) if self.filled => {
                let authority = rest.split(['/', '?']).next().unwrap_or_default();
                let path = if matches!(self.target.as_str(), "" | "/") { &*self.target } else { "/***" };
                format!("{scheme}://{authority}{path}")
            }
            _ => resolve::veil(address, |_| true),
        };
        Shown {
            configured: resolve::veil(&self.configured, |_| true),
            canonical: veil(&self.canonical),
            resolved: veil(&self.resolved),
        }
    }
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
}
