//! The closed sets that values of attributes come from.

#[cfg(doc)]
use super::attribute;

closed! {
    /// What became of an event when it came ([`attribute::OUTCOME`]).
    Came {
        /// Held, and nothing of its subject was ever read.
        First = "first",
        /// It displaced what was unread.
        Replaced = "replaced",
        /// Held behind what was, or may have been, read.
        Appended = "appended",
        /// A withdrawal of what nobody had read.
        Retracted = "retracted",
        /// A deletion notice of what may have been read.
        Noted = "noted",
        /// A withdrawal with nothing to tell.
        Consumed = "consumed",
        /// Not coalesced, and kept for the host.
        Stored = "stored",
        /// It came before, and was answered as then.
        Again = "again",
        /// It went to the host as it came.
        Passed = "passed",
        /// It was refused.
        Refused = "refused",
        /// The session ended before the host had answered.
        Unanswered = "unanswered",
    }
}

closed! {
    /// A kind of refusal ([`attribute::REFUSAL`]).
    Refusal {
        /// The event is wrong.
        Invalid = "invalid",
        /// The host does not allow it.
        NotPermitted = "not_permitted",
        /// The channel is not registered.
        UnknownChannel = "unknown_channel",
        /// Not now.
        Unavailable = "unavailable",
        /// Over a size.
        TooLarge = "too_large",
        /// The host has had it.
        Duplicate = "duplicate",
        /// A kind that is not known here.
        Other = "_OTHER",
    }
}

closed! {
    /// Who refused ([`attribute::SOURCE`]).
    Source {
        /// The sidecar, before the host was asked.
        Sidecar = "sidecar",
        /// The host.
        Host = "host",
    }
}

closed! {
    /// How an accepted occurrence ended ([`attribute::END`]); names as in `journal list`.
    End {
        /// The host has it.
        Delivered = "delivered",
        /// A newer one took its place.
        Replaced = "replaced",
        /// Its sender withdrew it.
        Withdrawn = "withdrawn",
        /// It was rendered, and there was nothing to tell.
        Empty = "empty",
        /// It was dropped with the authority for it.
        Lapsed = "lapsed",
        /// An operator dropped it.
        Dropped = "dropped",
        /// Its time was over.
        Expired = "expired",
        /// The host refused it for good.
        Dead = "dead-letter",
        /// Handed over and never answered for; an operator decides.
        InDoubt = "manual-reconciliation",
    }
}

closed! {
    /// Which way a message went ([`attribute::DIRECTION`]).
    Direction {
        /// From the host to the producer.
        ToProducer = "to_producer",
        /// From the producer to the host.
        ToHost = "to_host",
    }
}

closed! {
    /// What came of a render ([`attribute::RENDER`]).
    Rendered {
        /// The producer answered with content.
        Content = "content",
        /// It answered with an error, or with what is no content.
        Failed = "failed",
        /// It did not answer in time, or before its session ended.
        Unanswered = "unanswered",
        /// It answered when nobody waited any more.
        Late = "late",
        /// It was not asked: it leaves too many unanswered.
        Unasked = "unasked",
    }
}

closed! {
    /// What came of a reload ([`attribute::RELOAD`]).
    Reload {
        /// The file counts.
        Applied = "applied",
        /// It does not validate: the running configuration stays.
        Rejected = "rejected",
    }
}

closed! {
    /// What the journal takes ([`attribute::STORE`]).
    Store {
        /// Everything.
        Good = "good",
        /// No new work.
        Short = "short",
        /// Nothing.
        Gone = "gone",
    }
}

closed! {
    /// What a certificate is for ([`attribute::CERTIFICATE`]).
    Role {
        /// The admin listener's own.
        Admin = "admin",
        /// A producer's listener's own.
        Listen = "listen",
        /// Our own towards a producer.
        Connect = "connect",
    }
}

closed! {
    /// A signal that is exported ([`attribute::SIGNAL`]).
    Signal {
        /// Spans.
        Spans = "spans",
    }
}

closed! {
    /// How a peer is reached ([`attribute::TRANSPORT`]).
    Transport {
        /// stdin and stdout.
        Pipe = "pipe",
        /// TCP, bare or under a WebSocket.
        Tcp = "tcp",
    }
}

