//! WebSocket by its frames: how they may be cut, what they may not be, and how a connection ends (contract sections
//! 3.1, 3.2). The frames are written by the tests themselves.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

#[path = "frames/closes.rs"]
mod closes;
#[path = "frames/crowd.rs"]
mod crowd;
#[path = "frames/frames.rs"]
mod frames;
#[path = "frames/transcript.rs"]
mod transcript;

use mcpl_tests::{BareFrame, BareSocket, Carrier, PATIENCE, World};
use tokio::time::timeout;

/// A running world over WebSocket.
async fn world() -> World {
    World::new().await.over(Carrier::WebSocket).start().await
}

/// A session of bare frames on both sides, which has passed a message each way.
async fn bare(world: &mut World) -> (BareSocket, BareSocket) {
    let mut host = BareSocket::knock(world.dial().await, "/host").await;
    host.say(r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{}}"#).await;
    let mut producer = BareSocket::welcome(world.reached_bare().await).await;
    assert!(hears(&mut producer).await.contains("initialize"));
    producer.say(r#"{"jsonrpc":"2.0","id":"hello","result":{}}"#).await;
    assert!(hears(&mut host).await.contains("hello"));
    (host, producer)
}

/// The next message, in one frame.
async fn hears(socket: &mut BareSocket) -> String {
    let frame =
        timeout(PATIENCE, socket.heard()).await.expect("a frame in time").expect("a frame before the end");
    assert_eq!(frame.head, BareFrame::TEXT, "{frame:?}: {:?}", String::from_utf8_lossy(&frame.payload));
    String::from_utf8(frame.payload).expect("text")
}

/// How the other side closes; what it says before that is skipped.
async fn is_closed(socket: &mut BareSocket) -> (u16, String) {
    let end = async {
        loop {
            let frame = socket.heard().await.expect("a close frame before the end of the connection");
            if frame.head == BareFrame::CLOSE {
                return frame.closing().expect("a code");
            }
        }
    };
    timeout(PATIENCE, end).await.expect("a close frame in time")
}
