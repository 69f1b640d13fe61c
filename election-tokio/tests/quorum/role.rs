//! A node in a process of its own: this binary, started again. It acts while it leads, and says so.
//!
//! The test harness takes no arguments of ours, so everything comes in the environment; orders come
//! by standard input.

use crate::{
    certificates,
    journal::Pen,
    runtimes::{self, Role},
};
use election_driver::{
    Changes, Cluster, Member, Network,
    conformance::CLUSTER,
    core::{Change, NodeId, quorum::Position},
};
use election_tokio::now;
use rustix::fs::{FlockOperation, flock};
use std::{
    env,
    fs::OpenOptions,
    io::{BufRead as _, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tracing::{Event, Subscriber, field::Field};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
};

pub(crate) const NODE: &str = "QUORUM_NODE";
/// `id=host:port`, with commas between.
pub(crate) const MEMBERS: &str = "QUORUM_MEMBERS";
pub(crate) const PLACE: &str = "QUORUM_PLACE";
pub(crate) const BALLOT: &str = "QUORUM_BALLOT";
pub(crate) const LIFE: &str = "QUORUM_LIFE";
pub(crate) const DOWN_AFTER: &str = "QUORUM_DOWN_AFTER_MS";
/// `history:offset`, or `later`.
pub(crate) const POSITION: &str = "QUORUM_POSITION";
/// The folder of this node's certificate, if it has one.
pub(crate) const CERTIFICATES: &str = "QUORUM_CERTIFICATES";
/// Every refusal is noted down, and not only those that are worth a line at night.
pub(crate) const EVERY_REFUSAL: &str = "QUORUM_EVERY_REFUSAL";

/// How long an act takes between looking at the lease and writing: a process that is stopped
/// meanwhile writes when it goes on, without looking again.
const THOUGHT: Duration = Duration::from_millis(2);

pub(crate) fn journal_in(place: &Path) -> PathBuf {
    place.join("journal")
}

/// In a role, the node; as a test, the test that nobody plays one by accident.
#[test]
fn a_role() {
    runtimes::play::<Node>();
    assert!(env::var_os(PLACE).is_none(), "a place without a runtime");
}

struct Node;

impl Role for Node {
    async fn play<R: Network + Default>() {
        play::<R>().await;
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn cluster<R: Network + Default>(node: &str) -> Cluster<R> {
    let mut builder = Cluster::<R>::builder(CLUSTER);
    builder = match env::var_os(CERTIFICATES) {
        Some(folder) => builder.tls(certificates::in_folder(folder.as_ref())),
        None => builder.insecure(),
    };
    for member in variable(MEMBERS).split(',') {
        let (id, address) = member.split_once('=').expect("id=address");
        builder = builder.member(id, address);
    }
    let position = variable(POSITION);
    builder = match position.split_once(':') {
        Some((history, offset)) => builder.position(Position {
            history: history.parse().expect("a number"),
            offset: offset.parse().expect("a number"),
        }),
        None => builder.position_later(),
    };
    let down_after = Duration::from_millis(variable(DOWN_AFTER).parse().expect("milliseconds"));
    builder
        .node(node)
        .ballot(variable(BALLOT))
        .down_after(down_after)
        .build()
        .expect("a valid cluster")
}

async fn play<R: Network + Default>() {
    let node = variable(NODE);
    let place = PathBuf::from(variable(PLACE));
    let life = variable(LIFE).parse().expect("a number");
    let pen = Arc::new(Pen::new(&journal_in(&place), &node, life));
    let every_refusal = env::var_os(EVERY_REFUSAL).is_some();
    let log = Registry::default().with(Logged { pen: pen.clone(), every_refusal });
    tracing::subscriber::set_global_default(log).expect("the only one of this process");
    let (member, run) = match cluster::<R>(&node).open().await {
        Ok(opened) => opened,
        Err(error) => {
            pen.write("error", &error.to_string());
            exit(125);
        }
    };
    pen.write("started", "-");
    // Before the first step, so that no alert is missed.
    R::default().spawn(watch(member.handle().changes(), pen.clone()));
    R::default().spawn(run);
    let least = Arc::new(AtomicU64::new(u64::MAX));
    obey(&member, &pen, &least);
    R::default().spawn(ends(member.clone(), pen.clone()));
    loop {
        let Ok(lease) = member.handle().elected().await else { std::future::pending().await };
        let epoch = lease.epoch().get();
        loop {
            let at = now().as_nanos();
            if !lease.is_held() {
                break;
            }
            let left = u64::try_from(lease.remaining().as_millis()).unwrap_or(u64::MAX);
            least.fetch_min(left, Ordering::Relaxed);
            pen.write_at(at, "acts", &epoch.to_string());
            R::default().sleep(THOUGHT).await;
            let outcome = if write(&place, epoch) { "wrote" } else { "refused" };
            pen.write(outcome, &epoch.to_string());
        }
    }
}

/// Notes down what the node logs for operators: the event's name, then its fields.
struct Logged {
    pen: Arc<Pen>,
    every_refusal: bool,
}

impl<S: Subscriber> Layer<S> for Logged {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let (mut name, mut about) = (None, String::new());
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| {
            let value = format!("{value:?}");
            match field.name() {
                "event" => name = Some(value.trim_matches('"').to_owned()),
                field => about += &format!(" {field}={value}"),
            }
        });
        if self.every_refusal && about.contains(" reason=") && about.contains(" from=") {
            name = name.or_else(|| Some("refused".to_owned()));
        }
        if let Some(name) = name {
            self.pen.write("log", &format!("{name}{about}"));
        }
    }
}

/// A resource that remembers the highest epoch that it has served, and refuses lower ones.
fn write(place: &Path, epoch: u64) -> bool {
    let path = place.join("resource");
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
    let mut file = file.expect("a resource");
    flock(&file, FlockOperation::LockExclusive).expect("its lock");
    let mut known = String::new();
    file.read_to_string(&mut known).expect("its content");
    let known = known.trim().parse().unwrap_or(0);
    if epoch < known {
        return false;
    }
    if epoch > known {
        file.rewind().expect("a file");
        write!(file, "{epoch:020}").expect("room");
    }
    true
}

/// Says how the node ends.
async fn ends<R: Network>(member: Member<R>, pen: Arc<Pen>) {
    member.handle().watch().until(|status| status.closed).await;
    pen.write("ended", "-");
    exit(0);
}

/// Says what happens to leadership.
async fn watch(mut changes: Changes, pen: Arc<Pen>) {
    while let Ok(Some(change)) = changes.next().await {
        match change {
            Change::Elected(tenure) => pen.write("elected", &tenure.term.epoch.to_string()),
            Change::Lost { term, reason, .. } => {
                pen.write("lost", &format!("{} {reason}", term.epoch));
            }
            Change::Followed { term, label, .. } => {
                let label = label.as_ref().map_or("-", |label| label.as_str());
                pen.write("follows", &format!("{} {} {label}", term.epoch, term.leader.as_str()));
            }
            Change::Vacant => pen.write("vacant", "-"),
            Change::Alert(alert) => pen.write("alert", &format!("{} {alert}", alert.as_str())),
        }
    }
}

/// Takes orders, a line each. The end of the orders ends nothing.
fn obey<R: Network + Default>(member: &Member<R>, pen: &Arc<Pen>, least: &Arc<AtomicU64>) {
    let (lines, orders) = async_channel::unbounded::<String>();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let _ = lines.send_blocking(line);
        }
    });
    let (member, pen, least) = (member.clone(), pen.clone(), least.clone());
    R::default().spawn(async move {
        while let Ok(order) = orders.recv().await {
            let answer = match order.as_str() {
                // Of the trust in milliseconds, at any act since somebody asked before.
                "least" => least.swap(u64::MAX, Ordering::Relaxed).to_string(),
                _ => order_of(&member, &order).await,
            };
            pen.write("answer", &format!("{order}: {answer}"));
        }
    });
}

async fn order_of<R: Network>(member: &Member<R>, order: &str) -> String {
    let shown =
        |result: Result<(), String>| result.map_or_else(|error| error, |()| "ok".to_owned());
    match order.split_once(' ').unwrap_or((order, "")) {
        ("hand_over", to) => {
            let to = NodeId::new(to).expect("an id");
            shown(member.hand_over(&to).await.map_err(|error| error.to_string()))
        }
        ("pause", millis) => {
            let lasts = millis.parse().ok().map(Duration::from_millis);
            shown(member.pause(lasts).await.map_err(|error| error.to_string()))
        }
        ("resume", _) => shown(member.resume().await.map_err(|error| error.to_string())),
        ("position", offset) => {
            let offset = offset.parse().expect("a number");
            member.set_position(Position { history: 1, offset });
            "ok".to_owned()
        }
        ("resign", _) => shown(member.handle().resign().await.map_err(|error| error.to_string())),
        ("why", _) => {
            let members = member.members();
            let hindrance = member.status().hindrance;
            hindrance.map_or("-".to_owned(), |why| why.named(&members).to_string())
        }
        (other, _) => panic!("no order {other:?}"),
    }
}
