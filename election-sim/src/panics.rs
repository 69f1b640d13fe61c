//! Panics of what a run calls: the user's app, the conditions of a test, the state machines. A panic
//! fails its run like a violated invariant, so it gets a seed and is shrunk.

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

/// The name under which a panic is reported.
pub(crate) const CHECK: &str = "panic";

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `act`, or says with which words it panicked.
pub(crate) fn caught<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    // After a panic the run is over, and nobody uses what it left unfinished.
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| words(&*panic))
}

/// Calls `act`, in which this thread's panics are not printed: shrinking a panic repeats it a
/// thousand times.
pub(crate) fn quietly<T>(act: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                hook(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = act();
    QUIET.set(before);
    result
}

fn words(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
    let mut words = words.unwrap_or_else(|| "a panic without words".to_owned());
    if words.starts_with("there is no reactor running") {
        words += "; a simulation has none: sleep by `node.runtime().sleep`, spawn by `node.runtime().spawn`";
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_of_tokio_is_told_with_what_to_use_instead() {
        let tokio =
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime";
        let said = caught(|| std::panic::panic_any(tokio)).unwrap_err();
        assert!(said.starts_with(tokio) && said.contains("`node.runtime().sleep`"), "{said}");
    }
}
