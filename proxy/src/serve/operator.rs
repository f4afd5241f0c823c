//! Where an operator asks: the socket in the state directory, and `[admin] listen` (contract 10.3).

use std::path::Path;
use std::rc::Rc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::desk::FrontDesk;
use crate::admin::{Control, Terms, Tls, serve_tcp, serve_unix};
use crate::config::{Admin, Config};
use crate::keyring::Keyring;
use crate::token::Token;
use crate::transport::listen::{bind, bound_to};

/// The doors that are open. Dropped, nobody is let in any more.
pub(super) struct OperatorDoors {
    control: Option<JoinHandle<()>>,
    admin: Option<AdminDoor>,
}

struct AdminDoor {
    said: Admin,
    listener: Rc<TcpListener>,
    /// Dropped, it lets nobody in; who is in may finish.
    _open: oneshot::Sender<()>,
}

impl OperatorDoors {
    /// Opens both, as configured.
    ///
    /// # Errors
    /// Why the admin listener cannot be served, in words.
    pub(super) async fn open(
        config: &Config,
        keyring: &Keyring,
        desk: &Rc<FrontDesk>,
    ) -> Result<Self, String> {
        let mut doors = Self::control(&config.state_dir, desk);
        doors.change(config.admin.as_ref(), keyring, desk).await?;
        Ok(doors)
    }

    /// Opens the socket in the state directory alone; a program without it is asked less, and serves all the
    /// same.
    pub(super) fn control(dir: &Path, desk: &Rc<FrontDesk>) -> Self {
        let control = match Control::bind(dir) {
            Ok(control) => Some(tokio::task::spawn_local(serve_unix(control, Rc::clone(desk)))),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "there is no control socket in the state directory: `journal resolve` works only when this program does not run"
                );
                None
            }
        };
        Self { control, admin: None }
    }

    /// Opens the admin listener as this says, and closes the one there was; on an error that one stays.
    ///
    /// # Errors
    /// Why it cannot be served, in words.
    pub(super) async fn change(
        &mut self,
        admin: Option<&Admin>,
        keyring: &Keyring,
        desk: &Rc<FrontDesk>,
    ) -> Result<(), String> {
        if self.admin.as_ref().map(|door| &door.said) == admin {
            return Ok(());
        }
        let Some(admin) = admin else {
            self.admin = None;
            return Ok(());
        };
        let address = admin.listen.to_string();
        let tls = admin.tls.as_ref().map(|tls| {
            let store = keyring.server(tls).map_err(|fault| format!("admin.tls: {fault}"))?;
            Ok::<_, String>(Tls { store, client_names: tls.client_names.clone() })
        });
        let terms = Terms {
            address: address.clone(),
            token: admin.token_file.clone().map(Token::in_file),
            tls: tls.transpose()?,
        };
        let listener = match &self.admin {
            Some(door) if door.said.listen == admin.listen => Rc::clone(&door.listener),
            _ => {
                let bound = bind(&address, &address).await;
                Rc::new(bound.map_err(|error| format!("the admin listener: {error}"))?)
            }
        };
        tracing::info!(
            at = %bound_to(&listener, &address),
            tls = terms.tls.is_some(),
            token = terms.token.is_some(),
            "the admin listener is open"
        );
        let (open, closed) = oneshot::channel::<()>();
        // Before the new one accepts, the old one has stopped.
        self.admin = Some(AdminDoor { said: admin.clone(), listener: Rc::clone(&listener), _open: open });
        let desk = Rc::clone(desk);
        tokio::task::spawn_local(async move {
            serve_tcp(listener, terms, desk, async { drop(closed.await) }).await;
        });
        Ok(())
    }
}

impl Drop for OperatorDoors {
    fn drop(&mut self) {
        if let Some(control) = &self.control {
            control.abort();
        }
    }
}
