//! What a user is told when a simulation of the user's own program fails, and how it is played again.

use election_core::{Change, Epoch};
use election_sim::{App, Context, Failure, Report, Scn, Sim, SimError, Timing, View};
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

const TICK: Duration = Duration::from_secs(1);

/// A service that charges customers one after the other and tells its peers how far it is. Its bug:
/// a new leader goes on after what it has heard, and a frame may be late or lost.
#[derive(Debug)]
struct Billing {
    nodes: usize,
    talks: bool,
    term: Option<Epoch>,
    charged: u64,
}

impl App for Billing {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) => {
                self.term = Some(tenure.term.epoch);
                if self.talks {
                    context.note(format_args!("takes over after customer {}", self.charged));
                }
                context.wake_in(TICK);
            }
            Change::Lost { .. } => self.term = None,
            Change::Followed { .. } | Change::Vacant | Change::Alert(_) => {}
        }
    }

    fn received(&mut self, _: usize, bytes: &[u8], _: &mut Context<'_>) {
        let charged = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix("at "));
        self.charged = charged.and_then(|count| count.parse().ok()).unwrap_or(self.charged);
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(term) = self.term.filter(|term| context.lead() == Some(*term)) else { return };
        self.charged += 1;
        context.write(term, format!("customer {}", self.charged));
        let here = context.node();
        for node in (0..self.nodes).filter(|node| *node != here) {
            context.send(node, format!("at {}", self.charged));
        }
        context.wake_in(TICK);
    }
}

fn nobody_pays_twice(view: &View<'_>) -> bool {
    let accepted = view.resource().accepted();
    accepted.split_last().is_none_or(|(last, others)| {
        // The newest are the likeliest, and a second payment fails the run at once.
        others.iter().rev().all(|write| write.what != last.what)
    })
}

fn billing(name: &str, talks: bool) -> Sim {
    Sim::new(name).nodes(3).timing(Timing::of(5 * TICK)).app(move |_| Billing {
        nodes: 3,
        talks,
        term: None,
        charged: 0,
    })
}

