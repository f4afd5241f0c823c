//! The methods that telemetry names.

#[cfg(doc)]
use super::attribute;

closed! {
    /// A method ([`attribute::METHOD`]).
    Method {
        /// MCP.
        Initialize = "initialize",
        /// MCP.
        Ping = "ping",
        /// MCP.
        ToolsCall = "tools/call",
        /// MCP.
        ToolsList = "tools/list",
        /// MCP.
        ResourcesList = "resources/list",
        /// MCP.
        ResourcesRead = "resources/read",
        /// MCP.
        ResourcesSubscribe = "resources/subscribe",
        /// MCP.
        ResourcesUnsubscribe = "resources/unsubscribe",
        /// MCP.
        ResourcesTemplates = "resources/templates/list",
        /// MCP.
        PromptsList = "prompts/list",
        /// MCP.
        PromptsGet = "prompts/get",
        /// MCP.
        Complete = "completion/complete",
        /// MCP.
        SetLevel = "logging/setLevel",
        /// MCP.
        Sample = "sampling/createMessage",
        /// MCP.
        Elicit = "elicitation/create",
        /// MCP.
        Roots = "roots/list",
        /// MCP.
        TasksGet = "tasks/get",
        /// MCP.
        TasksResult = "tasks/result",
        /// MCP.
        TasksList = "tasks/list",
        /// MCP.
        TasksCancel = "tasks/cancel",
        /// MCP.
        Discover = "server/discover",
        /// MCP.
        Subscriptions = "subscriptions/listen",
        /// MCP.
        Initialized = "notifications/initialized",
        /// MCP.
        Cancelled = "notifications/cancelled",
        /// MCP.
        Progress = "notifications/progress",
        /// MCP.
        Message = "notifications/message",
        /// MCP.
        ToolsChanged = "notifications/tools/list_changed",
        /// MCP.
        ResourcesChanged = "notifications/resources/list_changed",
        /// MCP.
        ResourceUpdated = "notifications/resources/updated",
        /// MCP.
        PromptsChanged = "notifications/prompts/list_changed",
        /// MCP.
        RootsChanged = "notifications/roots/list_changed",
        /// MCPL.
        Push = "push/event",
        /// MCPL.
        Render = "push/render",
        /// MCPL.
        Incoming = "channels/incoming",
        /// MCPL.
        ChannelsRegister = "channels/register",
        /// MCPL.
        ChannelsChanged = "channels/changed",
        /// MCPL.
        ChannelsList = "channels/list",
        /// MCPL.
        ChannelsOpen = "channels/open",
        /// MCPL.
        ChannelsClose = "channels/close",
        /// MCPL.
        ChannelsPublish = "channels/publish",
        /// MCPL.
        FeatureSets = "featureSets/update",
        /// MCPL.
        Inference = "inference/request",
        /// MCPL.
        Chunk = "inference/chunk",
        /// MCPL.
        Lifecycle = "inference/lifecycle",
        /// MCPL.
        Before = "context/beforeInference",
        /// MCPL.
        After = "context/afterInference",
        /// MCPL.
        Manifest = "mcpl/manifest",
        /// MCPL.
        StateUpdate = "state/update",
        /// MCPL.
        StateRollback = "state/rollback",
        /// MCPL.
        Elevate = "scope/elevate",
        /// MCPL.
        ModelInfo = "model/info",
        /// Anything else.
        Other = "_OTHER",
    }
}

impl Method {
    /// The method of a message.
    pub fn of(name: &str) -> Self {
        Self::named(name).unwrap_or(Self::Other)
    }
}
