//! What runs longer, or needs more of the machine, than every run of the tests may ask for.

use std::io::Write as _;

/// A number from the environment, for how long something runs; `usual` where it is not set.
pub fn times(variable: &str, usual: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => usual,
    }
}

/// A check could not be made on this machine. That is said where the test harness hides nothing, and with
/// `MCPL_LONG=1` in the environment it is a failure: then every check counts.
pub fn not_run(check: &str, why: &str) {
    assert!(std::env::var_os("MCPL_LONG").is_none(), "{check}: could not be checked here: {why}");
    let _ = writeln!(std::io::stderr(), "\nNOT RUN: {check}: {why} (MCPL_LONG=1 makes this a failure)");
}
