//! Stub.
use std::path::Path;

use serde_json::Value;

use super::{OpenFault, Reader};

/// Stub.
pub struct Account(Value);
impl Account {
    /// Stub.
    pub fn json(&self) -> Value {
        self.0.clone()
    }
}
/// Stub.
pub struct Books(#[allow(dead_code)] Reader);
#[allow(clippy::type_complexity)]
impl Books {
    /// Stub.
    pub fn open(dir: &Path) -> Result<Self, OpenFault> {
        Reader::open(dir).map(Self)
    }
    /// Stub.
    pub fn account(&self, _: &str, _: u64) -> Result<Option<Account>, OpenFault> {
        Ok(None)
    }
    /// Stub.
    pub fn live(
        &self,
        _: Option<&str>,
        _: Option<(String, u64)>,
        _: usize,
    ) -> Result<(Vec<Account>, Option<(String, u64)>), OpenFault> {
        Ok((Vec::new(), None))
    }
}
/// Stub.
pub fn oldest_held(_: &Path) -> Option<u64> {
    None
}
