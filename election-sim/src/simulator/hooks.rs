//! What a run tells its checkers, written once: the hooks of one checker, of all checkers of a
//! protocol, and the calls from these to those are made of this table.

/// Hands the hooks to the macro `receive`, in the words of the environment `env`. Notices have no
/// answer; after the others a checker may say that its invariant does not hold.
macro_rules! hooks {
    ($receive:ident! { $env:ident $($rest:tt)* }) => {
        $receive! {
            $env $($rest)*
            notices: [
                /// A process has started.
                born(node: usize);
                /// A process is gone: killed, or finished.
                died(node: usize);
                /// A process goes on as two: everything that is known of `from` is now true of
                /// `onto`.
                cloned(from: usize, onto: usize);
                /// A fault has begun or ended.
                fault_changed(kind: &$crate::fault::FaultKind);
                /// The operator let the node resign, or leave.
                told(node: usize, told: $crate::simulator::Told);
                /// Something is about to be handed in.
                heard(heard: &<$env as $crate::simulator::Environment>::Heard<'_>);
                /// Leader work has ended and this is about to be reported.
                stopped(node: usize, epoch: election_core::Epoch);
            ]
            verdicts: [
                /// A step has reported a change.
                changed(node: usize, change: &election_core::Change);
                /// A step has asked for something.
                asked(node: usize, asked: &<$env as $crate::simulator::Environment>::Asked);
                /// A step is over.
                stepped(node: usize);
                /// Something has taken effect outside.
                done(done: &<$env as $crate::simulator::Environment>::Done<'_>);
                /// The resource has served a write.
                served(write: &$crate::app::Write);
                /// The healed core has had the time it was promised; again at the end of the run.
                due(heal: &$crate::schedule::Heal);
            ]
        }
    };
}
pub(crate) use hooks;
