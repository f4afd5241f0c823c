//! Where log lines go: a bounded queue, and a thread that writes it to stderr.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

/// Lines that wait to be written; past it lines are lost, and counted.
pub const WAITING: usize = 1024;

/// The longest line, in bytes; the rest of a longer one is cut off.
pub const LONGEST: usize = 16 * 1024;

/// How often `tick` is asked for lines of its own.
const TICK: Duration = Duration::from_secs(1);

/// The writing end of a log.
#[derive(Debug)]
pub struct Sink {
    lines: Lines,
    done: Receiver<()>,
}

/// Takes lines; never blocks, never fails.
#[derive(Clone, Debug)]
pub struct Lines {
    /// `None` once the log has ended.
    queue: Arc<RwLock<Option<SyncSender<Vec<u8>>>>>,
    lost: Arc<AtomicU64>,
}

impl Sink {
    /// Starts the thread that writes to `to`. Once a second it writes what `tick` returns, too. Errors of
    /// `to` are ignored: there is nowhere to tell them.
    pub fn start(to: impl Write + Send + 'static, tick: impl Fn() -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let (queue, waiting) = sync_channel(WAITING);
        let (ended, done) = sync_channel(1);
        let lost = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lost);
        let thread = thread::Builder::new().name("log".to_owned()).spawn(move || {
            write(&waiting, to, &tick, &count);
            let _ = ended.send(());
        });
        // Without a thread there is no log, but everything else.
        let queue = thread.ok().map(|_| queue);
        Self { lines: Lines { queue: Arc::new(RwLock::new(queue)), lost }, done }
    }

    /// Where lines are put.
    pub fn lines(&self) -> Lines {
        self.lines.clone()
    }

    /// Takes no more lines, and waits until the others are written, this long at most.
    pub fn finish(&self, wait: Duration) {
        drop(self.lines.queue.write().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.done.recv_timeout(wait);
    }
}

impl Lines {
    /// Puts a line, with its line end, in the queue; lost and counted if the queue is full.
    pub fn send(&self, line: &[u8]) {
        let mut line = line.to_vec();
        if line.len() > LONGEST {
            line.truncate(LONGEST);
            line.extend_from_slice("…\n".as_bytes());
        }
        if let Some(queue) = &*self.queue.read().unwrap_or_else(PoisonError::into_inner)
            && let Err(TrySendError::Full(_)) = queue.try_send(line)
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// One call of the formatter is one line.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.send(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn write(waiting: &Receiver<Vec<u8>>, mut to: impl Write, tick: &dyn Fn() -> Vec<Vec<u8>>, lost: &AtomicU64) {
    let mut next = Instant::now() + TICK;
    loop {
        match waiting.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(line) => drop(to.write_all(&line)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if Instant::now() >= next {
            for line in tick() {
                let _ = to.write_all(&line);
            }
            next = Instant::now() + TICK;
        }
        tell_lost(&mut to, lost);
    }
    tell_lost(&mut to, lost);
    let _ = to.flush();
}

fn tell_lost(to: &mut impl Write, lost: &AtomicU64) {
    match lost.swap(0, Ordering::Relaxed) {
        0 => {}
        n => drop(to.write_all(format!("… {n} log lines lost: stderr was not read\n").as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Tells each write, and waits for leave before it.
    struct Gate {
        leave: Receiver<()>,
        told: Sender<String>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.leave.recv();
            let _ = self.told.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_stderr_that_is_not_read_holds_nothing_up() {
        let (open, leave) = channel();
        let (told, read) = channel();
        let sink = Sink::start(Gate { leave, told }, Vec::new);
        let lines = sink.lines();
        for n in 0..WAITING + 500 {
            lines.send(format!("{n}\n").as_bytes());
        }
        sink.finish(Duration::ZERO);
        drop(open);
        let all: Vec<String> = read.iter().collect();
        let lost: usize =
            all.iter().filter_map(|l| l.strip_prefix("… ")?.split(' ').next()?.parse::<usize>().ok()).sum();
        let kept = all.iter().filter(|l| !l.starts_with('…')).count();
        assert_eq!(kept + lost, WAITING + 500, "written or counted");
        assert!(lost >= 499, "{lost}: one line is with the writer, the queue is full");
    }

    #[test]
    fn a_closed_stderr_is_survived() {
        let sink = Sink::start(Broken, Vec::new);
        sink.lines().send(b"x\n");
        sink.finish(Duration::from_secs(10));
        sink.lines().send(b"after the end\n");
    }

    #[test]
    fn what_was_sent_is_written_before_the_end() {
        let (open, leave) = channel();
        let (told, read) = channel();
        drop(open);
        let sink = Sink::start(Gate { leave, told }, Vec::new);
        sink.lines().send(b"one\n");
        sink.lines().send(&vec![b'x'; LONGEST + 1]);
        sink.finish(Duration::from_secs(10));
        let all: Vec<String> = read.iter().collect();
        assert_eq!((all.len(), all[0].as_str()), (2, "one\n"));
        assert!(all[1].ends_with("…\n") && all[1].len() <= LONGEST + 4);
    }
}
