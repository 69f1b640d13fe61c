//! Electors of a lease.

use crate::services::{
    Kind, Outcome, SPAN, guards_hold_a_leadership, one_story_is_told, who_leaves_leads_no_more,
    work_runs_while_it_leads, writes,
};
use election_sim::{Sim, Timing, service::Node};

/// `ELECTION_SIM_SEEDS` asks for more.
fn plays(
    name: &str,
    must_write: [&'static str; 2],
    service: impl AsyncFn(Kind, Node) -> Outcome + Copy + Send + Sync + 'static,
) {
    Sim::new(&format!("lease::{name}"))
        .nodes(3)
        .timing(Timing::of(SPAN))
        .seeds(0..200)
        .service(move |node| async move { service(Kind::Lease, node).await })
        .sometimes("a third leader is elected", |view| view.elections() > 2)
        .sometimes(must_write[0], writes(must_write[0]))
        .sometimes(must_write[1], writes(must_write[1]))
        .run();
}

#[test]
fn work_runs() {
    plays("work_runs", ["works", "clears up"], work_runs_while_it_leads);
}

#[test]
fn guards_hold() {
    plays("guards_hold", ["guarded", "the last"], guards_hold_a_leadership);
}

#[test]
fn one_story() {
    plays("one_story", ["held", "leads"], one_story_is_told);
}

#[test]
fn who_leaves() {
    plays("who_leaves", ["resigned", "left"], who_leaves_leads_no_more);
}
