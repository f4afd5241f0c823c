//! Writing to stdout and stderr, which may be closed at any time: that ends nothing and is no panic.

use std::io::{self, Write};

/// Writes a text to stdout. A reader that has gone is no error: what it wanted it has.
///
/// # Errors
/// What the system said, for instance that the disk is full.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    forgive(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// `Ok` where an error only says that nobody reads any more.
///
/// # Errors
/// Every other error.
pub fn forgive(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a text and a line end to stderr, in one piece; that it cannot be written has no consequence.
pub fn complain(text: &str) {
    let mut line = String::with_capacity(text.len() + 1);
    line.push_str(text);
    line.push('\n');
    let _ = io::stderr().lock().write_all(line.as_bytes());
}
