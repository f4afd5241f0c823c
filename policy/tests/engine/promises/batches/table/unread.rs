//! Nothing unread, or what nobody was asked to render yet.

use super::super::inputs::Next;
use super::Wanted;

/// Nothing is unread, and nothing was ever released.
pub(super) const fn new(next: Next) -> Wanted {
    match next {
        Next::Notice => ["first", "", "", "p withdrawn; x held in a batch of 1; history none"],
        Next::Plain => ["first", "", "", "p withdrawn; x held plain; history none"],
        Next::Withdrawn | Next::Removed => ["retracted", "", "", "p withdrawn; x withdrawn; history none"],
        Next::Assembles
        | Next::Content
        | Next::Empty
        | Next::Error
        | Next::Unfit
        | Next::Twice
        | Next::TimeOut
        | Next::Late
        | Next::NewSession
        | Next::Revoked
        | Next::RevokedAnswered
        | Next::Unregistered
        | Next::Expired
        | Next::Killed
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => ["", "", "", "p withdrawn; history none"],
        Next::Through => ["host appended", "", "x", "p withdrawn; x delivered; history some"],
        Next::ThroughRefused | Next::PlainThroughRefused => {
            ["host refused", "", "x", "p withdrawn; history none"]
        }
        Next::PlainThrough => ["host first", "", "x", "p withdrawn; x delivered; history some"],
    }
}

/// Nothing is unread; the host has had some.
pub(super) const fn read(next: Next) -> Wanted {
    match next {
        Next::Notice => ["first", "", "", "p delivered; x held in a batch of 1; history some"],
        Next::Plain => ["appended", "", "", "p delivered; x held plain; history some"],
        Next::Withdrawn => ["noted", "", "", "p delivered; x held fixed; history some"],
        Next::Removed => ["consumed", "", "", "p delivered; x withdrawn; history some"],
        Next::Assembles
        | Next::Content
        | Next::Empty
        | Next::Error
        | Next::Unfit
        | Next::Twice
        | Next::TimeOut
        | Next::Late
        | Next::NewSession
        | Next::Revoked
        | Next::RevokedAnswered
        | Next::Unregistered
        | Next::Expired
        | Next::Killed
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => ["", "", "", "p delivered; history some"],
        Next::Through | Next::PlainThrough => {
            ["host appended", "", "x", "p delivered; x delivered; history some"]
        }
        Next::ThroughRefused | Next::PlainThroughRefused => {
            ["host refused", "", "x", "p delivered; history some"]
        }
    }
}

/// `p` is held.
pub(super) const fn plain(next: Next) -> Wanted {
    match next {
        Next::Notice => ["replaced p", "", "", "p replaced; x held in a batch of 1; history none"],
        Next::Plain => ["replaced p", "", "", "p replaced; x held plain; history none"],
        Next::Withdrawn | Next::Removed => ["retracted p", "", "", "p withdrawn; x withdrawn; history none"],
        Next::Assembles => ["", "", "p", "p out plain; history unknown"],
        Next::Content
        | Next::Empty
        | Next::Error
        | Next::Unfit
        | Next::Twice
        | Next::TimeOut
        | Next::Late
        | Next::NewSession
        | Next::Revoked
        | Next::RevokedAnswered
        | Next::Unregistered
        | Next::Killed
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => ["", "", "", "p held plain; history none"],
        Next::Expired => ["", "", "", "p expired; history none"],
        Next::Through | Next::PlainThrough => {
            ["host replaced", "", "x", "p replaced; x delivered; history some"]
        }
        Next::ThroughRefused | Next::PlainThroughRefused => {
            ["host refused", "", "x", "p held plain; history none"]
        }
    }
}

/// `n1` and `n2` are held.
pub(super) const fn pending(next: Next) -> Wanted {
    match next {
        Next::Notice => {
            ["replaced n2", "", "", "n1 replaced; n2 replaced; x held in a batch of 3; history none"]
        }
        Next::Plain => ["replaced n2", "", "", "n1 replaced; n2 replaced; x held plain; history none"],
        Next::Withdrawn | Next::Removed => {
            ["retracted n2", "", "", "n1 replaced; n2 withdrawn; x withdrawn; history none"]
        }
        Next::Assembles => ["", "[n1 n2]", "", "n1 replaced; n2 held as rendered, due; history none"],
        Next::Content
        | Next::Empty
        | Next::Error
        | Next::Unfit
        | Next::Twice
        | Next::TimeOut
        | Next::Late
        | Next::NewSession
        | Next::RevokedAnswered
        | Next::Killed
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => ["", "", "", "n1 replaced; n2 held in a batch of 2; history none"],
        Next::Revoked | Next::Unregistered => ["", "", "", "n1 replaced; n2 lapsed; history none"],
        Next::Expired => ["", "", "", "n1 replaced; n2 expired; history none"],
        Next::Through => {
            ["host appended", "", "x", "n1 replaced; n2 held in a batch of 2; x delivered; history some"]
        }
        Next::ThroughRefused | Next::PlainThroughRefused => {
            ["host refused", "", "x", "n1 replaced; n2 held in a batch of 2; history none"]
        }
        Next::PlainThrough => {
            ["host replaced", "", "x", "n1 replaced; n2 replaced; x delivered; history some"]
        }
    }
}

/// They have a reason to go, and the host has no room.
pub(super) const fn kept_back(next: Next) -> Wanted {
    match next {
        Next::Notice => [
            "replaced n2",
            "[n1 n2 x]",
            "",
            "n1 replaced; n2 replaced; x held as rendered, due; history none",
        ],
        Next::Plain => ["replaced n2", "", "x", "n1 replaced; n2 replaced; x out plain; history unknown"],
        Next::Withdrawn | Next::Removed => {
            ["retracted n2", "", "", "n1 replaced; n2 withdrawn; x withdrawn; history none"]
        }
        Next::Assembles
        | Next::Content
        | Next::Empty
        | Next::Error
        | Next::Unfit
        | Next::Twice
        | Next::TimeOut
        | Next::Late
        | Next::NewSession
        | Next::Killed
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => ["", "[n1 n2]", "", "n1 replaced; n2 held as rendered, due; history none"],
        Next::Revoked | Next::RevokedAnswered | Next::Unregistered => {
            ["", "", "", "n1 replaced; n2 lapsed; history none"]
        }
        Next::Expired => ["", "", "", "n1 replaced; n2 expired; history none"],
        Next::Through | Next::ThroughRefused | Next::PlainThrough | Next::PlainThroughRefused => {
            ["", "", "x", "n1 replaced; n2 held in a batch of 2; history unknown"]
        }
    }
}
