//! Renewed files (contract section 12): whatever way they come, each handshake gets a pair that fits, and no
//! connection that is open is touched.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::ExtendedKeyUsagePurpose;
use rustls::ServerConfig;

use crate::fixture::{Ca, EXPIRED, Folder, Issued, Shaken, TO_COME, client, now, shake};
use crate::name::Name;
use crate::{ClientFiles, ClientStore, Refreshed, ServerFiles, ServerStore, Wrong};

/// What a new client is presented with.
pub(super) fn served(ca: &Ca, store: &ServerStore) -> Vec<u8> {
    let shaken = shake(client(&ca.pem(), None), store.config(), "localhost");
    shaken.outcome.clone().unwrap();
    shaken.presented().to_vec()
}

pub(super) fn kept(refreshed: Refreshed) -> Wrong {
    match refreshed {
        Refreshed::Kept(fault) => fault.wrong,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(super) fn is(issued: &Issued, served: &[u8]) {
    assert!(issued.der.as_ref() == served, "another certificate is served");
}

/// A listener with a CA, a first certificate, and a connection of that time.
pub(super) struct Scene {
    pub(super) ca: Ca,
    pub(super) folder: Folder,
    first: Issued,
    pub(super) store: ServerStore,
    old: Shaken,
}

impl Scene {
    pub(super) fn new() -> Self {
        let ca = Ca::new("ca");
        let folder = Folder::new();
        let first = ca.server("localhost");
        let store = folder.server(&first);
        let old = shake(client(&ca.pem(), None), store.config(), "localhost");
        Self { ca, folder, first, store, old }
    }

    pub(super) fn next(&self) -> Issued {
        self.ca.server("localhost")
    }
}

#[test]
fn nothing_new_is_the_same() {
    let scene = Scene::new();
    let config = scene.store.config();
    for _ in 0..3 {
        assert_eq!(scene.store.refresh(), Refreshed::Same);
    }
    // Written anew with what it was, also under another inode: nothing to publish.
    scene.folder.put("tls", &scene.first);
    assert_eq!(scene.store.refresh(), Refreshed::Same);
    scene.folder.put("new", &scene.first);
    fs::rename(scene.folder.at("new.crt"), scene.folder.at("tls.crt")).unwrap();
    assert_eq!(scene.store.refresh(), Refreshed::Same);
    assert!(Arc::ptr_eq(&config, &scene.store.config()));
}

#[test]
fn a_slow_write_in_place_keeps_the_old_pair_until_it_is_whole() {
    let mut scene = Scene::new();
    for _ in 0..3 {
        let (before, next) = (served(&scene.ca, &scene.store), scene.next());
        for (name, text) in [("tls.key", &next.key), ("tls.crt", &next.cert)] {
            let (half, rest) = text.split_at(text.len() / 2);
            let mut file = File::create(scene.folder.at(name)).unwrap();
            for part in ["", half] {
                file.write_all(part.as_bytes()).unwrap();
                assert!(matches!(scene.store.refresh(), Refreshed::Kept(_)));
                assert_eq!(served(&scene.ca, &scene.store), before);
            }
            assert_eq!(scene.store.refresh(), Refreshed::Same, "what is bad is said once");
            file.write_all(rest.as_bytes()).unwrap();
            if name == "tls.key" {
                assert!(matches!(kept(scene.store.refresh()), Wrong::OtherKey(_)));
            }
        }
        assert_eq!(scene.store.refresh(), Refreshed::Published);
        is(&next, &served(&scene.ca, &scene.store));
        scene.old.carries("still here");
    }
}

#[test]
fn a_pair_that_is_cut_anywhere_is_never_published() {
    let ca = Ca::new("ca");
    let folder = Folder::new();
    let (first, next) = (ca.server("localhost"), ca.server("localhost"));
    let store = folder.server(&first);
    folder.write("tls.key", &next.key);
    let whole = next.cert.trim_end().len();
    for length in 0..whole {
        folder.write("tls.crt", &next.cert[..length]);
        assert!(!matches!(store.refresh(), Refreshed::Published), "{length} bytes");
    }
    folder.write("tls.crt", &next.cert);
    assert_eq!(store.refresh(), Refreshed::Published);
    for length in 0..next.key.trim_end().len() {
        folder.write("tls.key", &next.key[..length]);
        assert!(!matches!(store.refresh(), Refreshed::Published), "{length} bytes");
    }
    // A chain, cut after its leaf was whole: only the dividing line between two blocks may pass for an end.
    folder.write("tls.key", &next.key);
    let chain = format!("{}{}", next.cert, ca.pem());
    for length in next.cert.len() + 1..chain.trim_end().len() {
        folder.write("tls.crt", &chain[..length]);
        assert!(!matches!(store.refresh(), Refreshed::Published), "{length} bytes");
    }
}

#[test]
fn a_renaming_is_seen_three_times() {
    let mut scene = Scene::new();
    for _ in 0..3 {
        let next = scene.next();
        scene.folder.put("new", &next);
        fs::rename(scene.folder.at("new.key"), scene.folder.at("tls.key")).unwrap();
        fs::rename(scene.folder.at("new.crt"), scene.folder.at("tls.crt")).unwrap();
        assert_eq!(scene.store.refresh(), Refreshed::Published);
        is(&next, &served(&scene.ca, &scene.store));
        scene.old.carries("still here");
    }
}

#[test]
fn a_swap_of_the_folder_behind_a_link_is_seen_three_times() {
    let (ca, mount) = (Ca::new("ca"), Folder::new());
    let put = |number: u32, issued: &Issued| {
        let folder = mount.at(&format!("..{number}"));
        fs::create_dir(&folder).unwrap();
        for (name, text) in [("tls.crt", &issued.cert), ("tls.key", &issued.key), ("ca.crt", &ca.pem())] {
            fs::write(folder.join(name), text).unwrap();
        }
        symlink(format!("..{number}"), mount.at("..data_tmp")).unwrap();
        fs::rename(mount.at("..data_tmp"), mount.at("..data")).unwrap();
    };
    let first = ca.server("localhost");
    put(0, &first);
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        symlink(format!("..data/{name}"), mount.at(name)).unwrap();
    }
    let files =
        ServerFiles { cert_file: mount.at("tls.crt"), key_file: mount.at("tls.key"), client_ca_file: None };
    let store = ServerStore::open(files).unwrap();
    let roots = ClientStore::open(ClientFiles { ca_file: Some(mount.at("ca.crt")), identity: None }).unwrap();
    let mut old = shake(roots.config(), store.config(), "localhost");
    for number in 1..=3 {
        let next = ca.server("localhost");
        put(number, &next);
        fs::remove_dir_all(mount.at(&format!("..{}", number - 1))).unwrap();
        assert_eq!(store.refresh(), Refreshed::Published);
        assert_eq!(roots.refresh(), Refreshed::Same, "its file says what it said");
        is(&next, &served(&ca, &store));
        old.carries("still here");
    }
}

#[test]
fn a_certificate_before_its_key_waits_for_it() {
    let mut scene = Scene::new();
    for _ in 0..3 {
        let (before, next) = (served(&scene.ca, &scene.store), scene.next());
        scene.folder.write("tls.crt", &next.cert);
        assert!(matches!(kept(scene.store.refresh()), Wrong::OtherKey(_)));
        assert_eq!(scene.store.refresh(), Refreshed::Same);
        assert_eq!(served(&scene.ca, &scene.store), before);
        scene.folder.write("tls.key", &next.key);
        assert_eq!(scene.store.refresh(), Refreshed::Published);
        is(&next, &served(&scene.ca, &scene.store));
        scene.old.carries("still here");
    }
}

#[test]
fn what_is_bad_is_said_once_and_then_forgotten() {
    let scene = Scene::new();
    let span =
        |span| scene.ca.issue(&[Name::host("localhost").unwrap()], span, ExtendedKeyUsagePurpose::ServerAuth);
    for bad in [span(EXPIRED), span(TO_COME), Issued { cert: "garbage".to_owned(), ..scene.next() }] {
        scene.folder.put("tls", &bad);
        assert!(matches!(scene.store.refresh(), Refreshed::Kept(_)));
        for _ in 0..3 {
            assert_eq!(scene.store.refresh(), Refreshed::Same);
        }
        is(&scene.first, &served(&scene.ca, &scene.store));
    }
    for path in ["tls.key", "tls.crt"] {
        fs::remove_file(scene.folder.at(path)).unwrap();
        assert!(matches!(kept(scene.store.refresh()), Wrong::Unreadable(_)));
        assert_eq!(scene.store.refresh(), Refreshed::Same);
    }
    // Back to what is published: good news too.
    scene.folder.put("tls", &scene.first);
    assert_eq!(scene.store.refresh(), Refreshed::Published);
    assert_eq!(scene.store.refresh(), Refreshed::Same);
    let next = scene.next();
    scene.folder.put("tls", &next);
    assert_eq!(scene.store.refresh(), Refreshed::Published);
    is(&next, &served(&scene.ca, &scene.store));
}

#[test]
fn a_bundle_goes_from_old_to_both_to_new() {
    let (ca, old, new) = (Ca::new("ca"), Ca::new("old"), Ca::new("new"));
    let folder = Folder::new();
    let store = folder.mutual(&ca.server("localhost"), &old.pem());
    let (of_old, of_new) = (old.client("spiffe://x/old"), new.client("spiffe://x/new"));
    let trusted = |client: &Arc<rustls::ClientConfig>, server: Arc<ServerConfig>| {
        shake(Arc::clone(client), server, "localhost").outcome.is_ok()
    };
    let (with_old, with_new) = (client(&ca.pem(), Some(&of_old)), client(&ca.pem(), Some(&of_new)));
    let mut open = shake(Arc::clone(&with_old), store.config(), "localhost");
    for (bundle, takes_old, takes_new) in [
        (old.pem(), true, false),
        (format!("{}{}", old.pem(), new.pem()), true, true),
        (new.pem(), false, true),
    ] {
        folder.write("clients.crt", &bundle);
        let _ = store.refresh();
        assert_eq!(trusted(&with_old, store.config()), takes_old);
        assert_eq!(trusted(&with_new, store.config()), takes_new);
        open.carries("still here");
    }
    folder.write("clients.crt", &of_new.cert);
    assert_eq!(kept(store.refresh()), Wrong::NoAuthority);
    assert!(trusted(&with_new, store.config()));
}

#[test]
fn a_client_follows_its_files_too() {
    let (old, new, theirs) = (Ca::new("old"), Ca::new("new"), Ca::new("theirs"));
    let (folder, there) = (Folder::new(), Folder::new());
    let store = folder.client(&old.pem(), Some(&theirs.client("spiffe://x/1")));
    let server = there.mutual(&new.server("localhost"), &theirs.pem());
    assert!(shake(store.config(), server.config(), "localhost").outcome.is_err());
    folder.write("ca.crt", &new.pem());
    assert_eq!(store.refresh(), Refreshed::Published);
    let next = theirs.client("spiffe://x/2");
    folder.write("me.crt", &next.cert);
    assert!(matches!(kept(store.refresh()), Wrong::OtherKey(_)));
    folder.write("me.key", &next.key);
    assert_eq!(store.refresh(), Refreshed::Published);
    assert!(store.not_after().is_some_and(|at| at > now()));
    let shaken = shake(store.config(), server.config(), "localhost");
    shaken.outcome.clone().unwrap();
    assert_eq!(shaken.server.peer_certificates().unwrap()[0], next.der);
}

/// Connections that are opened, and how many of them each thread opens at least.
const THREADS: usize = 4;
const ROTATIONS: usize = 40;

#[test]
fn no_connection_is_lost_while_files_are_renewed_without_end() {
    let scene = Scene::new();
    let renewals: Vec<Issued> = (0..ROTATIONS).map(|_| scene.next()).collect();
    let config = client(&scene.ca.pem(), None);
    let (over, opened) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|threads| {
        let connect = || {
            let mut open = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let mut shaken = shake(Arc::clone(&config), scene.store.config(), "localhost");
                shaken.outcome.clone().unwrap();
                shaken.carries("new");
                opened.fetch_add(1, Ordering::Relaxed);
                if open.len() < 20 {
                    open.push(shaken);
                }
            }
            for old in &mut open {
                old.carries("old");
            }
            open.len()
        };
        let connecting: Vec<_> = (0..THREADS).map(|_| threads.spawn(connect)).collect();
        // Somebody else looks all the while, in the middle of each renewal.
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = scene.store.refresh();
            }
        });
        for (number, next) in renewals.iter().enumerate() {
            let before = opened.load(Ordering::Relaxed);
            if number % 2 == 0 {
                scene.folder.put("tls", next);
            } else {
                scene.folder.put("new", next);
                for end in ["crt", "key"] {
                    fs::rename(
                        scene.folder.at(&format!("new.{end}")),
                        scene.folder.at(&format!("tls.{end}")),
                    )
                    .unwrap();
                }
            }
            let patience = Instant::now() + Duration::from_secs(30);
            while opened.load(Ordering::Relaxed) < before + THREADS as u32 {
                assert!(Instant::now() < patience, "nobody connects");
                thread::yield_now();
            }
        }
        over.store(true, Ordering::Relaxed);
        for thread in connecting {
            assert!(thread.join().unwrap() > 0);
        }
    });
    let _ = scene.store.refresh();
    is(&renewals[ROTATIONS - 1], &served(&scene.ca, &scene.store));
}
