//! The keys of the rules: `[[producer.refusals.rule]]` and `[[producer.subject]]`.

use super::Fallback::{Absent, Flag, List, Required};
use super::{Key, LARGEST_STORE_BYTES, METHODS, MS, Shape, key};

/// `[[producer.refusals.rule]]`.
pub(super) static RULE: &[Key] = &[
    key("code", Shape::Integer(i64::MIN, i64::MAX), Absent, "Matches the error's code."),
    key("message", Shape::Text, Absent, "Regular expression found in the error's message."),
    key("reason", Shape::Text, Absent, "Regular expression found in the result's reason."),
    key("method", Shape::Choice(METHODS), Absent, "Matches the lane."),
    key(
        "refusal",
        Shape::Text,
        Required,
        "The kind: invalid, not_permitted, unknown_channel, unavailable, too_large, duplicate, or a word of yours.",
    ),
    key("retryable", Shape::Flag, Absent, "Whether a resend makes sense. Default: by kind."),
    key("retry_after_ms", MS, Absent, "The earliest time for a resend; not with invalid or duplicate."),
    key("limit_bytes", Shape::Integer(1, LARGEST_STORE_BYTES), Absent, "The limit; with too_large only."),
];

/// `[[producer.subject]]`.
pub(in crate::config) static SUBJECT: &[Key] = &[
    key("method", Shape::Choice(METHODS), Absent, "Matches the lane."),
    key("event_id", Shape::Text, Absent, "Regular expression found in the eventId."),
    key("message_id", Shape::Text, Absent, "Regular expression found in the messageId."),
    key("feature_set", Shape::Text, Absent, "Regular expression found in a push's featureSet."),
    key(
        "channel",
        Shape::Text,
        Absent,
        "Regular expression found in a message's channelId, or in the channel that a push's origin names.",
    ),
    key("tags_any", Shape::List, List(&[]), "Matches what has one of these tags; empty: anything."),
    key("tags_none", Shape::List, List(&[]), "Matches what has none of these tags."),
    key(
        "key",
        Shape::Text,
        Required,
        "How the key is made: text, {group} of a pattern, {/json/pointer} into the params or the message, {{ }}.",
    ),
    key(
        "scope",
        Shape::Text,
        Absent,
        "channel, feature_set, or a name: subjects of one name meet across lanes. Default: the event's own.",
    ),
    key("initial", Shape::Flag, Flag(false), "It is the first of its subject: a create."),
    key("retract", Shape::Flag, Flag(false), "It withdraws its subject; its content is the deletion notice."),
    key(
        "distinct",
        Shape::Flag,
        Flag(false),
        "One eventId with new content is a new occurrence, not a conflict.",
    ),
];
