//! The admin listener: whether the program lives and is ready, where an occurrence stands, and an
//! operator's word (contract 10.3).
//!
//! One set of routes is served in two places: on TCP where `[admin]` says so, behind a check of the name it
//! was called by and a bearer token, and on a unix socket in the state directory ([`Control`]), which only
//! its owner can open. What they tell and do is a [`Desk`]'s.
//!
//! | method and path | answer |
//! |---|---|
//! | `GET /live` | 200 while the program answers at all |
//! | `GET /ready` | 200, or 503 with the reasons why not |
//! | `GET /metrics` | 200, Prometheus' text |
//! | `GET /v1/producers` | 200, an array |
//! | `GET /v1/reloads` | 200, how often the configuration was taken over, and how often it was not |
//! | `GET /v1/occurrences/{eventId}[?producer=N]` | 200, 404, or 409 with the producers that have it |
//! | `GET /v1/work[?producer=N][&after=ID][&limit=K]` | 200, an array; `Link: <…>; rel="next"` where there is more |
//! | `POST /v1/producers/{name}/flush` | 204, 404 |
//! | `GET /v1/stream` | 101: the event stream, a WebSocket |
//! | `GET /` | the live page |
//! | `POST /v1/work/{producer}/{n}/resolve` | 200; 404; 409 nothing to settle; 412 another revision |
//!
//! Every error is `{"error": …, "hint": …}`. 503 also where the answer did not come in time.

mod connection;
pub mod desk;
mod gate;
mod listener;
mod page;
mod path;
mod reply;
mod router;
mod socket;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

pub use self::connection::{
    ANSWER_WITHIN, BODY_BYTES, BODY_WITHIN, HANDSHAKE_WITHIN, HEADER_BYTES, HEADER_WITHIN, HEADERS, LIFE,
    PARTING,
};
pub use self::desk::Desk;
pub use self::listener::{CONNECTIONS, Terms, serve_tcp, serve_unix};
pub(crate) use self::path::encode;
pub use self::router::{LISTED, PATH_BYTES};
pub use self::socket::{Control, SOCKET};
pub use self::tls::Tls;
