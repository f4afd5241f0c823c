//! What is told of bindings that answer, that do not, and that are gone.

use std::path::Path;
use std::sync::mpsc as channels;

use mcpl_policy::engine::{Fate, Load, Word};
use tokio::task::LocalSet;

use super::*;
use crate::config;
use crate::exchange::Tally;
use crate::journal::account::{Content, Past};

/// Every number up to 9 is there.
struct Fake;

fn damaged() -> OpenFault {
    OpenFault::Absent { file: "journal.db".into() }
}

impl Records for Fake {
    fn one(
        &self,
        producer: &str,
        number: u64,
        _: Vec<Past>,
        content: bool,
    ) -> Result<Option<AccountView>, OpenFault> {
        match number {
            13 => Err(damaged()),
            4 => Ok(Some(json!({ "revision": 5 }).into())),
            1..=9 => {
                let account = json!({ "id": format!("{producer}/{number}") });
                let sent = || Content { content_says: Some("hush".to_owned()), ..Content::default() };
                Ok(Some(AccountView { account, content: content.then(sent) }))
            }
            _ => Ok(None),
        }
    }

    fn open(&self, producers: &[String], event_id: &str) -> Result<Vec<(String, u64)>, OpenFault> {
        let known = |name: &&String| match event_id {
            "old" => *name == "beta",
            "only" | "both-old" => true,
            _ => false,
        };
        Ok(producers.iter().filter(known).map(|name| (name.clone(), 8)).collect())
    }

    fn work(&self, portion: Portion) -> Result<Listed, OpenFault> {
        Ok(Listed { accounts: vec![json!(format!("{portion:?}"))], more: None })
    }
}

/// Answers as a binding that has these event ids.
fn binding(ids: &'static [(&'static str, u64)]) -> mpsc::Sender<Order> {
    let (orders, mut heard) = mpsc::channel(4);
    tokio::task::spawn_local(async move {
        while let Some(Order::Ask(ask)) = heard.recv().await {
            match ask {
                Ask::Watch(told) | Ask::Flush(told) => told.send(()).unwrap(),
                Ask::Find { event_id, told } => {
                    let number = ids.iter().find(|(id, _)| *id == event_id).map(|(_, number)| *number);
                    told.send(number).unwrap();
                }
                Ask::Resolve { number, expect, word, told } => told
                    .send(match (number, expect) {
                        (2, _) => Err(Unresolved::NotOpen(Fate::Delivered)),
                        (3, _) => Err(Unresolved::NoText),
                        (4, _) => Err(Unresolved::Unknown),
                        (_, Some(7) | None) if word == Word::Submitted => Ok(Fate::Delivered),
                        _ => Err(Unresolved::Revision(7)),
                    })
                    .unwrap(),
                Ask::Status(told) => {
                    let load = Load { held: 3, held_bytes: 90, in_doubt: 1, ..Load::default() };
                    let host = Some("127.0.0.1:9".to_owned());
                    told.send(Status {
                        session: true,
                        host,
                        names: vec!["host.example".to_owned()],
                        load,
                        store: StoreState::Short,
                        tally: Tally::default(),
                        observed: None,
                    })
                    .unwrap();
                }
            }
        }
    });
    orders
}

/// A desk with `alpha` and `beta`, which share an event id.
fn desk() -> FrontDesk<Fake> {
    let desk = FrontDesk::over(Journal::memory(), Fake, Keyring::default());
    desk.seat("beta", binding(&[("same", 2), ("damaged", 13), ("forgotten", 44)]));
    desk.seat("alpha", binding(&[("same", 1), ("only", 5), ("solo", 6)]));
    desk
}

async fn scene<T>(scene: impl Future<Output = T>) -> T {
    LocalSet::new().run_until(scene).await
}

async fn look(desk: &FrontDesk<Fake>, id: &str, producer: Option<&str>) -> Result<Value, Trouble> {
    let found = desk.occurrence(id.to_owned(), producer.map(ToOwned::to_owned)).await?;
    Ok(serde_json::to_value(found).unwrap())
}

