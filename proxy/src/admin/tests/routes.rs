//! Every route, with every way it can end.

use super::*;

async fn get(desk: &Rc<Fake>, path: &str) -> Told {
    ask(desk, "GET", path, "").await
}

#[tokio::test]
async fn live_is_always_told_and_ready_with_its_reasons() {
    let desk = desk();
    assert_eq!(get(&desk, "/live").await.status, 200);
    let told = get(&desk, "/ready").await;
    assert_eq!((told.status, told.body), (200, json!({ "ready": true })));
    desk.unready.borrow_mut().push("the journal is not open".to_owned());
    let told = get(&desk, "/ready").await;
    assert_eq!(told.status, 503);
    assert_eq!(told.body, json!({ "ready": false, "reasons": ["the journal is not open"] }));
    assert_eq!(get(&desk, "/live").await.status, 200);
}

#[tokio::test]
async fn producers_are_listed_with_what_is_known_of_them() {
    let told = get(&desk(), "/v1/producers").await;
    assert_eq!(told.status, 200);
    let chat = json!({
        "name": "chat", "session": true, "held": 2, "heldBytes": 90, "subjects": 0, "out": 0, "inDoubt": 0,
        "dead": 0, "store": "good",
        "counts": {
            "passed": 0, "accepted": 0, "delivered": 0, "folded": 0, "refused": 0, "limited": 0, "retried": 0,
            "dead": 0, "expired": 0,
        },
    });
    assert_eq!(told.body, json!([chat, { "name": "mail" }]));
    assert_eq!(told.header("content-type"), Some("application/json"));
    assert_eq!(told.header("cache-control"), Some("no-store"));
    assert_eq!(told.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(told.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn an_occurrence_is_found_by_its_event_id_whatever_is_in_it() {
    let desk = desk();
    for (path, asked) in [
        ("a%2Fb%201", "occurrence \"a/b 1\" None"),
        ("a+b?producer=mail", "occurrence \"a+b\" Some(\"mail\")"),
        ("%E2%82%AC%00%25?", "occurrence \"€\\0%\" None"),
        ("", "occurrence \"\" None"),
    ] {
        let told = get(&desk, &format!("/v1/occurrences/{path}")).await;
        assert_eq!(told.status, 200, "{path}");
        assert_eq!(desk.asked.borrow_mut().pop().as_deref(), Some(asked));
    }
    for (path, status) in [
        ("never", 404),
        ("a?producer=nobody", 404),
        ("both", 409),
        ("broken", 503),
        ("a%2", 400),
        ("%ff", 400),
        ("a?producr=mail", 400),
        ("a?producer=mail&producer=chat", 400),
        ("a/b", 404),
    ] {
        assert_eq!(get(&desk, &format!("/v1/occurrences/{path}")).await.error(), status, "{path}");
    }
    let both = get(&desk, "/v1/occurrences/both").await;
    assert_eq!(both.body["producers"], json!(["chat", "mail"]));
    assert_eq!(get(&desk, "/v1/occurrences/both?producer=chat").await.status, 200);
}

#[tokio::test]
async fn work_is_listed_in_portions_that_lead_to_the_next() {
    let desk = desk();
    let told = get(&desk, "/v1/work").await;
    assert_eq!((told.status, told.body.as_array().unwrap().len(), told.header("link")), (200, 5, None));
    let mut path = "/v1/work?producer=chat&limit=2".to_owned();
    let mut ids = Vec::new();
    loop {
        let told = get(&desk, &path).await;
        ids.extend(told.body.as_array().unwrap().iter().map(|account| account["id"].to_string()));
        let Some(link) = told.header("link") else { break };
        path = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned();
    }
    assert_eq!(ids, [1, 2, 3, 4, 5].map(|n| format!("\"chat/{n}\"")));
    let last = desk.asked.borrow_mut().pop().unwrap();
    assert!(last.contains("producer: Some(\"chat\"), after: Some((\"chat\", 4)), limit: 2"), "{last}");
    for query in ["limit=0", "limit=1001", "limit=x", "limit=", "after=chat", "after=chat/x", "all=1"] {
        assert_eq!(get(&desk, &format!("/v1/work?{query}")).await.error(), 400, "{query}");
    }
}

#[tokio::test]
async fn a_flush_is_passed_on() {
    let desk = desk();
    let told = ask(&desk, "POST", "/v1/producers/chat/flush", "").await;
    assert_eq!((told.status, told.body), (204, Value::Null));
    assert_eq!(ask(&desk, "POST", "/v1/producers/nobody/flush", "").await.error(), 404);
    assert_eq!(*desk.asked.borrow(), ["flush chat", "flush nobody"]);
}

#[tokio::test]
async fn a_settlement_is_passed_on_with_the_revision_it_expects() {
    let desk = desk();
    for (body, word, expect) in [
        (r#"{"word":"submitted","expect":2}"#, Word::Submitted, Some(2)),
        (r#"{"word":"not-submitted"}"#, Word::NotSubmitted, None),
        (r#" {"expect":null,"word":"again"} "#, Word::Again, None),
        (r#"{"word":"drop","expect":4294967295}"#, Word::Drop, Some(u32::MAX)),
    ] {
        let told = ask(&desk, "POST", "/v1/work/chat/7/resolve", body).await;
        assert_eq!((told.status, &told.body["revision"]), (200, &json!(3)), "{body}");
        let settlement = Settlement { producer: "chat".to_owned(), number: 7, word, expect };
        assert_eq!(desk.asked.borrow_mut().pop(), Some(format!("resolve {settlement:?}")));
    }
}

#[tokio::test]
async fn a_settlement_that_says_nothing_readable_reaches_nobody() {
    let desk = desk();
    for body in [
        "",
        "x",
        "[]",
        "{}",
        r#"{"word":"maybe"}"#,
        r#"{"word":"drop","expect":-1}"#,
        r#"{"word":"drop","expect":4294967296}"#,
        r#"{"word":"drop","expect":"2"}"#,
        r#"{"word":"drop","revision":2}"#,
        r#"{"word":"drop"}x"#,
    ] {
        assert_eq!(ask(&desk, "POST", "/v1/work/chat/7/resolve", body).await.error(), 400, "{body}");
    }
    for number in ["", "x", "-1", "+1", "07", "18446744073709551616", "1/2"] {
        let path = format!("/v1/work/chat/{number}/resolve");
        assert_eq!(ask(&desk, "POST", &path, "{\"word\":\"drop\"}").await.error(), 404, "{number}");
    }
    assert_eq!(*desk.asked.borrow(), [""; 0]);
}

#[tokio::test]
async fn a_settlement_that_cannot_be_says_why_and_what_is_so() {
    let desk = desk();
    for (trouble, status, member, value) in [
        (Trouble::NoProducer, 404, "none", Value::Null),
        (Trouble::NoOccurrence, 404, "none", Value::Null),
        (Trouble::NotOpen("delivered"), 409, "state", json!("delivered")),
        (Trouble::NoText, 409, "none", Value::Null),
        (Trouble::Revision(5), 412, "revision", json!(5)),
        (Trouble::Busy, 503, "none", Value::Null),
    ] {
        *desk.trouble.borrow_mut() = Some(trouble);
        let told = ask(&desk, "POST", "/v1/work/chat/7/resolve", "{\"word\":\"drop\",\"expect\":2}").await;
        assert_eq!((told.error(), &told.body[member]), (status, &value));
    }
}

#[tokio::test]
async fn metrics_come_as_prometheus_reads_them() {
    let desk = desk();
    let said = get(&desk, "/metrics").await;
    assert_eq!(said.status, 200);
    assert_eq!(said.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(said.body.as_str().is_some_and(|text| text.ends_with("up 1\n")), "{said:?}");
}

#[tokio::test]
async fn a_path_that_is_nobodys_and_a_method_that_is_not_its_own_are_told_apart() {
    let desk = desk();
    for path in
        ["/nope", "/page.js/", "/live/", "//live", "/LIVE", "/v1", "/v1/producers/", "/metrics/", "/live/x"]
    {
        assert_eq!(get(&desk, path).await.error(), 404, "{path}");
        assert_eq!(ask(&desk, "POST", path, "").await.error(), 404, "{path}");
    }
    for (method, path, allow) in [
        ("POST", "/live", "GET, HEAD"),
        ("PUT", "/ready", "GET, HEAD"),
        ("DELETE", "/v1/producers", "GET, HEAD"),
        ("POST", "/v1/occurrences/x", "GET, HEAD"),
        ("OPTIONS", "/v1/work", "GET, HEAD"),
        ("GET", "/v1/producers/chat/flush", "POST"),
        ("HEAD", "/v1/work/chat/1/resolve", "POST"),
        ("get", "/live", "GET, HEAD"),
    ] {
        let told = ask(&desk, method, path, "").await;
        assert_eq!((told.status, told.header("allow")), (405, Some(allow)), "{method} {path}");
    }
    assert_eq!(get(&desk, "/live?x=1").await.error(), 400);
    assert_eq!(*desk.asked.borrow(), [""; 0]);
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let told = ask(&desk(), "HEAD", "/live", "").await;
    assert_eq!((told.status, &told.body), (200, &Value::Null));
    assert_eq!(told.header("content-length"), Some("13"));
}

#[tokio::test(start_paused = true)]
async fn a_desk_that_does_not_answer_is_not_waited_for_forever() {
    let desk = Rc::new(Fake { silent: true, ..Fake::default() });
    let begun = tokio::time::Instant::now();
    assert_eq!(ask(&desk, "POST", "/v1/producers/chat/flush", "").await.error(), 503);
    assert_eq!(begun.elapsed().as_secs(), ANSWER_WITHIN.as_secs());
    assert_eq!(get(&desk, "/v1/producers").await.error(), 503);
    assert_eq!(get(&desk, "/live").await.status, 200);
}
