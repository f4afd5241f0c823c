//! A configuration that changes under running sessions: who goes is let go in good order, who comes is served
//! (contract section 2).

use mcpl_tests::{Host, Reply, Session, World, error_code, push, refusal};
use rustix::process::Signal;
use serde_json::json;

/// A producer that nobody dials; with it the configuration is never empty.
fn bystander() -> (World, String) {
    let world = World::unreachable();
    let text = world.producer_named("bystander");
    (world, text)
}

#[tokio::test]
async fn a_producer_renamed_at_its_address_is_served_there() {
    let mut world = World::started().await;
    let old = world.session().await;
    let renamed = world.producer_named("renamed");
    world.reload(&[renamed]).await;
    let new = world.session().await;
    new.push(push("e", "EVENT").key("k").initial()).await;
    new.assemble().await;
    new.host.is_given("EVENT").await;
    old.host.ended().await;
    assert!(world.program().runs());
}

#[tokio::test]
async fn two_addresses_at_once_can_have_new_names() {
    let mut world = World::started().await;
    let mut other = World::new().await;
    let both = [world.producer_named("main"), other.producer_named("second")];
    world.reload(&both).await;
    world.session().await;
    // Both addresses are somebody else's from one moment to the next.
    let exchanged = [other.producer_named("third"), world.producer_named("fourth")];
    world.reload(&exchanged).await;
    world.session().await.sync().await;
    let dialled = tokio::net::TcpStream::connect(("127.0.0.1", other.port())).await;
    let host = Host::on(dialled.expect("it is listened to"));
    Session::open(host, &mut other).await.sync().await;
}

#[tokio::test]
async fn what_a_removed_producer_held_is_given_before_it_goes() {
    let mut world = World::started().await;
    let session = world.session().await;
    for n in 0..100 {
        session.push(push(&format!("e{n}"), &format!("text {n}")).key(&format!("k{n}")).initial()).await;
    }
    let (_other, bystander) = bystander();
    world.reload(&[bystander]).await;
    session.host.ended().await;
    let expected: Vec<String> = (0..100).map(|n| format!("text {n}")).collect();
    assert_eq!(session.host.given(), expected);
    assert!(world.program().runs());
}

#[tokio::test]
async fn a_producer_put_back_while_it_drains_is_served_and_stays() {
    let mut world = World::started().await;
    let old = world.session().await;
    old.push(push("held", "HELD").key("k").initial()).await;
    // Its drain lasts as long as one may.
    old.host.script.always(Reply::Silence);
    let (_other, bystander) = bystander();
    world.reload(std::slice::from_ref(&bystander)).await;
    old.host.is_given("HELD").await;
    let main = world.producer_named("main");
    world.reload(&[bystander, main]).await;
    // There is one binding of a name: the drain is over, and what nobody answered for is in the journal.
    old.host.ended().await;
    let new = world.session().await;
    new.host.is_given("HELD").await;
    new.sync().await;
    drop(new);
    let last = world.session().await;
    last.sync().await;
    assert_eq!(last.host.given(), Vec::<String>::new());
}

/// Contract 2 and 3.1: what is accepted is given; during a drain nothing new is taken on.
async fn drains(removed: bool) -> Option<()> {
    let mut world = World::started().await;
    let session = world.session().await;
    session.host.script.then(Reply::Silence);
    session.push(push("held", "HELD").key("k").initial()).await;
    let (_other, bystander) = bystander();
    if removed {
        world.reload(&[bystander]).await;
    } else {
        world.program().signal(Signal::TERM);
    }
    // It drains, and the host is slow.
    let given = session.host.is_given("HELD").await;
    let late = session.push(push("late", "LATE").key("k2").initial()).await;
    assert_eq!(refusal(&late)["refusal"], json!("unavailable"), "taken on during a drain: {late}");
    assert_eq!(refusal(&late)["retryable"], json!(true), "{late}");
    assert_eq!(error_code(&late), None, "{late}");
    let id = given.raw("id")?;
    session.host.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"accepted":true}}}}"#)).await;
    session.host.ended().await;
    assert_eq!(session.host.given(), ["HELD"]);
    if !removed {
        assert_eq!(world.program().exit().await.code(), Some(0));
    }
    Some(())
}

#[tokio::test]
async fn nothing_new_is_taken_on_while_the_program_ends() {
    assert_eq!(drains(false).await, Some(()));
}

#[tokio::test]
async fn nothing_new_is_taken_on_while_a_removed_producer_drains() {
    assert_eq!(drains(true).await, Some(()));
}