#[tokio::test]
async fn an_event_id_is_looked_for_with_every_producer_or_the_one_that_is_named() {
    scene(async {
        let desk = desk();
        assert_eq!(look(&desk, "solo", None).await, Ok(json!({ "id": "alpha/6" })));
        assert_eq!(look(&desk, "solo", Some("beta")).await, Err(Trouble::NoOccurrence));
        assert_eq!(look(&desk, "same", Some("beta")).await, Ok(json!({ "id": "beta/2" })));
        let both = vec!["alpha".to_owned(), "beta".to_owned()];
        assert_eq!(look(&desk, "same", None).await, Err(Trouble::Several(both)));
        assert_eq!(look(&desk, "never", None).await, Err(Trouble::NoOccurrence));
        assert_eq!(look(&desk, "only", Some("gamma")).await, Err(Trouble::NoProducer));
        assert_eq!(look(&desk, "forgotten", None).await, Err(Trouble::NoOccurrence), "pruned meanwhile");
        assert_eq!(look(&desk, "damaged", None).await, Err(Trouble::Journal(damaged().to_string())));
    })
    .await;
}

#[tokio::test]
async fn content_is_shown_while_the_configuration_says_so() {
    scene(async {
        let desk = desk();
        let shown = || async { look(&desk, "solo", None).await.unwrap().get("contentSays").is_some() };
        let settled = || async {
            let settlement =
                Settlement { producer: "alpha".to_owned(), number: 6, word: Word::Submitted, expect: None };
            desk.resolve(settlement).await.unwrap().get("contentSays").is_some()
        };
        assert!(!shown().await, "not unless it is asked for");
        for (admin, says) in [
            ("[admin]\nlisten = '127.0.0.1:0'\nshow_content = true\n", true),
            ("[admin]\nlisten = '127.0.0.1:0'\n", false),
            ("", false),
        ] {
            let text =
                format!("{admin}[[producer]]\nname = 'p'\nlisten = 'stdio'\nconnect = 'tcp://127.0.0.1:1'\n");
            let env = |_: &str| Some("/nowhere".to_owned());
            let path = std::path::Path::new("x");
            desk.describe(&config::parse(config::Purpose::Run, path, &text, &env).unwrap().config);
            assert_eq!(shown().await, says, "{admin}");
            assert!(!settled().await, "a settlement is answered without it");
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_binding_has_forgotten_is_found_by_its_row_while_it_is_open() {
    scene(async {
        let desk = desk();
        assert_eq!(look(&desk, "old", None).await, Ok(json!({ "id": "beta/8" })));
        assert_eq!(look(&desk, "old", Some("beta")).await, Ok(json!({ "id": "beta/8" })));
        assert_eq!(look(&desk, "old", Some("alpha")).await, Err(Trouble::NoOccurrence));
        assert_eq!(look(&desk, "only", Some("alpha")).await, Ok(json!({ "id": "alpha/5" })), "the newer one");
        let both = vec!["alpha".to_owned(), "beta".to_owned()];
        assert_eq!(look(&desk, "only", None).await, Err(Trouble::Several(both.clone())));
        assert_eq!(look(&desk, "both-old", None).await, Err(Trouble::Several(both)));
    })
    .await;
}

#[tokio::test]
async fn a_binding_that_has_ended_hides_nothing_of_the_others() {
    scene(async {
        let desk = desk();
        desk.seat("zeta", mpsc::channel(1).0);
        assert_eq!(look(&desk, "solo", None).await, Ok(json!({ "id": "alpha/6" })));
        assert_eq!(look(&desk, "only", Some("zeta")).await, Err(Trouble::Busy));
        assert_eq!(desk.flush("zeta".to_owned()).await, Err(Trouble::Busy));
        desk.unseat("zeta");
        assert_eq!(desk.flush("zeta".to_owned()).await, Err(Trouble::NoProducer));
        assert_eq!(desk.flush("alpha".to_owned()).await, Ok(()));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_says_nothing_may_have_what_is_looked_for() {
    scene(async {
        let desk = desk();
        let (orders, mut heard) = mpsc::channel(1);
        desk.seat("b-silent", orders);
        let within = Duration::from_secs(1);
        assert!(tokio::time::timeout(within, look(&desk, "solo", None)).await.is_err(), "it is waited for");
        // It drops the question: as one does for whom too many wait.
        let (told, ()) = tokio::join!(look(&desk, "solo", None), async {
            while let Ok(Some(order)) = tokio::time::timeout(within, heard.recv()).await {
                drop(order);
            }
        });
        assert_eq!(told, Err(Trouble::Busy));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_producer_that_says_nothing_keeps_no_other_from_the_list() {
    scene(async {
        let desk = desk();
        let (orders, _heard) = mpsc::channel(1);
        desk.seat("b-silent", orders);
        let begun = Instant::now();
        // The second time it is too busy to be asked.
        for _ in 0..2 {
            let views = desk.producers().await;
            let said: Vec<_> = views.iter().map(|view| (view.name.as_str(), view.said.is_some())).collect();
            assert_eq!(said, [("alpha", true), ("b-silent", false), ("beta", true)]);
        }
        assert_eq!(begun.elapsed(), STATUS_WITHIN);
        let alpha = desk.producers().await.remove(0).said.unwrap();
        assert_eq!((alpha.held, alpha.held_bytes, alpha.in_doubt, alpha.store), (3, 90, 1, "short"));
        assert_eq!((alpha.session, alpha.peer.as_deref()), (true, Some("127.0.0.1:9")));
    })
    .await;
}

#[tokio::test]
async fn an_operators_word_comes_to_what_the_engine_made_of_it() {
    scene(async {
        let desk = desk();
        let say = |number, word, expect| {
            desk.resolve(Settlement { producer: "alpha".to_owned(), number, word, expect })
        };
        assert_eq!(say(1, Word::Submitted, Some(7)).await, Ok(json!({ "id": "alpha/1" })));
        assert_eq!(say(1, Word::Submitted, Some(6)).await, Err(Trouble::Revision(7)));
        assert_eq!(say(2, Word::Again, None).await, Err(Trouble::NotOpen(Fate::Delivered.state())));
        assert_eq!(say(3, Word::Again, None).await, Err(Trouble::NoText));
        assert_eq!(say(4, Word::Drop, None).await, Err(Trouble::NoOccurrence));
        assert_eq!(say(4, Word::Drop, Some(5)).await, Err(Trouble::NoOccurrence));
        assert_eq!(say(4, Word::Drop, Some(3)).await, Err(Trouble::Revision(5)), "it ended meanwhile");
        for gone in [44, 13] {
            let id = format!("alpha/{gone}");
            let left = json!({ "id": id, "producer": "alpha", "state": Fate::Delivered.state() });
            assert_eq!(say(gone, Word::Submitted, None).await, Ok(left), "done, and nothing to be shown");
        }
        let nobody = Settlement { producer: "x".to_owned(), number: 1, word: Word::Drop, expect: None };
        assert_eq!(desk.resolve(nobody).await, Err(Trouble::NoProducer));
    })
    .await;
}

#[tokio::test]
async fn work_is_listed_of_producers_that_are_served() {
    scene(async {
        let desk = desk();
        let of = |producer: Option<&str>| {
            desk.work(Portion { producer: producer.map(ToOwned::to_owned), after: None, limit: 9 })
        };
        assert_eq!(of(Some("gamma")).await, Err(Trouble::NoProducer));
        assert!(of(None).await.unwrap().accounts[0].to_string().contains("limit: 9"));
        assert!(of(Some("beta")).await.unwrap().accounts[0].to_string().contains("beta"));
    })
    .await;
}

#[tokio::test]
async fn ready_is_from_the_last_listener_bound_to_the_end() {
    let desk = FrontDesk::over(Journal::memory(), Fake, Keyring::default());
    assert_eq!(desk.unready().await.len(), 1);
    desk.open();
    assert_eq!(desk.unready().await, [""; 0]);
    desk.close();
    assert_eq!(desk.unready().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_lost_its_journal_is_not_ready_though_the_journal_is_good() {
    scene(async {
        let desk = desk();
        desk.open();
        let (silent, _heard) = mpsc::channel(1);
        desk.seat("b-silent", silent);
        assert_eq!(desk.unready().await, [""; 0], "one that is short or says nothing");
        let (orders, mut heard) = mpsc::channel(4);
        desk.seat("lost", orders);
        tokio::task::spawn_local(async move {
            while let Some(Order::Ask(Ask::Status(told))) = heard.recv().await {
                let (load, store) = (Load::default(), StoreState::Gone);
                told.send(Status {
                    session: false,
                    host: None,
                    names: Vec::new(),
                    load,
                    store,
                    tally: Tally::default(),
                    observed: None,
                })
                .unwrap();
            }
        });
        let reasons = desk.unready().await;
        assert_eq!(reasons.len(), 1);
        assert!(reasons[0].contains("\"lost\""), "{reasons:?}");
    })
    .await;
}

#[test]
fn where_a_producer_is_told_without_what_may_be_secret() {
    let text = "[[producer]]\nname = 'p'\nlisten = 'ws://127.0.0.1:1/p?v=hush'\nconnect = 'mcpl://Far.Example?world=hush'\n";
    let env = |_: &str| Some("/".to_owned());
    let loaded =
        crate::config::parse(crate::config::Purpose::Run, std::path::Path::new("x"), text, &env).unwrap();
    let desk = FrontDesk::over(Journal::memory(), Fake, Keyring::default());
    desk.describe(&loaded.config);
    let view = desk.places.borrow()["p"].view(&Keyring::default());
    assert_eq!(
        serde_json::to_value(view).unwrap(),
        json!({
            "listen": "ws://127.0.0.1:1/p?v=***",
            "address": {
                "configured": "mcpl://Far.Example?world=***",
                "canonical": "mcpl://far.example/?world=***",
                "resolved": "wss://far.example/?world=***",
            },
        })
    );
}

#[test]
fn reloads_are_counted_with_the_newest() {
    let desk = FrontDesk::over(Journal::memory(), Fake, Keyring::default());
    assert_eq!(serde_json::to_value(desk.reloads()).unwrap(), json!({ "applied": 0, "rejected": 0 }));
    desk.reloaded(Ok("the configuration file"));
    desk.reloaded(Err("x.toml:1:1: no\nx.toml:2:1: nor this"));
    let view = desk.reloads();
    assert_eq!((view.applied, view.rejected), (1, 1));
    let last = view.last.unwrap();
    assert_eq!((last.result, &*last.why), ("rejected", "x.toml:1:1: no"));
    assert!(last.at.ends_with('Z') && last.at.len() == "2026-08-02T10:00:00Z".len(), "{}", last.at);
}

#[test]
fn metrics_say_when_each_certificate_of_ours_ends_and_forget_those_that_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2100, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(path("it.crt"), params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(path("it.key"), key.serialize_pem()).unwrap();
    let loaded = |name: &str, tls: &str| {
        let file = folder.path().join(name);
        let text = format!(
            "[admin]\nlisten = \"127.0.0.1:0\"\n[admin.{tls}]\ncert_file = \"it.crt\"\nkey_file = \"it.key\"\n\
             [[producer]]\nname = \"p\"\nlisten = \"wss://127.0.0.1:0\"\nconnect = \"tcp://127.0.0.1:1\"\n\
             [producer.listen_tls]\ncert_file = \"it.crt\"\nkey_file = \"it.key\"\n"
        );
        let text = if tls.is_empty() {
            "[admin]\nlisten = \"127.0.0.1:0\"\n[[producer]]\nname = \"p\"\nlisten = \"stdio\"\nconnect = \"tcp://127.0.0.1:1\"\n".to_owned()
        } else {
            text
        };
        std::fs::write(&file, text).unwrap();
        config::load(&file, &|_| Some("/nowhere".to_owned())).unwrap()
    };
    let (config, keyring, journal) = (loaded("with.toml", "tls"), Keyring::default(), Journal::memory());
    keyring.server(config.admin.as_ref().unwrap().tls.as_ref().unwrap()).unwrap();
    let telemetry = crate::telemetry::of(&config, &journal.gauge(), &|_| None);
    let desk = FrontDesk::new(journal, folder.path().to_owned(), keyring, telemetry.clone());
    desk.describe(&config);
    let told = || {
        let text = telemetry.text().unwrap();
        let lines = text.lines().filter(|line| line.starts_with("mcpl_certificate_not_after_seconds{"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = told();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(" 4102444800")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("\"admin\"")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("\"p\"") && line.contains("\"listen\"")), "{lines:?}");
    desk.describe(&loaded("without.toml", ""));
    assert!(told().is_empty());
}

#[tokio::test]
async fn what_was_seen_is_looked_through_while_everything_else_goes_on() {
    scene(async {
        let (desk, hub) = (desk(), Hub::new(Path::new("nowhere")));
        desk.tell(hub.clone());
        let ((at_it, begins), (go, goes)) = (channels::channel(), channels::channel());
        // Somebody is at the stream's observations until it is heard that everything else goes on.
        let busy = std::thread::spawn(move || {
            let mut went_on = None;
            hub.publish(std::iter::from_fn(|| {
                at_it.send(()).unwrap();
                went_on = Some(goes.recv_timeout(Duration::from_secs(5)).is_ok());
                None
            }));
            went_on
        });
        begins.recv().unwrap();
        let everything_else = async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            // It may have been given up.
            let _ = go.send(());
        };
        let (found, ()) = tokio::join!(look(&desk, "solo", Some("alpha")), everything_else);
        assert_eq!(found, Ok(json!({ "id": "alpha/6" })));
        assert_eq!(busy.join().unwrap(), Some(true), "it was waited for");
    })
    .await;
}
