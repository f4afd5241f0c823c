//! Renewal and time: what is looked at again though no file changes, and what is not.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rcgen::ExtendedKeyUsagePurpose;

use super::rotation::{Scene, is, kept, served};
use crate::fixture::{Ca, Folder, client, now, shake};
use crate::name::Name;
use crate::{Refreshed, Wrong};

#[test]
fn files_that_have_been_still_for_long_are_not_read_and_each_change_of_them_is_seen() {
    let scene = Scene::new();
    for number in 0..2 {
        let patience = Instant::now() + Duration::from_secs(30);
        while !scene.store.0.seen.lock().unwrap().settled {
            assert!(Instant::now() < patience);
            assert_eq!(scene.store.refresh(), Refreshed::Same);
            thread::sleep(Duration::from_millis(50));
        }
        // Whoever reads them now finds that they are not what was read before.
        let read = std::mem::replace(&mut scene.store.0.seen.lock().unwrap().content, Ok([0; 32]));
        assert_eq!(scene.store.refresh(), Refreshed::Same);
        scene.store.0.seen.lock().unwrap().content = read;

        let next = scene.next();
        if number == 0 {
            scene.folder.put("tls", &next);
        } else {
            scene.folder.put("new", &next);
            for end in ["crt", "key"] {
                fs::rename(scene.folder.at(&format!("new.{end}")), scene.folder.at(&format!("tls.{end}")))
                    .unwrap();
            }
        }
        assert_eq!(scene.store.refresh(), Refreshed::Published);
        is(&next, &served(&scene.ca, &scene.store));
    }
}

/// Looks until something is published, and checks that it was for the time alone: files were still for long.
#[track_caller]
fn in_time(refresh: impl Fn() -> Refreshed, settled: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    let mut still = false;
    loop {
        match refresh() {
            Refreshed::Published => break,
            Refreshed::Same => still = settled(),
            Refreshed::Kept(fault) => panic!("{fault}"),
        }
        assert!(Instant::now() < patience);
        thread::sleep(Duration::from_millis(50));
    }
    assert!(still, "the files were as good as new");
}

/// Seconds after which files that were written a moment ago are still.
const STILL: i64 = 6;

#[test]
fn a_certificate_that_is_to_come_is_published_when_its_time_has_come() {
    let scene = Scene::new();
    let names = [Name::host("localhost").unwrap()];
    let next = scene.ca.issue(&names, (STILL, 1000), ExtendedKeyUsagePurpose::ServerAuth);
    scene.folder.put("tls", &next);
    assert!(matches!(kept(scene.store.refresh()), Wrong::NotYetValid(at) if at >= now()));
    in_time(|| scene.store.refresh(), || scene.store.0.seen.lock().unwrap().settled);
    is(&next, &served(&scene.ca, &scene.store));
}

#[test]
fn a_ca_that_expires_is_not_trusted_any_more() {
    let (ca, brief) = (Ca::new("ca"), Ca::valid("brief", (-100, STILL)));
    let folder = Folder::new();
    let store = folder.mutual(&ca.server("localhost"), &format!("{}{}", ca.pem(), brief.pem()));
    // A CA of ours ends with the certificates it issued; another one may not.
    let theirs = client(&ca.pem(), Some(&brief.client("spiffe://x/y")));
    shake(Arc::clone(&theirs), store.config(), "localhost").outcome.unwrap();
    in_time(|| store.refresh(), || store.0.seen.lock().unwrap().settled);
    assert!(shake(theirs, store.config(), "localhost").outcome.is_err());
}
