//! Lines as they come out, without touching the process's own stderr or subscriber.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

struct Tell(Sender<String>);

impl io::Write for Tell {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(format: LogFormat, level: LevelFilter, what: impl FnOnce()) -> Vec<String> {
    let (told, read): (_, Receiver<String>) = channel();
    let sums = Sums { noise: Arc::default(), format, start: Instant::now() };
    let sink = Sink::start(Tell(told), Vec::new);
    let layer = layer(format, false, sink.lines(), Quiet { level, sums: sums.clone() });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), what);
    drop(Log { sink, sums: Some(sums) });
    read.iter().collect()
}

#[test]
fn lines_below_the_level_are_not_written() {
    let all = logged(LogFormat::Text, LevelFilter::WARN, || {
        tracing::info!("too little");
        tracing::warn!(producer = "main", "enough");
    });
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(
        all[0].contains(" WARN ") && all[0].contains("enough producer=\"main\"") && all[0].ends_with('\n')
    );
    assert!(logged(LogFormat::Text, LevelFilter::OFF, || tracing::error!("nothing")).is_empty());
}

#[test]
fn repeated_lines_are_summed_up() {
    let all = logged(LogFormat::Text, LevelFilter::INFO, || {
        for n in 0..133 {
            tracing::info!(n, "noise {n}");
        }
        tracing::info!("something else");
    });
    assert_eq!(all.len(), 12, "{all:?}");
    assert!(all[10].ends_with("something else\n"));
    assert!(all[11].ends_with("… 123 more like it: noise 10\n") && all[11].contains(" INFO "), "{}", all[11]);
}

#[test]
fn json_lines_are_json_sums_too() {
    let all = logged(LogFormat::Json, LevelFilter::INFO, || {
        for _ in 0..12 {
            tracing::info!(a = 1, "with \"quotes\"\nand lines");
        }
    });
    assert_eq!(all.len(), 11);
    for line in &all {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((value["level"].as_str(), value["target"].as_str()), (Some("INFO"), Some(module_path!())));
        assert!(value["timestamp"].is_string() && value["fields"]["message"].is_string());
    }
    assert!(all[10].contains("\"more\":2"), "{}", all[10]);
}

#[test]
fn a_json_line_says_its_trace_once_in_span() {
    let all = logged(LogFormat::Json, LevelFilter::INFO, || {
        let _in = tracing::error_span!("trace", trace_id = "t", span_id = "s").entered();
        tracing::info!("within");
    });
    let value: serde_json::Value = serde_json::from_str(&all[0]).unwrap();
    assert_eq!(
        (value["span"]["trace_id"].as_str(), value["span"]["span_id"].as_str()),
        (Some("t"), Some("s"))
    );
    assert!(value.get("spans").is_none(), "{value}");
}

#[test]
fn what_a_library_says_of_metrics_that_are_not_kept_is_not_logged() {
    let all = logged(LogFormat::Text, LevelFilter::TRACE, || {
        tracing::debug!(target: "opentelemetry", "no metrics will be recorded");
        tracing::warn!(target: "opentelemetry", "this may matter");
    });
    assert!(all.len() == 1 && all[0].contains("this may matter"), "{all:?}");
}
