//! The promises of the coalescing engine: one test for each row of the contract's tables ([`promises`]), and a
//! seeded simulation of everything at once ([`simulation`]).

// A test that cannot go on says so by a panic, and a seed that fails is printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod book;
mod draft;
mod durability;
mod marks;
mod promises;
mod say;
mod simulation;
mod telling;
mod watch;
