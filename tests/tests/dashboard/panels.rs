//! The dashboard, as `examples/grafana/dashboard.json` has it.

use std::collections::BTreeSet;
use std::fs;

use mcpl_sidecar::telemetry::names;
use regex::Regex;
use serde_json::Value;

use super::expression::Expression;
use super::root;

/// Metrics that are in no panel, and why.
const IN_NO_PANEL: &[(&str, &str)] = &[];

fn dashboard() -> Value {
    let text = fs::read_to_string(root().join("examples/grafana/dashboard.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// All panels, those that a folded row keeps as well.
fn panels() -> Vec<Value> {
    let list = |of: &Value| of["panels"].as_array().cloned().unwrap_or_default();
    let top = list(&dashboard());
    assert!(top.len() > 20, "{}", top.len());
    top.into_iter().flat_map(|panel| [list(&panel), vec![panel]].concat()).collect()
}

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

/// Title, expression and legend of each target.
fn targets() -> Vec<(String, Expression, String)> {
    let mut found = Vec::new();
    for panel in panels() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let read = Expression::read(text(target, "expr"));
            found.push((text(&panel, "title").to_owned(), read, text(target, "legendFormat").to_owned()));
        }
    }
    found
}

#[test]
fn every_panel_reads_what_there_is() {
    let label = Regex::new(r"\{\{(\w+)\}\}").unwrap();
    let mut wrong = Vec::new();
    for (title, read, legend) in targets() {
        wrong.extend(read.faults().into_iter().map(|fault| format!("{title}: {fault}")));
        let strange = label.captures_iter(&legend).filter(|label| !read.gives(&label[1]));
        wrong.extend(strange.map(|label| format!("{title}: its legend has no label {}", &label[1])));
    }
    for note in dashboard()["annotations"]["list"].as_array().unwrap() {
        let read = Expression::read(text(note, "expr"));
        wrong.extend(read.faults().into_iter().map(|fault| format!("{}: {fault}", note["name"])));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_metric_is_in_a_panel_or_there_is_a_reason() {
    let shown: BTreeSet<&str> = targets()
        .iter()
        .flat_map(|(_, read, _)| read.metrics().map(|it| it.name).collect::<Vec<_>>())
        .collect();
    for metric in names::METRICS {
        let left_out = IN_NO_PANEL.iter().any(|(name, _)| *name == metric.name);
        assert_ne!(shown.contains(metric.name), left_out, "{}", metric.name);
    }
}

#[test]
fn what_is_chosen_at_the_top_counts_in_every_panel() {
    let mut wrong = Vec::new();
    for (title, read, _) in targets() {
        for selector in &read.selectors {
            let by = |label: &str, variable: &str| {
                selector
                    .matchers
                    .iter()
                    .any(|(name, op, value)| name == label && op == "=~" && value == variable)
            };
            let owned = selector.metric().is_some_and(|it| it.labels.iter().any(|it| it.values.is_none()));
            if !by("instance", "$instance") || (owned && !by("mcpl_producer", "$producer")) {
                wrong.push(format!("{title}: {}", selector.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let dashboard = dashboard();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let named = |name: &str| variables.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(named("datasource")["type"], "datasource");
    let values = Regex::new(r"^label_values\((.*), (\w+)\)$").unwrap();
    for (name, label) in [("instance", "instance"), ("producer", "mcpl_producer")] {
        let variable = named(name);
        assert_eq!((&variable["multi"], &variable["includeAll"]), (&true.into(), &true.into()), "{name}");
        let query = text(variable, "definition");
        let read = values.captures(query).unwrap();
        let (series, label) = (Expression::read(&format!("changes({}[1m])", &read[1])), (label, &read[2]));
        assert!(series.faults().is_empty() && series.gives(label.0) && label.0 == label.1, "{query}");
    }
}

#[test]
fn every_panel_says_what_it_is_and_asks_the_chosen_source() {
    let kinds = ["timeseries", "stat", "table", "heatmap", "state-timeline"];
    let (mut wrong, mut ids) = (Vec::new(), BTreeSet::new());
    for panel in panels() {
        let title = text(&panel, "title");
        if title.is_empty() || !ids.insert(panel["id"].as_u64().unwrap()) {
            wrong.push(format!("{title}: no title, or its id is there twice"));
        }
        if panel["type"] == "row" {
            continue;
        }
        let source = |of: &Value| text(&of["datasource"], "uid") == "${datasource}";
        let targets = panel["targets"].as_array().unwrap();
        let legend = |target: &Value| panel["type"] == "table" || !text(target, "legendFormat").is_empty();
        if !kinds.contains(&text(&panel, "type"))
            || text(&panel, "description").is_empty()
            || text(&panel["fieldConfig"]["defaults"], "unit").is_empty()
            || targets.is_empty()
            || !targets.iter().all(|target| source(target) && legend(target))
            || !source(&panel)
        {
            wrong.push(format!("{title}: its kind, its description, its unit, its source or its legends"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let dashboard = dashboard();
    let lists = ["templating", "annotations"].map(|it| dashboard[it]["list"].as_array().unwrap());
    for asks in lists.into_iter().flatten().filter(|it| it["type"] != "datasource") {
        assert_eq!(text(&asks["datasource"], "uid"), "${datasource}", "{}", asks["name"]);
    }
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 38, "older than Grafana 10");
}

#[test]
fn no_two_panels_are_in_one_place() {
    let mut taken: BTreeSet<(u64, u64)> = BTreeSet::new();
    for panel in dashboard()["panels"].as_array().unwrap() {
        let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        let (x, y, w, h) = (at("x"), at("y"), at("w"), at("h"));
        assert!(w > 0 && h > 0 && x + w <= 24, "{}", panel["title"]);
        for place in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(place), "{} lies on another", panel["title"]);
        }
    }
}
