//! The way to a producer: started, or dialled.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::offspring::Offspring;
use super::session::Reached;
use crate::child::{Child, Spec};
use crate::config;
use crate::transport::dial::{Destination, Dialer};

/// Reaches the producer: spawns it, or dials until `connect_timeout_ms` is over. An error is a reason in
/// words for the host.
pub(super) async fn reach(
    producer: config::Producer,
    dialer: Rc<Dialer>,
    unreached: Rc<RefCell<Option<String>>>,
) -> Result<Reached, String> {
    let outcome = match &producer.peer {
        config::Peer::Command(command) => {
            let spec = Spec {
                command: command.argv.clone(),
                env: command.env.iter().cloned().collect(),
                cwd: command.cwd.clone(),
            };
            Child::spawn(&spec)
                .map(|(child, connection)| Reached { connection, child: Some(Offspring::keep(child)) })
                .map_err(|error| error.to_string())
        }
        config::Peer::Connect(endpoint) => {
            let within = Duration::from_millis(producer.connect_timeout_ms);
            let (tls, auth) = (producer.connect_tls.as_ref(), producer.connect_auth.as_ref());
            dialer
                .dial(&Destination::new(endpoint, tls, auth), within)
                .await
                .map(|connection| Reached { connection, child: None })
                .map_err(|error| error.to_string())
        }
    };
    outcome.map_err(|reason| {
        let reason = format!("the producer `{}` was not reached: {reason}", producer.name);
        *unreached.borrow_mut() = Some(reason.clone());
        reason
    })
}
