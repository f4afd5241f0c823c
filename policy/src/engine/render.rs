//! Renders: a batch is frozen, its producer asked, and what comes of it takes its place (contract 6.5).

use super::Engine;
use super::batch::Batch;
use super::input::{Rendering, Stance, StoreState};
use super::note::Says;
use super::output::{Fate, Output, Seq};
use super::timer::Timer;
use super::work::{Role, Stage, Work, WorkKey};
use crate::admission::Standing;
use mcpl_codec::Event;

/// Renders that a producer is asked for at once.
pub const MAX_RENDERS: usize = 64;

/// One render that its producer has not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Render {
    pub(super) work: WorkKey,
    /// The number of the occurrence.
    pub(super) occurrence: u64,
    /// The step that wrote down that it began: nobody is asked before that is on disk.
    pub(super) step: Seq,
    /// The moment of its timer.
    pub(super) timer_ms: u64,
}

/// An answer to a render that is not dealt with on disk.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) step: Seq,
    pub(super) number: u64,
    pub(super) occurrence: u64,
    pub(super) rendering: Rendering,
}

impl Engine {
    /// Asks for the batches that are ready, in the order of places, as far as the host could be given what comes
    /// of them: the content is to be as new as can be.
    pub(super) fn start_renders(&mut self) {
        let mut from = 0;
        while let Some((place, key)) = self.order.next_batch(from) {
            from = place + 1;
            let Some(work) = self.works.get(key) else {
                self.order.remove_ready(place);
                continue;
            };
            if self.is_expired(work) {
                self.expire(key);
                continue;
            }
            if self.has_lapsed(work) {
                self.end(key, Fate::Lapsed);
                continue;
            }
            // What is ready before it takes its place in the host's hands first.
            let most = self.settings.in_flight;
            let before = self.order.ready_before(place, most);
            if self.renders.len() >= MAX_RENDERS
                || self.renders.len() + before >= self.pace.most()
                || self.renders.len() + self.outs.len() + before >= most
            {
                return;
            }
            if let Err(wait_ms) = self.pace.look(self.now.mono_ms) {
                return self.await_pace(wait_ms, key);
            }
            if let Some(stage) = self.hindrance(work) {
                self.keep_back(key, stage);
                continue;
            }
            let earlier = work.channel().map_or_else(Vec::new, |channel| self.order.earlier(channel, place));
            if !earlier.is_empty() {
                self.give_reason(earlier);
                from = 0;
                continue;
            }
            self.start_render(key);
        }
    }

    /// Contract 7.5: its authority is positively gone.
    fn has_lapsed(&self, work: &Work) -> bool {
        let claim = super::input::claim(&work.event);
        self.session.as_ref().is_some_and(|session| {
            session.host.stance == Stance::Over
                && matches!(session.admission.look(&claim), Standing::Forbidden(_))
        })
    }

