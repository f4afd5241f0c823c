#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
//! What to do about an MCPL event: coalescing, admission, refusals, release.
//!
//! Sans-IO: no clock, no file, no socket, no randomness; all of them come in as values. **Mutate once, then
//! drain**: see [`Engine`].
//!
//! | module | noun |
//! |---|---|
//! | [`journal`] | what must outlive the process, row by row (contract 9) |
//! | [`fate`] | where an occurrence stands, and what may become of it (contract 9.1) |
//! | [`disposition`] | the three facts that follow from it (contract 9.2) |
//! | [`engine`] | the coalescing state machine of one producer binding (contract 4 to 7) |
//! | [`admission`] | what is known of what the host admits (contract 5) |
//! | [`refusal`] | what a host's answer means, and how a producer is told (contract 8) |
//! | [`thread`] | what a trace has to do with an occurrence (contract 10.1) |
//! | [`rules`] | what an operator says of events whose producer says nothing (contract 13.1) |
//! | [`profile`] | what is known of particular hosts (contract 8.10) |
//! | [`limit`] | rates (contract 8.8) |
//! | [`settings`] | what an operator chose (contract 2) |

pub mod admission;
pub mod disposition;
pub mod engine;
pub mod fate;
pub mod journal;
pub mod limit;
pub mod now;
pub mod profile;
pub mod refusal;
pub mod rules;
pub mod settings;
pub mod thread;

pub use engine::{Engine, Input, Output};
pub use now::Now;
pub use settings::Settings;
