//! No two listeners may share an address, unless they are told apart by their paths.

use std::collections::HashMap;

use super::authority::Authority;
use super::build::Builder;
use super::endpoint::{Endpoint, Scheme};
use super::identity::Admin;
use super::model::{Listen, Producer};
use super::read::{Section, Text};

/// Who listens at an address.
enum Door<'p> {
    Admin,
    Lines,
    /// WebSocket: of every path one, all with the same TLS.
    Paths(Scheme, Vec<(&'p str, &'p Text, &'p Producer, &'p Section)>),
}

impl Builder<'_, '_> {
    /// Notes listeners that are in each other's way.
    pub(super) fn doors(&mut self, admin: Option<&Admin>, sections: &[Section], producers: &[Producer]) {
        let mut stdio = false;
        let mut doors: HashMap<&Authority, Door<'_>> = HashMap::new();
        if let Some(admin) = admin.filter(|admin| admin.listen.port != 0) {
            doors.insert(&admin.listen, Door::Admin);
        }
        for (section, producer) in sections.iter().zip(producers) {
            let Some(text) = section.text("listen") else { continue };
            match &producer.listen {
                // Faulty addresses read as stdio; only a true one counts.
                Listen::Stdio if text.value != "stdio" => {}
                Listen::Stdio if stdio => self.taken(
                    text,
                    "another producer",
                    "only one producer can have our stdin and stdout: give the other a tcp:// address",
                ),
                Listen::Stdio => stdio = true,
                Listen::On(endpoint) if endpoint.at.port == 0 => {}
                Listen::On(endpoint) => self.door(&mut doors, endpoint, text, producer, section),
            }
        }
    }

    fn door<'p>(
        &mut self,
        doors: &mut HashMap<&'p Authority, Door<'p>>,
        endpoint: &'p Endpoint,
        text: &'p Text,
        producer: &'p Producer,
        section: &'p Section,
    ) {
        let is_lines = endpoint.scheme == Scheme::Tcp;
        match doors.get_mut(&endpoint.at) {
            None if is_lines => drop(doors.insert(&endpoint.at, Door::Lines)),
            None => {
                let first = (endpoint.path(), text, producer, section);
                doors.insert(&endpoint.at, Door::Paths(endpoint.scheme, vec![first]));
            }
            Some(Door::Admin) => {
                self.taken(text, "the admin listener", "give each listener an address of its own");
            }
            Some(Door::Paths(scheme, paths)) if !is_lines => {
                if *scheme != endpoint.scheme {
                    let other = format!("another producer with {}://", scheme.as_str());
                    return self.taken(
                        text,
                        &other,
                        "give each listener an address of its own, or one scheme",
                    );
                }
                if paths.iter().any(|(path, ..)| *path == endpoint.path()) {
                    return self.taken(
                        text,
                        "another producer",
                        "give each listener an address of its own, or a path of its own",
                    );
                }
                if let Some((_, first, other, tls)) = paths.first()
                    && other.listen_tls != producer.listen_tls
                {
                    // A missing table was noted already.
                    if other.listen_tls.is_some() && producer.listen_tls.is_some() {
                        self.unlike(tls, first);
                        self.unlike(section, text);
                    }
                }
                paths.push((endpoint.path(), text, producer, section));
            }
            Some(_) => self.taken(text, "another producer", "give each listener an address of its own"),
        }
    }

    fn taken(&mut self, text: &Text, by: &str, hint: &str) {
        let message = format!("`producer.listen` = \"{}\" is listened to already by {by}", text.shown());
        self.faults.add(text.at.start, message, hint);
    }

    fn unlike(&mut self, section: &Section, text: &Text) {
        self.faults.add(
            section.place("listen_tls"),
            format!("two producers listen at \"{}\" with unlike `listen_tls`", text.shown()),
            "one listener has one TLS: make the tables the same, or give each an address of its own",
        );
    }
}