    fn start_render(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key) else { return };
        let (place, occurrence) = (work.place, work.number);
        let Role::Pending(batch) = &work.role else { return };
        let (params, thread) = (batch.params(&work.event).into(), work.thread.clone());
        self.order.remove_ready(place);
        self.freeze(key);
        self.leave_queue(key);
        self.next_render += 1;
        let number = self.next_render;
        let after = Some(self.step());
        if let Some(work) = self.works.get_mut(key) {
            work.stage = Stage::Rendering(number);
        }
        let timer_ms = self.now.mono_ms + self.settings.coalesce.render_timeout_ms;
        let render = Render { work: key, occurrence, step: self.seq, timer_ms };
        self.renders.insert(number, render);
        self.timers.set(timer_ms, Timer::Render(number));
        self.outputs.push_back(Output::Render { number, params, thread, after });
    }

    /// From now on no notice joins the batch, and it is rendered once or not at all: its row says what it is when
    /// it never is.
    pub(super) fn freeze(&mut self, key: WorkKey) {
        let Some(work) = self.works.get_mut(key) else { return };
        let bytes = work.bytes();
        let Role::Pending(batch) = std::mem::replace(&mut work.role, Role::Rendered) else { return };
        self.changes.push(batch.clear());
        self.held_bytes = self.held_bytes - bytes + work.bytes();
        if let Some(subject) = work.subject.and_then(|id| self.subjects.get_mut(id)) {
            subject.unseat(key);
            subject.seat(key, work);
        }
        self.touch(key);
    }

    /// A notice that no host is given as it is any more, and that is unread: it is a batch like any other's.
    pub(super) fn open_batch(&mut self, key: WorkKey, number: u64) {
        let Some(work) = self.works.get_mut(key).filter(|work| work.role == Role::Plain) else { return };
        let (place, ready) = (work.place, work.stage == Stage::Ready);
        let mut batch = Batch::opened_by(number);
        self.changes.push(batch.join(&work.event));
        work.role = Role::Pending(Box::new(batch));
        if ready {
            self.order.remove_ready(place);
            self.list_ready(key);
        }
    }

    pub(super) fn on_rendered(&mut self, number: u64, rendering: Rendering) {
        // A late answer is discarded.
        let Some(render) = self.renders.get(&number) else { return };
        let (step, occurrence) = (self.seq + u64::from(!self.stepped), render.occurrence);
        if self.store == StoreState::Gone {
            // It is dealt with when something can be written again; one that comes after it is late.
            if self.rendered.iter().any(|answered| answered.number == number) {
                return;
            }
            self.rendered.push_back(Answered { step: Seq::MAX, number, occurrence, rendering });
            return;
        }
        self.rendered.push_back(Answered { step, number, occurrence, rendering: rendering.clone() });
        self.render_answered(number, rendering);
        self.pump();
    }

    /// An answer of before a commit failed: what it came to is not on disk by that, and nobody will say it again.
    pub(super) fn rendered_again(&mut self, answered: Answered) {
        let (number, rendering) = (answered.number, answered.rendering.clone());
        let step = self.seq + u64::from(!self.stepped);
        self.rendered.push_back(Answered { step, ..answered });
        self.render_answered(number, rendering);
    }

    /// The journal takes something again: answers that came meanwhile are dealt with.
    pub(super) fn settle_rendered(&mut self) {
        let step = self.seq + u64::from(!self.stepped);
        let mut waiting = Vec::new();
        for answered in self.rendered.iter_mut().filter(|answered| answered.step == Seq::MAX) {
            answered.step = step;
            waiting.push((answered.number, answered.rendering.clone()));
        }
        for (number, rendering) in waiting {
            self.render_answered(number, rendering);
        }
    }

    /// Whether an answer to this render would count: it is neither answered nor given up (contract 6.5).
    pub fn awaits_render(&self, number: u64) -> bool {
        self.renders.contains_key(&number) && self.rendered.iter().all(|answered| answered.number != number)
    }

    /// The batch of a render is closed: what came of it is an ordinary occurrence.
    fn render_answered(&mut self, number: u64, rendering: Rendering) {
        let Some(Render { work: key, .. }) = self.renders.remove(&number) else { return };
        let Some(work) = self.works.get(key).filter(|work| work.stage == Stage::Rendering(number)) else {
            return;
        };
        if self.has_lapsed(work) {
            return self.end(key, Fate::Lapsed);
        }
        if let Rendering::Content { content, timestamp } = rendering {
            let event = work.event.rendered(&content, &timestamp);
            // Nothing is nothing, in whatever form a host wants its content.
            if event.silent && event.ambiguous.is_none() {
                return self.end(key, Fate::Empty);
            }
            if self.is_fit(&event) {
                self.materialise(key, event);
            }
        }
        self.make_ready(key);
    }

    /// Whether it could have been pushed like this.
    fn is_fit(&self, event: &Event) -> bool {
        let malformed = event.ambiguous.is_some() || event.shape_fault().is_some();
        !(malformed || self.is_deadly(event) || self.over_size(event).is_some())
    }

    /// The fallback makes room for what was rendered.
    fn materialise(&mut self, key: WorkKey, event: Event) {
        let Some(work) = self.works.get_mut(key) else { return };
        let (number, before) = (work.number, work.bytes());
        *work.event = event;
        self.held_bytes = self.held_bytes - before + work.bytes();
        let event = work.event.clone();
        self.keep_text(number, &event);
        self.touch(key);
    }

    /// A render that takes too long: the fallback it is.
    pub(super) fn on_render_time(&mut self, number: u64, set_for: u64) {
        let (durable, gone) = (self.durable, self.store == StoreState::Gone);
        let congested = self.session.as_ref().is_some_and(|session| session.congested);
        let Some(render) = self.renders.get_mut(&number).filter(|render| render.timer_ms == set_for) else {
            return;
        };
        if render.step > durable || gone || congested {
            // The producer was not asked yet, or nothing that comes of it can be written; or it is not heard, and
            // nothing can be given in the meantime.
            render.timer_ms = self.now.mono_ms + self.settings.coalesce.render_timeout_ms.max(1);
            self.timers.set(render.timer_ms, Timer::Render(number));
            return;
        }
        let key = render.work;
        if self.works.get(key).is_some_and(|work| self.has_lapsed(work)) {
            return self.end(key, Fate::Lapsed);
        }
        self.note(key, Says::Unrendered);
        self.give_up_render(number);
    }

    /// Nobody renders it any more: the fallback is what is delivered.
    fn give_up_render(&mut self, number: u64) {
        if let Some(render) = self.renders.remove(&number)
            && self.works.get(render.work).is_some_and(Work::is_rendering)
        {
            self.unrendered += 1;
            self.make_ready(render.work);
        }
    }

    /// The producer is gone with the session; what it answered before is dealt with when that can be written.
    pub(super) fn give_up_renders(&mut self) {
        let answered = |number: &u64| self.rendered.iter().any(|answered| answered.number == *number);
        let unanswered: Vec<u64> = self.renders.keys().copied().filter(|number| !answered(number)).collect();
        for number in unanswered {
            self.give_up_render(number);
        }
    }
}
