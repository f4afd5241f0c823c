//! What waits for the journal: answers, forwards and renders until their step is on disk, and what passes in the two
//! cases in which it must not overtake them (contract 7.6, 9.1). Everything else goes on meanwhile.

use std::collections::VecDeque;
use std::time::Duration;

use mcpl_codec::Line;
use mcpl_policy::engine::Seq;
use tokio::time::Instant;

use crate::exchange::Side;

/// What a line is.
#[derive(Debug)]
pub(super) enum Kind {
    /// An answer of ours; what is told should its step not become durable.
    Answer(Option<Line>),
    /// This forward of the engine's.
    Forward(u64),
    /// A render under this number.
    Render(u64),
    /// Something of the other side's that passes, since when it waits.
    Pass(Instant),
}

/// A line that waits.
#[derive(Debug)]
pub(super) struct Gated {
    pub(super) after: Seq,
    pub(super) to: Side,
    pub(super) line: Line,
    pub(super) kind: Kind,
}

/// Lines that wait, in the order in which their steps become durable.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    lines: VecDeque<Gated>,
    /// Bytes that wait for the host, and for the producer.
    bytes: [usize; 2],
    /// Messages that pass and wait, from the host and from the producer.
    passes: [usize; 2],
}

fn place(side: Side) -> usize {
    match side {
        Side::Host => 0,
        Side::Producer => 1,
    }
}

impl Waiting {
    pub(super) fn push(&mut self, gated: Gated) {
        self.bytes[place(gated.to)] += gated.line.wire().len();
        if let Kind::Pass(_) = gated.kind {
            self.passes[place(gated.to.other())] += 1;
        }
        // A step is never smaller than those before it, but what rests on an older one may come later.
        let at = self.lines.partition_point(|other| other.after <= gated.after);
        self.lines.insert(at, gated);
    }

    /// Bytes that wait to be written to a side.
    pub(super) fn bytes(&self, to: Side) -> usize {
        self.bytes[place(to)]
    }

    /// A message of this side waits: it is not read on, so that the order of its direction is kept.
    pub(super) fn blocks(&self, from: Side) -> bool {
        self.passes[place(from)] > 0
    }

    /// The next line whose step is on disk.
    pub(super) fn due(&mut self, durable: Seq) -> Option<Gated> {
        self.lines.front().filter(|gated| gated.after <= durable)?;
        let gated = self.lines.pop_front()?;
        self.forget(&gated);
        Some(gated)
    }

    /// The next line, whatever it waits for: its step will not become durable.
    pub(super) fn take(&mut self) -> Option<Gated> {
        let gated = self.lines.pop_front()?;
        self.forget(&gated);
        Some(gated)
    }

    /// When a message that passes has waited long enough.
    pub(super) fn deadline(&self, wait: Duration) -> Option<Instant> {
        if self.passes == [0, 0] {
            return None;
        }
        self.passing().map(|since| since + wait).min()
    }

    fn passing(&self) -> impl Iterator<Item = Instant> {
        self.lines.iter().filter_map(|gated| match gated.kind {
            Kind::Pass(since) => Some(since),
            Kind::Answer(_) | Kind::Forward(_) | Kind::Render(_) => None,
        })
    }

    /// Messages that pass and have waited since `before` or longer, in order.
    pub(super) fn late(&mut self, before: Instant) -> Vec<Gated> {
        self.extract(|gated| matches!(gated.kind, Kind::Pass(since) if since <= before))
    }

    /// Everything but the answers, in order: the session is over.
    pub(super) fn end(&mut self) -> Vec<Gated> {
        self.extract(|gated| !matches!(gated.kind, Kind::Answer(_)))
    }

    fn extract(&mut self, wanted: impl Fn(&Gated) -> bool) -> Vec<Gated> {
        let (taken, left): (Vec<Gated>, VecDeque<Gated>) = {
            let mut taken = Vec::new();
            let mut left = VecDeque::new();
            for gated in std::mem::take(&mut self.lines) {
                if wanted(&gated) { taken.push(gated) } else { left.push_back(gated) }
            }
            (taken, left)
        };
        self.lines = left;
        for gated in &taken {
            self.forget(gated);
        }
        taken
    }

    fn forget(&mut self, gated: &Gated) {
        self.bytes[place(gated.to)] -= gated.line.wire().len();
        if let Kind::Pass(_) = gated.kind {
            self.passes[place(gated.to.other())] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gated(after: Seq, to: Side, kind: Kind) -> Gated {
        Gated { after, to, line: Line::from_text(b"{}"), kind }
    }

    #[test]
    fn lines_leave_when_their_step_is_durable_and_in_order() {
        let mut waiting = Waiting::default();
        waiting.push(gated(1, Side::Producer, Kind::Answer(None)));
        waiting.push(gated(3, Side::Host, Kind::Forward(7)));
        waiting.push(gated(2, Side::Producer, Kind::Answer(None)));
        assert_eq!(waiting.bytes(Side::Producer), 2 * Line::from_text(b"{}").wire().len());
        let steps = |waiting: &mut Waiting, durable| {
            std::iter::from_fn(|| waiting.due(durable)).map(|gated| gated.after).collect::<Vec<_>>()
        };
        assert!(steps(&mut waiting, 0).is_empty());
        assert_eq!(steps(&mut waiting, 2), [1, 2]);
        assert_eq!(steps(&mut waiting, 9), [3]);
        assert_eq!((waiting.bytes(Side::Producer), waiting.bytes(Side::Host)), (0, 0));
    }

    #[test]
    fn what_passes_blocks_its_side_until_it_is_late() {
        let mut waiting = Waiting::default();
        let start = Instant::now();
        waiting.push(gated(1, Side::Host, Kind::Forward(1)));
        assert!(!waiting.blocks(Side::Producer) && !waiting.blocks(Side::Host));
        waiting.push(gated(1, Side::Host, Kind::Pass(start)));
        assert!(waiting.blocks(Side::Producer) && !waiting.blocks(Side::Host));
        let wait = Duration::from_millis(250);
        assert_eq!(waiting.deadline(wait), Some(start + wait));
        assert!(waiting.late(start - Duration::from_millis(1)).is_empty());
        assert_eq!(waiting.late(start).len(), 1);
        assert_eq!((waiting.blocks(Side::Producer), waiting.deadline(wait)), (false, None));
        assert_eq!(waiting.take().map(|gated| gated.after), Some(1), "the forward waits on");
    }

    #[test]
    fn at_the_end_only_answers_wait_on() {
        let mut waiting = Waiting::default();
        waiting.push(gated(1, Side::Host, Kind::Forward(1)));
        waiting.push(gated(1, Side::Producer, Kind::Answer(None)));
        waiting.push(gated(2, Side::Producer, Kind::Pass(Instant::now())));
        waiting.push(gated(3, Side::Producer, Kind::Render(1)));
        assert_eq!(
            waiting.end().iter().map(|gated| gated.to).collect::<Vec<_>>(),
            [Side::Host, Side::Producer, Side::Producer]
        );
        assert!(matches!(waiting.due(1), Some(Gated { kind: Kind::Answer(None), .. })));
        assert_eq!(waiting.bytes, [0, 0]);
    }
}
