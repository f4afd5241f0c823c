//! Certificates that are renewed while they are used, in every way that people do it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcpl_tests::{Authority, Host, Identity, Leaf, Session, World, client_settings};
use rustls::ClientConfig;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, sleep};

use super::{MINE, PATIENCE, Shut, knock, listens, place, put, world};

/// Waits until new handshakes are shown this certificate.
pub(crate) async fn is_shown(world: &World, settings: &Arc<ClientConfig>, me: &Identity) {
    let end = Instant::now() + PATIENCE;
    loop {
        let shown = knock(world.port(), settings.clone()).await.map(|(_, shown)| shown);
        match shown {
            Ok(shown) if shown == me.der().to_vec() => return,
            Ok(_) => assert!(Instant::now() < end, "the new certificate is not used"),
            Err(why) => panic!("a handshake failed during a rotation: {why:?}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// One session that is kept busy, and handshakes one after the other.
struct Load {
    stop: Arc<AtomicBool>,
    turns: Arc<AtomicUsize>,
    handshakes: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    async fn on(world: &mut World, settings: &Arc<ClientConfig>) -> Self {
        let (socket, _) = knock(world.port(), settings.clone()).await.expect("it is let in");
        let session = Session::open(Host::on(socket), world).await;
        let load = Self {
            stop: Arc::default(),
            turns: Arc::default(),
            handshakes: Arc::default(),
            tasks: Vec::new(),
        };
        let (stop, turns) = (load.stop.clone(), load.turns.clone());
        let busy = tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                session.sync().await;
                turns.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(1)).await;
            }
        });
        let (stop, handshakes, port, settings) =
            (load.stop.clone(), load.handshakes.clone(), world.port(), settings.clone());
        let knocking = tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                knock(port, settings.clone()).await.expect("every handshake succeeds");
                handshakes.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(5)).await;
            }
        });
        Self { tasks: vec![busy, knocking], ..load }
    }

    /// Nothing was dropped.
    async fn ends_well(self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("nothing was dropped");
        }
        let (turns, handshakes) =
            (self.turns.load(Ordering::Relaxed), self.handshakes.load(Ordering::Relaxed));
        assert!(turns > 50 && handshakes > 20, "{turns} turns, {handshakes} handshakes: that was no load");
    }
}

fn fresh() -> Identity {
    Authority::common().issue(&Leaf::local())
}

/// A running world with a first certificate, its load, and the settings of clients.
async fn loaded() -> (World, Load, Arc<ClientConfig>) {
    let world = world().await.table("listen_tls", MINE);
    place(&world, &fresh());
    let mut world = world.start().await;
    listens(&mut world).await;
    let settings = client_settings(&Authority::common().pem, None);
    let load = Load::on(&mut world, &settings).await;
    (world, load, settings)
}

