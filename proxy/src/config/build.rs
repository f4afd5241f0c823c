//! From [`Section`]s to the [`Config`]: what one key alone cannot tell is checked here.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use mcpl_policy::rules::Rules;

use super::Purpose;
use super::authority::Authority;
use super::endpoint::{Endpoint, Side};
use super::errors::Faults;
use super::identity::Admin;
use super::model::{
    Coalesce, Command, Config, Dedup, Forward, Host, InDoubt, Limits, Listen, LogFormat, LogLevel, Mode,
    Peer, Position, Producer, Profile, Refusals, Shims, Telemetry, Uncoalesced,
};
use super::nearest::nearest;
use super::read::{Section, Text, Value, one_of};
use super::{rule, subject};

/// Builds the configuration of a file that has been read; what is wrong is noted in `faults`, and then
/// the result is of no use.
pub(super) struct Builder<'f, 't> {
    pub(super) faults: &'f mut Faults<'t>,
    pub(super) purpose: Purpose,
    /// The folder of the file, for relative paths.
    pub(super) folder: &'f Path,
    /// Where state lies unless the file says so; `None`: nowhere is known.
    pub(super) state_dir: Option<PathBuf>,
}

impl Builder<'_, '_> {
    pub(super) fn config(&mut self, file: &Section) -> Config {
        let state_dir =
            self.path(file.text("state_dir"), "state_dir").or(self.state_dir.take()).unwrap_or_else(|| {
                if !file.has("state_dir") {
                    self.faults.add(
                        0,
                        "`state_dir` has no default here: neither XDG_STATE_HOME nor HOME is set",
                        "write state_dir = \"/a/folder\", or set XDG_STATE_HOME",
                    );
                }
                PathBuf::new()
            });
        let telemetry = self.telemetry(&file.sub("telemetry"));
        let admin = file.table("admin").map(|a| self.admin(a));
        let sections = file.tables("producer");
        if sections.is_empty() && !file.has("producer") {
            self.faults.add(
                0,
                "there is no [[producer]]",
                "add one: [[producer]] with name, listen and command or connect",
            );
        } else if sections.is_empty() && file.value("producer").is_some() {
            self.faults.add(
                file.place("producer"),
                "`producer` is empty",
                "add a [[producer]] with name, listen and command or connect",
            );
        }
        let producers: Vec<Producer> = sections.iter().map(|s| self.producer(s)).collect();
        self.names(sections);
        self.doors(admin.as_ref(), sections, &producers);
        Config {
            state_dir,
            max_journal_bytes: unsigned(file, "max_journal_bytes"),
            max_dead_letters: unsigned(file, "max_dead_letters") as usize,
            journal_wait_ms: unsigned(file, "journal_wait_ms"),
            drain_ms: unsigned(file, "drain_ms"),
            admin,
            telemetry,
            producers,
        }
    }

    pub(super) fn telemetry(&mut self, section: &Section) -> Telemetry {
        let text = section.text("otlp_endpoint");
        if let Some(text) = text
            && let Err(why) = check_url(&text.value)
        {
            let hint = "write http://HOST:PORT or https://HOST:PORT";
            self.faults.add(
                text.at.start,
                format!("`telemetry.otlp_endpoint` = \"{}\": {why}", text.shown_address()),
                hint,
            );
        }
        Telemetry {
            otlp_endpoint: text.map(|t| t.value.clone()),
            log: chosen(section, "log", LogLevel::named, LogLevel::Info),
            log_format: chosen(section, "log_format", LogFormat::named, LogFormat::Text),
        }
    }

    fn admin(&mut self, section: &Section) -> Admin {
        const HINT: &str = "write ADDRESS:PORT, such as 127.0.0.1:9464";
        let mut listen = Authority { host: "127.0.0.1".to_owned(), port: 0 };
        match section.text("listen") {
            Some(text) => match Authority::read(&text.value, None) {
                Ok(at) => {
                    if !at.is_loopback() && !section.has("token_file") {
                        self.faults.add(
                            text.at.start,
                            format!("`admin.listen` = \"{}\" is not a loopback address, and there is no `admin.token_file`", text.shown()),
                            "add token_file = \"admin.token\", or listen on 127.0.0.1",
                        );
                    }
                    listen = at;
                }
                Err(why) => {
                    let message = format!("`admin.listen` = \"{}\" is no address: {why}", text.shown());
                    self.faults.add(text.at.start, message, HINT);
                }
            },
            None if !section.has("listen") => self.faults.add(section.at, "`admin.listen` is missing", HINT),
            None => {}
        }
        Admin {
            listen,
            token_file: self.path(section.text("token_file"), "admin.token_file"),
            show_content: section.flag("show_content"),
            tls: section.table("tls").map(|tls| self.listen_tls(tls, "admin.tls")),
        }
    }

