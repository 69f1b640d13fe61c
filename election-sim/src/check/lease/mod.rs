//! The invariants of a lease.

mod all;
mod epoch_led_once;
mod leads_above_known_epochs;
mod lease_lasts;
mod liveness;
mod only_eligible_attempt;
mod released_lease_is_taken;
mod row_outlasts_work;
mod stops_when_replaced;
mod tokens_increase;
mod trust_within_grant;
mod wake_up_is_heeded;
mod win_is_committed;
mod work_stops_before_release;
mod writes_own_epoch_only;

pub(crate) use all::LeaseCheckers;
