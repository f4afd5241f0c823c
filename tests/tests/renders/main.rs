//! Deferred events: notices, and content that is asked for when the host is about to get it (contract 6.5).

// A panic is how a test reports.
#![allow(clippy::expect_used)]

mod answers;
mod batch;
mod chaos;
mod hosts;
mod inference;
mod many;
mod odd;
mod operator;
mod races;
mod recovery;
mod scene;
mod traces;
