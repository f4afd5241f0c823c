//! The command line, as clap reads it (contract section 1).

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::certs::args::{CERTS, CERTS_EXAMPLES, Certs};
use super::journal::args::{JOURNAL, JOURNAL_EXAMPLES, Journal};

const ABOUT: &str = "A sidecar between one MCPL producer and one MCPL host.

It folds what nobody has read yet, turns the host's refusals into fields a program can act on, paces the \
traffic, and passes everything else through byte for byte.";

const EXIT: &str = "\
Exit codes:
  0   ok
  64  usage
  65  the revision has changed (journal resolve)
  69  the producer could not be started (wrap), an address cannot be listened at (run)
  70  internal error
  73  the state directory is in use, or cannot be written
  78  configuration";

const LOGS: &str =
    "Logs go to stderr, never to stdout; [telemetry] log and log_format choose level and form.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "mcpl-sidecar", version, about = "A sidecar between one MCPL producer and one MCPL host", long_about = ABOUT)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_long_help = format!("Examples:
  mcpl-sidecar wrap -- node discord.js --stdio
  mcpl-sidecar check --config sidecar.toml
  mcpl-sidecar run --config sidecar.toml
  mcpl-sidecar journal list --config sidecar.toml
  mcpl-sidecar demo

{EXIT}"))]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve every [[producer]] of a configuration file, until SIGTERM or SIGINT
    #[command(long_about = RUN, after_long_help = format!("Examples:
  mcpl-sidecar run --config sidecar.toml
  mcpl-sidecar check --config sidecar.toml && kill -HUP $(pidof mcpl-sidecar)   # reload

{EXIT}

{LOGS}"))]
    Run(Run),
    /// Stand in for a producer in a host's mcpServers entry: no configuration needed
    #[command(long_about = WRAP, after_long_help = format!("Examples:
  mcpl-sidecar wrap -- node discord.js --stdio
  mcpl-sidecar wrap --name discord -- npx -y discord-mcpl
  mcpl-sidecar wrap --name discord --config sidecar.toml -- node discord.js

  In the host's configuration:
    \"mcpServers\": {{ \"discord\": {{
      \"command\": \"mcpl-sidecar\",
      \"args\": [\"wrap\", \"--\", \"node\", \"discord.js\", \"--stdio\"] }} }}

{EXIT}
  n   otherwise the exit code of COMMAND; 128 + n when signal n ended it

{LOGS}"))]
    Wrap(Wrap),
    /// Validate a configuration file and print what it comes to
    #[command(long_about = CHECK, after_long_help = format!("Examples:
  mcpl-sidecar check --config sidecar.toml
  mcpl-sidecar check --config sidecar.toml --files   # where it will run: are certificates and tokens there?
  mcpl-sidecar check --config sidecar.toml > effective.toml

{EXIT}"))]
    Check(Check),
    /// Print a host's responses as the producer would get them
    #[command(long_about = CLASSIFY, after_long_help = format!("Examples:
  echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":-32000,\"message\":\"host is stopping\"}}}}' | mcpl-sidecar classify
  mcpl-sidecar classify --config sidecar.toml --producer discord < responses.jsonl
  mcpl-sidecar classify --method channels/incoming < responses.jsonl

{EXIT}"))]
    Classify(Classify),
    /// Show and settle what is held, in doubt or dead
    #[command(long_about = JOURNAL, after_long_help = format!("{JOURNAL_EXAMPLES}

{EXIT}"))]
    Journal(Journal),
    /// Make certificates for development, and show what any certificate says
    #[command(long_about = CERTS, after_long_help = format!("{CERTS_EXAMPLES}

{EXIT}"))]
    Certs(Certs),
    /// Print the JSON Schema of the configuration file
    #[command(long_about = SCHEMA, after_long_help = "Examples:
  mcpl-sidecar schema > mcpl-sidecar.schema.json")]
    Schema,
    /// Show what the sidecar does, in one process and without set-up
    #[command(long_about = DEMO, after_long_help = "Examples:
  mcpl-sidecar demo
  mcpl-sidecar demo --live
  mcpl-sidecar demo --live 127.0.0.1:9465")]
    Demo(Demo),
}

const RUN: &str = "Serve every [[producer]] of a configuration file, until SIGTERM or SIGINT.

The state directory (state_dir in the file, else $XDG_STATE_HOME/mcpl-sidecar, else \
~/.local/state/mcpl-sidecar) is locked: a second run on it exits 73 and names the process that holds it. SIGHUP, \
and a change of the file or of a certificate it names, reloads it; one that does not validate, or names what cannot be \
used, is rejected whole, and the running configuration stays. On SIGTERM what is held is released for drain_ms; a \
second SIGTERM ends at once.";

const WRAP: &str = "Stand in for a producer in a host's mcpServers entry: put `mcpl-sidecar wrap --` before its command.

The host is spoken to on stdin and stdout. COMMAND is spawned as the producer, gets the signals we get, and its \
exit code is ours. Its stderr passes through.

