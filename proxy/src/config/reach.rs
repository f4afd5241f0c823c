//! TLS and tokens of a producer, and what they go with (contract section 12).

use std::net::{IpAddr, Ipv6Addr};

use url::Url;

use super::authority::check_host;
use super::build::Builder;
use super::endpoint::{Endpoint, Scheme};
use super::identity::{ConnectAuth, ConnectTls, ListenAuth, ListenTls, TokenSource};
use super::model::{Listen, Peer, TokenForm};
use super::read::{Section, Text, Value};
use super::substitute;

/// What a producer's tables of TLS and tokens come to.
#[derive(Default)]
pub(super) struct Reach {
    pub(super) listen_tls: Option<ListenTls>,
    pub(super) listen_auth: Option<ListenAuth>,
    pub(super) connect_tls: Option<ConnectTls>,
    pub(super) connect_auth: Option<ConnectAuth>,
}

/// The name of the query's parameter that holds a token.
const TOKEN: &str = "token";

impl Builder<'_, '_> {
    /// Reads the tables; each has to go with the address it is for.
    pub(super) fn reach(&mut self, section: &Section, listen: &Listen, peer: &Peer) -> Reach {
        let reach = Reach {
            listen_tls: section.table("listen_tls").map(|tls| self.listen_tls(tls, "producer.listen_tls")),
            listen_auth: section.table("listen_auth").map(|auth| self.listen_auth(auth)),
            connect_tls: section.table("connect_tls").map(|tls| self.connect_tls(tls)),
            connect_auth: section.table("connect_auth").and_then(|auth| self.connect_auth(auth)),
        };
        // Of an address that could not be read nothing more is said.
        match (section.text("listen"), listen) {
            (Some(text), Listen::Stdio) if text.value != "stdio" => {}
            (text, Listen::On(endpoint)) => self.goes_with_listen(section, Some(endpoint), text),
            (text, Listen::Stdio) => self.goes_with_listen(section, None, text),
        }
        match (section.text("connect"), peer) {
            (text, Peer::Connect(endpoint)) => {
                self.goes_with_connect(section, Some(endpoint), text, reach.connect_auth.as_ref());
            }
            (None, Peer::Command(_)) if !section.has("connect") => {
                self.goes_with_connect(section, None, None, None);
            }
            (_, Peer::Command(_)) => {}
        }
        reach
    }

    fn goes_with_listen(&mut self, section: &Section, endpoint: Option<&Endpoint>, text: Option<&Text>) {
        let scheme = endpoint.map(|endpoint| endpoint.scheme);
        if scheme == Some(Scheme::Wss) && !section.has("listen_tls") {
            self.faults.add(
                text.map_or(section.at, |text| text.at.start),
                "`producer.listen` is wss://, and there is no [producer.listen_tls]",
                "add [producer.listen_tls] with cert_file and key_file, or listen on ws://",
            );
        }
        if scheme != Some(Scheme::Wss) {
            self.astray(section, "listen_tls", "a wss:// `listen`");
        }
        if !matches!(scheme, Some(Scheme::Wss | Scheme::Ws)) {
            self.astray(section, "listen_auth", "a ws:// or wss:// `listen`");
        }
        if let Some(text) = text.filter(|_| endpoint.is_some_and(has_token)) {
            self.faults.add(
                text.at.start,
                "`producer.listen` has a `token` in its query, which is not compared",
                "take it out, and name the token in [producer.listen_auth] token_file or token_env",
            );
        }
    }

    fn goes_with_connect(
        &mut self,
        section: &Section,
        endpoint: Option<&Endpoint>,
        text: Option<&Text>,
        auth: Option<&ConnectAuth>,
    ) {
        let scheme = endpoint.map(|endpoint| endpoint.scheme);
        if !matches!(scheme, Some(Scheme::Wss | Scheme::Mcpl)) {
            self.astray(section, "connect_tls", "a wss:// or mcpl:// `connect`");
        }
        if !matches!(scheme, Some(Scheme::Wss | Scheme::Mcpl | Scheme::Ws)) {
            self.astray(section, "connect_auth", "a ws://, wss:// or mcpl:// `connect`");
        }
        if let Some(text) = text
            && auth.is_some_and(|auth| auth.form == TokenForm::Query)
            && endpoint.is_some_and(has_token)
        {
            self.faults.add(
                text.at.start,
                "`producer.connect` has a `token` in its query, and [producer.connect_auth] would add another",
                "take one of the two out",
            );
        }
    }

    /// A table that means nothing here is a slip: who wrote it believes that it counts.
    fn astray(&mut self, section: &Section, name: &str, with: &str) {
        if section.has(name) {
            self.faults.add(
                section.place(name),
                format!("`producer.{name}` goes with {with} only"),
                "take the table out, or change the address",
            );
        }
    }