/// Half of the text, a pause, the rest.
async fn write_slowly(path: &Path, text: &str, pause: Duration) {
    std::fs::write(path, &text[..text.len() / 2]).expect("a folder to write in");
    sleep(pause).await;
    std::fs::write(path, text).expect("a folder to write in");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn written_in_place_slowly_or_renamed_over_or_one_file_long_before_the_other() {
    let (mut world, load, settings) = loaded().await;
    let (cert, key) = (world.folder().join("me.crt"), world.folder().join("me.key"));

    let new = fresh();
    write_slowly(&cert, &new.cert, Duration::from_secs(2)).await;
    write_slowly(&key, &new.key, Duration::from_secs(2)).await;
    is_shown(&world, &settings, &new).await;

    let new = fresh();
    put(&cert, &new.cert);
    put(&key, &new.key);
    is_shown(&world, &settings, &new).await;

    let new = fresh();
    put(&cert, &new.cert);
    sleep(Duration::from_secs(5)).await;
    put(&key, &new.key);
    is_shown(&world, &settings, &new).await;

    // The key first, and the third time is as the first.
    for _ in 0..3 {
        let new = fresh();
        put(&key, &new.key);
        sleep(Duration::from_millis(700)).await;
        put(&cert, &new.cert);
        is_shown(&world, &settings, &new).await;
    }
    load.ends_well().await;
    assert!(world.program().runs());
}

/// Kubernetes' way: `me.crt` -> `..data/me.crt`, `..data` -> a folder of this generation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_behind_a_symlink_is_swapped_three_times_and_more() {
    let lines = "cert_file = \"mount/me.crt\"\nkey_file = \"mount/me.key\"";
    let world = world().await.table("listen_tls", lines);
    let mount = world.folder().join("mount");
    std::fs::create_dir(&mount).expect("a folder to write in");
    let generation = |n: usize, me: &Identity| {
        let (folder, fresh) = (mount.join(format!("..gen_{n}")), mount.join("..data_tmp"));
        std::fs::create_dir(&folder).expect("a folder to write in");
        me.write(&folder, "me");
        std::os::unix::fs::symlink(format!("..gen_{n}"), &fresh).expect("a link");
        std::fs::rename(fresh, mount.join("..data")).expect("a link in place");
        if n > 0 {
            std::fs::remove_dir_all(mount.join(format!("..gen_{}", n - 1))).expect("the last one");
        }
    };
    generation(0, &fresh());
    for name in ["me.crt", "me.key"] {
        std::os::unix::fs::symlink(format!("..data/{name}"), mount.join(name)).expect("a link");
    }
    let mut world = world.start().await;
    listens(&mut world).await;
    let settings = client_settings(&Authority::common().pem, None);
    let load = Load::on(&mut world, &settings).await;
    for n in 1..=4 {
        let new = fresh();
        generation(n, &new);
        is_shown(&world, &settings, &new).await;
    }
    load.ends_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_good_is_said_and_not_used() {
    let (mut world, load, settings) = loaded().await;
    let (cert, key) = (world.folder().join("me.crt"), world.folder().join("me.key"));
    let good = fresh();
    put(&cert, &good.cert);
    put(&key, &good.key);
    is_shown(&world, &settings, &good).await;

    let expired = Authority::common().issue(&Leaf::local().expired());
    let bad = [("not PEM at all".to_owned(), "me.key said nothing".to_owned()), (expired.cert, expired.key)];
    for (nth, (bad_cert, bad_key)) in bad.into_iter().enumerate() {
        put(&key, &bad_key);
        put(&cert, &bad_cert);
        world.says("those before stay", nth + 1).await;
        let (_, shown) = knock(world.port(), settings.clone()).await.expect("the old one is good");
        assert_eq!(shown, good.der().to_vec());
    }
    // Whoever repairs it has nothing else to do.
    let new = fresh();
    put(&cert, &new.cert);
    put(&key, &new.key);
    is_shown(&world, &settings, &new).await;
    load.ends_well().await;
}

/// From one CA of clients to another, without a moment in which neither is let in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cas_of_clients_are_swapped_by_way_of_both() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let world = world().await.table("listen_tls", &format!("{MINE}\nclient_ca_file = \"clients.crt\""));
    place(&world, &fresh());
    let bundle = world.folder().join("clients.crt");
    put(&bundle, &old.pem);
    let mut world = world.start().await;
    listens(&mut world).await;
    let client = |ca: &Authority| client_settings(&Authority::common().pem, Some(&ca.issue(&Leaf::local())));
    let (of_old, of_new) = (client(&old), client(&new));
    let (socket, _) = knock(world.port(), of_old.clone()).await.expect("it is let in");
    let session = Session::open(Host::on(socket), &mut world).await;
    assert!(matches!(knock(world.port(), of_new.clone()).await, Err(Shut::Tls(_))));

    put(&bundle, &format!("{}{}", old.pem, new.pem));
    is_let_in(&world, &of_new, true).await;
    knock(world.port(), of_old.clone()).await.expect("both are let in");
    session.sync().await;

    put(&bundle, &new.pem);
    is_let_in(&world, &of_old, false).await;
    knock(world.port(), of_new).await.expect("the new one is let in");
    // Who is in stays in.
    session.sync().await;
    assert!(!session.host.has_ended());
}

async fn is_let_in(world: &World, settings: &Arc<ClientConfig>, expected: bool) {
    let end = Instant::now() + PATIENCE;
    while knock(world.port(), settings.clone()).await.is_ok() != expected {
        assert!(Instant::now() < end, "the bundle has no effect");
        sleep(Duration::from_millis(20)).await;
    }
}
