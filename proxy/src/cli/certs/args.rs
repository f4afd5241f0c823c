//! The command line of `certs`, as clap reads it (contract section 1).

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use mcpl_certs::Name;

pub(in crate::cli) const CERTS: &str = "Make certificates for development, and show what any certificate says.

`certs init` makes a CA, `certs issue` what it vouches for: with both, TLS and client certificates can be tried in \
three commands. This CA is for development: its key lies in a file without a passphrase, it keeps no record of what \
it issued, and it revokes nothing. In production take the certificates of your own CA or of a public one.

No file is ever overwritten. Keys are files that only their owner can read (0600), from their first byte.";

pub(in crate::cli) const CERTS_EXAMPLES: &str = "Examples:
  mcpl-sidecar certs init --dir ca
  mcpl-sidecar certs issue --dir ca --name localhost --name 127.0.0.1
  mcpl-sidecar certs issue --dir ca --client --uri spiffe://example.org/ops --out ops
  mcpl-sidecar certs show ca/localhost.crt";

const EXIT: &str = "\
Exit codes:
  0   ok
  64  usage; a file exists already, cannot be read or written, or is not what it should be
  70  internal error";

const INIT: &str = "Make a CA for development: DIR/ca.crt and DIR/ca.key.

DIR is made if it is not there (0700); a CA that is there already is left as it is. ca.crt is for whoever is to trust \
what the CA issues, as `ca_file` of a client or `client_ca_file` of a listener. Whoever can read ca.key can be anybody \
to them.";

const ISSUE: &str = "Make a certificate and its key, vouched for by the CA in DIR.

It is a server's, or with --client a client's: neither is accepted in the other's place. It ends with its CA at the \
latest. For development, as the CA is.

Written are BASE.crt (0644) and BASE.key (0600); nothing that is there already is overwritten. To renew a pair, issue \
it under another BASE, then rename both: a running sidecar goes on with the old pair until the new one is complete.";

const SHOW: &str = "Show what the certificates in PEM files say: whose they are, who vouches, until when.

For each: CA or leaf, subject, names (what a client compares with the address, and a listener with client_names), what \
it may be used for, issuer, validity and full days left, kind of key, and the SHA-256 fingerprint. Keys in the files \
are passed over. --json prints an array of objects: file, number, kind (ca or leaf), subject, names, uses, issuer, \
notBefore, notAfter, daysLeft (negative when it is past), key, sha256.";

/// `certs`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Certs {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The commands of `certs`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a CA for development
    #[command(long_about = INIT, after_long_help = format!("Examples:
  mcpl-sidecar certs init --dir ca
  mcpl-sidecar certs init --dir ca --name \"CA of the test bench\" --days 30

{EXIT}"))]
    Init(Init),
    /// Make a certificate and its key, vouched for by that CA
    #[command(long_about = ISSUE, after_long_help = format!("Examples:
  mcpl-sidecar certs issue --dir ca --name localhost --name 127.0.0.1
  mcpl-sidecar certs issue --dir ca --name sidecar.example.org --days 7 --out tls
  mcpl-sidecar certs issue --dir ca --client --uri spiffe://example.org/ops --out ops

{EXIT}"))]
    Issue(Issue),
    /// Show what the certificates in PEM files say
    #[command(long_about = SHOW, after_long_help = format!("Examples:
  mcpl-sidecar certs show ca/localhost.crt
  mcpl-sidecar certs show --json /etc/mcpl-sidecar/*.crt

{EXIT}"))]
    Show(Show),
}

/// `certs init`.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// The CA's folder
    #[arg(long, value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Its common name, 64 characters at most
    #[arg(long, value_name = "CN", default_value = "mcpl-sidecar development CA", value_parser = common_name)]
    pub(super) name: String,
    /// Days from now until it expires, and with it all that it issued
    #[arg(long, value_name = "N", default_value_t = 1825, value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub(super) days: u32,
}

/// `certs issue`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("called").required(true).multiple(true).args(["names", "uris"]))]
pub(super) struct Issue {
    /// The CA's folder
    #[arg(long, value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// A DNS name or address of its holder; may be given several times
    #[arg(long = "name", value_name = "HOST", value_parser = Name::host)]
    pub(super) names: Vec<Name>,
    /// A URI that names its holder; may be given several times
    #[arg(long = "uri", value_name = "URI", value_parser = Name::uri)]
    pub(super) uris: Vec<Name>,
    /// For a client rather than for a server
    #[arg(long)]
    pub(super) client: bool,
    /// Days from now until it expires
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub(super) days: u32,
    /// Where to: BASE.crt and BASE.key [default: in DIR, the first --name or the end of the first --uri]
    #[arg(long, value_name = "BASE")]
    pub(super) out: Option<PathBuf>,
}

/// `certs show`.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// PEM files
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// A JSON array
    #[arg(long)]
    pub(super) json: bool,
}

fn common_name(text: &str) -> Result<String, &'static str> {
    let fits = (1..=64).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned()).ok_or("it takes 1 to 64 characters that can be seen")
}
