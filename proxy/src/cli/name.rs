//! The name of a `wrap` that was given none: from its command (contract section 1).

use std::ffi::OsString;
use std::path::Path;

use crate::config::is_name;

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// What a name is made of when nothing of the command can be used.
const NAMELESS: &str = "producer";

/// Programs whose own name says nothing: what they run is the producer.
const RUNNERS: &[&str] = &[
    "node", "nodejs", "deno", "bun", "bunx", "tsx", "ts-node", "npx", "npm", "pnpm", "yarn", "python",
    "pypy", "uv", "uvx", "pipx", "poetry", "ruby", "bundle", "perl", "php", "java", "dotnet", "go", "cargo",
    "env", "sh", "bash", "zsh",
];

/// Words of such programs that come before what they run.
const VERBS: &[&str] = &["run", "exec", "x", "dlx", "tool"];

/// The name for a command: the program's file name without its extension, or that of the script, module
/// or package it runs; as a binding's name, so lower case and nothing but `a-z0-9._-`.
///
/// It is the same for the same command, but not different for every two: windows of one name share its
/// slots, each taking one of its own.
pub(super) fn derive(argv: &[OsString]) -> String {
    let Some(program) = argv.first().map(|p| p.to_string_lossy()) else { return NAMELESS.to_owned() };
    let program = stem(&program);
    let own = sanitised(&program);
    let run = is_runner(own.as_deref()).then(|| target(&argv[1..])).flatten();
    [run, own].into_iter().flatten().next().unwrap_or_else(|| NAMELESS.to_owned())
}

fn is_runner(name: Option<&str>) -> bool {
    // python3, python3.12: the version is no part of what it is.
    let plain = name.unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNNERS.contains(&plain)
}

/// What a runner runs: its first argument that is no option, variable or verb.
fn target(args: &[OsString]) -> Option<String> {
    let mut args = args.iter().map(|a| a.to_string_lossy());
    while let Some(arg) = args.next() {
        match arg.as_ref() {
            // Code on the command line has no name.
            "-c" | "-e" | "--eval" | "-p" | "--print" => return None,
            "-m" => return args.next().and_then(|module| sanitised(&module)),
            "--package" | "--from" | "--with" | "-r" | "--require" | "--import" | "--loader"
            | "--directory" => {
                args.next();
            }
            verb if VERBS.contains(&verb) => {}
            option if option.starts_with('-') => {}
            variable if is_variable(variable) => {}
            runner if is_runner(sanitised(runner).as_deref()) => {}
            target => return sanitised(&package(target).unwrap_or_else(|| stem(target))),
        }
    }
    None
}

fn is_variable(arg: &str) -> bool {
    arg.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains(['/', '.']))
}

/// `@scope/name@version` and `name@version` without scope and version.
fn package(target: &str) -> Option<String> {
    let scoped = target.strip_prefix('@').and_then(|t| t.split_once('/')).map(|(_, name)| name);
    let name = scoped.unwrap_or(target);
    match name.split_once('@') {
        Some((name, _)) if !name.contains('/') => Some(name.to_owned()),
        _ => scoped.map(ToOwned::to_owned),
    }
}

/// A path's file name without its extension.
fn stem(path: &str) -> String {
    Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn sanitised(text: &str) -> Option<String> {
    let mapped = text.chars().map(|c| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '.' | '_' | '-') => c,
        _ => '-',
    });
    let name: String = mapped.skip_while(|c| !c.is_ascii_alphanumeric()).take(LONGEST).collect();
    let name = name.trim_end_matches(['-', '.']);
    is_name(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(command: &str) -> String {
        derive(&command.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_command_has_the_name_one_would_give_it() {
        for (command, name) in [
            ("discord-mcpl", "discord-mcpl"),
            ("/usr/local/bin/Discord_MCPL --stdio", "discord_mcpl"),
            ("./bridge.exe", "bridge"),
            ("node discord.js --stdio", "discord"),
            ("node --enable-source-maps dist/portal.mjs", "portal"),
            ("node -r dotenv/config discord.js", "discord"),
            ("node -e console.log(1)", "node"),
            ("/usr/bin/python3.12 -u /opt/x/heart_beat.py", "heart_beat"),
            ("python3 -m mcpl.heartbeat", "mcpl.heartbeat"),
            ("python3 -c print(1)", "python3"),
            ("python3", "python3"),
            ("npx -y @animalabs/discord-mcpl@1.2.3 --token x", "discord-mcpl"),
            ("npx -y discord-mcpl@latest", "discord-mcpl"),
            ("uvx --from git+https://x/y heartbeat-mcpl", "heartbeat-mcpl"),
            ("uv run server.py", "server"),
            ("npm exec discord-mcpl", "discord-mcpl"),
            ("env TOKEN=hush node discord.js", "discord"),
            ("bash -c hush", "bash"),
            ("sh start.sh", "start"),
            ("éé", "producer"),
            ("...", "producer"),
            ("", "producer"),
        ] {
            assert_eq!(named(command), name, "{command}");
        }
        assert_eq!(derive(&[]), "producer");
    }

    proptest! {
        #[test]
        fn a_name_is_always_valid(argv in prop::collection::vec(".{0,90}", 0..4)) {
            let name = derive(&argv.into_iter().map(OsString::from).collect::<Vec<_>>());
            prop_assert!(is_name(&name), "{name}");
        }
    }
}
