//! The demonstration. Placeholder.

use std::process::ExitCode;

/// Runs it.
pub fn run() -> ExitCode {
    ExitCode::from(crate::cli::exit::INTERNAL)
}
