//! What makes a test of each check.

/// Makes a test of each check: on SQLite files, of a quorum's nodes, and of nodes with certificates if
/// the calling crate has the feature `tls`. See [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance {
    ($runtime:ty, $block_on:path) => {
        mod sqlite {
            use super::*;
            $crate::conformance_of_store!($crate::conformance::InFile<$runtime>, $block_on);
        }
        $crate::conformance! { $block_on, $crate::conformance::InFile<$runtime>;
            changes {
                every_release_reaches_the_follower
            }
            handle {
                a_driver_dropped_while_leading_ends_leadership
                an_observer_follows_and_never_leads
                elections_share_a_store
            }
            work {
                work_that_ignores_its_loss_is_stopped_by_force
                work_starts_again_with_the_next_leadership
                an_election_runs_work_by_itself
                work_whose_elector_died_is_an_error
            }
        }
        mod quorum {
            use super::*;
            $crate::conformance! { $block_on, $crate::conformance::OnNothing<$runtime>;
                cluster {
                    elects_follows_and_fails_over
                    hands_over_and_shuts_down
                    who_leaves_says_so
                    names_and_both_families
                    a_follower_is_told_of_its_primary
                    what_has_shut_down_can_start_again_at_once
                    a_shutdown_closes_all_sockets
                    a_port_that_is_taken_is_refused
                    who_was_killed_does_not_vote_twice
                    nonsense_costs_its_own_connection
                    half_a_frame_costs_its_own_connection
                    dropping_a_node_ends_leadership_at_once
                    cancelled_work_leaves_the_member_leading
                    work_that_panics_gives_leadership_up
                }
            }
            #[cfg(feature = "tls")]
            $crate::conformance! { $block_on, $crate::conformance::OnNothing<$runtime>;
                cluster {
                    members_with_certificates_elect_and_hand_over
                    the_certificate_of_another_member_starts_no_node
                }
            }
        }
    };
    ($block_on:path, $place:ty; $($area:ident { $($check:ident)+ })+) => {
        $($(
            #[test]
            fn $check() {
                $block_on($crate::conformance::run::<$place, _>($crate::conformance::$area::$check));
            }
        )+)+
    };
}

/// Makes a test of each check that holds on any store, on this [place](crate::conformance::Stores).
/// See [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance_of_store {
    ($place:ty, $block_on:path) => {
        $crate::conformance! { $block_on, $place;
            stores {
                elects_renews_and_fails_over
                resigns_to_a_follower
                leader_work_is_cancelled_and_starts_elsewhere
                a_cancelled_call_does_not_keep_the_lease
            }
        }
    };
}
