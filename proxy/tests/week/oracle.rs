//! What producers meant against what the model was shown: looked at from outside.
//!
//! Every occurrence has a number of its own in its content (`#12;`), so that what a host is given can be told apart
//! whatever `eventId` it comes under.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What an occurrence is to its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The newest state.
    Says,
    /// It takes back what was said; what it tells is that.
    Withdraws,
}

/// What its producer was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Nothing,
    Accepted,
    Refused,
}

#[derive(Debug)]
struct Occurrence {
    subject: usize,
    sense: Sense,
    told: Told,
    /// The run of the host in which it took it, each time.
    taken: Vec<u64>,
    /// When it last was: counts everything that happens.
    last: u64,
    /// The model has seen it.
    read: bool,
    /// The sidecar let it go to the host, first.
    left: Option<u64>,
    /// The middle heard of it.
    heard: Option<u64>,
    /// Nothing of its subject had been seen when it was withdrawn, and it was withdrawn by this.
    unread: bool,
}

/// What is wrong, by count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Occurrences that producers sent, resends not counted.
    pub meant: u64,
    /// What the host took, each time.
    pub given: u64,
    /// Subjects whose newest accepted state was never given to the host.
    pub lost: u64,
    /// Occurrences that nobody accepted, that no newer one makes needless, and that were never shown.
    pub unheard: u64,
    /// Taken twice by a host that drops repeats on that lane and ran on meanwhile, or remembers them on disk.
    pub doubled: u64,
    /// Taken twice otherwise.
    pub repeated: u64,
    /// Subjects of which an older state was given last.
    pub stale: u64,
    /// Withdrawn before anything of the subject had left to the host, and shown all the same.
    pub undead: u64,
    /// Withdrawn before the model saw anything of it, and shown all the same.
    pub late: u64,
    /// Told to the producer as refused.
    pub refused: u64,
    /// Accepted by the host and forgotten by it as it died.
    pub forgotten: u64,
    /// Held at the end.
    pub stuck: u64,
    /// Dead letters and what is in doubt at the end.
    pub operator: u64,
    /// Deaths of the host by what it was given.
    pub deaths: u64,
}

#[derive(Debug, Default)]
pub struct Oracle {
    all: Vec<Occurrence>,
    subjects: Vec<Vec<u32>>,
    names: HashMap<String, usize>,
    clock: u64,
    pub forgotten: u64,
    doubled: u64,
    repeated: u64,
    given: u64,
    undead: BTreeSet<u32>,
    late: BTreeSet<usize>,
    /// What went wrong, in words; the first few.
    pub words: Vec<String>,
}

impl Oracle {
    fn at(&mut self, number: u32) -> Option<&mut Occurrence> {
        self.all.get_mut((number as usize).checked_sub(1)?)
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        if self.words.len() < 40 {
            self.words.push(what());
        }
    }

    /// A producer has something to say; the number that stands for it. `None`: it is about nothing else.
    pub fn meant(&mut self, subject: Option<&str>, sense: Sense) -> u32 {
        let number = self.all.len() as u32 + 1;
        let next = self.subjects.len();
        let subject = match subject {
            Some(name) => *self.names.entry(name.to_owned()).or_insert(next),
            None => next,
        };
        if subject == next {
            self.subjects.push(Vec::new());
        }
        let seen = self.subjects[subject].iter().any(|&other| self.all[other as usize - 1].read);
        self.subjects[subject].push(number);
        self.all.push(Occurrence {
            subject,
            sense,
            told: Told::Nothing,
            taken: Vec::new(),
            last: 0,
            read: false,
            left: None,
            heard: None,
            unread: sense == Sense::Withdraws && !seen,
        });
        number
    }

    pub fn told(&mut self, number: u32, told: Told) {
        if let Some(occurrence) = self.at(number) {
            occurrence.told = told;
        }
    }

    /// The sidecar read this.
    pub fn heard(&mut self, line: &[u8]) {
        self.clock += 1;
        let now = self.clock;
        for number in numbers(line) {
            if let Some(occurrence) = self.at(number) {
                occurrence.heard.get_or_insert(now);
            }
        }
    }

    /// The sidecar lets this go to the host.
    pub fn left(&mut self, line: &[u8]) {
        self.clock += 1;
        let now = self.clock;
        for number in numbers(line) {
            let Some(occurrence) = self.at(number) else { continue };
            if occurrence.left.is_none() {
                occurrence.left = Some(now);
            }
        }
    }

    /// A host took this. `remembers`: it says of itself that it drops repeats here, and did not lose its memory.
    pub fn taken(&mut self, text: &str, run: u64, remembers: bool, on_disk: bool) {
        for number in numbers(text.as_bytes()) {
            self.clock += 1;
            self.given += 1;
            let now = self.clock;
            let Some(occurrence) = self.at(number) else { continue };
            let again = (!occurrence.taken.is_empty()).then(|| occurrence.taken.contains(&run) || on_disk);
            occurrence.taken.push(run);
            occurrence.last = now;
            match again {
                Some(same) if same && remembers => {
                    self.doubled += 1;
                    self.say(|| format!("doubled: #{number};"));
                }
                Some(_) => self.repeated += 1,
                None => {}
            }
        }
    }

