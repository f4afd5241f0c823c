//! What the producer makes of renders.

use mcpl_policy::Input;
use mcpl_policy::engine::Stance;

use super::oracle::Timing;
use super::world::World;

impl World {
    /// The producer answers a render: one that waits for it, or any other; once or twice.
    pub(super) fn producer_acts(&mut self) {
        let open: Vec<u64> = self.wire.asks.keys().copied().collect();
        if open.is_empty() || self.chance.percent(5) {
            let render = self.chance.up_to(0..=self.wire.newest);
            return self.rendered(render);
        }
        let render = *self.chance.of(&open);
        self.rendered(render);
        if self.chance.percent(10) {
            self.rendered(render);
        }
    }

    /// Everything that waits is answered.
    pub(super) fn answer_renders(&mut self) {
        for render in self.wire.asks.keys().copied().collect::<Vec<_>>() {
            self.rendered(render);
            self.wire.asks.remove(&render);
        }
    }

    fn rendered(&mut self, render: u64) {
        if self.doomed {
            return;
        }
        let telling = self.chance.telling();
        let (now_ms, timeout_ms) = (self.mono_ms(), self.settings.coalesce.render_timeout_ms);
        if let Some(ask) = self.wire.asks.get(&render).copied() {
            // A render that was not on disk yet, or could not be written down, has its time anew.
            let over_ms = ask.left_ms.max(self.steady_ms) + timeout_ms;
            if now_ms >= over_ms && !self.disk.lost && !self.congested {
                self.oracle.seen().late += 1;
                self.wire.asks.remove(&render);
            } else {
                let aside = self.session.is_some_and(|(_, host)| host.stance == Stance::Aside);
                let sure = now_ms < ask.made_ms + timeout_ms && !aside;
                let dealt = (!self.disk.lost).then(|| self.engine.steps() + 1);
                self.oracle.rendered(ask.number, &telling, Timing { sure, dealt });
            }
        }
        self.tell(Input::Rendered(render, telling.rendering()));
    }
}
