//! The out-queue of one direction: what waits to be written, in order.
//!
//! Small lines are copied together, so that many messages leave in one system call and a short line does not
//! keep the whole read buffer it came in alive; large lines are kept as they are. A line may wait for a
//! record of the journal (`after`) and may carry a tag whose first and last byte are reported
//! (contract 7.4, 7.6). A line that waits holds back everything behind it: the order of a direction is kept.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;
use mcpl_codec::line::Line;

/// Lines up to this many bytes are copied together; larger ones are queued without a copy.
const COPY_MAX: usize = 4 * 1024;
/// A run of copied lines is not grown past this many bytes.
const RUN_MAX: usize = 64 * 1024;
/// What one queued segment is counted as beside its bytes, so that millions of tiny lines are bounded too.
const SEGMENT_COST: usize = 64;

/// The limit of one direction in bytes, unless another is given.
pub const LIMIT_BYTES: usize = 256 * 1024;

/// What happened to a tagged line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first byte of the line with this tag was handed to the transport.
    Started(u64),
    /// The last byte of the line with this tag was handed to the transport.
    Written(u64),
}

/// A line that waits for a record, shown by [`Outbox::revoke`].
#[derive(Clone, Copy, Debug)]
pub struct Gated {
    /// The record it waits for.
    pub after: u64,
    /// Its tag, if it has one.
    pub tag: Option<u64>,
}

#[derive(Debug)]
enum Segment {
    /// Lines without gate and tag, copied together.
    Run(Vec<u8>),
    /// One line, not copied.
    Whole(Bytes),
}

impl Segment {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Run(run) => run,
            Self::Whole(line) => line,
        }
    }
}

/// A gate or a tag of one [`Segment::Whole`], by its place in the stream.
#[derive(Debug)]
struct Mark {
    start: u64,
    end: u64,
    after: Option<u64>,
    tag: Option<u64>,
    started: bool,
}

impl Mark {
    fn waits(&self, durable: u64) -> bool {
        self.after.is_some_and(|after| after > durable)
    }
}

/// The bounded FIFO of one direction.
///
/// [`push`](Self::push) always accepts: who reads for this queue asks [`is_full`](Self::is_full) before each
/// message, so at least one message of any size gets through and no more than one passes the limit.
#[derive(Debug)]
pub struct Outbox {
    segments: VecDeque<Segment>,
    marks: VecDeque<Mark>,
    events: VecDeque<Event>,
    /// Bytes of the first segment that are already written.
    head: usize,
    /// Place in the stream: everything pushed so far, everything written so far.
    pushed: u64,
    written: u64,
    durable: u64,
    limit: usize,
    /// An emptied run, used again.
    spare: Vec<u8>,
}

impl Outbox {
    /// An empty queue that is full from `limit` bytes on.
    pub fn new(limit: usize) -> Self {
        Self {
            segments: VecDeque::new(),
            marks: VecDeque::new(),
            events: VecDeque::new(),
            head: 0,
            pushed: 0,
            written: 0,
            durable: 0,
            limit,
            spare: Vec::new(),
        }
    }

    /// Queues a line. With `after` no byte of it, nor of anything behind it, leaves before
    /// [`durable`](Self::durable) has reached that record; with `tag` its progress is reported.
    pub fn push(&mut self, line: &Line, after: Option<u64>, tag: Option<u64>) {
        self.queue(line.wire(), after, tag);
    }

    fn queue(&mut self, wire: &Bytes, after: Option<u64>, tag: Option<u64>) {
        let start = self.pushed;
        self.pushed += wire.len() as u64;
        let after = after.filter(|&seq| seq > self.durable);
        if after.is_some() || tag.is_some() {
            self.marks.push_back(Mark { start, end: self.pushed, after, tag, started: false });
        } else if wire.len() <= COPY_MAX {
            match self.segments.back_mut() {
                Some(Segment::Run(run)) if run.len() + wire.len() <= RUN_MAX => run.extend_from_slice(wire),
                _ => {
                    let mut run = std::mem::take(&mut self.spare);
                    run.extend_from_slice(wire);
                    self.segments.push_back(Segment::Run(run));
                }
            }
            return;
        }
        let owned = if wire.len() <= COPY_MAX { Bytes::copy_from_slice(wire) } else { wire.clone() };
        self.segments.push_back(Segment::Whole(owned));
    }

    /// Everything up to the record `seq` is on disk. Never goes back.
    pub fn durable(&mut self, seq: u64) {
        self.durable = self.durable.max(seq);
    }

    /// Bytes that are queued and not yet written.
    pub fn bytes(&self) -> usize {
        (self.pushed - self.written) as usize
    }

