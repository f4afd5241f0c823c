//! The TLS stores that the configuration names, one for each set of files (contract section 12).
//!
//! A listener or a dial asks for its store by its table of the configuration, and takes what the store has
//! published for each connection anew. [`Keyring::refresh`] is what makes rotated files count.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpl_certs::{ClientFiles, ClientStore, Fault, Refreshed, ServerFiles, ServerStore};

use crate::config::{Config, ConnectTls, ListenTls, Peer};

/// Every store that is in use. A clone is the same keyring.
#[derive(Clone, Debug, Default)]
pub struct Keyring(Arc<Mutex<Stores>>);

#[derive(Debug, Default)]
struct Stores {
    servers: Vec<Kept<ServerFiles, ServerStore>>,
    clients: Vec<Kept<ClientFiles, ClientStore>>,
}

#[derive(Clone, Debug)]
struct Kept<F, S> {
    files: F,
    store: S,
    /// Why what is on disk is not what is published.
    fault: Option<Fault>,
}

/// How the certificate of a store stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// When the certificate that is published expires, in Unix seconds; `None`: there is none of ours.
    pub not_after: Option<i64>,
    /// Why what is on disk now is not published, if it is not.
    pub fault: Option<Fault>,
}

impl From<&ListenTls> for ServerFiles {
    fn from(tls: &ListenTls) -> Self {
        Self {
            cert_file: tls.cert_file.clone(),
            key_file: tls.key_file.clone(),
            client_ca_file: tls.client_ca_file.clone(),
        }
    }
}

impl From<&ConnectTls> for ClientFiles {
    fn from(tls: &ConnectTls) -> Self {
        let identity = tls.cert_file.clone().zip(tls.key_file.clone());
        Self { ca_file: tls.ca_file.clone(), identity }
    }
}

impl Keyring {
    /// The store of a listener; opened if it is not yet, which reads the files.
    ///
    /// # Errors
    /// The first fault of its files.
    pub fn server(&self, tls: &ListenTls) -> Result<ServerStore, Fault> {
        let files = ServerFiles::from(tls);
        if let Some(kept) = self.stores().servers.iter().find(|kept| kept.files == files) {
            return Ok(kept.store.clone());
        }
        let store = ServerStore::open(files.clone())?;
        self.stores().servers.push(Kept { files, store: store.clone(), fault: None });
        Ok(store)
    }

    /// The store of a dialled producer, all defaults without a table; opened if it is not yet, which reads
    /// the files.
    ///
    /// # Errors
    /// The first fault of its files.
    pub fn client(&self, tls: Option<&ConnectTls>) -> Result<ClientStore, Fault> {
        let files = tls.map(ClientFiles::from).unwrap_or_default();
        if let Some(kept) = self.stores().clients.iter().find(|kept| kept.files == files) {
            return Ok(kept.store.clone());
        }
        let store = ClientStore::open(files.clone())?;
        self.stores().clients.push(Kept { files, store: store.clone(), fault: None });
        Ok(store)
    }

    /// Forgets the stores that a configuration does not name.
    pub fn retain(&self, config: &Config) {
        let admin = config.admin.iter().filter_map(|admin| admin.tls.as_ref());
        let servers = admin.chain(config.producers.iter().filter_map(|p| p.listen_tls.as_ref()));
        let servers: Vec<ServerFiles> = servers.map(ServerFiles::from).collect();
        let dialled = config.producers.iter().filter(|p| matches!(p.peer, Peer::Connect(_)));
        let clients = dialled.map(|p| p.connect_tls.as_ref().map(ClientFiles::from).unwrap_or_default());
        let clients: Vec<ClientFiles> = clients.collect();
        let mut stores = self.stores();
        stores.servers.retain(|kept| servers.contains(&kept.files));
        stores.clients.retain(|kept| clients.contains(&kept.files));
    }

    /// Looks at the files of every store; what has changed is published, or kept from being. Blocks for as
    /// long as the files take to read. What happened: the published, and the faults of the others.
    pub fn refresh(&self) -> Vec<Result<String, Fault>> {
        // Not under the lock: a dial must not wait for a slow disk.
        let (servers, clients) = {
            let stores = self.stores();
            (stores.servers.clone(), stores.clients.clone())
        };
        let mut news = Vec::new();
        for kept in &servers {
            let name = || kept.files.cert_file.display().to_string();
            self.note(kept.store.refresh(), name, &mut news, |stores, fault| {
                stores
                    .servers
                    .iter_mut()
                    .filter(|k| k.files == kept.files)
                    .for_each(|k| k.fault.clone_from(fault));
            });
        }
        for kept in &clients {
            let name = || {
                let identity = kept.files.identity.as_ref().map(|(cert, _)| cert);
                let named = identity.or(kept.files.ca_file.as_ref());
                named.map_or_else(|| "the system's roots".to_owned(), |path| path.display().to_string())
            };
            self.note(kept.store.refresh(), name, &mut news, |stores, fault| {
                stores
                    .clients
                    .iter_mut()
                    .filter(|k| k.files == kept.files)
                    .for_each(|k| k.fault.clone_from(fault));
            });
        }
        news
    }

    fn note(
        &self,
        refreshed: Refreshed,
        name: impl Fn() -> String,
        news: &mut Vec<Result<String, Fault>>,
        keep: impl Fn(&mut Stores, &Option<Fault>),
    ) {
        match refreshed {
            Refreshed::Same => {}
            Refreshed::Published => {
                keep(&mut self.stores(), &None);
                news.push(Ok(name()));
            }
            Refreshed::Kept(fault) => {
                keep(&mut self.stores(), &Some(fault.clone()));
                news.push(Err(fault));
            }
        }
    }

    /// Says in the log what is served in spite of it.
    pub fn caution(&self) {
        let stores = self.stores();
        let servers = stores.servers.iter().flat_map(|kept| kept.store.warnings());
        let clients = stores.clients.iter().flat_map(|kept| kept.store.warnings());
        for warning in servers.chain(clients) {
            tracing::warn!("{warning}");
        }
    }

    /// How the certificate of a listener stands; `None`: its store is not open.
    pub fn server_standing(&self, tls: &ListenTls) -> Option<Standing> {
        let (files, stores) = (ServerFiles::from(tls), self.stores());
        let kept = stores.servers.iter().find(|kept| kept.files == files)?;
        Some(Standing { not_after: Some(kept.store.not_after()), fault: kept.fault.clone() })
    }

    /// How our client certificate stands, and what we trust; `None`: the store is not open.
    pub fn client_standing(&self, tls: Option<&ConnectTls>) -> Option<Standing> {
        let files = tls.map(ClientFiles::from).unwrap_or_default();
        let stores = self.stores();
        let kept = stores.clients.iter().find(|kept| kept.files == files)?;
        Some(Standing { not_after: kept.store.not_after(), fault: kept.fault.clone() })
    }

    fn stores(&self) -> MutexGuard<'_, Stores> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
