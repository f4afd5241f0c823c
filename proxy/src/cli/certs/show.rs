//! `certs show`.

use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;
use mcpl_certs::Sheet;
use serde::Serialize;

use super::args::Show;
use super::{refused, said, time};
use crate::cli::exit;
use crate::cli::journal::plain::plain;

/// A certificate, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    file: String,
    /// Counted from 1.
    number: usize,
    kind: &'static str,
    subject: &'a str,
    names: &'a [String],
    uses: &'a [&'static str],
    issuer: &'a str,
    not_before: String,
    not_after: String,
    days_left: i64,
    key: &'a str,
    sha256: &'a str,
}

/// Shows what can be read; what cannot is said, and the exit code is that of the first.
pub(super) fn show(show: &Show) -> Result<(), u8> {
    let now = Timestamp::now().as_second();
    let mut read = Vec::new();
    let mut result = Ok(());
    for file in &show.files {
        match Sheet::of(file) {
            Ok(sheets) => read.push((file.as_path(), sheets)),
            Err(fault) => result = result.and(Err(refused(&fault))),
        }
    }
    let all = || {
        read.iter().flat_map(|(file, sheets)| {
            sheets.iter().enumerate().map(move |(n, s)| (*file, n, sheets.len(), s))
        })
    };
    if show.json {
        let entries: Vec<_> = all().map(|(file, number, _, sheet)| entry(file, number, sheet, now)).collect();
        let text = serde_json::to_string_pretty(&entries).map_err(|_| exit::INTERNAL)?;
        said(&format!("{text}\n"))?;
    } else {
        let texts: Vec<_> =
            all().map(|(file, number, of, sheet)| text(file, number, of, sheet, now)).collect();
        said(&texts.join("\n"))?;
    }
    result
}

fn kind(sheet: &Sheet) -> &'static str {
    if sheet.authority { "ca" } else { "leaf" }
}

fn entry<'a>(file: &Path, number: usize, sheet: &'a Sheet, now: i64) -> Entry<'a> {
    Entry {
        file: file.display().to_string(),
        number: number + 1,
        kind: kind(sheet),
        subject: &sheet.subject,
        names: &sheet.names,
        uses: &sheet.uses,
        issuer: &sheet.issuer,
        not_before: time(sheet.not_before),
        not_after: time(sheet.not_after),
        days_left: sheet.days_left(now),
        key: &sheet.key,
        sha256: &sheet.sha256,
    }
}

/// For people. What the certificate's maker wrote must not write to a terminal by itself.
fn text(file: &Path, number: usize, of: usize, sheet: &Sheet, now: i64) -> String {
    let or = |list: String, none: &str| if list.is_empty() { none.to_owned() } else { list };
    let rows = [
        ("subject", plain(&sheet.subject)),
        ("names", or(plain(&sheet.names.join(", ")), "none")),
        ("for", or(sheet.uses.join(", "), if sheet.authority { "issuing" } else { "any use" })),
        ("issuer", plain(&sheet.issuer)),
        ("valid", format!("{} to {}, {}", time(sheet.not_before), time(sheet.not_after), left(sheet, now))),
        ("key", sheet.key.clone()),
        ("SHA-256", sheet.sha256.clone()),
    ];
    let kind = if sheet.authority { "CA" } else { "leaf" };
    let mut text = format!("{}, {} of {of}: {kind}\n", plain(&file.display().to_string()), number + 1);
    for (name, value) in rows {
        // A text takes all that is written to it.
        let _ = writeln!(text, "  {name:9}{value}");
    }
    text
}

fn left(sheet: &Sheet, now: i64) -> String {
    let days = |count: i64| format!("{count} day{}", if count == 1 { "" } else { "s" });
    match sheet.days_left(now) {
        _ if now < sheet.not_before => "not valid yet".to_owned(),
        left @ 0.. => format!("{} left", days(left)),
        past => format!("EXPIRED {} ago", days(-past - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate on which nothing is as it should be on a terminal.
    fn sheet() -> Sheet {
        let folder = tempfile::tempdir().unwrap();
        let made = mcpl_certs::Authority::create(folder.path(), "x\u{1b}[2Jy", 10).unwrap();
        Sheet::of(&made.cert_file).unwrap().remove(0)
    }

    #[test]
    fn a_certificate_writes_nothing_to_the_terminal_by_itself() {
        let sheet = sheet();
        assert!(sheet.subject.contains('\u{1b}'));
        let text = text(Path::new("a\u{1b}.crt"), 0, 1, &sheet, sheet.not_before);
        assert!(!text.contains('\u{1b}') && text.contains(": CA\n"), "{text}");
    }

    #[test]
    fn days_are_counted_down_and_then_up() {
        let sheet = sheet();
        let day = 24 * 60 * 60;
        assert_eq!(left(&sheet, sheet.not_before - 1), "not valid yet");
        assert_eq!(left(&sheet, sheet.not_after - day), "1 day left");
        assert_eq!(left(&sheet, sheet.not_after), "0 days left");
        assert_eq!(left(&sheet, sheet.not_after + 1), "EXPIRED 0 days ago");
        assert_eq!(left(&sheet, sheet.not_after + 3 * day), "EXPIRED 2 days ago");
        assert_eq!(left(&sheet, sheet.not_after + 3 * day + 1), "EXPIRED 3 days ago");
    }
}
