//! The command line of `journal`, as clap reads it (contract section 1).

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use mcpl_policy::fate::Fate;

use crate::state::slot;

pub(in crate::cli) const JOURNAL: &str = "Show and settle what the journal has: what is held, in doubt, dead, and what \
was delivered or replaced lately.

Works while the sidecar runs and when it does not, on the state directory of a --config or on those of a `wrap` of \
that --name. An ID is PRODUCER/NUMBER, for instance discord/12; the list shows it.";

pub(in crate::cli) const JOURNAL_EXAMPLES: &str = "Examples:
  mcpl-sidecar journal list --config sidecar.toml
  mcpl-sidecar journal list --name discord --json
  mcpl-sidecar journal show discord/12 --config sidecar.toml
  mcpl-sidecar journal resolve discord/12 --not-submitted --expect 3 --config sidecar.toml
  mcpl-sidecar journal export --config sidecar.toml --output journal.jsonl";

const EXIT: &str = "\
Exit codes:
  0   ok
  64  usage; show, resolve: there is no such occurrence, or nothing to settle
  65  resolve: the revision has changed
  70  a part of the journal is damaged; what can be read was written
  73  the state directory is in use, or cannot be read
  78  configuration";

const LIST: &str = "List what is held, deferred, in doubt or dead.

A table for people, or with --json an array for programs. --all adds what ended within the retry window \
(retry_window_ms, an hour at least). States: held; deferred (the host is not ready for it); outcome-unknown (handed \
over, no answer yet); manual-reconciliation (handed over, never answered for: `journal resolve` settles it); \
dead-letter (the host refused it for good); delivered; replaced (by a newer one, unread); withdrawn; empty (rendered, \
with nothing to tell); lapsed (dropped with the authority for it); dropped (by an operator); expired.";

const SHOW: &str = "Show all that is known of one occurrence, by its ID or its eventId.

Says what replaced or withdrew it, why the host refused it, and what can be done about it. Its content is shown with \
--content only.";

const RESOLVE: &str = "Settle an occurrence that is in doubt, or a dead letter.

In doubt (manual-reconciliation): it was handed to the host, which never answered for it. Look whether the host has \
it, and say so: --submitted ends it as delivered, --not-submitted allows a fresh attempt. --again tries anew whatever \
the host has, also a dead letter; --drop ends it.

--expect REVISION is the safe way: if the occurrence changed since you looked at it, nothing is done and the exit \
code is 65. Takes effect at once in a sidecar that runs, else with its next start.";

const EXPORT: &str = "Write everything in the journal as JSON Lines, one occurrence a line, with its content.

Works on a damaged journal too: what can be read is written, what cannot is named on stderr, and the exit code is 70. \
--output makes a file that only its owner can read.";

/// `journal`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Journal {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The commands of `journal`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List what is held, deferred, in doubt or dead
    #[command(long_about = LIST, after_long_help = format!("Examples:
  mcpl-sidecar journal list --config sidecar.toml
  mcpl-sidecar journal list --config sidecar.toml --state manual-reconciliation --state dead-letter
  mcpl-sidecar journal list --name discord --all --json

{EXIT}"))]
    List(List),
    /// Show all that is known of one occurrence
    #[command(long_about = SHOW, after_long_help = format!("Examples:
  mcpl-sidecar journal show discord/12 --config sidecar.toml
  mcpl-sidecar journal show msg_1234 --name discord --content --json

{EXIT}"))]
    Show(Show),
    /// Settle an occurrence that is in doubt, or a dead letter
    #[command(long_about = RESOLVE, after_long_help = format!("Examples:
  mcpl-sidecar journal resolve discord/12 --submitted --expect 3 --config sidecar.toml
  mcpl-sidecar journal resolve discord/12 --not-submitted --expect 3 --config sidecar.toml
  mcpl-sidecar journal resolve discord/40 --drop --name discord

{EXIT}"))]
    Resolve(Resolve),
    /// Write everything as JSON Lines, with content
    #[command(long_about = EXPORT, after_long_help = format!("Examples:
  mcpl-sidecar journal export --config sidecar.toml > journal.jsonl
  mcpl-sidecar journal export --name discord --output journal.jsonl

{EXIT}"))]
    Export(Export),
}

/// Whose journal.
#[derive(Debug, Args)]
pub(super) struct Where {
    /// The configuration file of a `run`: its `state_dir`
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The name of a `wrap`: all of its slots; with --config those under its `state_dir`
    #[arg(long, value_name = "N")]
    pub(super) name: Option<String>,
    /// … only this slot of them
    #[arg(long, value_name = "K", requires = "name", value_parser = slot_number)]
    pub(super) slot: Option<usize>,
}

/// `journal list`.
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    pub(super) at: Where,
    /// Only what this producer sent
    #[arg(long, value_name = "P")]
    pub(super) producer: Option<String>,
    /// Only what stands like this; may be given several times
    #[arg(long = "state", value_name = "S", value_parser = Fate::STATES)]
    pub(super) states: Vec<String>,
    /// Also what ended within the retry window
    #[arg(long)]
    pub(super) all: bool,
    /// A JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// `journal show`.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// PRODUCER/NUMBER, or an eventId
    #[arg(value_name = "ID|EVENTID")]
    pub(super) what: String,
    #[command(flatten)]
    pub(super) at: Where,
    /// Also the event itself, as it was sent
    #[arg(long)]
    pub(super) content: bool,
    /// A JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// `journal resolve`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("word").required(true).args(["submitted", "not_submitted", "again", "drop"]))]
pub(super) struct Resolve {
    /// PRODUCER/NUMBER, as `journal list` shows it
    #[arg(value_name = "ID")]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) at: Where,
    /// In doubt: the host has it
    #[arg(long)]
    pub(super) submitted: bool,
    /// In doubt: the host does not have it; it is handed over anew
    #[arg(long)]
    pub(super) not_submitted: bool,
    /// In doubt, or a dead letter: it is handed over anew
    #[arg(long)]
    pub(super) again: bool,
    /// In doubt, or a dead letter: it is not handed over any more
    #[arg(long)]
    pub(super) drop: bool,
    /// Only if it still has this revision; else exit code 65
    #[arg(long, value_name = "REVISION")]
    pub(super) expect: Option<u32>,
}

/// `journal export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    pub(super) at: Where,
    /// Where to; `-` is stdout [default: -]
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

fn slot_number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number < slot::MOST);
    number.ok_or_else(|| format!("slots are 0 to {}", slot::MOST - 1))
}
