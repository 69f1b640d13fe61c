//! The same heartbeat mesh in three simulators, side by side in one process: five nodes, each of
//! which sends eight bytes to the four others every 200 ms.
//!
//! It counts the same for all: a timer that fires, and a frame that is received. The simulators do
//! different work for that. turmoil and madsim run async Rust with sockets. election-sim runs state
//! machines without either, and beside the mesh, with its checkers on, five electors and their
//! database. So read the figures as the cost of testing a *state machine* in each, and no more.
//!
//! On one core of a busy two-core machine; only the ratios carry over:
//!
//! | the mesh | events/s | × real time |
//! | --- | --- | --- |
//! | turmoil 0.7, tick 1 ms | 27 k | 210 |
//! | turmoil 0.7, tick 10 ms | 242 k | 1,900 |
//! | madsim 0.2 | 1.2 M | 9,900 |
//! | election-sim | 16 M | 128,000 |
//!
//! `cd election-sim/compare && cargo run --release`
#![forbid(unsafe_code)]

use election_core::Change;
use election_sim::{App, Context, Schedule, Sim, World};
use std::{
    cell::Cell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

const NODES: usize = 5;
const PERIOD: Duration = Duration::from_millis(200);
const LATENCY: Duration = Duration::from_millis(1);
const PORT: u16 = 9_000;

fn main() {
    let best = |run: &dyn Fn() -> Measured| {
        (0..3).map(|_| run()).max_by(|a, b| a.rate().total_cmp(&b.rate())).expect("three runs")
    };
    println!("{NODES} nodes, a heartbeat to each other every {PERIOD:?}; the best of three runs\n");
    println!("{:<28}{:>16}{:>14}", "", "events/s", "× real time");
    let rows = [
        ("turmoil 0.7, tick 1 ms", best(&|| turmoil_mesh(60, Duration::from_millis(1)))),
        ("turmoil 0.7, tick 10 ms", best(&|| turmoil_mesh(300, Duration::from_millis(10)))),
        ("madsim 0.2", best(&|| madsim_mesh(1_200))),
        ("election-sim", best(&|| our_mesh(24 * 3_600))),
    ];
    for (name, measured) in &rows {
        println!("{name:<28}{:>16.0}{:>14.0}", measured.rate(), measured.speed());
    }
}

struct Measured {
    events: u64,
    simulated: Duration,
    took: Duration,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.events as f64 / self.took.as_secs_f64()
    }

    fn speed(&self) -> f64 {
        self.simulated.as_secs_f64() / self.took.as_secs_f64()
    }
}

// ---- election-sim ----

struct Beat {
    node: usize,
    events: Arc<AtomicU64>,
}

impl App for Beat {
    fn started(&mut self, context: &mut Context<'_>) {
        context.wake_in(PERIOD);
    }

    fn changed(&mut self, _: &Change, _: &mut Context<'_>) {}

    fn tick(&mut self, context: &mut Context<'_>) {
        self.events.fetch_add(1, Ordering::Relaxed);
        for other in (0..NODES).filter(|other| *other != self.node) {
            context.send(other, [0; 8]);
        }
        context.wake_in(PERIOD);
    }

    fn received(&mut self, _: usize, _: &[u8], _: &mut Context<'_>) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }
}

fn our_mesh(seconds: u64) -> Measured {
    let events = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&events);
    let workload =
        Sim::new("mesh").app(move |node| Beat { node, events: Arc::clone(&counter) }).workload();
    let simulated = Duration::from_secs(seconds);
    let schedule =
        Schedule { horizon: simulated, ..Schedule::calm(NODES, Duration::from_secs(15)) };
    let mut world = World::with(schedule, Arc::new(workload)).expect("a world");
    let began = Instant::now();
    assert_eq!(world.run(), None);
    Measured { events: events.load(Ordering::Relaxed), simulated, took: began.elapsed() }
}

// ---- turmoil ----

fn turmoil_mesh(seconds: u64, tick: Duration) -> Measured {
    let simulated = Duration::from_secs(seconds);
    let events = Rc::new(Cell::new(0_u64));
    let mut sim = turmoil::Builder::new()
        .tick_duration(tick)
        .simulation_duration(simulated + Duration::from_secs(1))
        .min_message_latency(LATENCY)
        .max_message_latency(LATENCY * 5)
        .build();
    for node in 0..NODES {
        let events = Rc::clone(&events);
        sim.client(format!("n{node}"), async move {
            let socket = turmoil::net::UdpSocket::bind(("0.0.0.0", PORT)).await?;
            let mut ticks = tokio::time::interval(PERIOD);
            let ends = tokio::time::Instant::now() + simulated;
            let mut buffer = [0; 8];
            while tokio::time::Instant::now() < ends {
                tokio::select! {
                    _ = ticks.tick() => {
                        for other in (0..NODES).filter(|other| *other != node) {
                            socket.send_to(&[0; 8], (format!("n{other}"), PORT)).await?;
                        }
                    }
                    received = socket.recv_from(&mut buffer) => { received?; }
                }
                events.set(events.get() + 1);
            }
            Ok(())
        });
    }
    let began = Instant::now();
    sim.run().expect("the mesh runs");
    Measured { events: events.get(), simulated, took: began.elapsed() }
}

// ---- madsim ----

fn madsim_mesh(seconds: u64) -> Measured {
    use madsim::{net::Endpoint, runtime::Runtime, time};
    let simulated = Duration::from_secs(seconds);
    let events = Arc::new(AtomicU64::new(0));
    let runtime = Runtime::with_seed_and_config(1, madsim::Config::default());
    let address = |node: usize| format!("10.0.0.{}:{PORT}", node + 1);
    for node in 0..NODES {
        let ip = format!("10.0.0.{}", node + 1).parse().expect("an address");
        let machine = runtime.create_node().name(format!("n{node}")).ip(ip).build();
        let counter = Arc::clone(&events);
        machine.spawn(async move {
            let endpoint = Arc::new(Endpoint::bind(address(node)).await.expect("bound"));
            let (receiver, received) = (Arc::clone(&endpoint), Arc::clone(&counter));
            madsim::task::spawn(async move {
                let mut buffer = [0; 8];
                while receiver.recv_from(1, &mut buffer).await.is_ok() {
                    received.fetch_add(1, Ordering::Relaxed);
                }
            });
            loop {
                time::sleep(PERIOD).await;
                counter.fetch_add(1, Ordering::Relaxed);
                for other in (0..NODES).filter(|other| *other != node) {
                    // A neighbour that has not bound yet does not hear the first one.
                    let _ = endpoint.send_to(address(other), 1, &[0; 8]).await;
                }
            }
        });
    }
    let began = Instant::now();
    runtime.block_on(async move { time::sleep(simulated).await });
    Measured { events: events.load(Ordering::Relaxed), simulated, took: began.elapsed() }
}
