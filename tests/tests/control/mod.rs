//! What the program says on the socket in its state directory.

use std::path::Path;

use mcpl_tests::PATIENCE;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The status and the body that `GET path` is answered.
pub(crate) async fn get(state: &Path, path: &str) -> (u16, Value) {
    let asked = async {
        let mut stream = UnixStream::connect(state.join("control")).await.expect("the socket is there");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("it is asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers");
        answer
    };
    let answer = timeout(PATIENCE, asked).await.expect("it answers in time");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, serde_json::from_str(body).unwrap_or_default())
}
