//! The binary: see [`mcpl_sidecar::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    mcpl_sidecar::cli::main()
}
