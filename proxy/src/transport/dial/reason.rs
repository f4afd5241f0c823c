//! Why an attempt came to nothing, in words an operator can act on.

use std::error::Error as _;
use std::io;

use mcpl_certs::Fault;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error as TlsError};

/// Why one attempt came to nothing. Never with a token, a query, or what the other side wrote.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The host's name has no address.
    #[error("the name of its host is not found: {0}; check the name, and the resolver of this machine")]
    Name(io::Error),
    /// The network said no.
    #[error("{}", refused(.0))]
    Io(io::Error),
    /// Nothing came in time.
    #[error("nothing answered in time; check the address, and what stands between")]
    Silence,
    /// It cannot be said to a peer.
    #[error("the address cannot be dialled: {0}")]
    Address(&'static str),
    /// Our own files of `connect_tls`.
    #[error("connect_tls: {0}")]
    Certificates(Fault),
    /// Our own token.
    #[error("the token of `connect_auth` cannot be read: {0}")]
    Token(io::Error),
    /// There is no trust.
    #[error("TLS: {0}")]
    Tls(String),
    /// It answered, but not with a WebSocket.
    #[error("it answered HTTP {0}{hint}", hint = hint(*.0))]
    Status(u16),
    /// It answered with something else.
    #[error("no WebSocket answers there: {0}")]
    NoWebSocket(&'static str),
}

fn refused(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there: connection refused".to_owned(),
        _ => error.to_string(),
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        300..400 => ": a redirect, which is not followed; write the address it leads to",
        400 => ": it takes the request for a bad one",
        401 => ": the token is missing or wrong; see connect_auth",
        403 => ": we may not connect; check the token, or the client certificate of connect_tls",
        404 | 405 => ": no WebSocket is at that path",
        426 => ": it wants another version of WebSocket",
        429 => ": too many requests",
        500..600 => ": it is out of order, or the service behind it is",
        _ => ", which is no WebSocket",
    }
}

impl Reason {
    /// Why a TLS handshake failed.
    pub(in crate::transport) fn tls(error: &io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
            Some(inner) => Self::Tls(distrust(inner, &CONNECT_TLS)),
            None if error.kind() == io::ErrorKind::UnexpectedEof => Self::Tls(
                "the connection was closed during the handshake; does it speak TLS there?".to_owned(),
            ),
            None => Self::Io(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// Why there is no answer to a request.
    pub(in crate::transport) fn http(error: &hyper::Error) -> Self {
        let mut cause = error.source();
        while let Some(inner) = cause {
            if let Some(inner) = inner.downcast_ref::<io::Error>() {
                return Self::tls(inner);
            }
            cause = inner.source();
        }
        if error.is_parse() {
            Self::NoWebSocket("what came is no HTTP/1.1")
        } else {
            Self::NoWebSocket("the connection was closed before an answer came")
        }
    }
}

/// What of ours a peer's TLS has to do with.
pub(crate) struct Settings {
    /// What names the CAs that are trusted.
    pub(crate) ca: &'static str,
    /// What to do where the certificate is for another name.
    pub(crate) name: &'static str,
    /// What names our own certificate.
    pub(crate) identity: &'static str,
}

const CONNECT_TLS: Settings = Settings {
    ca: "connect_tls.ca_file",
    name: "name the one it has in connect_tls.server_name",
    identity: "connect_tls.cert_file",
};

/// Why there is no trust, and what can be done about it.
pub(crate) fn distrust(error: &TlsError, settings: &Settings) -> String {
    use CertificateError as Wrong;
    let Settings { ca, name, identity } = settings;
    match error {
        TlsError::InvalidCertificate(Wrong::UnknownIssuer) => {
            format!(
                "its certificate is signed by no CA that is trusted here (unknown issuer); name its CA in {ca}"
            )
        }
        // As when a CA was made anew under its old name.
        TlsError::InvalidCertificate(Wrong::BadSignature) => format!(
            "its certificate is not signed by the CA that is trusted here, though that has the same name (bad signature); name its CA in {ca}"
        ),
        TlsError::InvalidCertificate(Wrong::Expired | Wrong::ExpiredContext { .. }) => {
            "its certificate has expired".to_owned()
        }
        TlsError::InvalidCertificate(Wrong::NotValidYet | Wrong::NotValidYetContext { .. }) => {
            "its certificate is not valid yet; check the clocks".to_owned()
        }
        TlsError::InvalidCertificate(Wrong::NotValidForName | Wrong::NotValidForNameContext { .. }) => {
            format!("its certificate is for another name (wrong name); {name}")
        }
        TlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            format!("it asks for a client certificate; see {identity}")
        }
        TlsError::AlertReceived(alert) => format!("it refused us: {alert:?}"),
        TlsError::InvalidMessage(_) => "what came is no TLS".to_owned(),
        other => other.to_string(),
    }
}
