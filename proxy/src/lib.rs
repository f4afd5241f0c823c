//! A sidecar between an MCPL producer and its host: it coalesces events and classifies refusals in front of
//! a host that does neither; everything else passes byte for byte.
//!
//! | module | noun |
//! |---|---|
//! | [`exchange`] | one session's messages: what is ours, what passes (sans-IO) |
//! | [`binding`] | one producer: its engine, its session, its connections |
//! | [`serve`] | every producer of a configuration; signals and reload |
//! | [`transport`], [`child`], [`outbox`] | how bytes move |
//! | [`admin`] | what an operator asks a running program |
//! | [`config`], [`cli`], [`state`] | what an operator says, and where state lies |
//! | [`keyring`] | the TLS stores that the configuration names |
//! | [`token`] | bearer tokens: where they are, how they are shown and compared |
//! | [`stream`] | what the journal says, told to those who watch |
//! | [`journal`] | what must outlive the process: rows on disk |
//! | [`telemetry`] | what the program tells of itself: metrics |
//! | [`demo`] | all of it, shown |

pub mod admin;
pub mod binding;
pub mod child;
pub mod cli;
pub mod config;
pub mod demo;
pub mod episode;
pub mod exchange;
pub mod journal;
pub mod keyring;
pub mod outbox;
pub mod serve;
pub mod state;
pub mod stream;
pub mod telemetry;
pub mod token;
pub mod transport;
