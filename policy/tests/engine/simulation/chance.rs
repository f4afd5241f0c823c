//! What may happen, and how likely it is: everything random comes from here.

use std::ops::RangeBounds;

use mcpl_codec::Lane;
use mcpl_codec::refusal::Kind;
use mcpl_policy::Settings;
use mcpl_policy::profile::Dedup;
use mcpl_policy::settings::{InDoubt, Position};

use crate::draft::{Draft, Wrong};
use crate::say::{CHANNELS, CODES, Say};
use crate::telling::{MISSHAPEN, SILENT, Telling};

/// The dice.
#[derive(Debug)]
pub(crate) struct Chance {
    dice: fastrand::Rng,
    /// How many of all events are notices of one subject, in percent.
    digest: u32,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Self { dice: fastrand::Rng::with_seed(seed), digest: 0 };
        chance.digest = *chance.of(&[0, 0, 15, 50]);
        chance
    }

    /// Now and then, where there are many notices: so many at once that not all are kept.
    pub(crate) fn flurry(&mut self) -> bool {
        self.digest == 50 && self.percent(1)
    }

    /// True in `percent` of all throws.
    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.dice.u32(0..100) < percent
    }

    pub(crate) fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.dice.usize(0..choices.len())]
    }

    pub(crate) fn up_to(&mut self, range: impl RangeBounds<u64>) -> u64 {
        self.dice.u64(range)
    }

    /// A step of time, from none to hours.
    pub(crate) fn time(&mut self) -> u64 {
        match self.up_to(0..100) {
            0..10 => 0,
            10..45 => self.up_to(1..100),
            45..75 => self.up_to(100..3_000),
            75..90 => self.up_to(3_000..30_000),
            90..97 => self.up_to(30_000..600_000),
            _ => self.up_to(600_000..8_000_000),
        }
    }

    pub(crate) fn dedup(&mut self) -> Dedup {
        *self.of(&[Dedup::None, Dedup::Push, Dedup::Push, Dedup::Both])
    }

    /// Settings; `tight` ones have next to no room.
    pub(crate) fn settings(&mut self, tight: bool) -> Settings {
        let mut settings = Settings::default();
        let coalesce = &mut settings.coalesce;
        coalesce.position = *self.of(&[Position::Auto, Position::Slot, Position::Tail]);
        coalesce.while_busy = self.percent(70);
        coalesce.initial = self.percent(90);
        coalesce.max_subjects = if tight { 3 } else { 1_000 };
        coalesce.max_held_bytes = if tight { 3_000 } else { 1 << 20 };
        coalesce.render_timeout_ms = *self.of(&[50, 2_000, 5_000, 5_000, 60_000]);
        settings.host.in_doubt = *self.of(&[InDoubt::Hold, InDoubt::Hold, InDoubt::Resend]);
        if self.percent(10) {
            settings.expires_after_ms = self.up_to(1_000..100_000);
        }
        self.change(&mut settings);
        settings
    }

    /// What an operator may change while it runs.
    pub(crate) fn change(&mut self, settings: &mut Settings) {
        settings.coalesce.quiet_ms = *self.of(&[0, 200, 1_500, 1_500, 20_000]);
        settings.coalesce.max_hold_ms = *self.of(&[0, 1_000, 5_000, 5_000, 30_000]);
        settings.coalesce.busy_max_ms = *self.of(&[2_000, 120_000]);
        settings.host.policy_wait_ms = *self.of(&[0, 500, 10_000, 10_000, 60_000]);
        settings.in_flight = *self.of(&[1, 1, 2, 4, 64]);
        settings.forward_rate_per_s = *self.of(&[0.0, 0.0, 0.0, 0.5, 5.0]);
        if self.percent(25) {
            settings.limits.rate_per_s = *self.of(&[0.2, 2.0, 20.0]);
            settings.limits.channel_rate_per_s = *self.of(&[0.0, 0.1, 1.0]);
        }
        settings.max_content_bytes = *self.of(&[1 << 20, 1 << 20, 400]);
    }

    /// Something new of the producer's.
    pub(crate) fn event(&mut self, id: &str, wall_ms: i64) -> Draft {
        if self.percent(self.digest) {
            return self.notice(id, wall_ms);
        }
        let mut draft = if self.percent(45) {
            Draft::message(id, self.of::<&'static str>(&CHANNELS))
        } else {
            Draft::push(id, self.of::<&'static str>(&["fs-a", "fs-b"]))
        };
        if draft.lane == Lane::Push && self.percent(40) {
            draft.channel = Some(*self.of(&CHANNELS));
        }
        if self.percent(94) {
            draft.key = Some(*self.of(&["k1", "k1", "k2", "k3"]));
        }
        match self.up_to(0..100) {
            0..18 => draft.retract = draft.key.is_some(),
            18..34 => draft.deferred = draft.key.is_some() && draft.lane == Lane::Push,
            _ => draft.initial = self.percent(40),
        }
        let size = *self.of(&[0, 5, 30, 30, 200, 500]);
        draft.content = format!("{id} {}", "x".repeat(size));
        if self.percent(if draft.retract { 50 } else { 4 }) {
            draft.content = String::new();
        }
        if draft.lane == Lane::Channel && self.percent(20) {
            draft.metadata = *self.of(&[10, 300]);
        }
        if self.percent(15) {
            draft.tags = vec![*self.of(&["chat:dm", "chat:mention", "chat:addressed", "other"])];
        }
        if draft.deferred {
            draft.data = self.data();
        }
        draft.expires_ms = self.expiry(wall_ms);
        draft
    }

    /// One more notice of what there are many of.
    pub(crate) fn notice(&mut self, id: &str, wall_ms: i64) -> Draft {
        let mut draft = Draft::push(id, "fs-a").key("k1").deferred();
        if self.digest == 15 {
            draft.channel = Some("chan-a");
        }
        draft.data = self.data();
        draft.expires_ms = if self.percent(10) { self.expiry(wall_ms) } else { None };
        draft
    }

    fn data(&mut self) -> Option<&'static str> {
        *self.of(&[None, Some(r#"{"n":1.0}"#), Some(r#"[ 1e2 ,"é"]"#), Some(r#""x""#)])
    }

    fn expiry(&mut self, wall_ms: i64) -> Option<i64> {
        self.percent(6).then(|| wall_ms + *self.of(&[-1, 500, 4_000, 60_000, 9_000_000]))
    }

    /// What a producer says of a batch.
    pub(crate) fn telling(&mut self) -> Telling {
        match self.up_to(0..100) {
            0..50 => Telling::Text("x".repeat(self.up_to(1..30) as usize)),
            50..60 => Telling::Block("y".repeat(self.up_to(1..30) as usize)),
            60..68 => Telling::Text("z".repeat(450)),
            68..80 => Telling::Silent(self.of::<&str>(&SILENT)),
            80..88 => Telling::Misshapen(self.of::<&str>(&MISSHAPEN)),
            _ => Telling::Failed,
        }
    }

    pub(crate) fn wrong(&mut self) -> Wrong {
        *self.of(&[Wrong::Key, Wrong::Timestamp, Wrong::Content, Wrong::Flags, Wrong::Twice])
    }

    /// What the host says; a `kind` one rarely refuses for good.
    pub(crate) fn say(&mut self, kind: bool) -> Say {
        match self.up_to(0..100) {
            0..60 => Say::Accepted,
            60..80 => {
                let figure = *self.of(&[0, 10, 2_000, 60_000, 7_200_000]);
                Say::Unavailable(if self.percent(50) { Some(figure) } else { None })
            }
            80..84 => Say::Duplicate,
            84..88 => Say::Unreadable,
            _ if kind => Say::Accepted,
            88..95 => Say::Code(*self.of(&CODES)),
            _ => {
                let kind = [
                    Kind::Invalid,
                    Kind::NotPermitted,
                    Kind::UnknownChannel,
                    Kind::TooLarge,
                    Kind::Other("novel".into()),
                ];
                Say::Result(self.of(&kind).clone(), *self.of(&[None, Some(true), Some(false)]))
            }
        }
    }
}
