//! `[[producer.subject]]`, `preset`, `shims` (contract 13).

use mcpl_policy::rules::Place;

use super::*;

fn rules(text: &str) -> Vec<mcpl_policy::rules::Rule> {
    read(text).unwrap_or_else(|e| panic!("{e}")).config.producers[0].subjects.iter().cloned().collect()
}

fn said(text: &str) -> String {
    read(text).map(|loaded| loaded.config).unwrap_err().to_string().replace(&format!("{FILE}:"), "")
}

#[test]
fn a_rule_is_what_its_table_says() {
    let [rule] = &rules(WHOLE.replace("preset = \"heartbeat-mcpl\"\n", "").as_str())[..] else { panic!() };
    assert_eq!(rule.lane, Some(mcpl_codec::Lane::Push));
    assert_eq!(rule.patterns.groups().collect::<Vec<_>>(), ["id"]);
    assert_eq!((&rule.tags_any[..], &rule.tags_none[..]), (&["a".to_owned()][..], &["b".to_owned()][..]));
    assert_eq!(rule.scope, Place::Named("messages".into()));
    assert_eq!((rule.initial, rule.retract, rule.distinct), (false, false, true));
    let scope =
        |line: &str| rules(&format!("{LEAST}[[producer.subject]]\nkey = 'k'\n{line}\n"))[0].scope.clone();
    assert_eq!(scope(""), Place::Own);
    assert_eq!(scope("scope = 'channel'"), Place::Channel);
    assert_eq!(scope("scope = 'feature_set'"), Place::FeatureSet);
}

#[test]
fn everything_wrong_with_rules_is_said_at_once_with_its_place() {
    let text = format!(
        r#"{LEAST}preset = "discord"
host.shims = ["feature-set-object"]
[[producer.subject]]
event_id = '^a(?<id>\d+'
key = "{{id}}"
[[producer.subject]]
event_id = '(?<id>x)'
message_id = '(?<id>y)'
key = 'é{{other}}'
[[producer.subject]]
key = ""
scope = ""
initial = true
retract = true
[[producer.subject]]
method = "channels/incoming"
feature_set = "x"
scope = "feature_set"
[[producer.subject]]
method = "push/events"
keys = "k"
"#
    );
    let said = said(&text);
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "5:10: `producer.preset` cannot be \"discord\"; hint: write one of",
        "6:15: `producer.host.shims` has none named \"feature-set-object\"; hint: did you mean \"feature-sets-object\"? write one of",
        "8:15: `producer.subject.event_id` is no regular expression at its character 3: unclosed group",
        "12:14: `producer.subject.message_id` has a group `id`, and so has another pattern of the rule",
        "15:8: `producer.subject.key` makes no key at its character 1: it is empty",
        "16:9: `producer.subject.scope` cannot be \"\"",
        "18:11: `producer.subject.retract` and `producer.subject.initial` exclude each other",
        "19:1: `producer.subject.key` is missing",
        "21:15: `producer.subject.feature_set` matches no message",
        "22:9: `producer.subject.scope` = \"feature_set\" has no message",
        "23:1: `producer.subject.key` is missing",
        "24:10: `producer.subject.method` cannot be \"push/events\"",
        "25:1: unknown key `keys` in [[producer.subject]]; hint: did you mean `key`?",
    ];
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}\n{expected}");
    }
    assert_eq!(lines.len(), expected.len(), "{said}");
}

#[test]
fn a_key_that_makes_none_is_shown_where_it_goes_wrong() {
    let rule = |key: &str| format!("{LEAST}[[producer.subject]]\nevent_id = '(?<id>.)'\nkey = {key}\n");
    for (key, words) in [
        (
            "'é{other}'",
            "7:9: `producer.subject.key` makes no key at its character 2: no pattern of this rule",
        ),
        (
            "'{id'",
            "7:8: `producer.subject.key` makes no key at its character 1: there is a `{` without its `}`",
        ),
        ("\"{id}}\"", "7:12: `producer.subject.key` makes no key at its character 5: there is a `}` without"),
        // Spelled otherwise than it reads: the place in the value only.
        ("\"\\u0061{}\"", "7:7: `producer.subject.key` makes no key at its character 2: there is nothing"),
        ("'${SECRET}{}'", "7:7: `producer.subject.key` makes no key: there is nothing"),
    ] {
        let said = said(&rule(key));
        assert!(said.starts_with(words), "{said}\n{words}");
        assert!(!said.contains("hush"), "{said}");
    }
}

#[test]
fn a_preset_brings_its_rules_after_the_users_own_and_they_are_printed() {
    let own = "[[producer.subject]]\nmethod = \"push/event\"\nkey = 'mine'\nscope = 'mine'\n";
    for preset in ["discord-mcpl", "portal-mcpl", "heartbeat-mcpl"] {
        let text = format!("{LEAST}preset = \"{preset}\"\n{own}");
        let loaded = read(&text).unwrap_or_else(|e| panic!("{e}"));
        let rules: Vec<_> = loaded.config.producers[0].subjects.iter().cloned().collect();
        assert_eq!(rules[0].scope, Place::Named("mine".into()));
        assert!(rules.len() > 2);
        let printed = loaded.effective();
        assert_eq!(printed.matches("[[producer.subject]]\n").count(), rules.len(), "{printed}");
        assert!(printed.contains(&format!("\npreset = \"{preset}\"\n")), "{printed}");
        let again = read(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(again.config.producers[0].subjects, loaded.config.producers[0].subjects);
        assert_eq!(again.effective(), printed);
        let alone = read(&format!("{LEAST}preset = \"{preset}\"\n")).unwrap();
        assert_eq!(alone.config.producers[0].subjects.iter().count(), rules.len() - 1);
    }
}

#[test]
fn shims_are_off_unless_they_are_named() {
    let shims = |line: &str| read(&format!("{LEAST}{line}\n")).unwrap().config.producers[0].host.shims;
    assert_eq!(shims(""), Shims::default());
    let one = shims("host.shims = ['policy-receipt']");
    assert_eq!(one, Shims { policy_receipt: true, feature_sets_object: false });
    let both = shims("host.shims = ['policy-receipt', 'feature-sets-object']");
    assert_eq!(both, Shims { policy_receipt: true, feature_sets_object: true });
    assert!(!read(LEAST).unwrap().config.producers[0].undelivered);
    assert!(read(&format!("{LEAST}undelivered = true\n")).unwrap().config.producers[0].undelivered);
}
