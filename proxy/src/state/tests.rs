//! Locks are between open files, so one process stands for two.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_state_directory_is_made_for_its_owner_only() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("a/b/state");
    let held = hold(&path).unwrap();
    assert_eq!((mode(&path), mode(&tmp.path().join("a")), mode(&path.join(LOCK))), (0o700, 0o700, 0o600));
    assert_eq!(held.path(), path);
}

#[test]
fn a_second_holder_is_told_who_the_first_is() {
    let tmp = tempfile::tempdir().unwrap();
    let first = hold(tmp.path()).unwrap();
    let taken = hold(tmp.path()).unwrap_err();
    let said = taken.to_string();
    assert!(matches!(taken, Taken::InUse { pid: Some(pid), .. } if pid == std::process::id()), "{said}");
    assert!(said.contains(&format!("process {}", std::process::id())), "{said}");
    drop(first);
    hold(tmp.path()).unwrap();
}

#[test]
fn what_the_lock_file_says_does_not_count() {
    let tmp = tempfile::tempdir().unwrap();
    fs::write(tmp.path().join(LOCK), "1\n").unwrap();
    let first = hold(tmp.path()).unwrap();
    fs::write(tmp.path().join(LOCK), "no pid\n").unwrap();
    assert!(matches!(hold(tmp.path()), Err(Taken::InUse { pid: None, .. })));
    drop(first);
}

#[test]
fn a_directory_is_closed_only_if_it_is_ours() {
    let tmp = tempfile::tempdir().unwrap();
    for (name, file, wanted) in
        [("empty", None, 0o700), ("was", Some(LOCK), 0o700), ("other", Some("letter"), 0o755)]
    {
        let path = tmp.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        if let Some(file) = file {
            fs::write(path.join(file), "").unwrap();
        }
        let _held = hold(&path).unwrap();
        assert_eq!(mode(&path), wanted, "{name}");
    }
}

#[test]
fn what_is_no_directory_is_said() {
    let tmp = tempfile::tempdir().unwrap();
    let file = tmp.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("state")] {
        let taken = hold(&path).unwrap_err();
        assert!(
            matches!(taken, Taken::Unusable { .. }) && taken.to_string().contains("cannot be used"),
            "{taken}"
        );
    }
    let dir = tmp.path().join("dir");
    fs::create_dir_all(dir.join(LOCK)).unwrap();
    assert!(matches!(hold(&dir), Err(Taken::Unusable { .. })), "a lock that is a folder");
}

#[test]
fn the_default_is_the_users_state_folder() {
    let dir = |xdg: Option<&str>, home: Option<&str>| {
        let env = |name: &str| match name {
            "XDG_STATE_HOME" => xdg.map(ToOwned::to_owned),
            "HOME" => home.map(ToOwned::to_owned),
            _ => None,
        };
        default_dir(&env).map(|p| p.display().to_string())
    };
    assert_eq!(dir(Some("/x"), Some("/h")).as_deref(), Some("/x/mcpl-sidecar"));
    for xdg in [None, Some(""), Some("relative")] {
        assert_eq!(dir(xdg, Some("/h")).as_deref(), Some("/h/.local/state/mcpl-sidecar"));
    }
    assert_eq!(dir(None, None), None);
    assert_eq!(dir(Some("x"), Some("")), None);
}

#[test]
fn each_window_has_a_slot_of_its_own() {
    let tmp = tempfile::tempdir().unwrap();
    let folder = slot::folder(tmp.path(), "kid");
    let take = || slot::take(&folder, &|_| None).unwrap();
    let (a, b, c) = (take(), take(), take());
    assert_eq!([a.path(), b.path(), c.path()], ["0", "1", "2"].map(|n| folder.join(n)));
    assert_eq!(mode(b.path()), 0o700);
    drop(b);
    assert_eq!(take().path(), folder.join("1"), "the first free one");
    drop((a, c));
}

#[test]
fn the_slot_with_the_oldest_held_work_is_taken_first() {
    let tmp = tempfile::tempdir().unwrap();
    let all: Vec<_> = (0..5).map(|_| slot::take(tmp.path(), &|_| None).unwrap()).collect();
    drop(all);
    let oldest = |path: &Path| match path.file_name()?.to_str()? {
        "1" => Some(30),
        "2" | "3" => Some(10),
        _ => None,
    };
    let held: Vec<_> = (0..6).map(|_| slot::take(tmp.path(), &oldest).unwrap()).collect();
    let names: Vec<_> = held.iter().filter_map(|h| h.path().file_name()?.to_str()).collect();
    assert_eq!(names, ["2", "3", "1", "0", "4", "5"]);
}

#[test]
fn a_slot_after_a_gap_is_found() {
    let tmp = tempfile::tempdir().unwrap();
    drop([(); 4].map(|()| slot::take(tmp.path(), &|_| None).unwrap()));
    fs::remove_dir_all(tmp.path().join("0")).unwrap();
    fs::remove_dir_all(tmp.path().join("1")).unwrap();
    fs::write(tmp.path().join("1"), "no folder").unwrap();
    let oldest = |path: &Path| path.ends_with("3").then_some(1);
    let held: Vec<_> = (0..4).map(|_| slot::take(tmp.path(), &oldest).unwrap()).collect();
    let names: Vec<_> = held.iter().filter_map(|h| h.path().file_name()?.to_str()).collect();
    assert_eq!(names, ["3", "0", "2", "4"], "work first, then the lowest that can be had");
}

#[test]
fn slots_come_to_an_end() {
    let tmp = tempfile::tempdir().unwrap();
    let held: Vec<_> = (0..slot::MOST).map(|_| slot::take(tmp.path(), &|_| None).unwrap()).collect();
    let taken = slot::take(tmp.path(), &|_| None).unwrap_err();
    assert!(matches!(taken, Taken::Full { .. }), "{taken}");
    assert!(!tmp.path().join(slot::MOST.to_string()).exists());
    drop(held);
}

#[test]
fn many_windows_at_once_all_find_a_slot() {
    let tmp = tempfile::tempdir().unwrap();
    let held: Vec<_> = std::thread::scope(|scope| {
        let windows: Vec<_> =
            (0..16).map(|_| scope.spawn(|| slot::take(tmp.path(), &|_| None).unwrap())).collect();
        windows.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let mut names: Vec<usize> =
        held.iter().map(|h| h.path().file_name().unwrap().to_str().unwrap().parse().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, (0..16).collect::<Vec<_>>(), "no holes: nobody took another's try for a window");
}
