//! What a kill, a loss of power or a bad disk left of the write-ahead log.
//!
//! `SQLite` drops, without a word, what comes after the first frame that does not match its checksum, and all of a log
//! whose head does not match. That is right for a commit that was under way when the power went: no other can be
//! dropped so, since each was on disk before the next was begun. Where more would be dropped the log is damaged, and
//! what was promised is in it (contract 9.1): then nothing is opened that would write over it.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The head of the log, bytes.
const HEAD: usize = 32;
/// The head of a frame, bytes.
const FRAME: usize = 24;
/// A page of a journal, bytes: what a frame has, where the log's head cannot say it.
const PAGE: usize = 4096;
/// How often a log is read that seems damaged while another process may write it.
const LOOKS: usize = 5;

/// How the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// There is nothing in it but what `SQLite` reads.
    Whole,
    /// A commit that was under way, or the last one, is cut off.
    Torn {
        /// Its pages.
        pages: u64,
        /// Its last page is there: it may have been promised.
        ended: bool,
    },
    /// The log's own head cannot be read.
    Headless,
    /// Commits follow something that cannot be read.
    Damaged {
        /// Where it cannot be read, bytes from the start.
        at: u64,
        /// How many commits are lost at least.
        commits: u64,
    },
}

impl Log {
    /// Whether something may be lost that was promised, and more than a kill or a loss of power can explain.
    pub(super) fn is_damaged(&self) -> bool {
        matches!(self, Self::Headless | Self::Damaged { .. })
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("it is whole"),
            Self::Torn { pages, ended: false } => {
                write!(f, "a commit of {pages} pages was cut off while it was written")
            }
            Self::Torn { pages, ended: true } => {
                write!(f, "the last commit, of {pages} pages, cannot be read")
            }
            Self::Headless => f.write_str("its head cannot be read, and so nothing in it"),
            Self::Damaged { at, commits } => {
                write!(
                    f,
                    "it cannot be read from byte {at} on, and at least {commits} commits are behind that"
                )
            }
        }
    }
}

