//! The configuration file: TOML in, a validated [`Config`] out (contract section 2).
//!
//! All errors of a file are found at once, each with its line, column and a remedy ([`Errors`]). Loading
//! has no effect but reading the file, so a reload is [`load`] again: take the new one whole, or keep the
//! old.
//!
//! `${VAR}` in a string value is replaced by the variable; `$${` is a literal `${`. Nothing that came
//! from a variable is in an error or in the effective configuration.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

mod authority;
mod build;
mod doors;
mod effective;
mod endpoint;
mod errors;
mod identity;
mod keys;
mod model;
mod named;
mod nearest;
mod preset;
mod reach;
mod read;
mod refusal;
mod resolve;
mod rule;
mod schema;
mod subject;
mod substitute;
#[cfg(test)]
mod tests;

pub use self::authority::Authority;
pub use self::endpoint::{Endpoint, Scheme, Shown};
pub use self::errors::{Errors, Problem, SHOWN};
pub use self::identity::{Admin, ConnectAuth, ConnectTls, ListenAuth, ListenTls, TokenSource};
pub use self::model::{
    Coalesce, Command, Config, Dedup, Forward, Host, InDoubt, Limits, Listen, LogFormat, LogLevel, Mode,
    Pattern, Peer, Position, Producer, Profile, Refusals, Rule, Shims, Telemetry, TokenForm, Uncoalesced,
};
pub use self::schema::schema;
pub use self::substitute::Env;

pub(crate) use self::build::is_name;
pub(crate) use self::nearest::nearest;

/// The largest file that is read, in bytes; a larger one is no configuration.
pub const LARGEST_FILE_BYTES: u64 = 4 << 20;

/// What a configuration is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// `run` and `check`: every producer has `listen` and one of `command` and `connect`.
    Run,
    /// `wrap` and `classify`: settings only; `listen`, `command` and `connect` may be absent (then `listen`
    /// reads as stdio and `peer` as a command without a program), and `in_doubt` is `resend` by default.
    Wrap,
}

/// A configuration with what is needed to print it, and to say where it names something.
#[derive(Clone)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    section: read::Section,
    path: PathBuf,
    text: String,
    folder: PathBuf,
    purpose: Purpose,
}

/// Not the text, which may hold secrets.
impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("path", &self.path)
            .field("purpose", &self.purpose)
            .finish_non_exhaustive()
    }
}

impl Loaded {
    /// The effective configuration as TOML, defaults included; `env` values are `***`, and a string with a
    /// variable in it is shown as in the file. Reads back as the same configuration, but for those.
    pub fn effective(&self) -> String {
        effective::effective(&self.config, &self.section, &self.folder, self.purpose)
    }
}

/// Loads a file for `run`.
///
/// # Errors
/// Everything that is wrong with the file; one error if it cannot be read or is not TOML.
pub fn load(path: &Path, env: Env<'_>) -> Result<Config, Errors> {
    load_for(Purpose::Run, path, env).map(|loaded| loaded.config)
}

/// Loads a file for a purpose; keeps what is needed to print it.
///
/// # Errors
/// As [`load`].
pub fn load_for(purpose: Purpose, path: &Path, env: Env<'_>) -> Result<Loaded, Errors> {
    let text = text_of(path)?;
    parse(purpose, path, &text, env)
}

/// Reads the text of a configuration file; `path` names it in errors, and its folder is where relative
/// paths start.
///
/// # Errors
/// As [`load`].
pub fn parse(purpose: Purpose, path: &Path, text: &str, env: Env<'_>) -> Result<Loaded, Errors> {
    // A byte order mark is an editor's, not the user's; its column is not counted.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut faults = errors::Faults::new(text);
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            faults.add(at, format!("this is not TOML: {}", error.message()), "see toml.io for the syntax");
            return Err(faults.into_errors(path));
        }
    };
    let mut section =
        read::Reader { faults: &mut faults, env }.section(document.get_ref(), 0, keys::FILE, "");
    preset::expand(&mut section);
    // Absolute, so that what is loaded means the same wherever it is used and shown.
    let path_at = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = path_at.parent().map(ToOwned::to_owned).unwrap_or_default();
    let state_dir = crate::state::default_dir(env);
    let config = build::Builder { faults: &mut faults, purpose, folder: &folder, state_dir }.config(&section);
    if faults.is_empty() {
        Ok(Loaded { config, section, path: path.to_owned(), text: text.to_owned(), folder, purpose })
    } else {
        Err(faults.into_errors(path))
    }
}

/// The settings of a producer that no file configures: all defaults, those of `wrap`.
pub fn defaults(name: &str) -> (Producer, Telemetry) {
    let mut faults = errors::Faults::new("");
    let mut builder = bare_builder(&mut faults, None);
    // Nothing is said here, so the only fault there can be is the missing name, which follows.
    let mut producer = builder.producer(&read::Section::empty(keys::PRODUCER));
    name.clone_into(&mut producer.name);
    (producer, builder.telemetry(&read::Section::empty(keys::TELEMETRY)))
}

/// What `wrap` without `--config` serves: one producer of that name, all defaults.
pub fn bare(name: &str, state_dir: PathBuf) -> Config {
    let mut faults = errors::Faults::new("");
    // The fault of a file without producers; it gets one here.
    let config = bare_builder(&mut faults, Some(state_dir)).config(&read::Section::empty(keys::FILE));
    Config { producers: vec![defaults(name).0], ..config }
}

fn bare_builder<'f, 't>(
    faults: &'f mut errors::Faults<'t>,
    state_dir: Option<PathBuf>,
) -> build::Builder<'f, 't> {
    build::Builder { faults, purpose: Purpose::Wrap, folder: Path::new(""), state_dir }
}

fn text_of(path: &Path) -> Result<String, Errors> {
    use std::io::Read as _;
    const HINT: &str = "give the path of a readable TOML file with --config";
    let unreadable = |why: &dyn std::fmt::Display| {
        Errors::whole_file(path, format!("the file cannot be read: {why}"), HINT)
    };
    let file = std::fs::File::open(path).map_err(|e| unreadable(&e))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    if bytes.len() as u64 > LARGEST_FILE_BYTES {
        return Err(unreadable(&format_args!("it is larger than {LARGEST_FILE_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
        let mut faults = errors::Faults::new(&text);
        faults.add(valid, "this is not TOML: a byte here is not UTF-8", "save the file as UTF-8");
        faults.into_errors(path)
    })
}
