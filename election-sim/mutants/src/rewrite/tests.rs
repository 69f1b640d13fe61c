//! What counts as a mutant, and what does not.

use super::{Found, constants, rewrite};
use std::collections::BTreeSet;

/// The mutants of this source, without the file and the function before each.
fn mutants(source: &str) -> Vec<String> {
    let (mut names, mut found) = (BTreeSet::new(), Found::default());
    constants(source, &mut names).unwrap();
    let rewritten = rewrite("lib.rs", source, &names, &mut found).unwrap();
    syn::parse_file(&rewritten).expect("source again");
    let change = |key: &str| key.split_once(": ").unwrap().1.to_owned();
    found.mutants.iter().map(|mutant| change(&mutant.key)).collect()
}

#[test]
fn each_part_of_a_condition_is_told_to_be_either() {
    let found = mutants("fn f(a: bool, b: bool, n: u64) -> bool { a && b || n < 3 }");
    let expected = [
        "a => true",
        "b => true",
        "a && b => false",
        "3 => 4",
        "3 => 2",
        "n < 3 => <=",
        "n < 3 => false",
        "the function => true",
        "the function => false",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_may_fail_is_waited_for_or_ignored_is_left_out() {
    let found = mutants(
        "async fn f(s: &S) -> Result<(), E> { s.sync()?; s.told.await; let _ = s.tell(); Ok(()) }",
    );
    let expected = ["s.sync()? => nothing", "s.told.await => nothing", "s.tell() => nothing"];
    assert_eq!(found, expected);
}

#[test]
fn a_loop_over_what_a_variable_holds_sets_it_again() {
    let found =
        mutants("fn f(s: &S) { let mut n = s.n; while let Some(m) = n { n = s.next(m); } }");
    assert_eq!(found, ["let Some(m) = n => false", "the function => nothing"]);
}

#[test]
fn what_has_an_effect_is_left_out() {
    let found = mutants("fn f(s: &mut S) { s.n += s.m; if s.go { s.run(); } s.done = s.end(); }");
    let expected = [
        "s.n += => s.n -=",
        "s.n += s.m => nothing",
        "s.go => true",
        "s.go => false",
        "s.run() => nothing",
        "s.done = s.end() => nothing",
        "the function => nothing",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_arm_falls_through_and_a_question_mark_fails() {
    let found = mutants("fn f(n: u8) -> Option<u8> { match g(n)? { 7 => h(), _ => None } }");
    assert_eq!(found, ["g(n)? => None", "case 7 => the default arm", "the function => None"]);
    // Without an arm for everything there is nowhere to fall; nor is there with the same body.
    assert_eq!(mutants("fn f(b: bool) -> S { match b { true => x, false => y } }").len(), 0);
    assert_eq!(mutants("fn f(n: u8) -> S { match n { 1 => x, _ => x } }").len(), 0);
}

#[test]
fn a_let_takes_its_else_and_each_alternative_is_missed() {
    let found = mutants("fn f(o: O) -> S { let Some(n) = g(o) else { return x }; n }");
    assert_eq!(found, ["let Some(n) => its else"]);
    let found = mutants("fn f(o: O) -> bool { matches!(o, O::A | O::B) }");
    assert_eq!(found[..2], ["O::A => the default arm", "O::B => the default arm"]);
}

#[test]
fn named_numbers_are_off_by_one_where_they_are_used() {
    let found = mutants("const MOST: u32 = 3; fn f(n: u32) -> S { g(n.min(MOST)) }");
    assert_eq!(found, ["MOST => one more", "MOST => one less", "n.min(MOST) => max"]);
}

#[test]
fn what_no_switch_can_reach_or_nobody_relies_on_is_left_alone() {
    let aside = [
        "const fn f(a: bool) -> bool { !a }",
        "impl fmt::Display for S { fn fmt(&self) -> bool { self.a && self.b } }",
        "#[cfg(test)] mod tests { fn f(a: bool) -> bool { !a } }",
        "#[cfg(feature = \"model-checking\")] fn f(a: bool) -> bool { !a }",
        "const MOST: u32 = 3; static LEAST: u32 = 2 - 1;",
    ];
    for source in aside {
        assert_eq!(mutants(source), [""; 0], "{source}");
    }
}