/// The log of a journal's file.
pub(super) fn beside(file: &Path) -> PathBuf {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// Looks at the log of a journal's file that no process writes. It changes nothing, and `SQLite`'s locks are not on
/// this file: it may be opened by itself.
///
/// # Errors
/// What the system says.
pub(super) fn look(file: &Path) -> io::Result<Log> {
    match File::open(beside(file)) {
        Ok(log) => read(&mut BufReader::with_capacity(1 << 18, log)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Log::Whole),
        Err(why) => Err(why),
    }
}

/// As [`look`], where another process may write it meanwhile: damage is told only if it is there to stay.
///
/// # Errors
/// What the system says.
pub(super) fn look_beside_a_writer(file: &Path) -> io::Result<Log> {
    let mut last = look(file)?;
    for _ in 1..LOOKS {
        if !last.is_damaged() {
            break;
        }
        // What a log that began anew wrote over is read as something else by then.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let again = look(file)?;
        if again == last {
            break;
        }
        last = again;
    }
    Ok(last)
}

/// Reads as many bytes as there are, up to the length of `to`; whether there were so many.
fn fill(from: &mut impl Read, to: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(to) {
        Ok(()) => Ok(true),
        Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(why) => Err(why),
    }
}

fn read(log: &mut impl Read) -> io::Result<Log> {
    let mut head = [0; HEAD];
    if !fill(log, &mut head)? {
        return Ok(Log::Whole);
    }
    let Some(head) = Head::of(&head) else {
        // Less than a frame behind it is no commit.
        let is_long = fill(log, &mut [0; FRAME + PAGE])?;
        return Ok(if is_long { Log::Headless } else { Log::Whole });
    };
    let mut frame = vec![0; FRAME + head.page];
    // Of the frame before: its checksum as it is written, and as it should be.
    let mut sums = [head.sum; 2];
    let (mut good, mut last_commit) = (0_u64, 0_u64);
    let mut lost = Lost::default();
    let (mut is_good, mut is_ours) = (true, true);
    while fill(log, &mut frame)? {
        let ends = frame[4..8] != [0; 4];
        let (told, right) = (stored(&frame[16..24]), sums.map(|sum| head.chained(sum, &frame)));
        let chained = right.contains(&told);
        let salted = frame[8..16] == head.salt;
        // The checksum does not cover the salt: what is chained to ours is ours, whatever its salt.
        is_ours = salted || (is_ours && chained);
        is_good &= salted && chained;
        if is_good {
            good += 1;
            if ends {
                last_commit = good;
            }
        } else if is_ours {
            lost.add(chained, ends);
        }
        // Else it is of an older run of the log, or garbage.
        sums = [told, right[0]];
    }
    let pages = good - last_commit + lost.pages;
    Ok(if lost.is_more_than_a_tail() {
        let frames = usize::try_from(good).unwrap_or(usize::MAX).saturating_mul(FRAME + head.page);
        Log::Damaged { at: frames.saturating_add(HEAD) as u64, commits: lost.commits }
    } else if pages > 0 {
        Log::Torn { pages, ended: lost.commits > 0 }
    } else {
        Log::Whole
    })
}

/// Frames of the log's own run behind the first that cannot be read.
#[derive(Default)]
struct Lost {
    pages: u64,
    commits: u64,
    /// Commits of frames that follow each other as they were written.
    chain: u64,
    longest: u64,
}

impl Lost {
    fn add(&mut self, chained: bool, ends: bool) {
        self.pages += 1;
        if !chained {
            self.chain = 0;
        }
        if ends {
            self.commits += 1;
            self.chain += 1;
        }
        self.longest = self.longest.max(self.chain);
    }

    /// Two commits one after the other were both on disk. A commit that failed on a bad disk may have left its end,
    /// and a shorter one over it another: they are not chained, and more of them is not to be believed.
    fn is_more_than_a_tail(&self) -> bool {
        self.longest > 1 || self.commits > 2
    }
}

/// What the head of the log says.
struct Head {
    is_big_endian: bool,
    page: usize,
    salt: [u8; 8],
    sum: [u32; 2],
}

impl Head {
    /// `None`: `SQLite` would not read it either.
    fn of(bytes: &[u8; HEAD]) -> Option<Self> {
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let page = number(8) as usize;
        let known = number(0) & !1 == 0x377f_0682 && number(4) == 3_007_000;
        if !known || !page.is_power_of_two() || !(512..=65536).contains(&page) {
            return None;
        }
        let mut salt = [0; 8];
        salt.copy_from_slice(&bytes[16..24]);
        let mut head = Self { is_big_endian: number(0) & 1 == 1, page, salt, sum: [0; 2] };
        head.sum = head.add([0; 2], &bytes[..24]);
        (head.sum == stored(&bytes[24..])).then_some(head)
    }

    /// The checksum of a frame that follows another.
    fn chained(&self, before: [u32; 2], frame: &[u8]) -> [u32; 2] {
        self.add(self.add(before, &frame[..8]), &frame[FRAME..])
    }

    fn add(&self, [mut a, mut b]: [u32; 2], bytes: &[u8]) -> [u32; 2] {
        let (words, _) = bytes.as_chunks::<4>();
        let number = |word: [u8; 4]| {
            if self.is_big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let (pairs, _) = words.as_chunks::<2>();
        for [first, second] in pairs {
            a = a.wrapping_add(number(*first)).wrapping_add(b);
            b = b.wrapping_add(number(*second)).wrapping_add(a);
        }
        [a, b]
    }
}

/// A checksum as it is written.
fn stored(bytes: &[u8]) -> [u32; 2] {
    let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [number(0), number(4)]
}

#[cfg(test)]
mod tests;
