//! An MCP client and server on the official Rust SDK see no difference between being connected and being
//! connected through the program (contract section 3).

// Sampling is deprecated in the newest protocol version; the program carries it for those who speak older ones.
#![allow(deprecated)]
// The exchange is a function of its own, where a broken expectation fails the test that called it.
#![allow(clippy::expect_used)]

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpl_tests::{Carrier, World, peer_binary, sidecar_binary};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, CreateMessageRequestParams,
    CreateMessageResult, Implementation, ProgressNotificationParam, ProtocolVersion, Request,
    SamplingMessage,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ErrorData, RoleClient, ServiceExt};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, copy};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

#[derive(Clone, Default)]
struct Client {
    progress: Arc<Mutex<Vec<(String, u32)>>>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_sampling().build();
        ClientConfig::new(capabilities, Implementation::new("rmcp-client", "1"))
            .with_protocol_version(ProtocolVersion::V_2025_06_18)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let asked = json!(params.messages).to_string();
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(asked), "a model".to_owned()))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let seen = (json!(params.progress_token).to_string(), params.progress as u32);
        self.progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(seen);
    }
}

type Session = RunningService<RoleClient, Client>;

/// Everything the two ends do together, as text: two runs that are told the same must read the same.
async fn transcript(session: Session) -> Vec<String> {
    let mut lines = Vec::new();
    let ended = timeout(Duration::from_secs(30), all_of_it(session, &mut lines)).await;
    assert!(ended.is_ok(), "the exchange stopped after {} lines, the last {:?}", lines.len(), lines.last());
    lines
}

async fn all_of_it(session: Session, lines: &mut Vec<String>) {
    lines.push(json!(session.peer_info()).to_string());
    lines.push(json!(session.list_all_tools().await.expect("tools")).to_string());
    lines.push(
        call(&session, "echo", json!({"z": 1, "a": [null, "é", 1.5], "n": 9_007_199_254_740_993_u64})).await,
    );
    lines.push(
        session
            .call_tool(CallToolRequestParams::new("no such tool"))
            .await
            .expect_err("an error")
            .to_string(),
    );
    lines.push(call(&session, "ask", json!({})).await);

    let handle = started(&session, "count").await;
    lines.push(json!(handle.await_response().await.expect("a sum")).to_string());
    let mut progress = Vec::new();
    while progress.len() < 10 {
        sleep(Duration::from_millis(5)).await;
        progress.clone_from(&session.service().progress.lock().expect("no panic"));
    }
    progress.sort_unstable();
    lines.push(format!("{progress:?}"));

    let slow = started(&session, "slow").await;
    slow.cancel(Some("no longer wanted".to_owned())).await.expect("a cancellation is sent");
    lines.push(call(&session, "cancelled", json!({})).await);

    let mut calls = tokio::task::JoinSet::new();
    for n in 0..1000 {
        let peer = session.peer().clone();
        calls.spawn(async move {
            let arguments = json!({"n": n}).as_object().cloned().unwrap_or_default();
            let result = peer.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await;
            (n, json!(result.expect("an answer")).to_string())
        });
    }
    let mut answers = calls.join_all().await;
    answers.sort_unstable();
    lines.extend(answers.into_iter().map(|(n, text)| format!("{n} {text}")));
    let _ = session.cancel().await;
}

async fn started(session: &Session, tool: &'static str) -> rmcp::service::RequestHandle<RoleClient> {
    let request = ClientRequest::CallToolRequest(Request::new(CallToolRequestParams::new(tool)));
    session
        .send_cancellable_request(request, PeerRequestOptions::no_options())
        .await
        .expect("a request is sent")
}

async fn call(session: &Session, tool: &'static str, arguments: serde_json::Value) -> String {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let result = session.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
    json!(result.unwrap_or_else(|error| panic!("{tool}: {error}"))).to_string()
}

async fn over_stdio(command: Command) -> Vec<String> {
    let (child, _) = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn().expect("a child");
    transcript(Client::default().serve(child).await.expect("an introduction")).await
}

async fn over(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Vec<String> {
    transcript(Client::default().serve(stream).await.expect("an introduction")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_stdio_nothing_differs() {
    let direct = over_stdio(Command::new(peer_binary("rmcp_server"))).await;
    let state = tempfile::tempdir().expect("a folder");
    let mut wrapped = Command::new(sidecar_binary());
    wrapped.args(["wrap", "--"]).arg(peer_binary("rmcp_server")).env("XDG_STATE_HOME", state.path());
    assert_eq!(over_stdio(wrapped).await, direct);
    assert!(direct.len() > 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tcp_nothing_differs() {
    let world = World::unreachable();
    let port = world.producer_port();
    let mut server = Command::new(peer_binary("rmcp_server"));
    let _server = server.args(["--tcp", &port.to_string()]).kill_on_drop(true).spawn().expect("a server");
    let direct = loop {
        match TcpStream::connect(("127.0.0.1", port)).await {
            Ok(stream) => break over(stream).await,
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    };
    let mut world = world.start().await;
    assert_eq!(over(world.dial().await).await, direct);
}

/// Both sides are the SDK's, over its transport for streams; an adapter makes messages of its lines.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_websocket_nothing_differs() {
    let direct = over_stdio(Command::new(peer_binary("rmcp_server"))).await;
    for carrier in [Carrier::WebSocket, Carrier::Secure] {
        let mut world = World::new().await.over(carrier).start().await;
        let wire = world.wire().await;
        let server = async {
            let (mut read, mut write) = world.reached_wire().await.into_split();
            let mut server = Command::new(peer_binary("rmcp_server"));
            server.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
            let mut server = server.spawn().expect("a server");
            let (mut stdin, mut stdout) =
                (server.stdin.take().expect("a pipe"), server.stdout.take().expect("a pipe"));
            let asked = async {
                let _ = copy(&mut read, &mut stdin).await;
                // A pipe is closed by being dropped. Then the server ends.
                drop(stdin);
            };
            let answered = async {
                let _ = copy(&mut stdout, &mut write).await;
            };
            tokio::join!(asked, answered);
        };
        let (through, ()) = tokio::join!(over(wire), server);
        assert_eq!(through, direct, "{carrier:?}");
    }
}
