use super::{super::calls::explained, *};
use std::time::Duration;

fn choice(hosts: &[&'static str]) -> Choice<&'static str> {
    Choice::of(hosts.to_vec(), |name| (*name).to_owned()).unwrap()
}

const TIMING: Timeouts = Timeouts::ALONE;

/// The hosts in the order in which a round tries them, none of which answers.
fn silent_round(choice: &Choice<&'static str>, progress: &Progress) -> Vec<(usize, Duration)> {
    let mut round = choice.round(TIMING);
    let mut tried = Vec::new();
    while let Some(next) = round.next(progress) {
        tried.push(next);
        assert!(round.heard::<()>(None, progress).is_none());
    }
    tried
}

#[test]
fn a_round_begins_at_the_last_host_that_worked() {
    let choice = choice(&["a", "b", "c"]);
    let progress = Progress::default();
    let order = |choice: &_| -> Vec<_> {
        silent_round(choice, &Progress::default()).into_iter().map(|(at, _)| at).collect()
    };
    assert_eq!(order(&choice), [0, 1, 2]);
    assert_eq!(choice.used(), None);
    let mut round = choice.round(TIMING);
    round.next(&progress);
    assert!(round.heard::<()>(None, &progress).is_none());
    assert_eq!(round.next(&progress).map(|(at, _)| at), Some(1));
    assert_eq!(round.heard(Some(Ok(7)), &progress), Some(7));
    assert_eq!(choice.used(), Some(1));
    assert_eq!(order(&choice), [1, 2, 0]);
    choice.move_on();
    assert_eq!(order(&choice), [2, 0, 1]);
}

#[test]
fn a_silent_host_gets_a_share_and_then_more() {
    let choice = choice(&["a", "b", "c"]);
    let progress = Progress::default();
    let first = silent_round(&choice, &progress);
    let all: Duration = first.iter().map(|(_, share)| *share).sum();
    assert!(all <= TIMING.call(), "{first:?}");
    let second = silent_round(&choice, &progress);
    assert!(second[0].1 > first[0].1, "{second:?}");
    for _ in 0..40 {
        silent_round(&choice, &progress);
    }
    let last = silent_round(&choice, &progress);
    assert_eq!(last[0].1, TIMING.opening(), "{last:?}");
}

#[test]
fn a_host_on_which_sessions_could_pile_up_rests() {
    let choice = choice(&["a", "b"]);
    let progress = Progress::default();
    let mut round = choice.round(TIMING);
    round.next(&progress);
    progress.reached(Stage::Inside);
    assert!(round.heard::<()>(None, &progress).is_none());
    assert_eq!(round.next(&progress).map(|(at, _)| at), Some(1));
    let tried: Vec<_> = silent_round(&choice, &progress).into_iter().map(|(at, _)| at).collect();
    assert_eq!(tried, [1]);
    let said = choice.failed().unwrap().to_string();
    assert!(said.contains("a: it did not answer"), "it is named while it rests: {said}");
}

fn refusal() -> StoreError {
    StoreError::new(Failure::Fatal, "does not accept this user")
}

/// The server knows that the client is gone.
#[test]
fn a_host_that_refuses_does_not_rest() {
    let choice = choice(&["a", "b"]);
    let progress = Progress::default();
    let mut round = choice.round(TIMING);
    round.next(&progress);
    progress.reached(Stage::Inside);
    assert!(round.heard::<()>(Some(Err(refusal())), &progress).is_none());
    let tried: Vec<_> = silent_round(&choice, &progress).into_iter().map(|(at, _)| at).collect();
    assert_eq!(tried, [0, 1]);
}

/// What its host before has reached counts for nothing.
#[test]
fn a_host_that_let_nobody_in_does_not_rest() {
    let choice = choice(&["a", "b"]);
    let progress = Progress::default();
    let mut round = choice.round(TIMING);
    round.next(&progress);
    progress.reached(Stage::Inside);
    assert!(round.heard::<()>(Some(Err(refusal())), &progress).is_none());
    round.next(&progress);
    assert!(round.heard::<()>(None, &progress).is_none());
    assert_eq!(silent_round(&choice, &progress).len(), 2);
}

/// A refusal is an answer, too; a connection that breaks is none.
#[test]
fn whoever_answers_has_a_first_share_again() {
    let broken = || {
        let cause = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        explained(cause, Failure::Transient, |_, _| None)
    };
    let choice = choice(&["a", "b"]);
    let progress = Progress::default();
    // What comes of the first host's next turn, and the share that it had.
    let turn = |outcome: Option<Result<(), StoreError>>| {
        let mut round = choice.round(TIMING);
        let (at, share) = round.next(&progress).unwrap();
        assert_eq!(at, 0);
        round.heard(outcome, &progress);
        share
    };
    let first = turn(None);
    for (answer, is_one) in [(Ok(()), true), (Err(refusal()), true), (Err(broken()), false)] {
        assert!(turn(Some(answer)) > first, "it had let its share pass");
        assert_eq!(turn(None) == first, is_one);
    }
}

#[test]
fn an_error_names_every_host_and_is_final_only_if_all_are() {
    let choice = choice(&["a:1", "b:2"]);
    let progress = Progress::default();
    let fails = |kinds: [Failure; 2]| {
        let mut round = choice.round(TIMING);
        for kind in kinds {
            round.next(&progress);
            let error = StoreError::new(kind, format!("{kind:?}"));
            assert!(round.heard::<()>(Some(Err(error)), &progress).is_none());
        }
        choice.failed().unwrap()
    };
    let error = fails([Failure::Fatal, Failure::Transient]);
    assert_eq!(error.kind, Failure::Transient);
    assert!(error.to_string().ends_with("a:1: Fatal; b:2: Transient"), "{error}");
    assert_eq!(fails([Failure::Fatal, Failure::Fatal]).kind, Failure::Fatal);
}

#[test]
fn a_host_of_another_cluster_is_refused_once_one_is_known() {
    let choice = choice(&["a", "b"]);
    let told = |at, cluster: Option<&str>| choice.belongs(at, cluster.map(str::to_owned));
    told(1, None).unwrap();
    told(0, Some("x")).unwrap();
    told(1, Some("x")).unwrap();
    for (other, words) in
        [(Some("y"), "a different cluster (y) from a (x)"), (None, "does not reveal")]
    {
        let error = told(1, other).unwrap_err();
        assert_eq!(error.kind, Failure::Fatal);
        assert!(error.to_string().contains(words), "{error}");
    }
    choice.clone().belongs(0, Some("x".to_owned())).unwrap();
}

/// Also while the round goes on, since a call may end before it.
#[test]
fn an_error_tells_of_this_round_only() {
    let choice = choice(&["a", "b"]);
    let progress = Progress::default();
    silent_round(&choice, &progress);
    let mut round = choice.round(TIMING);
    assert!(choice.failed().is_none());
    round.next(&progress);
    let said = choice.failed().unwrap().to_string();
    assert!(said.contains("a: it did not answer") && !said.contains("b:"), "{said}");
}
