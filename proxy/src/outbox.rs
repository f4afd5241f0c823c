//! The out-queue of one direction: what waits to be written, in order.
//!
//! Small lines are copied together, so that many messages leave in one system call and a short line does not
//! keep the whole read buffer it came in alive; large lines are kept as they are. A line may carry a tag whose
//! first and last byte are reported (contract 7.4). What waits for the journal is not here yet.
//!
//! A queue towards a line transport makes spaces of the line breaks that a WebSocket message may have between
//! its tokens; one towards messages keeps every byte.

use std::collections::VecDeque;
use std::io::IoSlice;

use mcpl_codec::line::Line;
use memchr::memchr;

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

#[derive(Debug)]
enum Segment {
    /// Lines without a tag and without breaks of their own, copied together.
    Run(Vec<u8>),
    /// One line.
    Whole(Line),
}

impl Segment {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Run(run) => run,
            Self::Whole(line) => line.wire(),
        }
    }
}

/// The tag of one [`Segment::Whole`], by its place in the stream.
#[derive(Debug)]
struct Mark {
    start: u64,
    end: u64,
    tag: u64,
    started: bool,
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
    /// Bytes of lines with a tag whose last byte is not written.
    tagged: u64,
    limit: usize,
    /// Towards messages: a line may have breaks of its own.
    breaks: bool,
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
            tagged: 0,
            limit,
            breaks: false,
            spare: Vec::new(),
        }
    }

    /// Whether lines keep the breaks of their own, which is for messages; at first they do not. What is queued
    /// is changed with it: until the producer is reached it may be either.
    pub fn keep_breaks(&mut self, keep: bool) {
        self.breaks = keep;
        if keep {
            return;
        }
        for segment in &mut self.segments {
            if let Segment::Whole(line) = segment
                && line.has_breaks()
            {
                *line = line.flat();
            }
        }
    }

    /// Queues a line; with `tag` its progress is reported.
    pub fn push(&mut self, line: &Line, tag: Option<u64>) {
        if line.has_breaks() && !self.breaks {
            return self.queue(&line.flat(), tag);
        }
        self.queue(line, tag);
    }

    fn queue(&mut self, line: &Line, tag: Option<u64>) {
        let wire = line.wire();
        let start = self.pushed;
        self.pushed += wire.len() as u64;
        if let Some(tag) = tag {
            self.marks.push_back(Mark { start, end: self.pushed, tag, started: false });
            self.tagged += wire.len() as u64;
        } else if wire.len() <= COPY_MAX && !line.has_breaks() {
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
        let owned = if wire.len() <= COPY_MAX { line.detached() } else { line.clone() };
        self.segments.push_back(Segment::Whole(owned));
    }

    /// What is not written yet of the first line, its `\n` included; none if nothing is queued.
    pub fn front(&self) -> Option<&[u8]> {
        match self.segments.front()? {
            Segment::Run(run) => {
                let rest = run.get(self.head..)?;
                rest.get(..=memchr(b'\n', rest)?)
            }
            Segment::Whole(line) => line.wire().get(self.head..),
        }
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

    /// The limit is reached by lines without a tag alone: those with one are bounded by who tags them.
    pub fn is_full_of_untagged(&self) -> bool {
        let bytes = (self.pushed - self.written).saturating_sub(self.tagged) as usize;
        bytes + self.segments.len().saturating_sub(self.marks.len()) * SEGMENT_COST >= self.limit
    }

    /// Puts what is queued into `slices`, in order, and says how many were filled.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut head = self.head;
        let mut filled = 0;
        for (slice, segment) in slices.iter_mut().zip(&self.segments) {
            *slice = IoSlice::new(&segment.bytes()[head..]);
            head = 0;
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
                self.events.push_back(Event::Started(mark.tag));
            }
            if self.written < mark.end {
                break;
            }
            self.events.push_back(Event::Written(mark.tag));
            self.tagged -= mark.end - mark.start;
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
        self.marks.iter().filter(|mark| !mark.started).map(|mark| mark.tag)
    }

    /// Takes back the line with this tag. False if a byte of it was already handed to the transport, or
    /// there is no such line.
    pub fn withdraw(&mut self, tag: u64) -> bool {
        if !self.unstarted().any(|waiting| waiting == tag) {
            return false;
        }
        let segments = std::mem::take(&mut self.segments);
        let mut marks = std::mem::take(&mut self.marks);
        let mut place = self.written - self.head as u64;
        self.pushed = place;
        for segment in segments {
            let start = place;
            place += segment.bytes().len() as u64;
            let marked = marks.front().is_some_and(|mark| mark.start == start);
            let mark = if marked { marks.pop_front() } else { None };
            if mark.as_ref().is_some_and(|mark| mark.tag == tag && !mark.started) {
                self.tagged -= place - start;
                continue;
            }
            if let Some(mut mark) = mark {
                mark.start = self.pushed;
                mark.end = self.pushed + (place - start);
                self.marks.push_back(mark);
            }
            self.pushed += place - start;
            self.segments.push_back(segment);
        }
        true
    }

    /// Copies up to `most` bytes that are queued, for a transport that takes a buffer of its own.
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

#[cfg(test)]
mod tests;
