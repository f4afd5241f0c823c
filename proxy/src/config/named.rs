//! The files and variables that a configuration names, looked into: certificates, keys, tokens.

use std::path::Path;

use mcpl_certs::Fault;

use super::endpoint::Scheme;
use super::errors::{Errors, Faults};
use super::identity::{ConnectTls, ListenTls, TokenSource};
use super::model::{Config, Peer};
use super::read::{Section, Text};
use super::{Loaded, build};
use crate::keyring::Keyring;
use crate::token::Token;

impl Loaded {
    /// Reads what the file names, whether it can be used: certificates, keys, CAs and tokens. The stores are
    /// in the keyring then.
    ///
    /// # Errors
    /// Everything that cannot be used, at the key that names it.
    pub fn open_named(&self, keyring: &Keyring) -> Result<(), Errors> {
        let mut reader = Reader { faults: Faults::new(&self.text), folder: &self.folder, keyring };
        reader.config(&self.config, &self.section);
        if reader.faults.is_empty() { Ok(()) } else { Err(reader.faults.into_errors(&self.path)) }
    }
}

struct Reader<'l> {
    faults: Faults<'l>,
    folder: &'l Path,
    keyring: &'l Keyring,
}

impl Reader<'_> {
    fn config(&mut self, config: &Config, file: &Section) {
        if let (Some(admin), Some(section)) = (&config.admin, file.table("admin")) {
            if let Some(tls) = &admin.tls {
                self.listen_tls(tls, &section.sub("tls"), "admin.tls");
            }
            if let Some(token) = &admin.token_file {
                self.token(&TokenSource::File(token.clone()), section, "admin");
            }
        }
        for (producer, section) in config.producers.iter().zip(file.tables("producer")) {
            if let Some(tls) = &producer.listen_tls {
                self.listen_tls(tls, &section.sub("listen_tls"), "producer.listen_tls");
            }
            if let Some(token) = producer.listen_auth.as_ref().and_then(|auth| auth.token.as_ref()) {
                self.token(token, &section.sub("listen_auth"), "producer.listen_auth");
            }
            if let Peer::Connect(endpoint) = &producer.peer
                && matches!(endpoint.scheme, Scheme::Wss | Scheme::Mcpl)
            {
                self.connect_tls(producer.connect_tls.as_ref(), section);
            }
            if let Some(auth) = &producer.connect_auth {
                self.token(&auth.token, &section.sub("connect_auth"), "producer.connect_auth");
            }
        }
    }

    fn listen_tls(&mut self, tls: &ListenTls, section: &Section, path: &str) {
        if let Err(fault) = self.keyring.server(tls) {
            let ca = tls.client_ca_file.as_deref();
            let certs = std::iter::once(&*tls.cert_file).chain(ca);
            self.pem(fault, certs, Some(&tls.key_file), section, path);
        }
    }

    fn connect_tls(&mut self, tls: Option<&ConnectTls>, producer: &Section) {
        let Err(fault) = self.keyring.client(tls) else { return };
        match tls.zip(producer.table("connect_tls")) {
            Some((tls, section)) => {
                let certs = [tls.ca_file.as_deref(), tls.cert_file.as_deref()].into_iter().flatten();
                self.pem(fault, certs, tls.key_file.as_deref(), section, "producer.connect_tls");
            }
            None => self.faults.add(
                producer.place("connect"),
                format!("`producer.connect`: {}: {}", fault.path.display(), fault.wrong),
                fault.wrong.hint(),
            ),
        }
    }

    /// What is wrong with the files of a table: what the store says, and what each file alone is not.
    fn pem<'p>(
        &mut self,
        fault: Fault,
        certs: impl Iterator<Item = &'p Path>,
        key: Option<&Path>,
        section: &Section,
        path: &str,
    ) {
        let certs = certs.filter_map(|file| mcpl_certs::certificates(file).err());
        let key = key.and_then(|file| mcpl_certs::private_key(file).err());
        let mut all = vec![fault];
        for fault in certs.chain(key) {
            if all.iter().all(|before| before.path != fault.path) {
                all.push(fault);
            }
        }
        for Fault { path: file, wrong } in all {
            let names = ["cert_file", "key_file", "client_ca_file", "ca_file"];
            let named = names.into_iter().filter(|name| section.keys.iter().any(|key| key.name == *name));
            let named = named.filter_map(|name| section.text(name).map(|text| (name, text)));
            let mut named = named.filter(|(_, text)| build::resolve(self.folder, &text.value) == file);
            let (name, at, shown) = match named.next() {
                // What a variable holds is not shown.
                Some((name, text)) if text.secret => (format!("{path}.{name}"), text.at.start, text.shown()),
                Some((name, text)) => (format!("{path}.{name}"), text.at.start, file.display().to_string()),
                None => (path.to_owned(), section.at, file.display().to_string()),
            };
            self.faults.add(at, format!("`{name}`: {shown}: {wrong}"), wrong.hint());
        }
    }

    fn token(&mut self, source: &TokenSource, section: &Section, path: &str) {
        let Err(error) = Token::from(source).check() else { return };
        let (name, hint) = match source {
            TokenSource::File(_) => ("token_file", "write the token into a file that this program can read"),
            TokenSource::Env(_) => ("token_env", "set the variable where this program is started"),
        };
        let shown = section.text(name).map_or_else(String::new, Text::shown);
        self.faults.add(section.place(name), format!("`{path}.{name}` = \"{shown}\": {error}"), hint);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{Purpose, parse};
    use crate::keyring::Keyring;

    #[test]
    fn each_file_that_cannot_be_used_is_named_where_it_is_written() {
        let tmp = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(tmp.path().join(name), text).unwrap();
        write("empty.crt", "");
        write("empty.token", " \n");
        let text = "[admin]\nlisten = '127.0.0.1:0'\ntoken_file = 'empty.token'\n\
                    [[producer]]\nname = 'p'\nlisten = 'wss://127.0.0.1:1'\nconnect = 'mcpl://x'\n\
                    [producer.listen_tls]\ncert_file = 'empty.crt'\nkey_file = '${SECRET}.key'\n\
                    client_ca_file = 'no.ca'\n\
                    [producer.connect_tls]\nca_file = 'empty.crt'\n\
                    [producer.connect_auth]\ntoken_env = 'MCPL_NO_SUCH_VARIABLE'\n";
        let env = |name: &str| Some(if name == "SECRET" { "hush".to_owned() } else { "/".to_owned() });
        let file = tmp.path().join("x.toml");
        let loaded = parse(Purpose::Run, &file, text, &env).unwrap();
        let errors = loaded.open_named(&Keyring::default()).unwrap_err().to_string();
        let folder = tmp.path().display();
        let said: Vec<String> = errors
            .lines()
            .map(|line| line.replace(&format!("{folder}/x.toml:"), "").replace(&format!("{folder}/"), ""))
            .map(|line| line.split("; hint: ").next().unwrap().to_owned())
            .collect();
        assert_eq!(
            said,
            [
                "3:14: `admin.token_file` = \"empty.token\": it has no token in it",
                "9:13: `producer.listen_tls.cert_file`: empty.crt: holds no certificate",
                "10:12: `producer.listen_tls.key_file`: ${SECRET}.key: cannot be read (entity not found)",
                "11:18: `producer.listen_tls.client_ca_file`: no.ca: cannot be read (entity not found)",
                "13:11: `producer.connect_tls.ca_file`: empty.crt: holds no certificate",
                "15:13: `producer.connect_auth.token_env` = \"MCPL_NO_SUCH_VARIABLE\": the environment variable MCPL_NO_SUCH_VARIABLE is not set",
            ],
            "{errors}"
        );
        assert!(!errors.contains("hush"), "{errors}");
    }

    #[test]
    fn a_file_that_names_nothing_needs_nothing() {
        let text = "[[producer]]\nname = 'p'\nlisten = 'stdio'\nconnect = 'ws://x'\n";
        let loaded =
            parse(Purpose::Run, Path::new("/nowhere/x.toml"), text, &|_| Some("/".to_owned())).unwrap();
        assert_eq!(loaded.open_named(&Keyring::default()), Ok(()));
    }
}
