//! Properties of every history: any inputs, in any order, at any times.
//!
//! The tests of the rules cover the cases that somebody thought of; these properties cover the
//! others. A history that fails is shrunk and printed: turn it into a test among the rules and mend
//! the machine. `PROPTEST_CASES` sets the number of histories.

mod conduct;
mod history;

use conduct::{
    Agrees, CORNERS, Corners, FinishesForGood, NeverRevives, OneQuestion, OnlyCurrentAnswersElect,
    OrdinalsGrow, Survives,
};
use election_core::{
    Change, Epoch, Input, Protocol, Timestamp,
    lease::{Action, Answer, Event, Lease, Query},
};
use history::{FAILURES, Transcript, configs, farewells, histories, live, me};
use proptest::{prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};

/// A failing history belongs into the tests of the rules, not into a file of proptest's seeds.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// One test per invariant, so that the name of a failed test says what broke.
macro_rules! holds {
    ($($name:ident: $check:expr;)*) => {
        proptest! {
            #![proptest_config(config())]
            $(#[test]
            fn $name(history in histories()) {
                live(&history, $check)?;
            })*
        }
    };
}

holds! {
    no_input_panics: Survives;
    only_a_current_answer_of_the_right_kind_elects: OnlyCurrentAnswersElect;
    the_ordinals_of_renewals_increase: OrdinalsGrow::default();
    all_ways_to_ask_who_leads_agree: Agrees::default();
    belief_never_revives_and_never_shrinks: NeverRevives::default();
    one_question_at_a_time: OneQuestion::default();
    who_has_left_is_left_alone: FinishesForGood::default();
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_same_history_gives_the_same_steps(history in histories()) {
        let tell = || {
            let mut lines = Vec::new();
            live(&history, Transcript { lines: &mut lines })?;
            Ok::<_, TestCaseError>(lines)
        };
        prop_assert_eq!(tell()?, tell()?);
    }

    /// Whatever fails, and however often, the next look, renewal or release follows within one
    /// interval, so that a database that has healed finds everybody there.
    #[test]
    fn back_off_never_exceeds_one_interval(
        config in configs(),
        leads in any::<bool>(),
        failures in prop::collection::vec(select(FAILURES.to_vec()), 1..120),
    ) {
        let (ttl, interval) = (config.ttl(), config.interval());
        let mut lease = Lease::new(config, me(), 0);
        let mut now = Timestamp::ZERO + ttl;
        let mut failed_at = None;
        let mut step = lease.step(now, Input::Tick);
        for (turn, failure) in failures.into_iter().enumerate() {
            let mut idle = 0;
            while step.action.is_none() {
                idle += 1;
                prop_assert!(idle < 100, "it spins at {now:?}");
                now = now.max(step.wake_at.unwrap());
                step = lease.step(now, Input::Tick);
                if matches!(step.change, Some(Change::Lost { .. })) {
                    failed_at = Some(now); // its work has to stop before anything is urgent
                }
            }
            let Some(Action::Query { ticket, query, .. }) = step.action.take() else { continue };
            let mut result = Err(failure);
            if !matches!(query, Query::Register { .. }) {
                let waited = failed_at.map(|failed| now.since(failed)).unwrap_or_default();
                prop_assert!(waited <= interval, "{waited:?} until {query:?}");
                failed_at = Some(now);
                if turn == 0 && leads && matches!(query, Query::Attempt { .. }) {
                    result = Ok(Answer::Won { epoch: Epoch::new(1), remaining: ttl });
                    failed_at = None;
                }
            }
            step = lease.step(now, Input::Event(Event::Answer { ticket, result }));
        }
    }

    /// What a leaving process may still do: wait for an attempt, read it back, release what it
    /// finds, each for a lease at most, and leave the list. It is woken a little late, so that its
    /// tries can be counted.
    #[test]
    fn who_withdraws_finishes_whatever_the_answers(
        history in histories(),
        replies in farewells(),
    ) {
        let mut life = live(&history, Survives)?;
        let config = life.lease.config().clone();
        let bound = config.ttl() * 2 + config.attempt_timeout() * 4 + config.interval() * 3;
        life.step(life.now, Input::Withdraw)?;
        if let Some(epoch) = life.lease.draining() {
            life.step(life.now, Input::Stopped(epoch))?;
        }
        let began = life.now;
        if began + bound == Timestamp::MAX {
            return Ok(()); // the clock ends first
        }
        for reply in replies.iter().cycle().take(4_000) {
            if life.lease.is_finished() {
                break;
            }
            let answer = reply.as_ref().filter(|_| life.open);
            let answer = answer.map(|reply| life.reply(life.asked.len() - 1, reply));
            match answer {
                // A release that is answered with new wins must go on: each win is a lease that
                // nobody would hold.
                Some(Input::Event(Event::Answer { result: Ok(Answer::Won { .. }), .. })) | None => {
                    let wake = life.wake_at.unwrap_or(life.now).max(life.now + config.ttl() / 200);
                    life.step(wake, Input::Tick)?;
                }
                Some(answer) => life.step(life.now, answer)?,
            }
        }
        prop_assert!(life.lease.is_finished(), "{:?}", life.lease);
        let took = life.now.since(began);
        prop_assert!(took <= bound, "{took:?} of {bound:?}");
    }
}

/// A property that never meets the case it forbids proves nothing.
#[test]
fn the_histories_reach_every_corner() {
    let mut runner = TestRunner::deterministic();
    let mut seen = Corners::default();
    let histories = histories();
    let missing = |seen: &Corners| {
        let corners = CORNERS.split_whitespace();
        corners.filter(|corner| !seen.met.contains(*corner)).collect::<Vec<_>>()
    };
    for _ in 0..5_000 {
        if missing(&seen).is_empty() {
            return;
        }
        let history = histories.new_tree(&mut runner).unwrap().current();
        live(&history, &mut seen).unwrap();
    }
    panic!("never met: {:?}", missing(&seen));
}
