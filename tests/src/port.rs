//! TCP ports that nobody else takes while a test runs.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

const FIRST: u16 = 18_000;
const COUNT: u16 = 12_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port outside the range the system gives to outgoing connections. The UDP socket on the same number
/// keeps other test processes off it: a TCP socket would keep the program off it too.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) number: u16,
    _kept: UdpSocket,
}

impl Port {
    pub(crate) fn free() -> Self {
        let start = std::process::id() as u16 % COUNT;
        for _ in 0..COUNT {
            let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
            let number = FIRST + (start + step) % COUNT;
            if let Ok(kept) = UdpSocket::bind(("127.0.0.1", number))
                && TcpListener::bind(("127.0.0.1", number)).is_ok()
            {
                return Self { number, _kept: kept };
            }
        }
        panic!("no free port");
    }
}
