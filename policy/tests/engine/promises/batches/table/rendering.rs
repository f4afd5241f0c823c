//! A render is asked for.

use super::super::inputs::Next;
use super::Wanted;

/// They are being rendered.
pub(super) const fn rendering(next: Next) -> Wanted {
    match next {
        Next::Notice => {
            ["first", "", "", "n1 replaced; n2 held as rendered, due; x held in a batch of 1; history none"]
        }
        Next::Plain => ["replaced n2", "", "", "n1 replaced; n2 replaced; x held plain; history none"],
        Next::Withdrawn | Next::Removed => {
            ["retracted n2", "", "", "n1 replaced; n2 withdrawn; x withdrawn; history none"]
        }
        Next::Assembles
        | Next::Revoked
        | Next::Unregistered
        | Next::Accepts
        | Next::Unavailable
        | Next::Refuses => ["", "", "", "n1 replaced; n2 held as rendered, due; history none"],
        Next::Content | Next::Twice => {
            ["", "", "n2 = newer", "n1 replaced; n2 out as rendered; history unknown"]
        }
        Next::Empty => ["", "", "", "n1 replaced; n2 empty; history none"],
        Next::Error | Next::Unfit | Next::TimeOut | Next::Late | Next::NewSession | Next::Killed => {
            ["", "", "n2", "n1 replaced; n2 out as rendered; history unknown"]
        }
        Next::RevokedAnswered => ["", "", "", "n1 replaced; n2 lapsed; history none"],
        Next::Expired => ["", "", "", "n1 replaced; n2 expired; history none"],
        Next::Through => {
            ["host appended", "", "x", "n1 replaced; n2 held as rendered, due; x delivered; history some"]
        }
        Next::ThroughRefused | Next::PlainThroughRefused => {
            ["host refused", "", "x", "n1 replaced; n2 held as rendered, due; history none"]
        }
        Next::PlainThrough => {
            ["host replaced", "", "x", "n1 replaced; n2 replaced; x delivered; history some"]
        }
    }
}

/// They are being rendered, and `m1` came since.
pub(super) const fn rendering_next(next: Next) -> Wanted {
    match next {
        Next::Notice => [
            "replaced m1",
            "",
            "",
            "n1 replaced; n2 held as rendered, due; m1 replaced; x held in a batch of 2; history none",
        ],
        Next::Plain => {
            ["replaced m1", "", "", "n1 replaced; n2 replaced; m1 replaced; x held plain; history none"]
        }
        Next::Withdrawn | Next::Removed => {
            ["retracted m1", "", "", "n1 replaced; n2 withdrawn; m1 withdrawn; x withdrawn; history none"]
        }
        Next::Assembles | Next::Accepts | Next::Unavailable | Next::Refuses => {
            ["", "", "", "n1 replaced; n2 held as rendered, due; m1 held in a batch of 1; history none"]
        }
        Next::Content | Next::Twice => [
            "",
            "",
            "n2 = newer",
            "n1 replaced; n2 out as rendered; m1 held in a batch of 1; history unknown",
        ],
        Next::Empty => ["", "", "", "n1 replaced; n2 empty; m1 held in a batch of 1; history none"],
        Next::Error | Next::Unfit | Next::TimeOut | Next::Late | Next::NewSession | Next::Killed => {
            ["", "", "n2", "n1 replaced; n2 out as rendered; m1 held in a batch of 1; history unknown"]
        }
        Next::Revoked | Next::Unregistered => {
            ["", "", "", "n1 replaced; n2 held as rendered, due; m1 lapsed; history none"]
        }
        Next::RevokedAnswered => {
            ["", "", "", "n1 replaced; n2 lapsed; m1 held in a batch of 1; history none"]
        }
        Next::Expired => ["", "", "", "n1 replaced; n2 expired; m1 expired; history none"],
        Next::Through => [
            "host appended",
            "",
            "x",
            "n1 replaced; n2 held as rendered, due; m1 held in a batch of 1; x delivered; history some",
        ],
        Next::ThroughRefused | Next::PlainThroughRefused => [
            "host refused",
            "",
            "x",
            "n1 replaced; n2 held as rendered, due; m1 held in a batch of 1; history none",
        ],
        Next::PlainThrough => {
            ["host replaced", "", "x", "n1 replaced; n2 replaced; m1 replaced; x delivered; history some"]
        }
    }
}
