//! What the metrics say of our certificates (contract 10.2).

use super::FrontDesk;
use crate::config::Config;
use crate::telemetry::names::Role;

impl<R> FrontDesk<R> {
    /// What the metrics say of our certificates is what the stores have published.
    pub(in crate::serve) fn certify(&self, config: &Config) {
        let Some(board) = self.telemetry.board() else { return };
        let mut all = Vec::new();
        let listens = config.producers.iter().map(|p| (Some(&*p.name), Role::Listen, p.listen_tls.as_ref()));
        let admin = config.admin.iter().map(|admin| (None, Role::Admin, admin.tls.as_ref()));
        for (producer, role, tls) in listens.chain(admin) {
            let ends = tls.and_then(|tls| self.keyring.server_standing(tls)).and_then(|it| it.not_after);
            all.extend(ends.map(|ends| (producer, role, ends)));
        }
        for producer in &config.producers {
            let tls = producer.connect_tls.as_ref();
            let standing = tls.and_then(|tls| self.keyring.client_standing(Some(tls)));
            let ends = standing.and_then(|standing| standing.not_after);
            all.extend(ends.map(|ends| (Some(&*producer.name), Role::Connect, ends)));
        }
        board.certify(all);
    }
}
