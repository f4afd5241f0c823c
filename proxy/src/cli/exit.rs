//! Exit codes (contract section 1).

/// The command line cannot be understood.
pub const USAGE: u8 = 64;
/// The revision that was expected is not the one there is (`journal resolve`).
pub const CHANGED: u8 = 65;
/// The producer could not be started (`wrap`).
pub const UNAVAILABLE: u8 = 69;
/// Our own fault.
pub const INTERNAL: u8 = 70;
/// The state directory is in use, or cannot be written.
pub const STATE: u8 = 73;
/// The configuration does not validate.
pub const CONFIG: u8 = 78;
