//! What the two halves of a WebSocket tell each other.

use std::cell::RefCell;
use std::rc::Rc;

use super::close::Close;
use super::fault::Fault;

/// Shared by the reader and the writer of one connection.
#[derive(Clone, Debug, Default)]
pub(in crate::transport) struct Controls(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    /// The payload of the newest ping that is not answered.
    ping: Option<Vec<u8>>,
    /// How the peer closed.
    heard: Option<Close>,
    /// What the peer did wrong.
    fault: Option<Fault>,
    /// How we are to close, but for what the peer did.
    parting: Option<Close>,
}

impl Controls {
    /// A ping came. Of several that wait the newest is answered (RFC 6455 section 5.5.3).
    pub(super) fn pinged(&self, payload: &[u8]) {
        self.0.borrow_mut().ping = Some(payload.to_vec());
    }

    /// The ping to answer.
    pub(super) fn take_ping(&self) -> Option<Vec<u8>> {
        self.0.borrow_mut().ping.take()
    }

    pub(super) fn closed(&self, close: Close) {
        self.0.borrow_mut().heard = Some(close);
    }

    pub(super) fn failed(&self, fault: Fault) {
        self.0.borrow_mut().fault.get_or_insert(fault);
    }

    /// How the peer closed, if it did.
    pub(in crate::transport) fn heard(&self) -> Option<Close> {
        self.0.borrow().heard.clone()
    }

    /// How we are to close; what is said first counts.
    pub(in crate::transport) fn part(&self, close: Close) {
        self.0.borrow_mut().parting.get_or_insert(close);
    }

    /// How we close: what the peer did wrong comes first, then what it said itself.
    pub(super) fn last_word(&self) -> Close {
        let state = self.0.borrow();
        let fault = state.fault.map(Fault::close);
        let said = state.heard.clone().or_else(|| state.parting.clone());
        fault.or(said).unwrap_or_else(|| Close::new(Close::NORMAL, ""))
    }
}
