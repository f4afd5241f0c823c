//! The keys of TLS and tokens (contract section 12).

use super::Fallback::{Absent, List, Required, Text};
use super::{Key, Shape, key};
use crate::config::model::TokenForm;

/// `[admin.tls]` and `[producer.listen_tls]`.
pub(super) static LISTEN_TLS: &[Key] = &[
    key("cert_file", Shape::Path, Required, "PEM file with our certificate, then those that signed it."),
    key("key_file", Shape::Path, Required, "PEM file with its private key."),
    key(
        "client_ca_file",
        Shape::Path,
        Absent,
        "PEM file with CAs: then a client certificate of one of them is required. Absent: none is asked for.",
    ),
    key(
        "client_names",
        Shape::List,
        Absent,
        "With client_ca_file: one of the certificate's names (SAN: DNS, IP, URI, e-mail) must be one of these. Absent: any.",
    ),
];

/// `[producer.connect_tls]`.
pub(super) static CONNECT_TLS: &[Key] = &[
    key(
        "ca_file",
        Shape::Path,
        Absent,
        "PEM file with the CAs to trust, and no others. Absent: the system's.",
    ),
    key("cert_file", Shape::Path, Absent, "PEM file with our client certificate; with key_file."),
    key("key_file", Shape::Path, Absent, "PEM file with its private key; with cert_file."),
    key(
        "server_name",
        Shape::Text,
        Absent,
        "The name the certificate must have, sent as SNI too. Absent: the host of `connect`.",
    ),
];

/// `[producer.listen_auth]`.
pub(super) static LISTEN_AUTH: &[Key] = &[
    key(
        "token_file",
        Shape::Path,
        Absent,
        "File with the bearer token that is asked for. This or `token_env`.",
    ),
    key(
        "token_env",
        Shape::Text,
        Absent,
        "Environment variable with that token. Neither: none is asked for.",
    ),
    key(
        "origins",
        Shape::List,
        List(&[]),
        "Origins of the pages that browsers may connect from, such as https://app.example; others are refused.",
    ),
];

/// `[producer.connect_auth]`.
pub(super) static CONNECT_AUTH: &[Key] = &[
    key("token_file", Shape::Path, Absent, "File with the bearer token we show. This or `token_env`."),
    key("token_env", Shape::Text, Absent, "Environment variable with that token. This or `token_file`."),
    key(
        "token_as",
        Shape::Choice(TokenForm::NAMES),
        Text("header"),
        "Where it goes: the Authorization header, the query (`token=`), or an entry of Sec-WebSocket-Protocol.",
    ),
];
