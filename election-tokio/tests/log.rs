//! The logs that users of the library see: which process each line is from, and what it is about.

use election_testing::{Kind, Server};
use election_tokio::{Election, PgStore, SqliteStore};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span,
};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

type Fields = BTreeMap<String, String>;

/// Every event, with the fields of the spans it is in.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Fields>>>);

#[derive(Default)]
struct Reader(Fields);

impl Visit for Reader {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collector {
    fn on_new_span(
        &self,
        attributes: &span::Attributes<'_>,
        id: &span::Id,
        context: Context<'_, S>,
    ) {
        let mut reader = Reader::default();
        attributes.record(&mut reader);
        context.span(id).expect("a span").extensions_mut().insert(reader.0);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut reader = Reader::default();
        event.record(&mut reader);
        for span in context.event_scope(event).into_iter().flatten() {
            let extensions = span.extensions();
            let fields = extensions.get::<Fields>().into_iter().flatten();
            reader.0.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
        }
        reader.0.insert("target".to_owned(), event.metadata().target().to_owned());
        reader.0.insert("level".to_owned(), event.metadata().level().to_string());
        self.0.lock().expect("no panic elsewhere").push(reader.0);
    }
}

/// From a warning about the timing to the end of the work, without debug formatting.
#[tokio::test]
async fn every_event_names_election_node_and_itself() {
    let collector = Collector::default();
    let subscriber = Registry::default().with(collector.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let directory = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(directory.path().join("e.db")).unwrap();
    store.ensure_schema().await.unwrap();
    let election = Election::builder("billing").node("one").ttl(Duration::from_secs(1));
    let election = election.store(store).build().unwrap();
    let work = async |_| Ok::<(), String>(());
    tokio::time::timeout(Duration::from_secs(60), election.run_while_leader(work))
        .await
        .expect("work that is done at once")
        .unwrap();
    let events = collector.0.lock().unwrap().clone();
    let own = events.iter().filter(|event| event["target"].starts_with("election_driver"));
    let mut named = Vec::new();
    for event in own {
        assert_eq!(event.get("election").map(String::as_str), Some("billing"), "{event:?}");
        assert_eq!(event.get("node").map(String::as_str), Some("one"), "{event:?}");
        if ["INFO", "WARN", "ERROR"].contains(&event["level"].as_str()) {
            named.push(event.get("event").unwrap_or_else(|| panic!("{event:?}")).clone());
        }
        for value in event.values() {
            assert!(!value.contains("{ ") && !value.contains("Some("), "{event:?}");
        }
        if let Some(epoch) = event.get("epoch") {
            assert!(epoch.parse::<u64>().is_ok(), "{event:?}");
        }
    }
    let expected = ["elected", "work_started", "resigning", "released"];
    let named: Vec<_> = named.iter().filter(|name| *name != "vacant").collect();
    assert!(named.iter().zip(expected).all(|(name, expected)| **name == expected), "{named:?}");
    assert!(named.len() >= expected.len(), "{named:?}");
}

/// Ten thousand elections would say the same.
#[tokio::test]
async fn an_outage_of_a_shared_store_is_told_once() {
    let collector = Collector::default();
    let subscriber = Registry::default().with(collector.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let of = |name: &str| {
        let events = collector.0.lock().unwrap();
        let named = events.iter().filter(|event| event.get("event").is_some_and(|is| is == name));
        named.cloned().collect::<Vec<Fields>>()
    };
    let server = Server::start(Kind::Postgres);
    let mut store = PgStore::connect(&server.url()).unwrap();
    store.ensure_schema().await.unwrap();
    let store = Election::share(store);
    let leaders = (0..20).map(|number| {
        let election = Election::builder(format!("tenant-{number}")).ttl(Duration::from_secs(6));
        election.store(store.clone()).build().unwrap().start()
    });
    let leaders: Vec<_> = leaders.collect();
    let watched = async {
        for leader in &leaders {
            leader.elected().await.unwrap();
        }
        server.freeze();
        while of("outage").is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        server.thaw();
        while of("outage_over").is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for leader in &leaders {
            leader.shutdown().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), watched).await.expect("an outage, and its end");
    for name in ["outage", "outage_over"] {
        let told = of(name);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!((told[0].get("election"), told[0].contains_key("place")), (None, true));
    }
    assert_eq!(of("overload"), [], "what waits for a frozen server tells of no overload");
}
