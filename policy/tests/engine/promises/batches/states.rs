//! What a subject may have unread, as far as batches go (contract 6.5).

use mcpl_policy::Input;

use super::super::rig::Rig;
use super::content;
use crate::draft::Draft;
use crate::say::Say;

/// Where one subject stands. Its first occurrence carries `initial`, so that its history is `none` until the host
/// was given something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing unread, and nothing ever released.
    New,
    /// Nothing unread; the host has had some.
    Read,
    /// `p` is held.
    Plain,
    /// `n1` and `n2` are held.
    Pending,
    /// The same with a reason to go; the way to the host is full.
    KeptBack,
    /// Their render is asked for.
    Rendering,
    /// The same; `m1` came since.
    RenderingNext,
    /// The host was given what was rendered of `n1` and `n2`, and said `unavailable`.
    Waiting,
    /// The same; `m1` came since.
    WaitingNext,
    /// The host was given what was rendered, and has not answered.
    Out,
    /// The same; `m1` came since.
    OutNext,
    /// Their render failed; the host was given the fallback and said `unavailable`.
    Fallback,
}

impl State {
    pub(super) const ALL: [Self; 12] = [
        Self::New,
        Self::Read,
        Self::Plain,
        Self::Pending,
        Self::KeptBack,
        Self::Rendering,
        Self::RenderingNext,
        Self::Waiting,
        Self::WaitingNext,
        Self::Out,
        Self::OutNext,
        Self::Fallback,
    ];

    /// Brings a rig there; `of` makes events of the subject.
    pub(super) fn reach(self, rig: &mut Rig, of: &dyn Fn(&str) -> Draft) {
        let open = |rig: &mut Rig| {
            rig.send(&of("n1").deferred().initial());
            rig.send(&of("n2").deferred());
        };
        match self {
            Self::New => {
                rig.send(&of("p").initial());
                rig.send(&of("w").retract().content(""));
            }
            Self::Read => {
                rig.send(&of("p").initial());
                rig.feed(Input::Flush);
                rig.write("p");
                rig.reply("p", &Say::Accepted);
            }
            Self::Plain => {
                rig.send(&of("p").initial());
            }
            Self::Pending => open(rig),
            Self::KeptBack => {
                open(rig);
                rig.feed(Input::Congested(true));
                rig.feed(Input::Flush);
            }
            Self::Rendering => {
                open(rig);
                rig.feed(Input::Flush);
            }
            Self::RenderingNext | Self::WaitingNext | Self::OutNext => {
                self.before_next().reach(rig, of);
                rig.send(&of("m1").deferred());
            }
            Self::Out => {
                Self::Rendering.reach(rig, of);
                rig.feed(Input::Rendered(1, content("\"fresh\"")));
                rig.write("n2");
            }
            Self::Waiting => {
                Self::Out.reach(rig, of);
                rig.reply("n2", &Say::Unavailable(Some(60_000)));
            }
            Self::Fallback => {
                Self::Rendering.reach(rig, of);
                rig.feed(Input::Rendered(1, mcpl_policy::engine::Rendering::Failed));
                rig.write("n2");
                rig.reply("n2", &Say::Unavailable(Some(60_000)));
            }
        }
    }

    fn before_next(self) -> Self {
        match self {
            Self::RenderingNext => Self::Rendering,
            Self::WaitingNext => Self::Waiting,
            Self::OutNext => Self::Out,
            other => other,
        }
    }
}
