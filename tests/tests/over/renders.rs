//! Renders, but for those that look at the disk and at restarts, which nothing carries.

#[path = "../renders/answers.rs"]
mod answers;
#[path = "../renders/batch.rs"]
mod batch;
#[path = "../renders/hosts.rs"]
mod hosts;
#[path = "../renders/inference.rs"]
mod inference;
#[path = "../renders/odd.rs"]
mod odd;
#[path = "../renders/operator.rs"]
mod operator;
#[path = "../renders/races.rs"]
mod races;
#[path = "../renders/scene.rs"]
mod scene;
