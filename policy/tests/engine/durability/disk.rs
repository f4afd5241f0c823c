//! A disk with latency: steps get there in groups, later than they are made; or not at all.

use std::collections::VecDeque;

use mcpl_policy::engine::{Seq, StoreState};
use mcpl_policy::journal::{ReceiptRow, Step, Table, WorkRow};

use crate::book::Book;

/// What waits for the disk, in order.
#[derive(Debug)]
enum Item {
    Step(Step),
    /// The receipt that answers this ticket.
    Recall(u64, u64),
    /// The rows that an operator's word is about.
    Letter(u64, u64),
}

/// What came of a commit.
#[derive(Debug)]
pub(super) enum News {
    /// This step is on disk.
    Durable(Seq),
    Recalled(u64, Option<ReceiptRow>),
    Letter {
        request: u64,
        number: u64,
        work: Option<WorkRow>,
        text: Option<Vec<u8>>,
    },
}

#[derive(Debug)]
pub(super) struct Disk {
    /// What is on disk.
    pub(super) book: Book,
    /// What will be once every step that was made is.
    pub(super) live: Book,
    queue: VecDeque<Item>,
    pub(super) durable: Seq,
    /// A commit failed: no step counts until the engine is as the disk says.
    pub(super) lost: bool,
    pub(super) state: StoreState,
}

impl Disk {
    pub(super) fn new() -> Self {
        Self {
            book: Book::default(),
            live: Book::default(),
            queue: VecDeque::new(),
            durable: 0,
            lost: false,
            state: StoreState::Good,
        }
    }

    /// A step is to get there; it is made, whatever becomes of it.
    pub(super) fn submit(&mut self, step: Step) {
        if !self.lost {
            self.live.apply(&step);
            self.queue.push_back(Item::Step(step));
        }
    }

    pub(super) fn recall(&mut self, ticket: u64, number: u64) {
        self.queue.push_back(Item::Recall(ticket, number));
    }

    pub(super) fn letter(&mut self, request: u64, number: u64) {
        self.queue.push_back(Item::Letter(request, number));
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The first `most` that wait are dealt with, as one group.
    pub(super) fn commit(&mut self, most: usize) -> Vec<News> {
        let most = most.min(self.queue.len());
        let mut news = Vec::new();
        for item in self.queue.drain(..most) {
            news.push(match item {
                Item::Step(step) => {
                    self.book.apply(&step);
                    self.durable = step.seq;
                    News::Durable(step.seq)
                }
                Item::Recall(ticket, number) => News::Recalled(ticket, self.book.receipt(number)),
                Item::Letter(request, number) => News::Letter {
                    request,
                    number,
                    work: self.book.work(number),
                    text: self.book.row(Table::Content, number).map(<[u8]>::to_vec),
                },
            });
        }
        news
    }

    /// What was not on disk is gone; the steps of the next engine count from 1.
    pub(super) fn crash(&mut self) {
        self.queue.clear();
        self.live = self.book.clone();
        (self.durable, self.lost) = (0, false);
    }

    /// A commit failed. What only reads goes on.
    pub(super) fn fail(&mut self) {
        self.queue.retain(|item| !matches!(item, Item::Step(_)));
        self.lost = true;
    }

    /// Steps count again; the engine is as the disk says.
    pub(super) fn recovered(&mut self) {
        self.live = self.book.clone();
        self.lost = false;
    }
}
