//! Taking over a changed configuration, and what it names: whole, or not at all (contract 2, 12).

use mcpl_certs::Fault;

use super::attendance::{Attendance, release_within};
use super::watch::Found;
use crate::binding::{Common, Order};
use crate::cli::out;
use crate::config::{self, Config, Endpoint, Listen, Loaded, Peer, Producer, Purpose, Scheme};
use crate::keyring::Keyring;
use crate::token::Token;

/// What the log says of a file that was not taken over.
const REJECTED: &str = "the configuration was not reloaded; the running one stays";

impl Attendance {
    /// A look at the files has found something.
    pub(super) async fn changed(&mut self, found: Found) {
        match found {
            Found::Config => self.reload().await,
            Found::Certificates(news) => {
                self.certificates(news);
                self.desk.certify(&self.current);
            }
            Found::Token(path) => {
                let file = path.display().to_string();
                match Token::in_file(path).read().await {
                    Ok(_) => {
                        tracing::info!(%file, "a new token counts from now on");
                        self.desk.reloaded(Ok(&file));
                    }
                    Err(error) => {
                        tracing::error!(%file, %error, "a changed token cannot be used: nobody is let in by it");
                        self.desk.reloaded(Err(&format!("{file}: {error}")));
                    }
                }
            }
        }
    }

    /// Has hosts come in where they are to from now on. Where that cannot be, it stays as it was, and so does
    /// what `next` says of it: the next reload tries again.
    async fn relisten(&mut self, before: &Config, next: &mut Config) {
        let mut failed = Vec::new();
        let old = |name: &str| before.producers.iter().find(|before| before.name == name);
        for (at, producer) in next.producers.iter().enumerate() {
            if old(&producer.name).is_some_and(|before| moves(before, producer))
                && let Err(why) = self.house.relisten(producer).await
            {
                failed.push((at, why));
            }
        }
        // Several may wait for each other's places.
        for (at, _) in failed.iter().filter(|_| failed.len() > 1) {
            if let Some(producer) = next.producers.get(*at) {
                self.house.vacate(&producer.name).await;
            }
        }
        for (at, _) in std::mem::take(&mut failed) {
            if let Some(producer) = next.producers.get(at)
                && let Err(why) = self.house.relisten(producer).await
            {
                failed.push((at, why));
            }
        }
        for (at, why) in failed {
            let Some(producer) = next.producers.get_mut(at) else { continue };
            let Some(before) = old(&producer.name) else { continue };
            producer.listen.clone_from(&before.listen);
            producer.listen_tls.clone_from(&before.listen_tls);
            producer.listen_auth.clone_from(&before.listen_auth);
            let back = self.house.relisten(producer).await;
            let producer = &producer.name;
            match back {
                Ok(()) => {
                    tracing::error!(%producer, %why, "hosts come in where they did: reload again to retry");
                }
                // From stdio, or to it, there is no way.
                Err(_) if before.listen == Listen::Stdio => tracing::warn!(%producer, %why),
                Err(back) => {
                    tracing::error!(%producer, %why, %back, "no host comes in: reload again to retry");
                }
            }
        }
    }

    fn certificates(&self, news: Result<String, Fault>) {
        match news {
            Ok(file) => {
                tracing::info!(%file, "renewed certificates count from the next connection on");
                self.desk.reloaded(Ok(&file));
            }
            Err(fault) => {
                tracing::error!(%fault, "changed certificates cannot be used: those before stay");
                self.desk.reloaded(Err(&fault.to_string()));
            }
        }
    }

    /// Takes the file over whole, or not at all.
    pub(super) async fn reload(&mut self) {
        let keyring = self.keyring.clone();
        let news = tokio::task::spawn_blocking(move || keyring.refresh()).await.unwrap_or_default();
        for news in news {
            self.certificates(news);
        }
        let outcome = self.take_over().await;
        match &outcome {
            Ok(()) => tracing::info!("the configuration was reloaded"),
            Err(why) => {
                out::complain(why);
                tracing::error!(REJECTED);
            }
        }
        self.desk.reloaded(outcome.as_ref().map(|()| "the configuration file").map_err(|why| &**why));
    }

