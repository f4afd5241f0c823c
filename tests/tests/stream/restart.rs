//! Readers across a restart.

use mcpl_tests::{Follower, StreamSocket, World, push};

#[tokio::test]
async fn after_a_restart_an_older_cursor_gets_a_snapshot_that_says_what_the_journal_says() {
    let mut world = World::new().await.watched("").start().await;
    let session = world.session().await;
    let mut follower = Follower::default();
    let mut socket = StreamSocket::open(world.admin_port()).await;
    socket.say(&follower.wanted()).await;
    for number in 0..700 {
        session.push(push(&format!("e{number}"), "x").key(&format!("k{}", number % 600)).initial()).await;
    }
    follower.follow(&mut socket, |all| all.applied.len() + 1 >= 800 || all.open().len() == 600).await;
    let before = follower.cursor.clone().unwrap();
    drop(session);
    world.restart().await;
    // What was on its way comes first; then the socket goes with the program.
    while socket.hear().await.is_some() {}

    let mut socket = StreamSocket::open(world.admin_port()).await;
    let snapshots = follower.snapshots;
    socket.say(&follower.wanted()).await;
    follower.follow(&mut socket, |all| all.snapshots > snapshots).await;
    assert_ne!(follower.cursor.as_ref().unwrap().0, before.0, "another run, another stream");
    let listed: Vec<(String, String, u64)> = world
        .listed(&[])
        .await
        .iter()
        .map(|it| {
            let text = |name: &str| it[name].as_str().unwrap().to_owned();
            (text("id"), text("state"), it["revision"].as_u64().unwrap())
        })
        .collect();
    let mut open = follower.open();
    open.sort_by_key(|(id, ..)| id.split('/').next_back().unwrap().parse::<u64>().unwrap());
    assert_eq!(open.len(), 600);
    assert_eq!(open, listed);
    let session = world.session().await;
    session.push(push("after", "x").key("k1")).await;
    follower.follow(&mut socket, |all| all.known.values().any(|it| it["eventId"] == "after")).await;
}

#[tokio::test]
async fn when_the_program_ends_in_order_readers_are_told_with_a_close() {
    let mut world = World::new().await.watched("").start().await;
    let mut socket = StreamSocket::open(world.admin_port()).await;
    socket.say(&Follower::default().wanted()).await;
    while socket.hear().await.unwrap().get("event.batch").is_none() {}
    world.program().signal(rustix::process::Signal::TERM);
    assert!(socket.hear().await.is_none());
    assert_eq!(socket.closed, Some(1001), "it goes away");
    assert!(world.program().exit().await.success());
}
