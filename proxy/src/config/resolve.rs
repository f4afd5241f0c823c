//! From a WebSocket address to what is dialled (contract section 12, MCPL RFC-004, 3).
//!
//! What would change its meaning without an error is refused on the text, before anything is parsed. Then
//! the address is read as a WHATWG URL, `mcpl://` as `wss://`: every program that does so dials the same.

use url::{Host, ParseError, Url};

use super::authority::Authority;

/// An address behind `://`, in two.
pub(super) struct Parts<'t> {
    pub(super) authority: &'t str,
    /// Path and query.
    pub(super) target: &'t str,
}

/// Looks for what is not taken in any address.
pub(super) fn check(rest: &str) -> Result<Parts<'_>, String> {
    if rest.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("white space may not be in an address".to_owned());
    }
    if rest.contains('#') {
        return Err("a fragment (`#…`) may not be in an address".to_owned());
    }
    // URLs of these schemes take `\` for `/`.
    let (authority, target) = rest.split_at(rest.find(['/', '\\', '?']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("a user or password (`…@`) may not be in an address".to_owned());
    }
    if authority.is_empty() {
        // Read as a URL, the first segment of the path would become the host.
        return Err("the host is missing".to_owned());
    }
    if has_dot_segment(target) {
        return Err("`.` and `..` may not be segments of the path".to_owned());
    }
    Ok(Parts { authority, target })
}

fn has_dot_segment(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    path.split(['/', '\\']).any(|segment| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    })
}

/// Whether a port is written.
pub(super) fn has_port(authority: &str) -> bool {
    let behind = authority.rsplit_once(']').map_or(authority, |(_, behind)| behind);
    behind.split_once(':').is_some_and(|(_, port)| !port.is_empty())
}

/// Host and port, path and query, and the whole, of an address that was checked. `scheme` is `ws` or `wss`.
pub(super) fn resolve(scheme: &str, rest: &str) -> Result<(Authority, String, String), String> {
    let url = Url::parse(&format!("{scheme}://{rest}")).map_err(|error| reason(error).to_owned())?;
    let host = match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        Some(Host::Ipv4(ip)) => ip.to_string(),
        Some(Host::Ipv6(ip)) => ip.to_string(),
        None => return Err("the host is missing".to_owned()),
    };
    let port = url.port_or_known_default().ok_or("the port is missing")?;
    let target = url.query().map_or_else(|| url.path().to_owned(), |q| format!("{}?{q}", url.path()));
    Ok((Authority { host, port }, target, url.into()))
}

fn reason(error: ParseError) -> &'static str {
    match error {
        ParseError::EmptyHost => "the host is missing",
        ParseError::InvalidPort => "the port is no number from 0 to 65535",
        ParseError::InvalidIpv4Address => "the host is no IPv4 address",
        ParseError::InvalidIpv6Address => "what stands in `[ ]` is no IPv6 address",
        ParseError::IdnaError | ParseError::InvalidDomainCharacter => {
            "the host is neither a name nor an IP address"
        }
        _ => "it cannot be read as a URL",
    }
}

/// An address with `***` for the values of its query that `hidden` names; a part without a name is hidden
/// as if it were a value of all names.
pub(super) fn veil(address: &str, hidden: impl Fn(&str) -> bool) -> String {
    let Some((before, query)) = address.split_once('?') else { return address.to_owned() };
    let part = |part: &str| match part.split_once('=') {
        Some((name, _)) if hidden(name) => format!("{name}=***"),
        None if !part.is_empty() && hidden("") => "***".to_owned(),
        _ => part.to_owned(),
    };
    format!("{before}?{}", query.split('&').map(part).collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests;
