//! What a snapshot of much is.

use mcpl_policy::fate::Fate;

use super::stage::on_stage;
use crate::journal::account::sample::{open, work, write};
use crate::stream::snapshot::SNAPSHOT_PART;

#[tokio::test]
async fn a_snapshot_of_much_comes_in_parts_that_are_numbered_and_have_everything_once() {
    on_stage(10, async |stage| {
        stage.publish(1..=3);
        let all = 2 * SNAPSHOT_PART as u64 + 88;
        let dir = stage.dir.path().to_owned();
        let changes = (1..=all).flat_map(|number| open(number, &format!("e{number}"), &work(Fate::Held)));
        let changes = changes.collect();
        std::thread::spawn(move || write(&dir, "chat", changes)).join().unwrap();
        let mut client = stage.reader(1 << 20);
        client.subscribe("journal", None).await;
        client.hear_of("subscribed").await;
        let mut told = Vec::new();
        for part in 0..3 {
            let snapshot = client.hear_of("snapshot").await;
            let place = (&snapshot["part"], &snapshot["isLast"], &snapshot["lastSequence"]);
            assert_eq!(place, (&part.into(), &(part == 2).into(), &3.into()));
            let occurrences = snapshot["occurrences"].as_array().unwrap();
            assert!(occurrences.len() <= SNAPSHOT_PART);
            told.extend(occurrences.iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        }
        told.sort();
        let mut wanted: Vec<String> = (1..=all).map(|number| format!("chat/{number}")).collect();
        wanted.sort();
        assert_eq!(told, wanted);
        assert_eq!(client.batch().await["reason"], "snapshot_delta");
    })
    .await;
}
