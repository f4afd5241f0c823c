//! What is wrong with a configuration file: every error, each with its place and a remedy.

use std::fmt;
use std::path::{Path, PathBuf};

/// Errors shown; the rest are counted.
pub const SHOWN: usize = 100;

/// Everything that is wrong with one file (contract section 1, `check`).
///
/// `Display` writes one line an error, `FILE:LINE:COL: message; hint: …`, in the order of the file; past
/// [`SHOWN`] one line with the count of the rest. No value of an environment variable is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors {
    file: PathBuf,
    problems: Vec<Problem>,
}

/// One error: where it is, what it is, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The remedy; never empty.
    pub hint: String,
}

impl Errors {
    /// One error about the file as a whole, at 1:1.
    pub(super) fn whole_file(file: &Path, message: String, hint: &str) -> Self {
        let problem = Problem { line: 1, column: 1, message, hint: hint.to_owned() };
        Self { file: file.to_owned(), problems: vec![problem] }
    }

    /// All errors, in the order of the file; never empty.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        for (n, p) in self.problems.iter().take(SHOWN).enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            write!(f, "{file}:{}:{}: {}; hint: {}", p.line, p.column, p.message, p.hint)?;
        }
        match self.problems.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n{file}: {more} more errors; hint: correct those above first"),
        }
    }
}

impl std::error::Error for Errors {}

/// Errors being collected while one text is read.
#[derive(Debug)]
pub(super) struct Faults<'t> {
    text: &'t str,
    found: Vec<(usize, String, String)>,
}

impl<'t> Faults<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, found: Vec::new() }
    }

    /// Notes an error at a byte offset of the text.
    pub(super) fn add(&mut self, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        self.found.push((at, message.into(), hint.into()));
    }

    /// The text that is read.
    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    /// Whether nothing was noted.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// What was noted, in the order of the text, with lines and columns.
    pub(super) fn into_errors(mut self, file: &Path) -> Errors {
        self.found.sort_by_key(|(at, ..)| *at);
        let mut place = Place { text: self.text, at: 0, line: 1, column: 1 };
        let problems = self.found.into_iter().map(|(at, message, hint)| {
            place.advance(at);
            Problem { line: place.line, column: place.column, message, hint }
        });
        Errors { file: file.to_owned(), problems: problems.collect() }
    }
}

/// A place in a text that only moves forward, so that many errors cost one pass.
struct Place<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    column: usize,
}

impl Place<'_> {
    fn advance(&mut self, to: usize) {
        let mut to = to.min(self.text.len());
        while !self.text.is_char_boundary(to) {
            to -= 1;
        }
        for c in self.text.get(self.at..to).unwrap_or_default().chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.at = self.at.max(to);
    }
}

/// A value for a message: control characters escaped, cut to a readable length.
pub(super) fn shown(value: &str) -> String {
    const LONGEST: usize = 60;
    let mut out: String = value.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if value.chars().count() > LONGEST {
        out.push('…');
    }
    out
}
