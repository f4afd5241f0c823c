//! The alert rules, as `examples/prometheus/alerts.yml` has them.

use std::fs;

use regex::Regex;

use super::expression::Expression;
use super::root;

/// One rule.
#[derive(Debug, Default)]
pub(crate) struct Alert {
    pub(crate) name: String,
    pub(crate) expression: String,
    /// The key whose default is in the expression.
    bound: Option<String>,
    severity: String,
    summary: String,
    description: String,
}

/// Reads the rules. Only the forms of YAML that the file has are understood: anything else is a panic.
pub(crate) fn alerts() -> Vec<Alert> {
    let text = fs::read_to_string(root().join("examples/prometheus/alerts.yml")).unwrap();
    let member = Regex::new(r"^ *(?:- )?(\w+):(?: (.+))?$").unwrap();
    let severity = Regex::new(r"^\{ severity: (\w+) \}$").unwrap();
    let bound = Regex::new(r"^ *# The default of (\w+); put yours\.$").unwrap();
    let mut alerts: Vec<Alert> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let (Some(bound), Some(alert)) = (bound.captures(line), alerts.last_mut()) {
            alert.bound = Some(bound[1].to_owned());
        }
        if line.is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let of = member.captures(line).unwrap_or_else(|| panic!("not understood: {line}"));
        let mut value = of.get(2).map_or("", |value| value.as_str()).to_owned();
        if value == ">-" {
            let indent = |line: &str| line.len() - line.trim_start().len();
            let mut folded = Vec::new();
            while let Some(more) = lines.next_if(|next| indent(next) > indent(line)) {
                folded.push(more.trim());
            }
            value = folded.join(" ");
        } else if value.starts_with('\'') {
            value = value.trim_matches('\'').into();
        }
        if &of[1] == "alert" {
            alerts.push(Alert { name: value, ..Alert::default() });
            continue;
        }
        let Some(alert) = alerts.last_mut() else { continue };
        match &of[1] {
            "expr" => alert.expression = value,
            "labels" => severity.captures(&value).unwrap()[1].clone_into(&mut alert.severity),
            "summary" => alert.summary = value,
            "description" => alert.description = value,
            "for" | "annotations" | "name" | "rules" => {}
            other => panic!("{}: {other} is not understood", alert.name),
        }
    }
    assert!(alerts.len() > 20, "{}", alerts.len());
    alerts
}

#[test]
fn every_alert_reads_what_there_is() {
    let mut wrong = Vec::new();
    for alert in alerts() {
        let faults = Expression::read(&alert.expression).faults();
        wrong.extend(faults.into_iter().map(|fault| format!("{}: {fault}", alert.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_alert_says_what_to_do_and_of_whom_and_where_to_read_on() {
    let see = Regex::new(r" See (docs/[\w-]+\.md)(?:#([\w-]+))?\.$").unwrap();
    let label = Regex::new(r"\$labels\.(\w+)").unwrap();
    let (mut wrong, mut seen) = (Vec::new(), Vec::new());
    for Alert { name, expression, severity, summary, description, .. } in alerts() {
        if !["critical", "warning", "info"].contains(&&*severity) || !name.starts_with("Mcpl") {
            wrong.push(format!("{name}: {severity}"));
        }
        if summary.is_empty() || seen.contains(&name) {
            wrong.push(format!("{name}: no summary, or there twice"));
        }
        let read = Expression::read(&expression);
        for label in label.captures_iter(&format!("{summary} {description}")) {
            // A certificate of the admin listener has no producer: its summary says so with an empty name.
            if !read.gives(&label[1]) {
                wrong.push(format!("{name}: it has no label {}", &label[1]));
            }
        }
        let there = see.captures(&description).is_some_and(|see| {
            let page = fs::read_to_string(root().join(&see[1])).unwrap_or_default();
            see.get(2)
                .map_or(!page.is_empty(), |part| super::anchors(&page).contains(&part.as_str().to_owned()))
        });
        if !there {
            wrong.push(format!("{name}: it leads nowhere: {description}"));
        }
        seen.push(name);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn bounds_in_alerts_are_the_defaults_of_the_configuration() {
    let reference = fs::read_to_string(root().join("docs/reference.md")).unwrap();
    let row = Regex::new(r"(?m)^\| `(\w+)` \| [^|]+ \| `(\d+)` \|").unwrap();
    let default =
        |key: &str| row.captures_iter(&reference).find(|row| &row[1] == key).map(|row| row[2].to_owned());
    let number = Regex::new(r"[0-9]{2,}\b").unwrap();
    let mut seen = 0;
    for alert in alerts() {
        let last = number.find_iter(&alert.expression).last().map(|it| it.as_str());
        let Some(key) = alert.bound else { continue };
        assert_eq!(last.map(str::to_owned), default(&key), "{}: {key}", alert.name);
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn for_every_alert_there_is_a_test_in_which_it_fires_and_one_in_which_it_does_not() {
    let tests = fs::read_to_string(root().join("examples/prometheus/alerts_test.yml")).unwrap();
    for Alert { name, .. } in alerts() {
        let fires = format!("- alertname: {name}\n");
        let quiet = format!("- {{ alertname: {name}, eval_time: ");
        assert!(tests.contains(&fires) && tests.contains(&quiet), "{name}");
    }
}
