//! One test for each row and each rule.

mod capacity;
mod failed_commit;
mod journal;
mod letters;
mod long_after;
mod order;
mod outcomes;
mod retry;
mod rig;
mod rules;
mod rules_at_random;
mod stored;
mod through;
