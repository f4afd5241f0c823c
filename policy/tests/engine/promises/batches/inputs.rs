//! What may come next.

use mcpl_policy::Input;
use mcpl_policy::admission::Learned;
use mcpl_policy::engine::{ChannelFact, Rendering, Taught};
use mcpl_policy::profile::Dedup;

use super::super::rig::Rig;
use super::content;
use crate::draft::Draft;
use crate::say::{Say, legacy};

/// One thing that comes; the event is `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Notice,
    Plain,
    /// A withdrawal with a deletion notice.
    Withdrawn,
    /// A withdrawal without.
    Removed,
    /// The host is about to assemble.
    Assembles,
    /// The render is answered with content.
    Content,
    /// … with nothing to tell.
    Empty,
    /// … with an error.
    Error,
    /// … with what could not have been pushed.
    Unfit,
    /// … with content, twice.
    Twice,
    /// `render_timeout_ms` pass.
    TimeOut,
    /// The same, and then it is answered.
    Late,
    /// The session ends, the next one begins, and everything is permitted in it.
    NewSession,
    /// The host takes the authority for all of it away and is about to assemble.
    Revoked,
    /// The host takes the authority away, and the render is answered.
    RevokedAnswered,
    /// The subject is one of a channel, which is registered no more; and the host is about to assemble.
    Unregistered,
    /// Everything had a time, which is over; the producer takes longer to render.
    Expired,
    /// A kill, and a new session in which everything is permitted.
    Killed,
    /// The host accepts what is out.
    Accepts,
    /// The host says `unavailable` to it.
    Unavailable,
    /// The host refuses it for good.
    Refuses,
    /// The scope was closed by a verdict; a notice is written through, and accepted if the host was given it.
    Through,
    /// The same, and it is refused for good.
    ThroughRefused,
    /// The scope was closed by a verdict; a plain occurrence is written through, and accepted if the host was
    /// given it.
    PlainThrough,
    /// The same, and it is refused for good.
    PlainThroughRefused,
}

impl Next {
    pub(super) const ALL: [Self; 25] = [
        Self::Notice,
        Self::Plain,
        Self::Withdrawn,
        Self::Removed,
        Self::Assembles,
        Self::Content,
        Self::Empty,
        Self::Error,
        Self::Unfit,
        Self::Twice,
        Self::TimeOut,
        Self::Late,
        Self::NewSession,
        Self::Revoked,
        Self::RevokedAnswered,
        Self::Unregistered,
        Self::Expired,
        Self::Killed,
        Self::Accepts,
        Self::Unavailable,
        Self::Refuses,
        Self::Through,
        Self::ThroughRefused,
        Self::PlainThrough,
        Self::PlainThroughRefused,
    ];

    /// It comes; the ticket of its event, if it is one.
    pub(super) fn happen(self, rig: &mut Rig, of: impl Fn(&str) -> Draft) -> Option<u64> {
        let revoke = |rig: &mut Rig| rig.grant(br#"{"effectiveCapabilities":[]}"#);
        let says = |rig: &mut Rig, id: &str, say: &Say| {
            if rig.out_ids().contains(&id) {
                rig.reply(id, say);
            }
        };
        let through = |rig: &mut Rig, draft: Draft, say: &Say| {
            rig.feed(Input::Taught(Taught::of(&of("x").event()), Learned::Closed));
            let ticket = rig.event(&draft);
            says(rig, "x", say);
            Some(ticket)
        };
        match self {
            Self::Notice => return Some(rig.event(&of("x").deferred())),
            Self::Plain => return Some(rig.event(&of("x"))),
            Self::Withdrawn => return Some(rig.event(&of("x").retract())),
            Self::Removed => return Some(rig.event(&of("x").retract().content(""))),
            Self::Assembles => rig.feed(Input::Assembling),
            Self::Content => rig.feed(Input::Rendered(1, content("\"newer\""))),
            Self::Empty => rig.feed(Input::Rendered(1, content("\"\""))),
            Self::Error => rig.feed(Input::Rendered(1, Rendering::Failed)),
            Self::Unfit => rig.feed(Input::Rendered(1, content("7"))),
            Self::Twice => {
                rig.feed(Input::Rendered(1, content("\"newer\"")));
                rig.feed(Input::Rendered(1, content("\"newest\"")));
            }
            Self::TimeOut => rig.wait(5_000),
            Self::Late => {
                rig.wait(5_000);
                rig.feed(Input::Rendered(1, content("\"newer\"")));
            }
            Self::NewSession => {
                rig.end();
                rig.begin_open(legacy(Dedup::Push));
            }
            Self::Revoked => {
                revoke(rig);
                rig.feed(Input::Assembling);
            }
            Self::RevokedAnswered => {
                revoke(rig);
                rig.feed(Input::Rendered(1, content("\"newer\"")));
            }
            Self::Unregistered => {
                let removed = vec!["chan-a".to_owned()];
                rig.feed(Input::Channel(ChannelFact::Notified { added: Vec::new(), removed }));
                rig.feed(Input::Assembling);
            }
            Self::Expired => rig.wait(30_000),
            Self::Killed => {
                rig.kill(0);
                rig.begin_open(legacy(Dedup::Push));
            }
            Self::Accepts => says(rig, "n2", &Say::Accepted),
            Self::Unavailable => says(rig, "n2", &Say::Unavailable(Some(60_000))),
            Self::Refuses => says(rig, "n2", &Say::Code(-32602)),
            Self::Through => return through(rig, of("x").deferred(), &Say::Accepted),
            Self::ThroughRefused => return through(rig, of("x").deferred(), &Say::Code(-32602)),
            Self::PlainThrough => return through(rig, of("x"), &Say::Accepted),
            Self::PlainThroughRefused => return through(rig, of("x"), &Say::Code(-32602)),
        }
        None
    }
}
