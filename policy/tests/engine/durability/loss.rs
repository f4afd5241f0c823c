//! The sidecar is killed, or its journal fails.

use mcpl_policy::engine::{Recovery, StoreState};
use mcpl_policy::journal::Table;
use mcpl_policy::{Engine, Input};

use super::wire::Wire;
use super::world::World;

impl World {
    /// The sidecar is killed, and started again.
    pub(super) fn kill(&mut self) {
        self.doomed = false;
        self.oracle.seen().kills += 1;
        self.session_over();
        self.wire = Wire::default();
        self.words.clear();
        self.hang_up();
        self.disk.crash();
        if self.chance.percent(40) {
            self.now_ms += self.chance.time();
        }
        self.say(|| "killed, and started again".to_owned());
        let recovery = self.disk.book.recovery();
        self.engine = Engine::recover(self.settings.clone(), self.wall_ms(), recovery).unwrap();
        self.engine.observe(true);
        assert!(self.engine.clock_ms() <= self.now_ms);
        self.behind_ms = self.now_ms - self.engine.clock_ms();
        self.disk.state = StoreState::Good;
        self.oracle.rolled_back(&self.disk.book, true);
        self.recovered();
    }

    /// A commit failed: everything not on disk is gone, the session goes on.
    pub(super) fn fail(&mut self) {
        if self.disk.lost || self.doomed {
            return;
        }
        self.say(|| "a commit fails".to_owned());
        self.oracle.seen().failures += 1;
        self.disk.fail();
        self.oracle.rolled_back(&self.disk.book, false);
        for gated in self.wire.take() {
            self.give_up(gated);
        }
        self.tell(Input::Store(StoreState::Gone));
    }

    /// Commits work again.
    pub(super) fn restore(&mut self, state: StoreState) {
        if !self.disk.lost || self.doomed {
            return;
        }
        self.say(|| format!("restored from step {}: {state:?}", self.disk.durable));
        self.oracle.seen().restores += 1;
        self.disk.recovered();
        self.disk.state = state;
        let mut recovery = Recovery::new(0);
        for table in Table::ALL.into_iter().filter(|table| *table != Table::Receipt) {
            for (id, row) in self.disk.book.table(table) {
                recovery.take(table, id, row).unwrap();
            }
        }
        self.note_relics();
        self.engine.restore(self.disk.durable, state, recovery).unwrap();
        self.oracle.restored(self.engine.steps());
        self.steady_ms = self.mono_ms();
        if self.boundary() {
            return;
        }
        self.carry_out(None);
        for (id, number) in self.oracle.known(self.mono_ms()) {
            assert_eq!(self.engine.find(&id), Some(number), "{id} is not known any more");
        }
    }

    fn recovered(&mut self) {
        self.note_relics();
        self.compare();
        for (id, number) in self.oracle.known(self.mono_ms()) {
            assert_eq!(self.engine.find(&id), Some(number), "{id} is not known any more");
        }
        let load = self.engine.load();
        assert_eq!(load.out, 0);
        assert_eq!(load.held, self.engine.rows().filter(|(table, ..)| *table == Table::Work).count());
        assert_eq!(load.subjects, self.disk.book.count(Table::Subject));
    }

    fn note_relics(&mut self) {
        self.relics = self.disk.book.table(Table::Work).map(|(number, _)| number).collect();
    }
}
