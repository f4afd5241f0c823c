//! "Did you mean": the known name nearest to a mistyped one.

/// The name nearest to `word`, if it is near enough to be what was meant.
pub(crate) fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    /// Longer words are no slip of the finger, and the distance is quadratic.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().replace('-', "_").chars().collect();
    let near = names
        .iter()
        .map(|name| (distance(&word, &name.replace('-', "_").chars().collect::<Vec<_>>()), *name));
    near.min_by_key(|(d, _)| *d).filter(|(d, name)| *d <= name.len().div_ceil(4).max(1)).map(|(_, name)| name)
}

/// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut d = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                d = d.min(before_last[j - 1] + 1);
            }
            row.push(d);
        }
        before_last = last;
        last = row;
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_seen_through() {
        let names = ["quiet_ms", "max_hold_ms", "mode", "initial"];
        for (word, meant) in [
            ("quite_ms", Some("quiet_ms")),
            ("quiet-ms", Some("quiet_ms")),
            ("Quiet_MS", Some("quiet_ms")),
            ("max_hold", Some("max_hold_ms")),
            ("mod", Some("mode")),
            ("moed", Some("mode")),
            ("inital", Some("initial")),
            ("retries", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, &names), meant, "{word}");
        }
        assert_eq!(nearest(&"q".repeat(1 << 20), &names), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
