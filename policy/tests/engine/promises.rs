//! One test for each row and each rule.

mod capacity;
mod journal;
mod letters;
mod order;
mod outcomes;
mod retry;
mod rig;
mod stored;
mod through;
