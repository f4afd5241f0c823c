//! An MCP server on the official Rust SDK: a peer whose reading of the protocol is not ours.
//!
//! On stdio, or with `--tcp PORT` on a loopback port, one client at a time. Tools: `echo` (its arguments back),
//! `count` (ten progress notifications, then the sum), `slow` (until it is cancelled), `cancelled` (how many calls
//! of `slow` were), `ask` (asks the client's model and returns what that said).

#![allow(clippy::unwrap_used, clippy::expect_used)]
// Sampling is deprecated in the newest protocol version; the sidecar carries it for those who speak the older ones.
#![allow(deprecated)]

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam, ContentBlock,
    CreateMessageRequestParams, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, SamplingMessage, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

#[derive(Clone)]
struct Server {
    cancelled: Arc<watch::Sender<u64>>,
}

impl Server {
    fn new() -> Self {
        Self { cancelled: Arc::new(watch::channel(0).0) }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_protocol_version(ProtocolVersion::V_2025_06_18)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema =
            Arc::new(json!({"type": "object", "properties": {}}).as_object().cloned().unwrap_or_default());
        let tool = |name: &'static str| Tool::new(name, "", schema.clone());
        Ok(ListToolsResult::with_all_items(["echo", "count", "slow", "cancelled", "ask"].map(tool).to_vec()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = match call.name.as_ref() {
            "echo" => json!(call.arguments).to_string(),
            "count" => count(&context).await?.to_string(),
            "slow" => {
                context.ct.cancelled().await;
                "cancelled".to_owned()
            }
            "cancelled" => {
                let mut seen = self.cancelled.subscribe();
                let _ = seen.wait_for(|count| *count > 0).await;
                let count = *seen.borrow();
                count.to_string()
            }
            "ask" => ask(&context).await?,
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    async fn on_cancelled(&self, _: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        self.cancelled.send_modify(|count| *count += 1);
    }
}

async fn count(context: &RequestContext<RoleServer>) -> Result<u32, ErrorData> {
    let token =
        context.meta.get_progress_token().ok_or_else(|| ErrorData::invalid_params("no token", None))?;
    let mut sum = 0;
    for step in 1..=10 {
        sum += step;
        let progress = ProgressNotificationParam::new(token.clone(), f64::from(step)).with_total(10.0);
        let sent = context.peer.notify_progress(progress).await;
        sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    }
    Ok(sum)
}

async fn ask(context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    let question = CreateMessageRequestParams::new(vec![SamplingMessage::user_text("what is it?")], 50);
    let answer = context.peer.create_message(question).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(format!("{}: {}", answer.model, json!(answer.message)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut words = std::env::args().skip(1);
    let port = words.find(|word| word == "--tcp").and_then(|_| words.next()).map(|port| port.parse::<u16>());
    let Some(port) = port else {
        let session =
            Server::new().serve(rmcp::transport::stdio_pipes()).await.expect("a client introduces itself");
        let _ = session.waiting().await;
        return;
    };
    let listener =
        TcpListener::bind(("127.0.0.1", port.expect("a port number"))).await.expect("the port is free");
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        if let Ok(session) = Server::new().serve(stream).await {
            let _ = session.waiting().await;
        }
    }
}
