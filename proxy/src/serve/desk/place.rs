//! Where a producer and its host are, by the configuration.

use crate::admin::desk::{PlaceView, TlsView};
use crate::config::{ConnectTls, Listen, ListenTls, Peer, Producer, Scheme, Shown};
use crate::keyring::{Keyring, Standing};

/// What is kept of a producer's configuration to be shown; nothing secret.
#[derive(Debug)]
pub(super) struct Place {
    listen: String,
    address: Option<Shown>,
    listen_tls: Option<ListenTls>,
    /// It is dialled by TLS …
    by_tls: bool,
    /// … by this table, or all defaults.
    connect_tls: Option<ConnectTls>,
}

impl Place {
    pub(super) fn of(producer: &Producer) -> Self {
        let dialled = match &producer.peer {
            Peer::Connect(endpoint) => Some(endpoint),
            Peer::Command(_) => None,
        };
        let by_tls = dialled.is_some_and(|to| matches!(to.scheme, Scheme::Wss | Scheme::Mcpl));
        Self {
            listen: match &producer.listen {
                Listen::Stdio => "stdio".to_owned(),
                Listen::On(endpoint) => endpoint.shown().configured,
            },
            address: dialled.map(crate::config::Endpoint::shown),
            listen_tls: producer.listen_tls.clone(),
            by_tls,
            connect_tls: producer.connect_tls.clone(),
        }
    }

    pub(super) fn view(&self, keyring: &Keyring) -> PlaceView {
        let listening = self.listen_tls.as_ref().and_then(|tls| keyring.server_standing(tls));
        let dialling = self.by_tls.then(|| keyring.client_standing(self.connect_tls.as_ref())).flatten();
        PlaceView {
            listen: Some(self.listen.clone()),
            address: self.address.clone(),
            listen_tls: listening.map(view),
            connect_tls: dialling.map(view),
        }
    }
}

fn view(standing: Standing) -> TlsView {
    let time = |seconds| jiff::Timestamp::from_second(seconds).ok().map(|time| time.to_string());
    TlsView {
        certificate_not_after: standing.not_after.and_then(time),
        fault: standing.fault.map(|fault| fault.to_string()),
    }
}
