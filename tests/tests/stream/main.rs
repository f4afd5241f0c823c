//! The event stream of the built program: what it says, to whom, and how readers follow it (contract 10.4).

mod asked;
mod many;
mod restart;
mod told;
