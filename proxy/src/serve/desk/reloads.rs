//! How often something was taken over, or was not.

use jiff::{Timestamp, Unit};

use crate::admin::desk::{LastReload, ReloadsView};

/// Of the configuration file, and of what it names.
#[derive(Debug, Default)]
pub(super) struct Reloads(ReloadsView);

impl Reloads {
    /// Counts one; what was taken over, or why it was not.
    pub(super) fn count(&mut self, outcome: Result<&str, &str>) {
        let Self(view) = self;
        let (result, why) = match outcome {
            Ok(what) => {
                view.applied += 1;
                ("applied", what)
            }
            Err(why) => {
                view.rejected += 1;
                ("rejected", why)
            }
        };
        let now = Timestamp::now();
        let at = now.round(Unit::Second).unwrap_or(now).to_string();
        // Of a file with many errors the first is enough; the log has them all.
        let why = why.lines().next().unwrap_or_default().to_owned();
        view.last = Some(LastReload { at, result, why });
    }

    pub(super) fn view(&self) -> ReloadsView {
        self.0.clone()
    }
}
