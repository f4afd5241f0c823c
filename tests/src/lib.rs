//! Fakes for black-box tests of `mcpl-sidecar`: a world with the program in it, a host and a producer.
//!
//! A test starts a [`World`] (a configuration in a folder of its own, the program, a listener for the
//! producer), opens a [`Session`] in it and speaks as [`Host`] and as [`Producer`]; or it starts a [`Wrap`],
//! where the program owns a child. Every wait is bounded by [`PATIENCE`] and panics with what it waited for.
//! Nothing sleeps and hopes: a round trip in each direction is a barrier, because the program keeps the order
//! within a direction (contract section 3.3).

// A panic is how these fakes report: there is nobody to hand an error to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc, clippy::print_stderr)]

mod chance;
mod event;
mod frayed;
mod host;
mod identity;
mod legacy;
mod line;
mod long;
mod peer;
mod port;
mod producer;
mod program;
mod session;
mod websocket;
mod wire;
mod world;
mod wrap;
mod ws_peer;

pub use chance::Chance;
pub use event::{Message, Push, message, push};
pub use frayed::{BareFrame, BareSocket, frayed};
pub use host::{Host, HostScript, Reply};
pub use identity::{Authority, Identity, Leaf, client_settings, server_settings};
pub use legacy::{AgentFramework, CcBridge, Harness};
pub use line::{Said, error_code, outcome, refusal};
pub use long::{not_run, times};
pub use peer::{Mind, Mute, Peer, Say};
pub use producer::{Producer, ProducerScript, Render};
pub use program::{Program, ambient_binary, gone, peak_bytes, peer_binary, resident_bytes, sidecar_binary};
pub use session::{Session, initialize_params};
pub use websocket::{Bidirectional, Knock, LineSocket, Parting, ReadEnd, Refused, Watch, WriteEnd};
pub use wire::{Carrier, Seen, Wire};
pub use world::World;
pub use wrap::Wrap;
pub use ws_peer::{Answer, Frame, WsPeer};

/// How long any single wait may last.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(15);
