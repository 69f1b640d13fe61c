//! Where the demo's election is held: in a temporary database, or among the candidates themselves.

use crate::{
    arguments::Demo,
    cluster::{Client, PeerLine, Report},
    exit::Failed,
    secret::Address,
    store::AnyStore,
};
use election_tokio::{
    Cluster,
    core::{Epoch, Namespace, Random, sql::Tables},
};
use std::{
    ffi::OsString,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a lease lasts, or a silent leader counts as alive, unless told.
const SPAN: Duration = Duration::from_secs(2);
/// How long a candidate may take to say what it knows.
const ANSWER: Duration = Duration::from_millis(500);

pub(super) enum Stage {
    Database { url: String, store: Box<AnyStore>, namespace: Namespace, ttl: Duration },
    Cluster { place: PathBuf, names: Vec<String>, down_after: Duration },
}

/// Who leads, and for how long unless it is confirmed.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) leader: Option<String>,
    pub(super) epoch: Epoch,
    pub(super) remaining: Duration,
    /// The most that can remain.
    pub(super) whole: Duration,
}

impl Stage {
    /// Prepares the stage in a directory of its own, for candidates of these names.
    pub(super) async fn set(
        demo: &Demo,
        place: &Path,
        names: &[String],
        random: &mut Random,
    ) -> Result<Self, Failed> {
        if demo.quorum {
            if names.len() < 3 {
                return Err(Failed::new(
                    "--candidates: with fewer than three, no majority is left when one is killed; \
                     use three or more",
                ));
            }
            let down_after = demo.down_after.unwrap_or(SPAN);
            permitted(names, down_after)?;
            let file = cluster(names, down_after, random)?;
            let written = fs::write(place.join("cluster.toml"), file);
            written.map_err(|error| Failed::of("the demo's cluster", &error))?;
            let (place, names) = (place.to_owned(), names.to_vec());
            return Ok(Self::Cluster { place, names, down_after });
        }
        let what = "the demo's database, which --quorum does without";
        let url = format!("sqlite:{}", place.join("demo.db").display());
        let store = AnyStore::of(&Address::new(&url), what, &Tables::default())?;
        let mut store = Box::new(store);
        store.ensure_schema().await.map_err(|error| Failed::of(what, &error))?;
        let ttl = demo.ttl.unwrap_or(SPAN);
        Ok(Self::Database { url, store, namespace: Namespace::default(), ttl })
    }

    /// How long a killed leader is missed at most, about.
    pub(super) fn span(&self) -> Duration {
        match self {
            Self::Database { ttl, .. } => *ttl,
            Self::Cluster { down_after, .. } => *down_after,
        }
    }

    /// What keeps the others out after a kill, in a word.
    pub(super) fn keeps_out(&self) -> &'static str {
        match self {
            Self::Database { .. } => "lease",
            Self::Cluster { .. } => "support",
        }
    }

    /// The options of `election run` for a candidate.
    pub(super) fn options(&self, name: &str) -> Vec<OsString> {
        match self {
            Self::Database { url, ttl, .. } => {
                let ttl = format!("{}ms", ttl.as_millis());
                vec![
                    "--ttl".into(),
                    ttl.into(),
                    "--name".into(),
                    "default".into(),
                    "--store".into(),
                    url.into(),
                ]
            }
            Self::Cluster { place, .. } => vec![
                "--cluster".into(),
                place.join("cluster.toml").into(),
                "--ballot".into(),
                place.join(format!("{name}.ballot")).into(),
                "--socket".into(),
                socket(place, name).into(),
            ],
        }
    }

    /// Who leads now.
    pub(super) async fn seen(&mut self) -> Result<Seen, Failed> {
        match self {
            Self::Database { store, namespace, .. } => {
                let row = store.leader(namespace).await;
                let row = row.map_err(|error| Failed::of("the demo's database", &error))?;
                let holder = row.live_holder();
                Ok(Seen {
                    leader: holder.map(|holder| holder.candidate.id.to_string()),
                    epoch: row.epoch,
                    remaining: row.remaining,
                    whole: row.ttl,
                })
            }
            Self::Cluster { place, names, down_after } => {
                let reports = reports(place, names).await;
                let leads = |report: &&Report| report.trusted_ms.is_some_and(|left| left > 0);
                let leader = reports.iter().find(leads);
                Ok(leader.map_or_else(Seen::default, |report| Seen {
                    leader: Some(report.node.clone()),
                    epoch: Epoch::new(report.led.epoch.unwrap_or_default()),
                    remaining: Duration::from_millis(report.trusted_ms.unwrap_or_default()),
                    whole: *down_after,
                }))
            }
        }
    }

    /// How long nobody else can lead if the leader is killed now.
    pub(super) async fn keeps_out_for(&mut self) -> Result<Duration, Failed> {
        let Self::Cluster { place, names, .. } = self else {
            return self.seen().await.map(|seen| seen.remaining);
        };
        let reports = reports(place, names).await;
        let support = |report: &Report| Some(report.supports.as_ref()?.left_ms);
        let longest = reports.iter().filter_map(support).max();
        Ok(Duration::from_millis(longest.unwrap_or_default()))
    }

    /// Whether every candidate could take over. One that has just started does not vote yet.
    pub(super) async fn is_ready(&self) -> bool {
        let Self::Cluster { place, names, .. } = self else { return true };
        let reports = reports(place, names).await;
        let is_ready = |report: &Report| {
            let heard = |peer: &&PeerLine| {
                peer.heard.as_ref().is_some_and(|heard| heard.fresh && heard.hears_me)
            };
            report.boots_ms.is_none()
                && report.peers.iter().filter(heard).count() + 1 == names.len()
        };
        reports.len() == names.len() && reports.iter().all(is_ready)
    }
}

/// Whether members could take part with this `down_after`. Their own words go nowhere.
fn permitted(names: &[String], down_after: Duration) -> Result<(), Failed> {
    let builder = Cluster::builder("demo").down_after(down_after).ballot("demo").without_data();
    let builder = (7_400..).zip(names).fold(builder, |builder, (port, name): (u16, _)| {
        builder.member(name, format!("127.0.0.1:{port}")).node(name)
    });
    builder.build().map(drop).map_err(|error| Failed::of("--down-after", &error))
}

fn socket(place: &Path, name: &str) -> PathBuf {
    place.join(format!("{name}.sock"))
}

/// What the candidates say that can be asked.
async fn reports(place: &Path, names: &[String]) -> Vec<Report> {
    let mut reports = Vec::new();
    for name in names {
        reports.extend(Client::at(&socket(place, name), ANSWER).report().await.ok());
    }
    reports
}

/// The file of a cluster on the loopback interface, at ports that nobody has. Its host is chosen at
/// random: so nobody else takes the port of a candidate that was killed.
fn cluster(names: &[String], down_after: Duration, random: &mut Random) -> Result<String, Failed> {
    let mut text = format!("election = \"demo\"\ndown-after = \"{}ms\"\n", down_after.as_millis());
    let [one, two, three, ..] = random.next_u64().to_be_bytes();
    let host = format!("127.{}.{two}.{three}", 1 + one % 250);
    let mut free = (7_400..7_999_u16).filter(|port| TcpListener::bind((&*host, *port)).is_ok());
    for name in names {
        let port = free.next().ok_or_else(|| Failed::new("the demo cannot find a free port"))?;
        text += &format!("[[member]]\nid = \"{name}\"\naddress = \"{host}:{port}\"\n");
    }
    Ok(text)
}
