//! A disk that is slow, full or broken, under a whole binding in this process, with a store that does as it is told
//! (contract sections 7.6, 9.1).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

mod full;
mod ground;
mod slow;
