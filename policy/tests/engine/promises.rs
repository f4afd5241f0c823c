//! One test for each row and each rule.

mod capacity;
mod order;
mod outcomes;
mod retry;
mod rig;
mod through;
