//! The error codes of JSON-RPC and MCPL that mean something here (contract 5 and 8.1).

/// The feature set is known and not enabled.
pub const FEATURE_SET_NOT_ENABLED: i64 = -32001;
/// The capability was not granted; also an initial policy that is not established yet.
pub const CAPABILITY_DENIED: i64 = -32002;
/// No such feature set was declared.
pub const UNKNOWN_FEATURE_SET: i64 = -32003;
/// Channel traffic of this direction was not granted.
pub const CHANNEL_NOT_PERMITTED: i64 = -32017;
/// The channel is not registered.
pub const UNKNOWN_CHANNEL: i64 = -32023;
/// Not now: resend later.
pub const UNAVAILABLE: i64 = -32030;
/// The content is over a limit.
pub const TOO_LARGE: i64 = -32031;
/// A server error without a meaning of its own.
pub const SERVER_ERROR: i64 = -32000;
/// Not a request that JSON-RPC allows.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// An internal error of the peer.
pub const INTERNAL: i64 = -32603;
/// No JSON.
pub const PARSE: i64 = -32700;