    /// A host that coalesces took this out of what the model has not seen yet.
    pub fn displaced(&mut self, text: &str) {
        for number in numbers(text.as_bytes()) {
            if let Some(occurrence) = self.at(number) {
                occurrence.taken.clear();
                occurrence.last = 0;
            }
        }
    }

    /// The model sees this.
    pub fn read(&mut self, text: &str) {
        for number in numbers(text.as_bytes()) {
            let Some(occurrence) = self.at(number) else { continue };
            occurrence.read = true;
            let (subject, sense) = (occurrence.subject, occurrence.sense);
            if sense == Sense::Says && self.all.iter_of(&self.subjects[subject]).any(|o| o.unread) {
                self.late.insert(subject);
            }
        }
    }

    /// Reckons up. `kept` and `held`: texts of what is left for the operator, and of what is still held.
    pub fn sums(&mut self, kept: &[Vec<u8>], held: &[Vec<u8>]) -> Sums {
        let kept: BTreeSet<u32> = kept.iter().flat_map(|text| numbers(text)).collect();
        let held: BTreeSet<u32> = held.iter().flat_map(|text| numbers(text)).collect();
        let mut sums = Sums {
            meant: self.all.len() as u64,
            given: self.given,
            doubled: self.doubled,
            repeated: self.repeated,
            forgotten: self.forgotten,
            late: self.late.len() as u64,
            ..Sums::default()
        };
        let mut wrong = BTreeMap::new();
        for versions in &self.subjects {
            let all: Vec<(u32, &Occurrence)> =
                versions.iter().map(|&number| (number, &self.all[number as usize - 1])).collect();
            self.undead.extend(undead(&all));
            let newest_taken = all.iter().rposition(|(_, o)| !o.taken.is_empty());
            let newest_accepted = all.iter().rposition(|(_, o)| o.told == Told::Accepted);
            let said = all.iter().any(|(_, o)| o.sense == Sense::Says && (!o.taken.is_empty()));
            for (at, (number, occurrence)) in all.iter().enumerate() {
                sums.refused += u64::from(occurrence.told == Told::Refused);
                let newer = newest_taken.is_some_and(|newest| newest > at)
                    || newest_accepted.is_some_and(|newest| newest > at);
                let needless = newer || !occurrence.taken.is_empty() || kept.contains(number) || held.contains(number)
                    // What was never said need not be taken back.
                    || (occurrence.sense == Sense::Withdraws && !said);
                // Only the newest of what nobody heard counts: older ones it would have replaced anyway.
                let last = at + 1 == all.len();
                if needless {
                } else if occurrence.told == Told::Accepted {
                    sums.lost += 1;
                    wrong.insert(*number, "lost");
                } else if last || occurrence.sense == Sense::Withdraws {
                    sums.unheard += 1;
                }
            }
            if let Some(newest) = newest_taken
                && all.iter().any(|(_, o)| o.last > all[newest].1.last)
            {
                sums.stale += 1;
                wrong.insert(all[newest].0, "stale");
            }
        }
        sums.undead = self.undead.len() as u64;
        for (number, what) in wrong {
            let versions = self.subjects[self.all[number as usize - 1].subject].clone();
            self.say(|| format!("{what}: #{number}; of {versions:?}"));
            for version in versions {
                let words = format!("    #{version}; {:?}", self.all[version as usize - 1]);
                self.say(|| words);
            }
        }
        for number in self.undead.clone() {
            let words = format!("undead: #{number}; {:?}", self.all[number as usize - 1]);
            self.say(|| words);
        }
        sums
    }
}

/// What left although an accepted withdrawal was heard while nothing of its subject had left.
fn undead(versions: &[(u32, &Occurrence)]) -> Vec<u32> {
    let mut found = Vec::new();
    for (at, (_, withdrawal)) in versions.iter().enumerate() {
        let accepted = withdrawal.sense == Sense::Withdraws && withdrawal.told == Told::Accepted;
        let Some(heard) = withdrawal.heard.filter(|_| accepted) else { continue };
        let before = &versions[..at];
        if before.iter().any(|(_, o)| o.left.is_some_and(|left| left < heard)) {
            continue;
        }
        let after = |o: &Occurrence| o.heard.is_some_and(|at| at < heard) && !o.taken.is_empty();
        found.extend(before.iter().filter(|(_, o)| after(o)).map(|(number, _)| *number));
    }
    found
}

trait IterOf {
    fn iter_of<'a>(&'a self, numbers: &'a [u32]) -> impl Iterator<Item = &'a Occurrence>;
}

impl IterOf for Vec<Occurrence> {
    fn iter_of<'a>(&'a self, numbers: &'a [u32]) -> impl Iterator<Item = &'a Occurrence> {
        numbers.iter().map(|&number| &self[number as usize - 1])
    }
}

/// The numbers in a text: `#12;`.
pub fn numbers(text: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == b'#') {
        rest = &rest[at + 1..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 && rest.get(digits) == Some(&b';') {
            found.extend(
                std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse::<u32>().ok()),
            );
        }
        rest = &rest[digits..];
    }
    found
}
