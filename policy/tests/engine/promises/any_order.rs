//! Anything in any order: what is kept fits together after each input, and in the end nothing is left.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use mcpl_policy::Input;
use mcpl_policy::admission::Learned;
use mcpl_policy::engine::{ChannelFact, Outcome, Rendering, Stance, StoreState, Taught, Word};
use mcpl_policy::profile::Dedup;
use mcpl_policy::settings::{InDoubt, Position};

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{GRANTED, Say, legacy};

fn draft(rng: &mut fastrand::Rng, id: &str, now_wall: i64) -> Draft {
    let key = ["k", "l"][rng.usize(..2)];
    let mut draft = match rng.u32(..8) {
        0 => Draft::message(id, "chan-a").key(key),
        1 | 2 => Draft::push(id, "fs-a").channel("chan-a").key(key),
        _ => Draft::push(id, "fs-a").key(key),
    };
    draft = match rng.u32(..8) {
        0 | 1 => draft,
        2 => draft.retract(),
        3 => draft.retract().content(""),
        _ if draft.lane == mcpl_codec::Lane::Push => draft.deferred(),
        _ => draft,
    };
    if rng.u32(..6) == 0 && !draft.retract {
        draft = draft.initial();
    }
    if rng.u32(..5) == 0 {
        draft = draft.tags(&["chat:mention"]);
    }
    if rng.u32(..6) == 0 {
        draft = draft.expires(now_wall + rng.i64(1..40_000));
    }
    if rng.u32(..3) == 0 && !draft.content.is_empty() {
        draft.content = "x".repeat(rng.usize(1..400));
    }
    if rng.u32(..8) == 0 {
        let on = Draft::push(id, "fs-a").channel("chan-a");
        draft = if rng.bool() { on } else { Draft::message(id, "chan-a") };
    }
    draft
}

