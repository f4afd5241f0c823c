//! The command line (contract section 1).
//!
//! Each command is read, what it needs is loaded, and the work is handed on. Exit codes are in [`exit`].

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::config::{self, Env, Loaded, Purpose};
use crate::keyring::Keyring;

mod args;
mod certs;
mod classify;
pub mod exit;
mod journal;
pub mod log;
mod name;
pub mod out;
mod wrap;

pub use self::wrap::WrapOptions;

/// The program: reads the arguments of the process, does what they say, and says how it went.
pub fn main() -> ExitCode {
    // A panic is our fault, whatever thread it is in; its message has gone to stderr already.
    std::panic::catch_unwind(command).unwrap_or_else(|_| ExitCode::from(exit::INTERNAL))
}

fn command() -> ExitCode {
    match args::Arguments::try_parse() {
        Ok(arguments) => dispatch(arguments.command, &process_env),
        Err(error) => {
            // A closed stdout or stderr changes nothing about how it went.
            let _ = error.print();
            match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
                _ => ExitCode::from(exit::USAGE),
            }
        }
    }
}

fn dispatch(command: args::Command, env: Env<'_>) -> ExitCode {
    let done = match command {
        args::Command::Run(run) => loaded(Purpose::Run, &run.config, env).map(|loaded| {
            let _log = log::start(&loaded.config.telemetry);
            crate::serve::run(&loaded, &run.config)
        }),
        args::Command::Wrap(wrap) => wrap::options(wrap, env).map(|options| {
            let _log = log::start(&options.config.telemetry);
            crate::serve::wrap(options)
        }),
        args::Command::Check(check) => loaded(Purpose::Run, &check.config, env).and_then(|loaded| {
            if check.files {
                loaded.open_named(&Keyring::default()).map_err(|errors| {
                    out::complain(&errors.to_string());
                    exit::CONFIG
                })?;
            }
            Ok(printed(&loaded.effective()))
        }),
        args::Command::Classify(classify) => classify::classify(&classify, env).map(|()| ExitCode::SUCCESS),
        args::Command::Journal(journal) => journal::journal(journal, env),
        args::Command::Certs(certs) => certs::certs(&certs),
        // A schema always has a text: its keys are strings.
        args::Command::Schema => Ok(printed(&format!("{:#}\n", config::schema()))),
        args::Command::Demo(demo) => Ok(demo.live.map_or_else(crate::demo::run, crate::demo::live)),
    };
    done.unwrap_or_else(ExitCode::from)
}

/// A loaded file, or the exit code, with every error on stderr.
fn loaded(purpose: Purpose, path: &Path, env: Env<'_>) -> Result<Loaded, u8> {
    config::load_for(purpose, path, env).map_err(|errors| {
        out::complain(&errors.to_string());
        exit::CONFIG
    })
}

fn printed(text: &str) -> ExitCode {
    match out::print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            out::complain(&format!("error: stdout cannot be written: {why}"));
            ExitCode::from(exit::INTERNAL)
        }
    }
}

/// A variable of the process; HOME is looked up in the user database if it is not set, since hosts start
/// their servers with next to no environment.
fn process_env(name: &str) -> Option<String> {
    let set = std::env::var(name).ok();
    if name == "HOME" {
        set.or_else(|| std::env::home_dir()?.into_os_string().into_string().ok())
    } else {
        set
    }
}
