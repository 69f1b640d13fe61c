//! MariaDB Galera: three servers, each with a clock and locks of its own, that are one database.
//!
//! A cluster takes seconds to start and two cores to keep up, so each test asks one for much.
#![allow(clippy::unwrap_used)]

mod clocks;
mod failures;
mod fence;
mod races;
mod sessions;
mod shared;
mod support;

use election_testing::Galera;
use support::{Node, nodes, patiently};

/// At once, as when a service is rolled out.
async fn make_the_tables(nodes: &mut [Node; 3]) {
    let [a, b, c] = nodes;
    let (a, b, c) =
        tokio::join!(a.store.ensure_schema(), b.store.ensure_schema(), c.store.ensure_schema());
    for made in [a, b, c] {
        made.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_has_one_leader_and_fences() {
    let cluster = Galera::start();
    let mut nodes = nodes(&cluster);
    make_the_tables(&mut nodes).await;
    patiently("contenders", races::contenders_at_every_server(&mut nodes)).await;
    patiently("work", fence::makes_its_table(&mut nodes)).await;
    patiently("renewals", fence::renewals_go_on_beside_a_fence(&cluster, &mut nodes)).await;
    patiently("held up", fence::holds_up_who_is_at_the_same_server(&mut nodes)).await;
    patiently("ordered", fence::refuses_what_comes_behind_a_new_term(&mut nodes)).await;
    fence::lets_nothing_through_behind_a_new_term(&mut nodes).await;
    patiently("rights", sessions::who_may_not_write_the_fence_is_told(&cluster, &mut nodes)).await;
    patiently("wsrep_on", sessions::what_would_stay_on_one_server_is_refused(&cluster)).await;
    patiently("listed", sessions::a_server_of_no_cluster_is_refused_beside_one(&cluster)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_are_killed_frozen_and_cut_off() {
    let mut cluster = Galera::start();
    let mut nodes = nodes(&cluster);
    make_the_tables(&mut nodes).await;
    fence::makes_its_table(&mut nodes).await;
    patiently("killed", failures::the_leaders_server_is_killed_and_rejoins(&mut cluster)).await;
    patiently("many", shared::one_process_leads_each_of_many(&mut cluster)).await;
    patiently("refuses", failures::a_list_passes_over_a_server_that_refuses(&cluster, &mut nodes))
        .await;
    patiently("list", failures::a_list_outlives_the_first_server(&mut cluster, &mut nodes)).await;
    patiently("frozen", failures::a_server_is_frozen(&cluster, &mut nodes)).await;
    patiently("isolated", failures::a_server_is_cut_off_from_the_others(&cluster, &mut nodes))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_are_an_hour_apart_are_allowed_for() {
    let cluster = Galera::start_with_clocks();
    let mut nodes = nodes(&cluster);
    make_the_tables(&mut nodes).await;
    cluster.node(1).set_clock(1_800);
    cluster.node(2).set_clock(-1_800);
    patiently("not", clocks::two_lead_who_do_not_allow_for_them(&mut nodes)).await;
    patiently("step", clocks::one_leads_who_allows_for_them(&cluster, &mut nodes)).await;
}
