//! Who is on the other end, and who we are to it (contract section 12).
//!
//! Paths are absolute, or relative to the working directory if the file's own was. No secret is in here:
//! only where each is found.

use std::path::PathBuf;

use super::authority::Authority;
use super::model::TokenForm;

/// `[admin]`: the admin listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens.
    pub listen: Authority,
    /// The file with the bearer token; always there when `listen` is not a loopback address.
    pub token_file: Option<PathBuf>,
    /// Who asks for an occurrence, there or on the control socket, is shown its content.
    pub show_content: bool,
    /// TLS there; `None`: plain HTTP.
    pub tls: Option<ListenTls>,
}

/// `[admin.tls]`, `[producer.listen_tls]`: TLS on a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenTls {
    /// Our certificate, then those that signed it (PEM).
    pub cert_file: PathBuf,
    /// Its private key (PEM).
    pub key_file: PathBuf,
    /// CAs (PEM), by one of which a client certificate is then required; `None`: none is asked for.
    pub client_ca_file: Option<PathBuf>,
    /// One of a client certificate's names must be one of these; empty: any will do. Only with
    /// `client_ca_file`.
    pub client_names: Vec<String>,
}

/// `[producer.connect_tls]`: TLS towards a producer that is dialled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectTls {
    /// The CAs that are trusted, and no others (PEM); `None`: the system's.
    pub ca_file: Option<PathBuf>,
    /// Our client certificate (PEM); there if `key_file` is.
    pub cert_file: Option<PathBuf>,
    /// Its private key (PEM).
    pub key_file: Option<PathBuf>,
    /// The name its certificate must have: a DNS name, or an IP address (without brackets). `None`: the
    /// host of the address.
    pub server_name: Option<String>,
}

/// Where a bearer token is found, each time it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// In a file; white space around it does not count.
    File(PathBuf),
    /// In an environment variable of this name.
    Env(String),
}

/// `[producer.listen_auth]`: who may come in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenAuth {
    /// The token that is asked for; `None`: none is.
    pub token: Option<TokenSource>,
    /// The pages that browsers may come from, as browsers write them in `Origin`: `https://app.example`.
    pub origins: Vec<String>,
}

/// `[producer.connect_auth]`: what a producer is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectAuth {
    /// The token.
    pub token: TokenSource,
    /// Where it goes.
    pub form: TokenForm,
}
