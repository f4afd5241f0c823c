//! What the program promises whatever carries the lines: the same tests once more. [`mcpl_tests::Carrier`] says how
//! the worlds of this program are reached.

#[path = "../backpressure.rs"]
mod backpressure;
#[path = "../bytes.rs"]
mod bytes;
#[path = "../coalescing.rs"]
mod coalescing;
#[path = "../framing.rs"]
mod framing;
#[path = "../ids.rs"]
mod ids;
#[path = "../legacy_hosts.rs"]
mod legacy_hosts;
#[path = "../one_answer.rs"]
mod one_answer;
#[path = "../order.rs"]
mod order;
#[path = "../reconnect.rs"]
mod reconnect;
#[path = "../refusal.rs"]
mod refusal;
#[path = "renders.rs"]
mod renders;
#[path = "../restart.rs"]
mod restart;
