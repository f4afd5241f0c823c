//! What the host said itself.

use super::*;

#[test]
fn a_verdict_speaks_for_what_its_lane_checks() {
    let claims = [
        push("doc"),
        push("other"),
        scoped("doc", "chat"),
        scoped("doc", "side"),
        scoped("other", "chat"),
        message("chat"),
        message("side"),
        message("doc"),
    ];
    for learned in claims {
        let mut admission = fresh();
        admission.learn(&learned, Learned::Open);
        for claim in claims {
            let expected = if claim == learned { OPEN } else { UNKNOWN };
            assert_eq!(code(&admission, claim), expected, "{claim:?} after {learned:?}");
        }
    }
}

#[test]
fn a_verdict_wins_over_the_grant_until_the_grant_changes() {
    let mut admission = known();
    grant(&mut admission, 1, &json!({"effectiveCapabilities": CAPS, "enabled": ["doc"]}));
    admission.learn(&push("other"), Learned::Open);
    admission.learn(&push("doc"), Learned::Closed);
    assert_eq!((code(&admission, push("other")), code(&admission, push("doc"))), (OPEN, CLOSED));
    admission.registered(&["elsewhere"], b"{}");
    assert_eq!(code(&admission, push("other")), OPEN, "a channel is no grant");
    admission.update_requested(2, &bytes(&json!({"effectiveCapabilities": CAPS, "enabled": ["doc"]})));
    assert_eq!((code(&admission, push("other")), code(&admission, push("doc"))), (-32001, PERMITTED));
    for answered in [true, false] {
        admission.update_requested(3, &bytes(&json!({"effectiveCapabilities": CAPS})));
        admission.learn(&push("doc"), Learned::Closed);
        admission.update_answered(3, answered);
        assert_eq!(code(&admission, push("doc")), PERMITTED);
    }
    admission.learn(&push("doc"), Learned::Closed);
    admission.update_notified(br#"{"disabled":["ghost"]}"#);
    assert_eq!(code(&admission, push("doc")), PERMITTED);
}

#[test]
fn a_change_of_a_channel_forgets_that_channels_verdicts_only() {
    let none: [&str; 0] = [];
    let changes: [fn(&mut Admission); 4] = [
        |admission| drop(admission.registered(&["chat"], b"{}")),
        |admission| drop(admission.channels_notified(&["chat"], &[] as &[&str])),
        |admission| drop(admission.removed(&["chat"])),
        |admission| drop(admission.channel_opened("chat")),
    ];
    for change in changes {
        let mut admission = known();
        admission.channels_notified(&["side"], &none);
        let claims =
            [message("chat"), scoped("doc", "chat"), message("side"), scoped("doc", "side"), push("doc")];
        for claim in claims {
            admission.learn(&claim, Learned::Closed);
        }
        assert_eq!(admission.verdicts.len(), 5);
        change(&mut admission);
        assert_eq!(admission.verdicts.len(), 3);
        assert_eq!(claims.map(|claim| code(&admission, claim) == CLOSED), [false, false, true, true, true]);
    }
}