    /// `[admin.tls]` or `[producer.listen_tls]`, of which `path` is which.
    pub(super) fn listen_tls(&mut self, section: &Section, path: &str) -> ListenTls {
        let mut needed = |name: &str, hint: &str| {
            if !section.has(name) {
                self.faults.add(section.at, format!("`{path}.{name}` is missing"), hint);
            }
            self.path(section.text(name), &format!("{path}.{name}")).unwrap_or_default()
        };
        let cert_file = needed("cert_file", "write cert_file = \"tls.crt\": PEM, our certificate first");
        let key_file = needed("key_file", "write key_file = \"tls.key\": PEM, its private key");
        let client_ca_file = self.path(section.text("client_ca_file"), &format!("{path}.client_ca_file"));
        if section.has("client_names") && !section.has("client_ca_file") {
            self.faults.add(
                section.place("client_names"),
                format!("`{path}.client_names` goes with `client_ca_file` only"),
                "add client_ca_file = \"clients.crt\": without it no certificate is asked for",
            );
        }
        if let Some(Value::List(names)) = section.value("client_names") {
            if names.is_empty() {
                self.faults.add(
                    section.place("client_names"),
                    format!("`{path}.client_names` is empty: nobody would be let in"),
                    "name who may come in, or leave it out for every certificate of the CA",
                );
            }
            for name in names.iter().filter(|name| name.value.is_empty()) {
                let message = format!("`{path}.client_names` has an empty name");
                self.faults.add(name.at.start, message, "write a name of the certificate, or take it out");
            }
        }
        ListenTls { cert_file, key_file, client_ca_file, client_names: section.list("client_names") }
    }

    fn connect_tls(&mut self, section: &Section) -> ConnectTls {
        let mut path = |name| self.path(section.text(name), &format!("producer.connect_tls.{name}"));
        let (ca_file, cert_file, key_file) = (path("ca_file"), path("cert_file"), path("key_file"));
        for (here, there) in [("cert_file", "key_file"), ("key_file", "cert_file")] {
            if section.has(here) && !section.has(there) {
                self.faults.add(
                    section.place(here),
                    format!("`producer.connect_tls.{here}` goes with `{there}` only"),
                    format!("add {there}, or take {here} out"),
                );
            }
        }
        let server_name = section.text("server_name").map(|text| {
            let bare = text.value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let name = bare.unwrap_or(&text.value);
            if name.parse::<Ipv6Addr>().is_err()
                && let Err(why) = check_host(name)
            {
                self.faults.add(
                    text.at.start,
                    format!("`producer.connect_tls.server_name` = \"{}\" is no name: {why}", text.shown()),
                    "write a DNS name or an IP address, as it stands in the certificate",
                );
            }
            name.parse::<IpAddr>().map_or_else(|_| name.to_owned(), |ip| ip.to_string())
        });
        ConnectTls { ca_file, cert_file, key_file, server_name }
    }

    fn listen_auth(&mut self, section: &Section) -> ListenAuth {
        let token = self.token(section, "producer.listen_auth");
        if token.is_none() && !["token_file", "token_env", "origins"].iter().any(|name| section.has(name)) {
            self.faults.add(
                section.at,
                "`producer.listen_auth` asks for nothing",
                "add token_file, token_env or origins, or take the table out",
            );
        }
        let mut origins = Vec::new();
        if let Some(Value::List(texts)) = section.value("origins") {
            for text in texts {
                match origin(&text.value) {
                    Some(origin) => origins.push(origin),
                    None => self.faults.add(
                        text.at.start,
                        format!("`producer.listen_auth.origins`: \"{}\" is no origin", text.shown()),
                        "write scheme and host, and the port if it is not the scheme's own: https://app.example",
                    ),
                }
            }
        }
        ListenAuth { token, origins }
    }

    fn connect_auth(&mut self, section: &Section) -> Option<ConnectAuth> {
        let token = self.token(section, "producer.connect_auth");
        if !section.has("token_file") && !section.has("token_env") {
            self.faults.add(
                section.at,
                "`producer.connect_auth` names no token",
                "add token_file = \"producer.token\" or token_env = \"NAME\"",
            );
        }
        let form = section.choice("token_as").and_then(TokenForm::named).unwrap_or(TokenForm::Header);
        Some(ConnectAuth { token: token?, form })
    }

    fn token(&mut self, section: &Section, path: &str) -> Option<TokenSource> {
        if section.has("token_file") && section.has("token_env") {
            self.faults.add(
                section.place("token_file").max(section.place("token_env")),
                format!("`{path}.token_file` and `{path}.token_env` exclude each other"),
                "take one of the two out",
            );
        }
        if let Some(file) = self.path(section.text("token_file"), &format!("{path}.token_file")) {
            return Some(TokenSource::File(file));
        }
        let text = section.text("token_env")?;
        if !substitute::is_name(&text.value) {
            self.faults.add(
                text.at.start,
                format!("`{path}.token_env` = \"{}\" is no name of a variable", text.shown()),
                "write the variable's name, without `$`: letters, digits and `_`, no digit first",
            );
        }
        Some(TokenSource::Env(text.value.clone()))
    }
}

/// Whether a query has a parameter for a token.
fn has_token(endpoint: &Endpoint) -> bool {
    endpoint
        .query()
        .is_some_and(|query| url::form_urlencoded::parse(query.as_bytes()).any(|(n, _)| n == TOKEN))
}

/// An origin as browsers write it; `None`: it is none.
fn origin(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| url.has_host() && !text.ends_with(['?', '#']))?;
    let bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
    let nobody = url.username().is_empty() && url.password().is_none();
    if !bare || !nobody || url.cannot_be_a_base() {
        return None;
    }
    match url.origin() {
        origin @ url::Origin::Tuple(..) => Some(origin.ascii_serialization()),
        // Of schemes such as moz-extension:// browsers write scheme and host.
        url::Origin::Opaque(_) => Some(text.trim_end_matches('/').to_ascii_lowercase()),
    }
}