    pub(super) fn producer(&mut self, section: &Section) -> Producer {
        let name = match section.text("name") {
            Some(text) if is_name(&text.value) => text.value.clone(),
            Some(text) => {
                let message = format!("`producer.name` cannot be \"{}\"", text.shown());
                let hint = "1 to 64 of a-z, 0-9, `.`, `_`, `-`, a letter or digit first";
                self.faults.add(text.at.start, message, hint);
                String::new()
            }
            None => {
                self.missing(section, "name", "write name = \"…\": a-z, 0-9, `.`, `_`, `-`");
                String::new()
            }
        };
        let (listen, peer) = (self.listen(section), self.peer(section));
        let reach = self.reach(section, &listen, &peer);
        Producer {
            name,
            listen,
            listen_tls: reach.listen_tls,
            listen_auth: reach.listen_auth,
            peer,
            connect_tls: reach.connect_tls,
            connect_auth: reach.connect_auth,
            expires_after_ms: unsigned(section, "expires_after_ms"),
            connect_timeout_ms: unsigned(section, "connect_timeout_ms"),
            host: self.host(&section.sub("host")),
            coalesce: coalesce(&section.sub("coalesce")),
            forward: forward(&section.sub("forward")),
            limits: limits(&section.sub("limits")),
            refusals: self.refusals(&section.sub("refusals")),
            undelivered: section.flag("undelivered"),
            subjects: Rules::new(
                section.tables("subject").iter().filter_map(|s| subject::rule(self.faults, s)).collect(),
            ),
        }
    }

    fn missing(&mut self, section: &Section, name: &str, hint: &str) {
        if !section.has(name) {
            self.faults.add(section.at, format!("`producer.{name}` is missing"), hint);
        }
    }

    fn listen(&mut self, section: &Section) -> Listen {
        match section.text("listen") {
            Some(text) if text.value == "stdio" => return Listen::Stdio,
            Some(text) => {
                if let Some(endpoint) = self.endpoint(text, "listen", Side::Listen) {
                    return Listen::On(endpoint);
                }
            }
            None if self.purpose == Purpose::Run => self.missing(section, "listen", Side::Listen.forms()),
            None => {}
        }
        Listen::Stdio
    }

    fn endpoint(&mut self, text: &Text, key: &str, side: Side) -> Option<Endpoint> {
        match Endpoint::read(&text.value, side) {
            Ok(endpoint) => Some(endpoint.written_as(&text.written)),
            Err(why) => {
                let message = format!("`producer.{key}` = \"{}\" is no address: {why}", text.shown_address());
                self.faults.add(text.at.start, message, side.forms());
                None
            }
        }
    }

    fn peer(&mut self, section: &Section) -> Peer {
        let cwd = self.path(section.text("cwd"), "producer.cwd");
        let connect = section.text("connect").map(|t| self.endpoint(t, "connect", Side::Connect));
        let argv: Vec<OsString> = section.list("command").into_iter().map(OsString::from).collect();
        if section.value("command").is_some() && argv.first().is_none_or(|program| program.is_empty()) {
            let hint = "write command = [\"program\", \"argument\"]";
            self.faults.add(section.place("command"), "`producer.command` names no program", hint);
        }
        match (section.has("command"), section.has("connect")) {
            (true, true) => {
                let at = section.place("command").max(section.place("connect"));
                self.faults.add(
                    at,
                    "`producer.command` and `producer.connect` exclude each other",
                    "take one of the two out",
                );
            }
            (false, false) if self.purpose == Purpose::Run => {
                let hint =
                    "write command = [\"program\"] to spawn it, or connect = \"tcp://HOST:PORT\" to dial it";
                self.faults.add(
                    section.at,
                    "neither `producer.command` nor `producer.connect` is there",
                    hint,
                );
            }
            _ => {}
        }
        if let Some(endpoint) = connect.flatten() {
            return Peer::Connect(endpoint);
        }
        let env = section.secrets("env").iter().map(|(name, text)| (name.clone(), text.value.clone()));
        Peer::Command(Command { argv, env: env.collect(), cwd })
    }

    fn refusals(&mut self, section: &Section) -> Refusals {
        Refusals {
            retry_after_ms: unsigned(section, "retry_after_ms"),
            rules: section.tables("rule").iter().filter_map(|s| rule::rule(self.faults, s)).collect(),
        }
    }

    fn host(&mut self, section: &Section) -> Host {
        let mut host = host(section, self.purpose);
        let Some(Value::List(named)) = section.value("shims") else { return host };
        for text in named {
            match &*text.value {
                "feature-sets-object" => host.shims.feature_sets_object = true,
                "policy-receipt" => host.shims.policy_receipt = true,
                other => {
                    let near = nearest(other, Shims::NAMES).filter(|_| !text.secret);
                    let near = near.map_or_else(String::new, |near| format!("did you mean \"{near}\"? "));
                    self.faults.add(
                        text.at.start,
                        format!("`producer.host.shims` has none named \"{}\"", text.shown()),
                        format!("{near}{}", one_of(Shims::NAMES)),
                    );
                }
            }
        }
        host
    }