closed! {
    /// A version of MCP ([`attribute::PROTOCOL_VERSION`]).
    Version {
        /// The first.
        V2024Nov05 = "2024-11-05",
        /// The second.
        V2025Mar26 = "2025-03-26",
        /// The third.
        V2025Jun18 = "2025-06-18",
        /// The fourth.
        V2025Nov25 = "2025-11-25",
        /// The fifth.
        V2026Jul28 = "2026-07-28",
        /// Another.
        Other = "_OTHER",
    }
}

closed! {
    /// What went wrong with a request ([`attribute::ERROR`]): a code of JSON-RPC or of MCPL, a kind of refusal, or how
    /// else it failed.
    Failure {
        /// Not JSON.
        Parse = "-32700",
        /// Not a request.
        InvalidRequest = "-32600",
        /// No such method.
        MethodNotFound = "-32601",
        /// Wrong parameters.
        InvalidParams = "-32602",
        /// The peer failed.
        Internal = "-32603",
        /// The peer failed otherwise.
        Server = "-32000",
        /// The feature set is not enabled.
        NotEnabled = "-32001",
        /// The capability is denied; in MCP: no such resource.
        Denied = "-32002",
        /// The feature set is unknown.
        UnknownSet = "-32003",
        /// The channel is not permitted.
        ChannelNotPermitted = "-32017",
        /// The channel is unknown.
        UnknownChannel = "-32023",
        /// Not now.
        Unavailable = "-32030",
        /// Over a size.
        TooLarge = "-32031",
        /// A URL has to be visited first.
        UrlElicitation = "-32042",
        /// A tool ran and failed.
        Tool = "tool_error",
        /// A result that refuses: `invalid`.
        RefusedInvalid = "invalid",
        /// A result that refuses: `not_permitted`.
        RefusedNotPermitted = "not_permitted",
        /// A result that refuses: `unknown_channel`.
        RefusedUnknownChannel = "unknown_channel",
        /// A result that refuses: `unavailable`.
        RefusedUnavailable = "unavailable",
        /// A result that refuses: `too_large`.
        RefusedTooLarge = "too_large",
        /// A result that refuses: `duplicate`.
        RefusedDuplicate = "duplicate",
        /// Who asked wants no answer any more.
        Cancelled = "cancelled",
        /// The session ended first.
        Lost = "session_ended",
        /// The producer was not reached.
        Unreached = "producer_unreached",
        /// Anything else.
        Other = "_OTHER",
    }
}

impl Came {
    /// It is one of the outcomes of coalescing (contract 6.6).
    pub fn is_outcome(self) -> bool {
        (self as usize) <= Self::Consumed as usize
    }
}

impl Version {
    /// The version a peer names.
    pub fn of(name: &str) -> Self {
        Self::named(name).unwrap_or(Self::Other)
    }
}

impl Refusal {
    /// The kind a refusal names.
    pub fn of(kind: &mcpl_codec::refusal::Kind) -> Self {
        Self::named(kind.as_str()).unwrap_or(Self::Other)
    }
}

impl Failure {
    /// An error of this code; `None`: it has none that is a whole number.
    pub fn of_code(code: Option<i64>) -> Self {
        let coded = code.and_then(|code| Self::named(&code.to_string()));
        coded.unwrap_or(Self::Other)
    }

    /// A result that refuses.
    pub fn of_refusal(kind: Refusal) -> Self {
        Self::named(kind.as_str()).unwrap_or(Self::Other)
    }

    /// It is the code of an error.
    pub fn is_code(self) -> bool {
        self.as_str().starts_with('-')
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Method, OTHER};
    use super::*;

    #[test]
    fn what_is_in_no_closed_set_is_other() {
        assert_eq!(Method::of("tools/call").as_str(), "tools/call");
        assert_eq!(Method::of("tools/call\n{secret}").as_str(), OTHER);
        assert_eq!(Version::of("2099-01-01").as_str(), OTHER);
        assert_eq!(Failure::of_code(Some(-32_030)).as_str(), "-32030");
        assert_eq!(Failure::of_code(Some(7)).as_str(), OTHER);
        assert_eq!(Failure::of_code(None).as_str(), OTHER);
        assert_eq!(Refusal::of(&mcpl_codec::refusal::Kind::Other("made up".into())).as_str(), OTHER);
        assert!(Failure::Unavailable.is_code() && !Failure::RefusedUnavailable.is_code());
    }
}
