//! What the system keeps of one direction of a connection until it is read.

use std::collections::VecDeque;

/// As much as a pipe holds.
const BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub struct Pipe {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Pipe {
    /// Takes a line (without its end) if there is room.
    pub fn has_room(&self) -> bool {
        self.bytes < BYTES
    }

    pub fn push(&mut self, line: Vec<u8>) {
        self.bytes += line.len();
        self.lines.push_back(line);
    }

    pub fn pop(&mut self) -> Option<Vec<u8>> {
        let line = self.lines.pop_front()?;
        self.bytes -= line.len();
        Some(line)
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// Both ends of the producer's connection and both of the host's.
#[derive(Debug, Default)]
pub struct Pipes {
    pub from_producer: Pipe,
    pub to_producer: Pipe,
    pub from_host: Pipe,
    pub to_host: Pipe,
}
