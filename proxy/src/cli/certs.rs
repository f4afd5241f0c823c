//! `certs`: a development CA, what it issues, and what a certificate says (contract 1, 12).

use std::path::PathBuf;
use std::process::ExitCode;

use jiff::Timestamp;
use mcpl_certs::{Authority, Fault, Leaf, Made, Wrong};

use super::{exit, out};

pub(super) mod args;
mod show;

use self::args::{Certs, Command, Init, Issue};

/// Does what the arguments say; or the exit code, with the reason on stderr.
pub(super) fn certs(certs: &Certs) -> Result<ExitCode, u8> {
    match &certs.command {
        Command::Init(init) => self::init(init),
        Command::Issue(issue) => self::issue(issue),
        Command::Show(show) => show::show(show),
    }
    .map(|()| ExitCode::SUCCESS)
}

fn init(init: &Init) -> Result<(), u8> {
    let made = Authority::create(&init.dir, &init.name, init.days).map_err(|fault| refused(&fault))?;
    said(&format!(
        "A CA for development, until {}:
  {}  give it to whoever is to trust what this CA issues
  {}  give it to nobody: whoever has it can be anybody
",
        time(made.not_after),
        made.cert_file.display(),
        made.key_file.display(),
    ))
}

fn issue(issue: &Issue) -> Result<(), u8> {
    let authority = Authority::open(&issue.dir).map_err(|fault| refused(&fault))?;
    if let Some(warning) = authority.warning() {
        out::complain(&format!("warning: {warning}"));
    }
    let leaf = Leaf {
        names: issue.names.iter().chain(&issue.uris).cloned().collect(),
        client: issue.client,
        days: issue.days,
    };
    let base = issue.out.clone().unwrap_or_else(|| issue.dir.join(stem(&leaf)));
    let made = authority.issue(&leaf, &base).map_err(|fault| refused(&fault))?;
    said(&told(&leaf, &made, authority.not_after()))
}

/// The files' name without its ending, if none is given: the first name's.
fn stem(leaf: &Leaf) -> PathBuf {
    leaf.names.first().map_or_else(String::new, mcpl_certs::Name::file_stem).into()
}

fn told(leaf: &Leaf, made: &Made, end: i64) -> String {
    let names: Vec<String> = leaf.names.iter().map(ToString::to_string).collect();
    format!(
        "A certificate for the {} {}, until {}{}:\n  {}\n  {}\n",
        if leaf.client { "client" } else { "server" },
        names.join(", "),
        time(made.not_after),
        if made.not_after == end { ", when its CA ends" } else { "" },
        made.cert_file.display(),
        made.key_file.display(),
    )
}

/// The exit code of a file that cannot be used, which is said.
fn refused(fault: &Fault) -> u8 {
    out::complain(&format!("error: {fault}"));
    if matches!(fault.wrong, Wrong::Unmade(_)) { exit::INTERNAL } else { exit::USAGE }
}

fn said(text: &str) -> Result<(), u8> {
    out::print(text).map_err(|why| {
        out::complain(&format!("error: stdout cannot be written: {why}"));
        exit::INTERNAL
    })
}

/// Unix seconds, as RFC 3339.
fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s"), |time| time.to_string())
}
