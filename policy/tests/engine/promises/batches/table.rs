//! The rows: what is answered, what the producer is asked, what the host is given, and what is on disk, in that
//! order. There is no row for "anything else".

mod rendered;
mod rendering;
mod unread;

use super::inputs::Next;
use super::states::State;

/// A row.
pub(super) type Wanted = [&'static str; 4];

/// What must come of a pair (contract 5, 6.3 to 6.5, 7.1, 7.4, 7.5, 9.1).
pub(super) const fn wanted(state: State, next: Next) -> Wanted {
    match state {
        State::New => unread::new(next),
        State::Read => unread::read(next),
        State::Plain => unread::plain(next),
        State::Pending => unread::pending(next),
        State::KeptBack => unread::kept_back(next),
        State::Rendering => rendering::rendering(next),
        State::RenderingNext => rendering::rendering_next(next),
        State::Waiting => rendered::waiting(next),
        State::WaitingNext => rendered::waiting_next(next),
        State::Out => rendered::out(next),
        State::OutNext => rendered::out_next(next),
        State::Fallback => rendered::fallback(next),
    }
}
