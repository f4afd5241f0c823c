//! It was rendered, or was not and goes as its fallback.

use super::super::inputs::Next;
use super::Wanted;

/// The host could not take what was rendered of them.
pub(super) const fn waiting(next: Next) -> Wanted {
    match next {
        Next::Notice => [
            "first",
            "",
            "",
            "n1 replaced; n2 deferred as rendered, due; x held in a batch of 1; history none",
        ],
        Next::Plain => ["replaced n2", "", "", "n1 replaced; n2 replaced; x held plain, due; history none"],
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
        | Next::Revoked
        | Next::RevokedAnswered
        | Next::Unregistered
        | Next::Killed
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => ["", "", "", "n1 replaced; n2 deferred as rendered, due; history none"],
        Next::Expired => ["", "", "", "n1 replaced; n2 expired; history none"],
        Next::Through => {
            ["host appended", "", "x", "n1 replaced; n2 deferred as rendered, due; x delivered; history some"]
        }
        Next::ThroughRefused | Next::PlainThroughRefused => {
            ["host refused", "", "x", "n1 replaced; n2 deferred as rendered, due; history none"]
        }
        Next::PlainThrough => {
            ["host replaced", "", "x", "n1 replaced; n2 replaced; x delivered; history some"]
        }
    }
}