State lies in $XDG_STATE_HOME/mcpl-sidecar/wrap/NAME/SLOT (~/.local/state without XDG_STATE_HOME; state_dir/wrap \
with a --config that has one). Each window of a host takes a slot of its own, \
the first free one; there are 64. Work of which it is not known whether the host got it is sent again \
(in_doubt = \"resend\") unless a --config says otherwise.";

const WRAP_CONFIG: &str = "Take settings from this file: those of its [[producer]] of that name, else of its only one

Taken are preset, subject, undelivered, expires_after_ms, connect_timeout_ms, host, coalesce, forward, limits, \
refusals, and the file's state_dir, drain_ms and [telemetry]. [admin] is not: `wrap` listens nowhere. listen, command, connect, env and cwd are not: the host is on stdin and stdout, and the producer is \
COMMAND; they may be left out of a file that only `wrap` uses.";

const CHECK: &str = "Validate a configuration file and print what it comes to.

stdout: the effective configuration as TOML, defaults included; values of `env` are shown as ***, and strings with \
a ${VAR} in them as they are written. Or exit code 78 with every error on stderr, each on a line of its own: \
FILE:LINE:COL: message; hint: …

Without --files only the file itself is read, so that it can be checked elsewhere than where it will run.";

const CLASSIFY: &str = "Print a host's responses as the producer would get them.

Reads JSON-RPC responses on stdin, one a line, and writes each to stdout with the refusal fields it would be given \
(refusal, retryable, retryAfterMs, limitBytes). Ids, numbers and everything else keep their spelling. A line that is \
no JSON-RPC response is written as it is, with a note on stderr. A result with `results` is taken as the channel \
lane's, whatever --method says.";

const SCHEMA: &str =
    "Print the JSON Schema (draft 2020-12) of the configuration file, for editors and validators.";

const DEMO: &str =
    "Show what the sidecar does: a producer, a legacy host and the sidecar in one process, without set-up.

Prints what was sent, what the host was given without the sidecar and with it, and why. With --live it goes on until \
Ctrl-C, and a page shows it.";

/// `demo`.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Go on until Ctrl-C, and show what happens on a page at ADDRESS, IP:PORT [127.0.0.1:9464 unless given]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:9464")]
    pub(super) live: Option<std::net::SocketAddr>,
}

/// `run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
}

/// `wrap`.
#[derive(Debug, Args)]
pub(super) struct Wrap {
    /// Name of the binding and of its state: a-z, 0-9, `.`, `_`, `-`, 64 at most [default: from COMMAND]
    ///
    /// The default is the program's name without its folder and extension, or the script's, module's or
    /// package's when the program is an interpreter or runner (node, python, npx, uvx, …).
    #[arg(long, value_name = "N")]
    pub(super) name: Option<String>,
    /// Take settings from this file: those of its [[producer]] of that name, else of its only one
    #[arg(long, value_name = "FILE", long_help = WRAP_CONFIG)]
    pub(super) config: Option<PathBuf>,
    /// The producer: program and arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, num_args = 1..)]
    pub(super) command: Vec<OsString>,
}

/// `check`.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// The configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// Read what the file names too: certificates, keys and tokens, as `run` does before it starts
    #[arg(long)]
    pub(super) files: bool,
}

/// `classify`.
#[derive(Debug, Args)]
pub(super) struct Classify {
    /// Take profile and rules from this file; without it, the generic profile and no rules
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// … from its [[producer]] of this name; not needed if there is one only
    #[arg(long, value_name = "N", requires = "config")]
    pub(super) producer: Option<String>,
    /// The lane that was answered
    #[arg(long, value_name = "M", default_value = "push/event")]
    pub(super) method: Method,
}

/// The methods of the two event lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Method {
    /// One event.
    #[value(name = "push/event")]
    Push,
    /// A batch of channel messages.
    #[value(name = "channels/incoming")]
    Channel,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parsed(args: &[&str]) -> Result<Command, clap::error::ErrorKind> {
        let args = std::iter::once("mcpl-sidecar").chain(args.iter().copied());
        Arguments::try_parse_from(args).map(|a| a.command).map_err(|e| e.kind())
    }

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_command_is_everything_after_the_options() {
        for args in [
            &["wrap", "--name", "x", "--", "prog", "--name", "y", "--", "-z"][..],
            &["wrap", "--name", "x", "prog", "--name", "y", "--", "-z"][..],
        ] {
            let Ok(Command::Wrap(wrap)) = parsed(args) else { panic!("{args:?}: {:?}", parsed(args)) };
            assert_eq!(wrap.name.as_deref(), Some("x"));
            assert_eq!(wrap.command, ["prog", "--name", "y", "--", "-z"]);
        }
    }

    #[test]
    fn an_unknown_option_is_no_command() {
        assert!(parsed(&["wrap", "--nmae", "x", "prog"]).is_err());
        assert!(parsed(&["wrap", "--help"]).is_err_and(|e| e == clap::error::ErrorKind::DisplayHelp));
    }

    #[test]
    fn every_help_has_examples() {
        let mut command = Arguments::command();
        command.build();
        let mut all: Vec<&mut clap::Command> = command.get_subcommands_mut().collect();
        while let Some(sub) = all.pop() {
            let help = sub.render_long_help().to_string();
            assert!(help.contains("Examples:\n  ") && help.contains("mcpl-sidecar"), "{help}");
            all.extend(sub.get_subcommands_mut());
        }
    }
}
