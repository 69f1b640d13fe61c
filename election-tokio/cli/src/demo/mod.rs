//! `election demo`: real candidates on a temporary database, or as a cluster without one. The demo
//! kills their leader repeatedly.
//!
//! Nothing here is simulated: every candidate is an `election run`, every kill is SIGKILL, and
//! every time shown is measured from the kill to the first breath of the next job.

mod candidate;
mod place;
mod report;
mod stage;
mod view;

use crate::{
    arguments::Demo,
    exit::{Exit, Failed, print, unread},
    run::is_visible,
};
use candidate::{Candidate, Started};
use election_tokio::{
    core::{Epoch, Random, Timestamp},
    now,
};
use place::Place;
use report::Failover;
use stage::Stage;
use std::{path::Path, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::sleep,
};
use view::{Picture, View};

pub(crate) use candidate::first_breath;

/// How often a non-interactive demo kills.
const DEFAULT_KILLS: u32 = 5;
/// How often the view is drawn and the state read.
const FRAME: Duration = Duration::from_millis(100);

/// `election demo`.
pub(crate) async fn demo(demo: &Demo) -> Result<Exit, Failed> {
    is_visible().map_err(Failed::new)?;
    let place = Place::new()?;
    let mut scene = Scene::set(demo, place.path()).await?;
    // A terminal that goes away sends a signal.
    let has_reader = !scene.view.is_live();
    let played = tokio::select! {
        played = scene.play() => played,
        () = told_to_end() => Ok(()),
        gone = unread(), if has_reader => Err(gone),
    };
    scene.clear().await;
    played?;
    print(report::report(&scene.failovers))?;
    Ok(Exit::OK)
}

/// However the demo ends, its candidates end with it.
async fn told_to_end() {
    let listen = |kind| signal(kind).ok();
    let mut hangup = listen(SignalKind::hangup());
    let mut terminate = listen(SignalKind::terminate());
    let mut quit = listen(SignalKind::quit());
    let wait = async |signal: &mut Option<Signal>| match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = wait(&mut hangup) => {}
        _ = wait(&mut terminate) => {}
        _ = wait(&mut quit) => {}
    }
}

struct Scene {
    stage: Stage,
    kills: Option<u32>,
    candidates: Vec<Candidate>,
    started: mpsc::UnboundedReceiver<Started>,
    reports: mpsc::UnboundedSender<Started>,
    failovers: Vec<Failover>,
    view: View,
    random: Random,
}

impl Scene {
    async fn set(demo: &Demo, place: &Path) -> Result<Self, Failed> {
        let mut random = Random::new(now().as_nanos());
        let names: Vec<_> = (1..=demo.candidates).map(|n| format!("candidate-{n}")).collect();
        let stage = Stage::set(demo, place, &names, &mut random).await?;
        let view = View::new(view::is_interactive());
        let (reports, started) = mpsc::unbounded_channel();
        let mut scene = Self {
            stage,
            kills: demo.kills.or((!view.is_live()).then_some(DEFAULT_KILLS)),
            candidates: Vec::new(),
            started,
            reports,
            failovers: Vec::new(),
            view,
            random,
        };
        for name in names {
            let candidate = scene.launch(name)?;
            scene.candidates.push(candidate);
        }
        Ok(scene)
    }

    fn launch(&self, name: String) -> Result<Candidate, Failed> {
        let options = self.stage.options(&name);
        Candidate::launch(name, &options, self.reports.clone())
            .map_err(|error| Failed::of("a candidate cannot be started", &error))
    }

    async fn play(&mut self) -> Result<(), Failed> {
        let mut leader = self.next_leader(Epoch::NONE).await?;
        while self.kills.is_none_or(|kills| self.failovers.len() < kills as usize) {
            let span = self.stage.span();
            let reign = span / 4 + self.random.jitter(span);
            self.watch_for(reign).await?;
            self.wait_for_all().await?;
            let (killed_at, remaining) = self.kill(&leader).await?;
            let next = self.next_leader(leader.epoch).await?;
            let failover = Failover {
                killed: leader.node,
                epoch: leader.epoch,
                successor: next.node.clone(),
                remaining,
                took: next.at.since(killed_at),
                keeps_out: self.stage.keeps_out(),
            };
            self.view.line(&failover.to_string());
            self.failovers.push(failover);
            leader = next;
        }
        Ok(())
    }

    /// Kills the leader and replaces it with a fresh process, which joins the queue.
    async fn kill(&mut self, leader: &Started) -> Result<(Timestamp, Duration), Failed> {
        let remaining = self.stage.keeps_out_for().await?;
        let place = self.candidates.iter().position(|each| each.name == leader.node);
        let place = place.ok_or_else(|| Failed::new("a stranger leads the demo"))?;
        let killed_at = now();
        self.candidates[place].kill().await;
        self.view.line(&format!("{} (epoch {}) killed", leader.node, leader.epoch));
        self.candidates[place] = self.launch(leader.node.clone())?;
        Ok((killed_at, remaining))
    }

    /// Waits for a job to start under a later epoch.
    async fn next_leader(&mut self, after: Epoch) -> Result<Started, Failed> {
        let deadline = self.deadline();
        loop {
            tokio::select! {
                started = self.started.recv() => {
                    if let Some(started) = started.filter(|started| started.epoch > after) {
                        let Started { node, epoch, .. } = &started;
                        self.view.line(&format!("{node} leads (epoch {epoch})"));
                        return Ok(started);
                    }
                }
                () = sleep(FRAME) => self.draw().await?,
            }
            if now() > deadline {
                return Err(Failed::new("no leader was elected; the machine may be overloaded"));
            }
        }
    }

    /// Waits until each candidate could take over, so that every kill is the only trouble.
    async fn wait_for_all(&mut self) -> Result<(), Failed> {
        let deadline = self.deadline();
        while !self.stage.is_ready().await {
            if now() > deadline {
                return Err(Failed::new(
                    "a killed candidate did not come back; the machine may be overloaded",
                ));
            }
            self.watch_for(FRAME).await?;
        }
        Ok(())
    }

    fn deadline(&self) -> Timestamp {
        now() + self.stage.span() * 10 + Duration::from_secs(10)
    }

    async fn watch_for(&mut self, time: Duration) -> Result<(), Failed> {
        let until = now() + time;
        while now() < until {
            self.draw().await?;
            sleep(FRAME.min(until.since(now()))).await;
        }
        Ok(())
    }

    async fn draw(&mut self) -> Result<(), Failed> {
        if self.view.is_live() {
            let seen = self.stage.seen().await?;
            self.view.draw(&Picture {
                candidates: self.candidates.iter().map(|each| (&*each.name, each.pid)).collect(),
                seen: &seen,
                failovers: &self.failovers,
                kills: self.kills,
            });
        }
        Ok(())
    }

    /// Gives the terminal back and ends every candidate gracefully.
    async fn clear(&mut self) {
        self.view = View::Lines;
        for candidate in &self.candidates {
            candidate.terminate();
        }
        for candidate in &mut self.candidates {
            candidate.ended().await;
        }
    }
}