    /// A path, relative to the file.
    pub(super) fn path(&mut self, text: Option<&Text>, key: &str) -> Option<PathBuf> {
        let text = text?;
        if text.value.is_empty() {
            self.faults.add(
                text.at.start,
                format!("`{key}` is empty"),
                "write a path, `.` for the folder of this file",
            );
        }
        Some(resolve(self.folder, &text.value))
    }

    fn names(&mut self, sections: &[Section]) {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for text in sections.iter().filter_map(|s| s.text("name")) {
            match first.get(text.value.as_str()) {
                None => drop(first.insert(&text.value, text.at.start)),
                Some(_) => self.faults.add(
                    text.at.start,
                    format!("two producers are named \"{}\"", text.shown()),
                    "give each [[producer]] a name of its own",
                ),
            }
        }
    }
}

/// Whether a text is a binding's name: `[a-z0-9][a-z0-9._-]{0,63}`.
pub(crate) fn is_name(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 64
        && text.bytes().next().is_some_and(letter)
        && text.bytes().all(|b| letter(b) || b"._-".contains(&b))
}

/// A path of the file: relative to the folder the file is in.
pub(super) fn resolve(folder: &Path, path: &str) -> PathBuf {
    match path {
        "." | "./" => folder.to_owned(),
        _ => folder.join(path.strip_prefix("./").unwrap_or(path)),
    }
}

fn check_url(text: &str) -> Result<(), String> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
        .ok_or("it is no http:// or https:// URL")?;
    if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("white space may not be in a URL".to_owned());
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("a user or password may not be in it; use OTEL_EXPORTER_OTLP_HEADERS".to_owned());
    }
    match Authority::read(authority, Some(80))? {
        Authority { port: 0, .. } => Err("port 0 cannot be dialled".to_owned()),
        _ => Ok(()),
    }
}

fn host(section: &Section, purpose: Purpose) -> Host {
    let in_doubt = match purpose {
        // Nobody looks after the journal of a drop-in: at least once is what its user expects.
        Purpose::Wrap if !section.has("in_doubt") => InDoubt::Resend,
        _ => chosen(section, "in_doubt", InDoubt::named, InDoubt::Hold),
    };
    Host {
        profile: chosen(section, "profile", Profile::named, Profile::Generic),
        dedup: section.choice("dedup").and_then(Dedup::named),
        in_doubt,
        policy_wait_ms: unsigned(section, "policy_wait_ms"),
        shims: Shims::default(),
    }
}

fn coalesce(section: &Section) -> Coalesce {
    Coalesce {
        mode: chosen(section, "mode", Mode::named, Mode::Auto),
        quiet_ms: unsigned(section, "quiet_ms"),
        max_hold_ms: unsigned(section, "max_hold_ms"),
        while_busy: section.flag("while_busy"),
        busy_max_ms: unsigned(section, "busy_max_ms"),
        urgent_tags: section.list("urgent_tags"),
        position: chosen(section, "position", Position::named, Position::Auto),
        initial: section.flag("initial"),
        max_subjects: unsigned(section, "max_subjects") as usize,
        max_held_bytes: unsigned(section, "max_held_bytes"),
        retry_window_ms: unsigned(section, "retry_window_ms"),
        render_timeout_ms: unsigned(section, "render_timeout_ms"),
    }
}

fn forward(section: &Section) -> Forward {
    Forward { uncoalesced: chosen(section, "uncoalesced", Uncoalesced::named, Uncoalesced::Pass) }
}

fn limits(section: &Section) -> Limits {
    Limits {
        rate_per_s: section.number("rate_per_s"),
        burst: unsigned(section, "burst") as u32,
        channel_rate_per_s: section.number("channel_rate_per_s"),
        channel_burst: unsigned(section, "channel_burst") as u32,
        forward_rate_per_s: section.number("forward_rate_per_s"),
        in_flight: unsigned(section, "in_flight") as usize,
        max_content_bytes: unsigned(section, "max_content_bytes"),
        max_message_bytes: unsigned(section, "max_message_bytes") as usize,
    }
}

/// An integer that its key's range keeps from being negative, and small enough for what it becomes.
fn unsigned(section: &Section, name: &str) -> u64 {
    section.integer(name).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

fn chosen<T>(section: &Section, name: &str, named: fn(&str) -> Option<T>, or: T) -> T {
    section.choice(name).and_then(named).unwrap_or(or)
}