    async fn take_over(&mut self) -> Result<(), String> {
        let path = self.path.clone();
        // Files may be many, and on a slow disk.
        let reading = tokio::task::spawn_blocking(move || read(&path)).await;
        let (loaded, fresh) = reading.map_err(|error| error.to_string())??;
        let mut next = loaded.config;
        // They were opened to see that they can be; those that are in use stay the same ones.
        fresh.caution();
        drop(fresh);
        self.doors.change(next.admin.as_ref(), &self.keyring, &self.desk).await?;
        let before = std::mem::replace(&mut self.current, next.clone());
        counts_later(&before, &next);
        caution(&next);
        self.house.common = Common::from(&next);
        let within = release_within(next.drain_ms);
        let of = |config: &Config, name: &str| config.producers.iter().find(|p| p.name == name).cloned();
        for producer in &before.producers {
            if of(&next, &producer.name).is_none() {
                self.house.close(&producer.name, within).await;
            }
        }
        self.relisten(&before, &mut next).await;
        let mut unserved = Vec::new();
        for producer in &next.producers {
            let name = &producer.name;
            match of(&before, name) {
                // On stdio there is one host, and it was there.
                Some(_) if producer.listen == Listen::Stdio && !self.house.running.contains_key(name) => {}
                Some(_) if self.house.running.contains_key(name) => {
                    self.house.tell(name, Order::Settings(Box::new(producer.clone()), self.house.common));
                }
                _ => {
                    if let Err(why) = self.house.open(producer.clone()).await {
                        tracing::error!(producer = %name, %why, "a new producer is not served; reload again to retry");
                        unserved.push(name.clone());
                    }
                }
            }
        }
        next.producers.retain(|producer| !unserved.contains(&producer.name));
        self.keyring.retain(&next);
        self.desk.describe(&next);
        self.watch.names(&next);
        self.current = next;
        Ok(())
    }
}

/// Whether hosts come in otherwise than before.
fn moves(before: &Producer, next: &Producer) -> bool {
    (&before.listen, &before.listen_tls, &before.listen_auth)
        != (&next.listen, &next.listen_tls, &next.listen_auth)
}

/// Reads the file, and what it names.
fn read(path: &std::path::Path) -> Result<(Loaded, Keyring), String> {
    let loaded = config::load_for(Purpose::Run, path, &|name| std::env::var(name).ok());
    let loaded = loaded.map_err(|errors| errors.to_string())?;
    let fresh = Keyring::default();
    loaded.open_named(&fresh).map_err(|errors| errors.to_string())?;
    Ok((loaded, fresh))
}

/// Says what does not count yet.
fn counts_later(before: &Config, next: &Config) {
    if next.state_dir != before.state_dir {
        tracing::warn!("`state_dir` changed: it counts from the next start on");
    }
    if next.max_journal_bytes != before.max_journal_bytes {
        tracing::warn!("`max_journal_bytes` changed: it counts from the next start on");
    }
    if next.telemetry != before.telemetry {
        tracing::warn!("`[telemetry]` changed: it counts from the next start on");
    }
}

/// Says where a token goes over the network for all to read.
pub(super) fn caution(config: &Config) {
    for said in cautions(config) {
        tracing::warn!("{said}");
    }
}

fn cautions(config: &Config) -> Vec<String> {
    let open = |endpoint: &Endpoint| endpoint.scheme == Scheme::Ws && !endpoint.at.is_loopback();
    let mut said = Vec::new();
    for producer in &config.producers {
        let name = &producer.name;
        if let Listen::On(endpoint) = &producer.listen
            && producer.listen_auth.as_ref().is_some_and(|auth| auth.token.is_some())
            && open(endpoint)
        {
            said.push(format!(
                "producer `{name}`: hosts send the token of `listen_auth` over plain {endpoint}, where it can be read on the way; listen on wss://"
            ));
        }
        if let Peer::Connect(endpoint) = &producer.peer
            && producer.connect_auth.is_some()
            && open(endpoint)
        {
            said.push(format!(
                "producer `{name}`: the token of `connect_auth` goes over plain {endpoint}, where it can be read on the way; connect to wss:// or mcpl://"
            ));
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_token_on_a_plain_address_of_another_machine_is_cautioned_of() {
        let said = |listen: &str, connect: &str| {
            let text = format!(
                "[[producer]]\nname = 'p'\nlisten = '{listen}'\nconnect = '{connect}'\n\
                 listen_auth.token_env = 'HOST'\nconnect_auth.token_env = 'MINE'\n"
            );
            let env = |_: &str| Some("/".to_owned());
            let loaded = config::parse(Purpose::Run, Path::new("x.toml"), &text, &env).unwrap();
            cautions(&loaded.config)
        };
        let both = said("ws://0.0.0.0:1/", "ws://far.example/?token=hush");
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0].contains("listen_auth") && both[1].contains("connect_auth"), "{both:?}");
        assert!(!both.concat().contains("hush"), "{both:?}");
        assert!(said("ws://127.0.0.1:1", "mcpl://far.example").is_empty());
    }
}
