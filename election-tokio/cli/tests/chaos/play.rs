//! Plays a plan, and judges the result.

use crate::{
    cast::{Cast, number, ttl},
    checker,
    database::Engine,
    fault::{FAULTS, Fault},
    home::Home,
    journal::History,
    plan::{Plan, Round},
    report::Report,
    role::journal_in,
    round,
    world::World,
};
use std::{
    env, fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Fewer fenced writes than this show that the writers do not work.
fn fewest_writes(engine: Engine, cast: Cast) -> usize {
    match (engine, cast) {
        // Only the library writes them, and of a dozen terms it may have none.
        (Engine::Etcd | Engine::Galera, Cast::One) => 0,
        (Engine::Etcd | Engine::Galera, Cast::Many) => 10,
        _ => 50,
    }
}

/// How long to wait for the first leaders.
const PATIENCE: Duration = Duration::from_secs(20);
/// A seed that means nothing.
const SEED: u64 = 20_261_122;

/// The options from the environment.
struct Orders {
    seed: u64,
    time: Duration,
    faults: Vec<&'static Fault>,
}

impl Orders {
    fn of(engine: Engine, cast: Cast) -> Self {
        let names = env::var("CHAOS_FAULTS").ok();
        let named = |fault: &&Fault| {
            names.as_deref().is_none_or(|names| names.split(',').any(|name| name == fault.name))
        };
        let possible = FAULTS
            .iter()
            .filter(|fault| fault.on.contains(&engine) && (cast == Cast::One || !fault.job));
        let faults: Vec<_> = possible.filter(named).collect();
        assert!(!faults.is_empty(), "CHAOS_FAULTS names no fault of {}", engine.name());
        let time = number("CHAOS_MINUTES")
            .map_or(cast.time(engine), |minutes| Duration::from_secs(minutes * 60));
        Self { seed: number("CHAOS_SEED").unwrap_or(SEED), time, faults }
    }
}

/// A world that fails says in which round.
struct ToldOnPanic<'a>(usize, &'a Round);

impl Drop for ToldOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in round {}: {:?}", self.0, self.1);
        }
    }
}

/// Runs one world from its beginning to its end.
///
/// # Panics
/// If a guarantee was broken.
pub(crate) fn play(test: &str, engine: Engine, cast: Cast, home: Home) {
    let orders = Orders::of(engine, cast);
    let again = format!(
        "CHAOS_SEED={} cargo test -p election-cli --test chaos -- --exact {test} --nocapture",
        orders.seed,
    );
    println!("{again}");
    let journal = journal_in(home.path());
    let mut world = World::start(engine, cast, home);
    let mut report = Report::of(test);
    let began = Instant::now();
    let led = world.within(PATIENCE, |world| world.led_after(0));
    assert!(led.is_some(), "not every election is led although nothing is wrong");
    // Each database has another plan of the same seed.
    let seed = orders.seed.wrapping_add(engine as u64);
    for (number, round) in
        Plan::new(seed, orders.faults.len(), world.actors.len(), ttl()).enumerate()
    {
        if began.elapsed() > orders.time {
            break;
        }
        let _told = ToldOnPanic(number, &round);
        let what = round::play(&mut world, &orders.faults, &round, &mut report);
        println!("{:>6} ms: round {number}: {what}", began.elapsed().as_millis());
        world.wait(round.pause);
    }
    let history = world.end();
    let violations = checker::violations(&history);
    report.judge(&history, &violations);
    println!(
        "{test}: {} elections, {} tenures, {} lines, {} fenced writes, {} excuses\n\n{report}",
        history.elections,
        history.apart().iter().map(|own| checker::tenures(own).len()).sum::<usize>(),
        history.lines.len(),
        history.writes.iter().map(Vec::len).sum::<usize>(),
        history.excuses.len(),
    );
    println!("told to end: {}", ends(&history));
    let writes: usize = history.writes.iter().map(Vec::len).sum();
    assert!(writes >= fewest_writes(engine, cast), "{writes} fenced writes prove nothing");
    if violations.is_empty() {
        return;
    }
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("chaos-{test}"));
    let _ = fs::remove_dir_all(&kept); // none there: as well
    keep(journal.parent(), &kept);
    for violation in &violations {
        println!("{violation}");
    }
    let windows: Vec<String> = history
        .windows
        .iter()
        .map(|window| {
            format!("{}..{} ms {}", window.from / 1_000_000, window.to / 1_000_000, window.fault)
        })
        .collect();
    println!("what was done:\n{}", windows.join("\n"));
    panic!("{} violations; {}; see {}", violations.len(), again, kept.display());
}

/// How long the electors took to end when they were told to.
fn ends(history: &History) -> String {
    let mut took: Vec<_> = history.stops.iter().map(|stop| stop.took).collect();
    took.sort_unstable();
    let worst = took.last().copied().unwrap_or_default();
    let median = took.get(took.len() / 2).copied().unwrap_or_default();
    format!("{} times, p50 {median:.0?}, worst {worst:.0?}", took.len())
}

/// Copies the journal and what the processes said.
fn keep(home: Option<&std::path::Path>, to: &std::path::Path) {
    let files = home.map(fs::read_dir).and_then(Result::ok).into_iter().flatten().flatten();
    fs::create_dir_all(to).expect("a directory of our own");
    for file in files.filter(|file| file.path().is_file()) {
        let _ = fs::copy(file.path(), to.join(file.file_name())); // gone by now: as well
    }
}