fn run(seed: u64, steps: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let set = settings(|s| {
        s.in_flight = [1, 2, 3, 64][rng.usize(..4)];
        s.store_uncoalesced = rng.u32(..3) == 0;
        s.coalesce.position = [Position::Auto, Position::Slot, Position::Tail][rng.usize(..3)];
        s.coalesce.max_subjects = [2, 3, 100][rng.usize(..3)];
        s.coalesce.max_held_bytes = [1_500, 4_000, 1 << 20][rng.usize(..3)];
        s.host.in_doubt = [InDoubt::Hold, InDoubt::Resend][rng.usize(..2)];
        s.forward_rate_per_s = [0.0, 0.0, 3.0][rng.usize(..3)];
    });
    let losses = rng.bool();
    let mut rig = Rig::open(set);
    let mut accepted: HashMap<String, u64> = HashMap::new();
    let mut stalled = false;
    // What was on its way when commits began to stall: only that ever left.
    let mut left = (u64::MAX, u64::MAX);
    let mut tickets: Vec<(String, u64)> = Vec::new();
    let (mut answered, mut late) = (HashSet::new(), HashSet::new());
    for step in 0..steps {
        match rng.u32(..40) {
            0..=13 => {
                let id = format!("e{step}");
                let d = draft(&mut rng, &id, rig.wall_ms());
                let ticket = rig.event(&d);
                if d.key.is_some() {
                    tickets.push((id, ticket));
                }
            }
            14..=18 if !rig.asked.is_empty() => {
                let last = rig.asked.len().min(4);
                let (number, _) = rig.asked[rig.asked.len() - 1 - rng.usize(..last)].clone();
                if number > left.1 {
                    continue;
                }
                let rendering = match rng.u32(..6) {
                    0 => Rendering::Failed,
                    1 => content("\"\""),
                    2 => content("7"),
                    _ => content(&format!("\"rendered {step}{}\"", "y".repeat(rng.usize(..300)))),
                };
                if !answered.insert(number)
                    && let Rendering::Content { content, .. } = &rendering
                {
                    late.extend(serde_json::from_slice::<String>(content));
                }
                rig.feed(Input::Rendered(number, rendering));
            }
            19..=23 if !rig.out.is_empty() => {
                let at = rng.usize(..rig.out.len());
                if rig.out[at].number > left.0 {
                    continue;
                }
                let id = rig.out[at].id.clone();
                let say = match rng.u32(..9) {
                    0 => Say::Unavailable(None),
                    1 => Say::Unavailable(Some(3_000)),
                    2 => Say::Code(-32001),
                    3 => Say::Code(-32602),
                    4 => Say::Unreadable,
                    _ => Say::Accepted,
                };
                rig.write(&id);
                rig.reply(&id, &say);
            }
            24 if !rig.out.is_empty() => {
                let at = rng.usize(..rig.out.len());
                if rig.out[at].number > left.0 {
                    continue;
                }
                let id = rig.out[at].id.clone();
                rig.write(&id);
            }
            25..=28 => {
                let ms = [10, 300, 1_600, 5_100, 26_000][rng.usize(..5)];
                rig.wait(ms);
            }
            29 => rig.feed(Input::Flush),
            30 => {
                rig.end();
                if rng.bool() {
                    rig.wait(100);
                }
                let mut host = legacy([Dedup::Push, Dedup::None][rng.usize(..2)]);
                if rng.u32(..3) == 0 {
                    host.stance = [Stance::Aside, Stance::Apart][rng.usize(..2)];
                }
                rig.feed(Input::Began(host));
                if rng.bool() {
                    rig.permit();
                }
            }
            31 => rig.feed(Input::Taught(
                Taught::of(&Draft::push("x", "fs-a").key("k").event()),
                if rng.bool() { Learned::Closed } else { Learned::Open },
            )),
            32 => rig.grant(if rng.bool() { GRANTED } else { br#"{"effectiveCapabilities":[]}"# }),
            33 => rig.feed(Input::Channel(ChannelFact::Notified {
                added: Vec::new(),
                removed: vec!["chan-a".to_owned()],
            })),
            34 => rig.permit(),
            35 if losses && !stalled => {
                rig.stall();
                let out = rig.out.iter().map(|sent| sent.number).max().unwrap_or(0);
                left = (out, rig.asked.iter().map(|asked| asked.0).max().unwrap_or(0));
                stalled = true;
            }
            36 if stalled => {
                rig.fail();
                if rng.bool() {
                    if rng.bool() && rig.out.first().is_some_and(|sent| sent.number <= left.0) {
                        let id = rig.out[0].id.clone();
                        rig.reply(&id, &Say::Accepted);
                    }
                    rig.wait(500);
                }
                rig.out.retain(|sent| sent.number <= left.0);
                rig.asked.retain(|asked| asked.0 <= left.1);
                rig.restore(StoreState::Good);
                left = (u64::MAX, u64::MAX);
                stalled = false;
            }
            37 if losses => {
                rig.kill(0);
                rig.asked.clear();
                answered.clear();
                left = (u64::MAX, u64::MAX);
                stalled = false;
                rig.begin_open(legacy(Dedup::Push));
            }
            38 if !stalled => {
                let letter = rig.engine.letters().next().map(|(number, ..)| number);
                let id = letter.and_then(|number| rig.book.work(number)).and_then(|row| row.event_id);
                if let Some(id) = id {
                    let word = [Word::Again, Word::Drop][rng.usize(..2)];
                    let _ = rig.resolve(&id, word, None);
                }
            }
            _ => {}
        }
        if !stalled {
            rig.book.assert_agrees(&rig.engine, |_| true, 10_000);
        }
    }
    if stalled {
        rig.kill(0);
    }
    for (id, ticket) in &tickets {
        let ours = matches!(rig.answer(*ticket), Some(Answered::Ours(..) | Answered::Host(Some(_))));
        let withdrawn =
            matches!(rig.answer(*ticket), Some(Answered::Ours(Outcome::Retracted | Outcome::Consumed, _)));
        if ours && !withdrawn {
            accepted.insert(id.clone(), *ticket);
        }
    }
    rig.end();
    rig.begin_open(legacy(Dedup::Push));
    for _ in 0..400 {
        rig.feed(Input::Flush);
        for (number, _) in rig.asked.clone() {
            rig.feed(Input::Rendered(number, content("\"the end\"")));
        }
        for id in rig.out.iter().map(|sent| sent.id.clone()).collect::<Vec<_>>() {
            rig.write(&id);
            rig.reply(&id, &Say::Accepted);
        }
        rig.wait(1_000);
        if rig.engine.load().held == 0 && rig.engine.load().out == 0 {
            break;
        }
    }
    late.remove("");
    assert!(rig.given.iter().all(|(_, text)| !late.contains(text)), "a late answer is discarded");
    let load = rig.engine.load();
    assert_eq!((load.held, load.out, load.rendering, load.held_bytes), (0, 0, 0, 0), "everything goes");
    assert_eq!(rig.book.count(mcpl_policy::journal::Table::Notice), 0, "notices of nothing");
    if !losses {
        let letters: HashSet<String> = rig
            .engine
            .letters()
            .filter_map(|(number, ..)| rig.book.work(number)?.event_id.map(String::from))
            .collect();
        for id in accepted.keys() {
            let fates = rig.fates.iter().filter(|(ended, _)| ended == id).count();
            assert!(fates >= 1 || letters.contains(id), "{id} has no end");
        }
    }
}

fn content(text: &str) -> Rendering {
    Rendering::Content {
        content: Bytes::copy_from_slice(text.as_bytes()),
        timestamp: Bytes::from_static(b"\"2026-01-01T00:00:00Z\""),
    }
}

#[test]
fn whatever_comes_in_any_order_nothing_is_left_in_the_end() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let from = number("MCPL_ANY_ORDER_FROM").unwrap_or(0);
    for seed in from..from + number("MCPL_ANY_ORDER_SEEDS").unwrap_or(60) {
        eprintln!("seed {seed}");
        run(seed, 150);
    }
}
