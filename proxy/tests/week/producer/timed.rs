//! What heartbeat-mcpl says by the clock.

use serde_json::json;

use super::{Act, Kind, Producer, meant};
use crate::oracle::{Oracle, Sense};

impl Producer {
    pub(super) fn beat(&mut self, now_ms: u64, oracle: &mut Oracle) {
        if self.kind != Kind::Heartbeat || !self.can_say() {
            return;
        }
        let reason = if self.chance.percent(10) { "manual" } else { "schedule" };
        let number = meant(oracle, &format!("heartbeat:{reason}"), false);
        let id = format!("heartbeat_{now_ms}_{:06x}", self.chance.next() & 0xff_ffff);
        let text = "[heartbeat] Periodic self-check-in.";
        self.push(number, &id, &[], &json!({"source": "heartbeat", "reason": reason}), text);
    }

    /// One of three that recur, now and then one that does not.
    pub(super) fn remind(&mut self, now_ms: u64, which: u64, oracle: &mut Oracle) {
        if !self.is_quiet {
            let wait = self.chance.until(300_000 * (which + 1)).max(5_000);
            self.later(now_ms + wait, Act::Remind(which));
        }
        if !self.can_say() {
            return;
        }
        let once = self.chance.percent(30);
        let name = if once { format!("rem_{now_ms}_{which}") } else { format!("rem_every_{which}") };
        let number = if once {
            oracle.meant(None, Sense::Says)
        } else {
            meant(oracle, &format!("reminder:{name}"), false)
        };
        let id = format!("reminder_{now_ms}_{:06x}", self.chance.next() & 0xff_ffff);
        let origin = json!({"source": "reminder", "reminderId": name, "recurring": !once});
        self.push(number, &id, &[], &origin, "remind me");
    }
}
