//! What a run tells its checkers, written once. This table generates the hooks of one checker, the
//! hooks of all checkers of a protocol, and the calls from the latter to the former.

/// Passes the hooks to the macro `receive`, with the types of the environment `env`. Notices have
/// no answer; a verdict says whether the checker's invariant still holds.
macro_rules! hooks {
    ($receive:ident! { $env:ident $($rest:tt)* }) => {
        $receive! {
            $env $($rest)*
            notices: [
                /// A process has started.
                born(node: usize);
                /// A process is gone: it was killed, or it finished.
                died(node: usize);
                /// A process continues as two: everything known of `from` is now also true of
                /// `onto`.
                cloned(from: usize, onto: usize);
                /// A fault has begun or ended.
                fault_changed(kind: &$crate::fault::FaultKind);
                /// The operator told the node to resign, or to leave.
                told(node: usize, told: $crate::simulator::Told);
                /// A process is about to get an input.
                heard(heard: &<$env as $crate::simulator::Environment>::Heard<'_>);
                /// Leader work has ended, and the process is about to learn it.
                stopped(node: usize, epoch: election_core::Epoch);
            ]
            verdicts: [
                /// A step has reported a change.
                changed(node: usize, change: &election_core::Change);
                /// A step has requested something.
                asked(node: usize, asked: &<$env as $crate::simulator::Environment>::Asked);
                /// A step is over.
                stepped(node: usize);
                /// Something has taken effect outside the processes.
                done(done: &<$env as $crate::simulator::Environment>::Done<'_>);
                /// The resource has served a write.
                served(write: &$crate::app::Write);
                /// The healed core has had the time it was promised. Called again at the end.
                due(heal: &$crate::schedule::Heal);
            ]
        }
    };
}
pub(crate) use hooks;