    /// Nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.pushed == self.written
    }

    /// The limit is reached: do not read what is for this queue.
    pub fn is_full(&self) -> bool {
        self.bytes() + self.segments.len() * SEGMENT_COST >= self.limit
    }

    /// A byte could be written now: something is queued and its head does not wait for a record.
    pub fn is_ready(&self) -> bool {
        !self.is_empty() && self.open() > self.written
    }

    /// The record the head waits for, if it does.
    pub fn waits_for(&self) -> Option<u64> {
        let mark =
            self.marks.front().filter(|mark| mark.start == self.written && mark.waits(self.durable))?;
        mark.after
    }

    /// The place in the stream up to which bytes may leave.
    fn open(&self) -> u64 {
        self.marks.iter().find(|mark| mark.waits(self.durable)).map_or(self.pushed, |mark| mark.start)
    }

    /// Puts what may leave now into `slices`, in order, and says how many were filled.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut left = (self.open() - self.written) as usize;
        let mut head = self.head;
        let mut filled = 0;
        for (slice, segment) in slices.iter_mut().zip(&self.segments) {
            if left == 0 {
                break;
            }
            // A gate stands at the edge of a segment, so a segment leaves whole.
            let bytes = &segment.bytes()[head..];
            head = 0;
            left -= bytes.len();
            *slice = IoSlice::new(bytes);
            filled += 1;
        }
        filled
    }

    /// `count` bytes of [`slices`](Self::slices) were handed to the transport.
    pub fn wrote(&mut self, count: usize) {
        self.written += count as u64;
        self.head += count;
        while let Some(first) = self.segments.front() {
            let length = first.bytes().len();
            if self.head < length {
                break;
            }
            self.head -= length;
            if let Some(Segment::Run(mut run)) = self.segments.pop_front()
                && run.capacity() <= 2 * RUN_MAX
            {
                run.clear();
                self.spare = run;
            }
        }
        while let Some(mark) = self.marks.front_mut() {
            if self.written > mark.start && !mark.started {
                mark.started = true;
                self.events.extend(mark.tag.map(Event::Started));
            }
            if self.written < mark.end {
                break;
            }
            self.events.extend(mark.tag.map(Event::Written));
            self.marks.pop_front();
        }
    }

    /// The next report on a tagged line, in the order of the stream.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The tags of which no byte was handed to the transport, in order. At the end of a session these lines
    /// have not been sent (contract 7.4).
    pub fn unstarted(&self) -> impl Iterator<Item = u64> {
        self.marks.iter().filter(|mark| !mark.started).filter_map(|mark| mark.tag)
    }

    /// The record did not become durable: each line that still waits is given to `instead`, and the line that
    /// it returns takes its place, without gate and tag; `None` removes it. The order stays.
    pub fn revoke(&mut self, mut instead: impl FnMut(Gated) -> Option<Line>) {
        let durable = self.durable;
        self.rebuild(|mark| match mark.after {
            Some(after) if after > durable => Keep::Instead(instead(Gated { after, tag: mark.tag })),
            _ => Keep::AsIs,
        });
    }

    /// Takes back the line with this tag. False if a byte of it was already handed to the transport, or
    /// there is no such line.
    pub fn withdraw(&mut self, tag: u64) -> bool {
        let mut found = false;
        if self.unstarted().any(|waiting| waiting == tag) {
            self.rebuild(|mark| {
                if mark.tag == Some(tag) && !mark.started {
                    found = true;
                    Keep::Instead(None)
                } else {
                    Keep::AsIs
                }
            });
        }
        found
    }

    /// Queues everything anew, each marked line as `keep` says. Rare: a failed commit, a withdrawal.
    fn rebuild(&mut self, mut keep: impl FnMut(&Mark) -> Keep) {
        let segments = std::mem::take(&mut self.segments);
        let mut marks = std::mem::take(&mut self.marks);
        let mut place = self.written - self.head as u64;
        self.pushed = place;
        for segment in segments {
            let start = place;
            place += segment.bytes().len() as u64;
            let marked = marks.front().is_some_and(|mark| mark.start == start);
            let mark = if marked { marks.pop_front() } else { None };
            let kept = mark.as_ref().map_or(Keep::AsIs, &mut keep);
            match kept {
                Keep::Instead(Some(line)) => self.queue(line.wire(), None, None),
                Keep::Instead(None) => {}
                Keep::AsIs => {
                    if let Some(mut mark) = mark {
                        mark.start = self.pushed;
                        mark.end = self.pushed + (place - start);
                        self.marks.push_back(mark);
                    }
                    self.pushed += place - start;
                    self.segments.push_back(segment);
                }
            }
        }
    }

    /// Copies up to `most` bytes that may leave now, for a transport that takes a buffer of its own.
    pub fn copy(&self, most: usize) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 16];
        let filled = self.slices(&mut slices);
        let mut copied = Vec::new();
        for slice in &slices[..filled] {
            let room = most - copied.len();
            copied.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        copied
    }
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new(LIMIT_BYTES)
    }
}

enum Keep {
    AsIs,
    Instead(Option<Line>),
}

#[cfg(test)]
mod tests;
