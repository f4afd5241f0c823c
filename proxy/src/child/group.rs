//! Whether anything of a process group still lives.

use rustix::process::{Pid, WaitOptions, test_kill_process_group, waitpgid};

/// A process of the group lives. Those that ended and that nobody has buried do not count: in a container the
/// first process often buries nobody. The leader is buried already.
pub(super) fn lives(group: Pid) -> bool {
    // Where we are that first process, the orphans of the group are ours to bury.
    while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
    test_kill_process_group(group).is_ok() && !all_dead(group).unwrap_or(false)
}

/// None where the system does not tell (it has no `/proc`).
fn all_dead(group: Pid) -> Option<bool> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let group = group.as_raw_nonzero().get();
    let mut seen = false;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        // It may have ended since it was listed.
        let Ok(stat) = std::fs::read(entry.path().join("stat")) else { continue };
        if let Some((state, of)) = state_and_group(&stat) {
            seen = true;
            if of == group && !matches!(state, b'Z' | b'X') {
                return Some(false);
            }
        }
    }
    // Nothing seen at all: it is hidden from us, and nobody is known to be dead.
    seen.then_some(true)
}

/// Of a `/proc/PID/stat`: the name stands in parentheses and may hold anything, parentheses too.
fn state_and_group(stat: &[u8]) -> Option<(u8, i32)> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = str::from_utf8(stat.get(name_end + 1..)?).ok()?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let _parent = fields.next()?;
    Some((state, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse_the_fields() {
        assert_eq!(state_and_group(b"12 (a) Z 1 7) S 3 42 42 0 -1"), Some((b'S', 42)));
        assert_eq!(state_and_group(b"12 (a) S 3"), None);
        assert_eq!(state_and_group(b""), None);
    }
}