fn failing(name: &str) -> Box<Report> {
    let sim = billing(name, true).always("nobody pays twice", nobody_pays_twice);
    match sim.seeds(0..500).check() {
        Err(Failure::Violated(report)) => report,
        passed => panic!("the bug got through: {passed:?}"),
    }
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn a_failure_tells_what_the_app_did() {
    let report = failing("a_failure_tells_what_the_app_did");
    let told = report.to_string();
    // Which condition, in the user's words; the app's own words; what came of its writes.
    says(&told, &["\"nobody pays twice\" does not hold at ", ": a condition of `always`"]);
    says(&told, &[" takes over after customer ", " write \"customer ", " under #", ": accepted\n"]);
    says(&told, &["    app: x write refused   + write accepted   n note   ~ frame\n"]);
    // The write that broke the condition is the last thing before the violation.
    let end: Vec<&str> = told.trim_end().lines().rev().take(2).collect();
    says(end[0], &[" !   nobody pays twice: "]);
    says(end[1], &["write \"customer ", ": accepted"]);
    assert_eq!(end[0][..12], end[1][..12], "{told}");
    // A run of hundreds of events stays readable.
    assert!(report.story.lines().count() <= 26, "{}", report.story);
    assert!(told.lines().all(|line| line.chars().count() < 200), "{told}");
}

#[test]
fn the_last_of_many_events_are_shown_and_the_others_counted() {
    let sim = billing("many", true)
        .always("not a hundred", |view| view.resource().accepted().len() < 100);
    let Err(Failure::Violated(report)) = sim.seeds(0..50).check() else { panic!("passed") };
    says(&report.story, &["before that: ", "writes accepted: "]);
    assert!(report.story.lines().count() <= 26, "{}", report.story);
    let page = std::fs::read_to_string(report.page.as_ref().unwrap()).unwrap();
    says(&page, &["<h2>The last moments</h2>", "writes accepted (100)", ">resource</text>"]);
    // The words of the page are complete.
    assert_eq!(page.matches(": accepted\n</span>").count(), 100);
}

#[test]
fn the_page_stands_beside_the_schedule_and_opens_by_a_click() {
    let report = failing("the page's \"name\"");
    let (scn, page) = (report.path.as_ref().unwrap(), report.page.as_ref().unwrap());
    assert_eq!(page, &scn.with_extension("html"));
    assert!(page.is_absolute() && page.is_file(), "{page:?}");
    says(&report.to_string(), &[&format!("the picture:    file://{}\n", page.display())]);
    let text = std::fs::read_to_string(page).unwrap();
    says(
        &text,
        &["takes over after customer", "class=\"good\"", "class=\"note\"", "class=\"bad\""],
    );
    assert!(!text.contains("<script"), "{text}");
    let scn: Scn = std::fs::read_to_string(scn).unwrap().parse().unwrap();
    says(scn.transcript.as_ref().unwrap(), &["takes over after customer", "= nobody pays twice: "]);
}

#[derive(Debug)]
struct Rude;

impl App for Rude {
    fn changed(&mut self, _: &Change, context: &mut Context<'_>) {
        context.note("<script>alert(1)</script> & more");
    }

    fn tick(&mut self, _: &mut Context<'_>) {}
}

#[test]
fn what_an_app_notes_cannot_break_out_of_the_page() {
    let sim = Sim::new("rude")
        .nodes(2)
        .app(|_| Rude)
        .always("nobody leads", |view| view.elections() == 0);
    let Err(Failure::Violated(report)) = sim.seeds(0..20).check() else { panic!("passed") };
    let page = std::fs::read_to_string(report.page.as_ref().unwrap()).unwrap();
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
}

#[test]
fn the_printed_line_is_one_for_a_shell_wherever_the_files_are() {
    let mut report = failing("spaces");
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("my files; it's");
    report.save(&place).unwrap();
    let line = report.replay.clone().unwrap();
    let (setting, _) = line.split_once(" cargo test").unwrap();
    let show = format!("{setting} sh -c 'printf %s \"$ELECTION_SIM_SCN\"'");
    let output = Command::new("sh").args(["-c", &show]).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        report.path.unwrap().display().to_string()
    );
}

/// The next test runs this test in a process of its own, with an environment.
#[test]
fn double_charge() {
    let sim = billing("double_charge", true).always("nobody pays twice", nobody_pays_twice);
    match sim.seeds(0..500).check() {
        Ok(summary) => {
            assert!(env::var_os("ELECTION_SIM_SCN").is_some(), "the bug got through");
            println!("played {} seeds", summary.seeds);
        }
        Err(failure) => println!("{failure}"),
    }
}

#[test]
fn the_printed_line_replays_the_shrunk_schedule() {
    let test = env::current_exe().unwrap();
    let run = |line: &str| {
        let output =
            Command::new("sh").args(["-c", line]).current_dir(env::temp_dir()).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let first =
        run(&format!("CARGO_PKG_NAME=p '{}' --exact double_charge --nocapture", test.display()));
    let (_, line) = first.split_once("shrunk:         ").unwrap();
    let line = line.lines().next().unwrap();
    says(line, &["ELECTION_SIM_SCN=/", "double-charge-0x", ".scn cargo test -p p double_charge"]);
    assert_eq!(Command::new("sh").args(["-n", "-c", line]).status().unwrap().code(), Some(0));
    // As cargo would call the test, but from elsewhere.
    let (setting, _) = line.split_once(" cargo test").unwrap();
    let again = run(&format!("{setting} '{}' --exact double_charge --nocapture", test.display()));
    let shrunk = |text: &str| {
        let (_, violation) = text.split_once("does not hold at ").unwrap();
        violation.lines().next().unwrap().to_owned()
    };
    let (_, small) = first.split_once("\nshrunk to ").unwrap();
    assert_eq!(shrunk(&again), shrunk(small), "{again}");
    says(
        &again,
        &[
            "double-charge-0x",
            ".scn: \"nobody pays twice\" does not hold",
            "takes over",
            "file:///",
        ],
    );
    assert!(!again.contains("ELECTION_SIM_SEED"), "{again}");
    // A file that passes says so, and has a picture too.
    let calm = env::temp_dir().join(format!("it's calm {}.scn", std::process::id()));
    std::fs::write(&calm, "node a\nnode b\nrun 30s\n").unwrap();
    let quoted = calm.display().to_string().replace('\'', r"'\''");
    let passed = run(&format!(
        "ELECTION_SIM_SCN='{quoted}' '{}' --exact double_charge --nocapture",
        test.display()
    ));
    std::fs::remove_file(&calm).unwrap();
    says(&passed, &["calm", ".scn: nothing violated\nthe picture: file:///", "played 1 seeds"]);
    let missing = run(&format!(
        "ELECTION_SIM_SCN=no.scn '{}' --exact double_charge --nocapture",
        test.display()
    ));
    says(&missing, &["no.scn: there is no such file in "]);
}

/// So that two of one name write a file each.
#[test]
fn a_schedule_is_named_after_its_test_and_simulation() {
    let of = |test: &str| {
        let thread = std::thread::Builder::new().name(test.to_owned());
        let report = thread.spawn(|| failing("billing")).unwrap().join().unwrap();
        report.path.unwrap().file_stem().unwrap().to_str().unwrap().to_owned()
    };
    let (plain, other) = (of("tests::billing"), of("tests::twice"));
    assert!(plain.starts_with("tests--billing-0x"), "{plain}");
    assert!(other.starts_with("tests--twice-billing-0x"), "{other}");
}

#[test]
fn a_file_is_replayed_in_one_line() {
    let report = failing("a_file_is_replayed_in_one_line");
    let sim = || billing("again", true).always("nobody pays twice", nobody_pays_twice);
    let path = report.path.as_ref().unwrap();
    let Err(Failure::Violated(again)) = sim().check_replay(path) else { panic!("passed") };
    assert_eq!((&again.violation, again.path.as_ref()), (&report.shrunk, Some(path)));
    says(&again.to_string(), &[&again.story, &again.picture, "play it again:  ELECTION_SIM_SCN="]);
    // The conditions are those of the code: another one holds.
    billing("again", true).always("time passes", |_| true).replay(path);
    let Err(Failure::Invalid(why)) = sim().check_replay("no/such.scn") else { panic!("passed") };
    let SimError::File { file, .. } = &why else { panic!("{why}") };
    assert_eq!(file, Path::new("no/such.scn"));
    let bad = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bad.scn");
    std::fs::write(&bad, "node a\nexplode\n").unwrap();
    let Err(Failure::Invalid(why)) = sim().check_replay(&bad) else { panic!("passed") };
    says(&why.to_string(), &["bad.scn: ", "2:1", "explode"]);
}

#[test]
#[should_panic(expected = "\"nobody pays twice\" does not hold at ")]
fn replay_panics_with_the_report() {
    let report = failing("replay_panics_with_the_report");
    let sim = billing("again", true).always("nobody pays twice", nobody_pays_twice);
    sim.replay(report.path.unwrap());
}

#[test]
fn a_condition_never_reached_says_how_far_the_runs_came() {
    let sim = billing("far", true)
        .sometimes("a second leader", |view| view.elections() > 1)
        .sometimes("a million customers", |view| view.resource().accepted().len() > 1_000_000);
    let Err(Failure::Invalid(why)) = sim.seeds(0..40).check() else { panic!("passed") };
    let told = why.to_string();
    let SimError::NeverReached(unreached) = why else { panic!("{told}") };
    says(&told, &["\"a million customers\" never came true in 40 runs", "of `sometimes`"]);
    says(&told, &["\"a million customers\" in 0 of 40 runs", " events, ", "hours of virtual time"]);
    let (_, second) = &unreached.conditions[0];
    assert!((1..=40).contains(second), "{told}");
    says(&told, &[&format!("\"a second leader\" in {second} of 40 runs")]);
    // The nearest run did reach the other condition, and has a picture.
    let seed = unreached.furthest.unwrap();
    let page = unreached.page.as_ref().unwrap();
    says(&told, &[&format!("nearest: seed {seed}, "), &format!("file://{}", page.display())]);
    assert!(page.is_file(), "{page:?}");
    let near = billing("far", true).schedule(seed.0).play_with(&Arc::new(
        billing("far", true).sometimes("a second leader", |view| view.elections() > 1).workload(),
    ));
    assert_eq!(near.unwrap().reached, [true]);
}

#[test]
fn notes_change_nothing_in_a_run() {
    let sim = billing("notes", true);
    let workload = Arc::new(sim.workload());
    for seed in 0..100 {
        let schedule = sim.schedule(seed);
        let (told, _) = schedule.narrate(&workload).unwrap();
        assert_eq!(schedule.play_with(&workload).unwrap().hash, told.hash);
    }
}

#[derive(Debug)]
struct Fragile;

impl App for Fragile {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        context.note("hears of a change");
        assert!(!matches!(change, Change::Lost { .. }), "never expected to lose anything");
    }

    fn tick(&mut self, _: &mut Context<'_>) {}
}

#[test]
fn a_panic_of_the_app_gets_a_seed_and_is_shrunk() {
    let sim = Sim::new("fragile").nodes(2).app(|_| Fragile).seeds(0..500);
    let Err(Failure::Violated(report)) = sim.check() else { panic!("passed") };
    assert_eq!(report.violation.check, "panic");
    let told = report.to_string();
    says(
        &told,
        &[
            "the app or a condition panicked at ",
            ": never expected to lose anything",
            "hears of a change",
        ],
    );
    assert!(report.scn.schedule.faults.len() <= 2, "{}", report.scn.schedule);
    let sim = Sim::new("fragile").app(|_| Fragile);
    let Err(Failure::Violated(again)) = sim.check_replay(report.path.unwrap()) else {
        panic!("passed")
    };
    assert_eq!(again.violation, report.shrunk);
}
