//! `wrap`: from its arguments to what is served (contract section 1).

use std::path::PathBuf;

use super::{args, exit, name, out};
use crate::config::{self, Command, Config, Env, Listen, Loaded, Peer, Producer, Purpose};
use crate::state;

/// What `wrap` serves.
#[derive(Debug)]
pub struct WrapOptions {
    /// Exactly one producer: it listens on stdio and is spawned. `state_dir` is the folder the slots' folder
    /// is in, not a state directory of its own.
    pub config: Config,
    /// The folder of the slots, for [`state::slot::take`].
    pub slots: PathBuf,
}

/// What `wrap` serves, or the exit code, with the reason on stderr.
pub(super) fn options(wrap: args::Wrap, env: Env<'_>) -> Result<WrapOptions, u8> {
    let name = match wrap.name {
        None => name::derive(&wrap.command),
        Some(name) if config::is_name(&name) => name,
        Some(_) => {
            out::complain("error: --name takes 1 to 64 of a-z, 0-9, `.`, `_`, `-`, a letter or digit first");
            return Err(exit::USAGE);
        }
    };
    let mut config = match wrap.config {
        None => bare(&name, env)?,
        Some(path) => {
            let loaded = super::loaded(Purpose::Wrap, &path, env)?;
            let producer = producer_of(&loaded, Some(&name), false)?;
            Config { producers: vec![producer], ..loaded.config }
        }
    };
    for producer in &mut config.producers {
        name.clone_into(&mut producer.name);
        producer.listen = Listen::Stdio;
        producer.peer = Peer::Command(Command { argv: wrap.command.clone(), env: Vec::new(), cwd: None });
    }
    let slots = state::slot::folder(&config.state_dir, &name);
    Ok(WrapOptions { config, slots })
}

/// Without a file: all defaults.
fn bare(name: &str, env: Env<'_>) -> Result<Config, u8> {
    let Some(state_dir) = state::default_dir(env) else {
        // A temporary folder would lose what was accepted; that is not ours to choose.
        out::complain(
            "error: there is no place for state: neither XDG_STATE_HOME nor HOME is set; set one of them",
        );
        return Err(exit::STATE);
    };
    Ok(config::bare(name, state_dir))
}

/// The producer of that name. If there is none of it, or no name is given: the only one, unless the name
/// is `binding`.
pub(super) fn producer_of(loaded: &Loaded, name: Option<&str>, binding: bool) -> Result<Producer, u8> {
    let producers = &loaded.config.producers;
    let same = producers.iter().find(|p| Some(p.name.as_str()) == name);
    let only =
        if binding && name.is_some() { None } else { producers.first().filter(|_| producers.len() == 1) };
    if let Some(producer) = same.or(only) {
        return Ok(producer.clone());
    }
    let names: Vec<&str> = producers.iter().map(|p| p.name.as_str()).collect();
    let wanted = name.unwrap_or_default();
    out::complain(&match name {
        None => format!("error: which producer? There are {}; give one of them", names.join(", ")),
        Some(_) => match config::nearest(wanted, &names) {
            Some(near) => {
                format!("error: there is no producer \"{wanted}\" in the file; did you mean \"{near}\"?")
            }
            None => format!(
                "error: there is no producer \"{wanted}\" in the file; there are {}",
                names.join(", ")
            ),
        },
    });
    Err(if binding { exit::USAGE } else { exit::CONFIG })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::InDoubt;

    fn env(name: &str) -> Option<String> {
        (name == "XDG_STATE_HOME").then(|| "/state".to_owned())
    }

    fn wrap(name: Option<&str>, config: Option<PathBuf>) -> args::Wrap {
        let command = ["node", "discord.js", "--stdio"].map(Into::into).to_vec();
        args::Wrap { name: name.map(ToOwned::to_owned), config, command }
    }

    #[test]
    fn without_a_file_everything_comes_from_the_command() {
        let options = options(wrap(None, None), &env).unwrap();
        assert_eq!(options.slots, Path::new("/state/mcpl-sidecar/wrap/discord"));
        let [producer] = &options.config.producers[..] else { panic!() };
        assert_eq!((producer.name.as_str(), &producer.listen), ("discord", &Listen::Stdio));
        assert_eq!(producer.host.in_doubt, InDoubt::Resend);
        let Peer::Command(command) = &producer.peer else { panic!() };
        assert_eq!(command.argv, ["node", "discord.js", "--stdio"]);
        assert_eq!(options_code(wrap(None, None), &|_| None), exit::STATE);
        assert_eq!(options_code(wrap(Some("No"), None), &env), exit::USAGE);
    }

    fn options_code(wrap: args::Wrap, env: Env<'_>) -> u8 {
        options(wrap, env).unwrap_err()
    }

    #[test]
    fn a_file_gives_settings_but_no_addresses() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("x.toml");
        std::fs::write(
            &path,
            "state_dir = 'here'\n[[producer]]\nname = 'one'\nlisten = 'tcp://127.0.0.1:1'\nconnect = 'tcp://x:1'\n\
             coalesce.quiet_ms = 1\n[[producer]]\nname = 'two'\ncoalesce.quiet_ms = 2\nhost.in_doubt = 'hold'\n",
        )
        .unwrap();
        for (name, quiet, in_doubt) in [("one", 1, InDoubt::Resend), ("two", 2, InDoubt::Hold)] {
            let options = options(wrap(Some(name), Some(path.clone())), &env).unwrap();
            assert_eq!(options.slots, tmp.path().join("here/wrap").join(name));
            let [producer] = &options.config.producers[..] else { panic!() };
            assert_eq!((producer.coalesce.quiet_ms, producer.host.in_doubt), (quiet, in_doubt));
            assert!(matches!((&producer.listen, &producer.peer), (Listen::Stdio, Peer::Command(_))));
        }
        assert_eq!(
            options_code(wrap(None, Some(path.clone())), &env),
            exit::CONFIG,
            "neither is named discord"
        );
        std::fs::write(&path, "[[producer]]\nname = 'one'\ncoalesce.quiet_ms = 1\n").unwrap();
        let options = options(wrap(None, Some(path)), &env).unwrap();
        assert_eq!(
            options.config.producers[0].name, "discord",
            "the only one's settings, under the wrap's name"
        );
        assert_eq!(options.config.producers[0].coalesce.quiet_ms, 1);
    }
}
