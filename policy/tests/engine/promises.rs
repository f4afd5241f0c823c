//! One test for each row and each rule.

mod any_order;
mod batches;
mod bounds;
mod capacity;
mod corners;
mod failed_commit;
mod journal;
mod letters;
mod long_after;
mod order;
mod outcomes;
mod rendered_content;
mod retry;
mod rig;
mod rules;
mod rules_at_random;
mod stored;
mod threads;
mod through;
