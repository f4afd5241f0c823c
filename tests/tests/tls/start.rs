//! Files that cannot be used, at the start and afterwards.

use mcpl_tests::{Authority, Leaf, client_settings};
use rustix::process::Signal;

use super::{MINE, knock, listens, place, put, world};

#[tokio::test]
async fn without_its_certificate_the_program_does_not_start_and_says_which_file() {
    let good = Authority::common().issue(&Leaf::local());
    let other = Authority::common().issue(&Leaf::local());
    let cases: [(&str, Option<String>, Option<String>, &str); 7] = [
        ("no key", Some(good.cert.clone()), None, "me.key"),
        ("no certificate", None, Some(good.key.clone()), "me.crt"),
        ("a key that is none", Some(good.cert.clone()), Some("none".into()), "me.key"),
        ("another's key", Some(good.cert.clone()), Some(other.key), "me.key"),
        (
            "half a certificate",
            Some(good.cert[..good.cert.len() / 2].into()),
            Some(good.key.clone()),
            "me.crt",
        ),
        (
            "an expired one",
            Some(Authority::common().issue(&Leaf::local().expired()).cert),
            Some(good.key.clone()),
            "me.",
        ),
        ("empty", Some(String::new()), Some(good.key.clone()), "me.crt"),
    ];
    for (case, cert, key, file) in cases {
        let world = world().await.table("listen_tls", MINE);
        for (name, text) in [("me.crt", cert), ("me.key", key)] {
            match text {
                Some(text) => std::fs::write(world.folder().join(name), text).expect("a folder to write in"),
                // Nobody can read this as a file, whoever runs the test.
                None => std::fs::create_dir(world.folder().join(name)).expect("a folder to write in"),
            }
        }
        let mut world = world.start().await;
        let code = world.program().exit().await.code();
        let said = world.program().stderr();
        assert_eq!(code, Some(78), "{case}: {said}");
        assert!(said.contains(file), "{case}: {said}");
        assert!(!said.contains("-----"), "{case}: a file is shown: {said}");
    }
}

#[tokio::test]
async fn a_key_that_becomes_unreadable_leaves_the_old_one_and_that_is_said_once() {
    let world = world().await.table("listen_tls", MINE);
    let old = Authority::common().issue(&Leaf::local());
    place(&world, &old);
    let mut world = world.start().await;
    listens(&mut world).await;
    let session = {
        let settings = client_settings(&Authority::common().pem, None);
        let (socket, shown) = knock(world.port(), settings).await.expect("it is let in");
        assert_eq!(shown, old.der().to_vec());
        mcpl_tests::Session::open(mcpl_tests::Host::on(socket), &mut world).await
    };
    let key = world.folder().join("me.key");
    std::fs::remove_file(&key).expect("it was there");
    std::fs::create_dir(&key).expect("a folder to write in");
    world.says("me.key", 1).await;
    world.program().signal(Signal::HUP);
    session.sync().await;
    assert!(world.program().runs());
    let settings = client_settings(&Authority::common().pem, None);
    let (_, shown) = knock(world.port(), settings.clone()).await.expect("it is let in as before");
    assert_eq!(shown, old.der().to_vec());

    // It is not given up: what is good again counts again.
    std::fs::remove_dir(&key).expect("it was there");
    let new = Authority::common().issue(&Leaf::local());
    put(&world.folder().join("me.crt"), &new.cert);
    put(&key, &new.key);
    super::rotation::is_shown(&world, &settings, &new).await;
    let times = world.program().stderr().lines().filter(|line| line.contains("me.key")).count();
    assert!(times <= 4, "it was said {times} times");
}