/// The same, and `m1` came since.
pub(super) const fn waiting_next(next: Next) -> Wanted {
    match next {
        Next::Notice => [
            "replaced m1",
            "",
            "",
            "n1 replaced; n2 deferred as rendered, due; m1 replaced; x held in a batch of 2; history none",
        ],
        Next::Plain => {
            ["replaced m1", "", "", "n1 replaced; n2 replaced; m1 replaced; x held plain, due; history none"]
        }
        Next::Withdrawn | Next::Removed => {
            ["retracted m1", "", "", "n1 replaced; n2 withdrawn; m1 withdrawn; x withdrawn; history none"]
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
        | Next::RevokedAnswered
        | Next::Killed
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => {
            ["", "", "", "n1 replaced; n2 deferred as rendered, due; m1 held in a batch of 1; history none"]
        }
        Next::Revoked | Next::Unregistered => {
            ["", "", "", "n1 replaced; n2 deferred as rendered, due; m1 lapsed; history none"]
        }
        Next::Expired => ["", "", "", "n1 replaced; n2 expired; m1 expired; history none"],
        Next::Through => [
            "host appended",
            "",
            "x",
            "n1 replaced; n2 deferred as rendered, due; m1 held in a batch of 1; x delivered; history some",
        ],
        Next::ThroughRefused | Next::PlainThroughRefused => [
            "host refused",
            "",
            "x",
            "n1 replaced; n2 deferred as rendered, due; m1 held in a batch of 1; history none",
        ],
        Next::PlainThrough => {
            ["host replaced", "", "x", "n1 replaced; n2 replaced; m1 replaced; x delivered; history some"]
        }
    }
}

/// The host has what was rendered of them, and says nothing.
pub(super) const fn out(next: Next) -> Wanted {
    match next {
        Next::Notice => {
            ["first", "", "", "n1 replaced; n2 out as rendered; x held in a batch of 1; history unknown"]
        }
        Next::Plain => ["appended", "", "", "n1 replaced; n2 out as rendered; x held plain; history unknown"],
        Next::Withdrawn => {
            ["noted", "", "", "n1 replaced; n2 out as rendered; x held fixed; history unknown"]
        }
        Next::Removed => {
            ["consumed", "", "", "n1 replaced; n2 out as rendered; x withdrawn; history unknown"]
        }
        Next::Assembles
        | Next::Content
        | Next::Empty
        | Next::Error
        | Next::Unfit
        | Next::Twice
        | Next::TimeOut
        | Next::Late
        | Next::Revoked
        | Next::RevokedAnswered
        | Next::Unregistered
        | Next::Expired
        | Next::Through
        | Next::ThroughRefused
        | Next::PlainThrough
        | Next::PlainThroughRefused => ["", "", "", "n1 replaced; n2 out as rendered; history unknown"],
        Next::NewSession | Next::Killed => {
            ["", "", "n2 = fresh", "n1 replaced; n2 out as rendered; history unknown"]
        }
        Next::Accepts => ["", "", "", "n1 replaced; n2 delivered; history some"],
        Next::Unavailable => ["", "", "", "n1 replaced; n2 deferred as rendered, due; history none"],
        Next::Refuses => ["", "", "", "n1 replaced; n2 dead as rendered; history none"],
    }
}

/// The same, and `m1` came since.
pub(super) const fn out_next(next: Next) -> Wanted {
    match next {
        Next::Notice => [
            "replaced m1",
            "",
            "",
            "n1 replaced; n2 out as rendered; m1 replaced; x held in a batch of 2; history unknown",
        ],
        Next::Plain => [
            "replaced m1",
            "",
            "",
            "n1 replaced; n2 out as rendered; m1 replaced; x held plain; history unknown",
        ],
        Next::Withdrawn => [
            "noted m1",
            "",
            "",
            "n1 replaced; n2 out as rendered; m1 withdrawn; x held fixed; history unknown",
        ],
        Next::Removed => [
            "consumed m1",
            "",
            "",
            "n1 replaced; n2 out as rendered; m1 withdrawn; x withdrawn; history unknown",
        ],
        Next::Assembles
        | Next::Content
        | Next::Empty
        | Next::Error
        | Next::Unfit
        | Next::Twice
        | Next::TimeOut
        | Next::Late
        | Next::RevokedAnswered
        | Next::Through
        | Next::ThroughRefused
        | Next::PlainThrough
        | Next::PlainThroughRefused => {
            ["", "", "", "n1 replaced; n2 out as rendered; m1 held in a batch of 1; history unknown"]
        }
        Next::NewSession | Next::Killed => [
            "",
            "",
            "n2 = fresh",
            "n1 replaced; n2 out as rendered; m1 held in a batch of 1; history unknown",
        ],
        Next::Revoked | Next::Unregistered => {
            ["", "", "", "n1 replaced; n2 out as rendered; m1 lapsed; history unknown"]
        }
        Next::Expired => ["", "", "", "n1 replaced; n2 out as rendered; m1 expired; history unknown"],
        Next::Accepts => ["", "", "", "n1 replaced; n2 delivered; m1 held in a batch of 1; history some"],
        Next::Unavailable => {
            ["", "", "", "n1 replaced; n2 deferred as rendered, due; m1 held in a batch of 1; history none"]
        }
        Next::Refuses => {
            ["", "", "", "n1 replaced; n2 dead as rendered; m1 held in a batch of 1; history none"]
        }
    }
}

/// Their render failed, and the host could not take the fallback.
pub(super) const fn fallback(next: Next) -> Wanted {
    match next {
        Next::Notice => [
            "first",
            "",
            "",
            "n1 replaced; n2 deferred as rendered, due; x held in a batch of 1; history none",
        ],
        Next::Plain => ["replaced n2", "", "", "n1 replaced; n2 replaced; x held plain, due; history none"],
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
        | Next::Revoked
        | Next::RevokedAnswered
        | Next::Unregistered
        | Next::Killed
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => ["", "", "", "n1 replaced; n2 deferred as rendered, due; history none"],
        Next::Expired => ["", "", "", "n1 replaced; n2 expired; history none"],
        Next::Through => {
            ["host appended", "", "x", "n1 replaced; n2 deferred as rendered, due; x delivered; history some"]
        }
        Next::ThroughRefused | Next::PlainThroughRefused => {
            ["host refused", "", "x", "n1 replaced; n2 deferred as rendered, due; history none"]
        }
        Next::PlainThrough => {
            ["host replaced", "", "x", "n1 replaced; n2 replaced; x delivered; history some"]
        }
    }
}
