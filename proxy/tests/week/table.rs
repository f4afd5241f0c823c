//! The table of a week.

use std::fmt::Write as _;

use crate::Played;
use crate::oracle::Sums;
use crate::world::Between;

/// A line for each pair and each way, and the sums of each way.
pub fn of(played: &[Played]) -> String {
    let mut text = format!(
        "{:<10} {:<10} {:<6} {:>7} {:>7} {:>6} {:>7} {:>7} {:>8} {:>6} {:>6} {:>8} {:>9} {:>7} {:>8} {:>6}\n",
        "host",
        "producer",
        "way",
        "meant",
        "given",
        "lost",
        "unheard",
        "doubled",
        "repeated",
        "stale",
        "stuck",
        "operator",
        "withdrawn",
        "refused",
        "forgot",
        "deaths"
    );
    for played in played {
        line(&mut text, played.host.as_str(), played.producer.as_str(), played.between, &played.sums);
    }
    for between in Between::ALL {
        let sums = played.iter().filter(|played| played.between == between).map(|played| played.sums);
        line(&mut text, "all", "all", between, &sums.fold(Sums::default(), add));
    }
    text
}

fn line(text: &mut String, host: &str, producer: &str, between: Between, sums: &Sums) {
    let _ = writeln!(
        text,
        "{host:<10} {producer:<10} {:<6} {:>7} {:>7} {:>6} {:>7} {:>7} {:>8} {:>6} {:>6} {:>8} {:>4}/{:<4} {:>7} {:>8} {:>6}",
        between.as_str(),
        sums.meant,
        sums.given,
        sums.lost,
        sums.unheard,
        sums.doubled,
        sums.repeated,
        sums.stale,
        sums.stuck,
        sums.operator,
        sums.undead,
        sums.late,
        sums.refused,
        sums.forgotten,
        sums.deaths
    );
}

fn add(one: Sums, other: Sums) -> Sums {
    Sums {
        meant: one.meant + other.meant,
        given: one.given + other.given,
        lost: one.lost + other.lost,
        unheard: one.unheard + other.unheard,
        doubled: one.doubled + other.doubled,
        repeated: one.repeated + other.repeated,
        stale: one.stale + other.stale,
        undead: one.undead + other.undead,
        late: one.late + other.late,
        refused: one.refused + other.refused,
        forgotten: one.forgotten + other.forgotten,
        stuck: one.stuck + other.stuck,
        operator: one.operator + other.operator,
        deaths: one.deaths + other.deaths,
    }
}
