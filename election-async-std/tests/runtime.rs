//! What a runtime's own users expect: executors of their own, cancellation, and what becomes of
//! leadership when an executor is blocked or dropped.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)]

#[cfg(feature = "async-std")]
mod async_std {
    use ::async_std::task;
    use election_async_std::{AsyncStd, Lease, core::Loss};
    use election_driver::conformance::{InFile, awaited, sqlite::LONG};
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    /// Sets its flag when it is dropped: work that is cancelled is dropped.
    struct Dropped(Arc<AtomicBool>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// async-std's own way to cancel: the task that runs the work is cancelled, and the work with
    /// it. Other handles go on.
    #[test]
    fn cancelling_the_task_cancels_its_work() {
        task::block_on(async {
            let place = InFile::<AsyncStd>::new().await;
            let elector = place.start("a", LONG);
            let (begun, begins) = async_channel::bounded(1);
            let dropped = Arc::new(AtomicBool::new(false));
            let guard = Dropped(dropped.clone());
            let works = task::spawn(elector.run_while_leader(async move |lease: Lease| {
                let _guard = &guard;
                begun.send(lease.epoch()).await.unwrap();
                std::future::pending::<Result<(), String>>().await
            }));
            let epoch = awaited("the work to begin", begins.recv()).await.unwrap();
            assert!(awaited("the task's end", works.cancel()).await.is_none());
            assert!(dropped.load(Ordering::SeqCst), "its work goes on");
            let lease = elector.lease().expect("it leads on");
            assert_eq!(lease.epoch(), epoch);
            let ended = lease.ended();
            drop(lease);
            awaited("the elector to leave", elector.shutdown()).await;
            let ended = awaited("the end of leadership", ended).await;
            assert_eq!(ended.reason, Loss::Withdrawn, "it led until it left");
        });
    }

    /// Dropping the task's handle detaches the task: the work goes on, and ends with leadership.
    #[test]
    fn dropping_the_tasks_handle_cancels_nothing() {
        task::block_on(async {
            let place = InFile::<AsyncStd>::new().await;
            let elector = place.start("a", LONG);
            let (say, said) = async_channel::bounded(2);
            drop(task::spawn(elector.run_while_leader(async move |lease: Lease| {
                say.send(None).await.unwrap();
                let reason = lease.ended().await;
                say.send(Some(reason.reason)).await.unwrap();
                Ok::<(), String>(())
            })));
            assert_eq!(awaited("the work to begin", said.recv()).await.unwrap(), None);
            awaited("the elector to leave", elector.shutdown()).await;
            let ended = awaited("the work to be told", said.recv()).await.unwrap();
            assert_eq!(ended, Some(Loss::Withdrawn));
        });
    }
}

#[cfg(feature = "smol")]
mod smol {
    use ::smol::{Executor, LocalExecutor, Task, future};
    use election_async_std::smol::{Lease, Smol, core::Loss, now};
    use election_driver::conformance::{
        InFile, awaited,
        sqlite::{LONG, SHORT},
    };
    use election_testing::process::eventually;
    use std::{
        sync::{Arc, mpsc},
        time::Duration,
    };

    type Place = InFile<Smol>;

    /// Elector and work on one thread of the caller's own, next to tasks that are not `Send`.
    #[test]
    fn an_elector_runs_on_a_local_executor() {
        let local = LocalExecutor::new();
        future::block_on(local.run(async {
            let place = Place::new().await;
            let (handle, driver) = place.elector("a", LONG).into_parts();
            let driver = local.spawn(driver);
            let not_send = std::rc::Rc::new(7);
            let works: Task<_> = local.spawn({
                let (handle, not_send) = (handle.clone(), not_send.clone());
                async move {
                    let work = async |lease: Lease| lease.check().map(|()| drop(not_send.clone()));
                    handle.run_while_leader(work).await
                }
            });
            awaited("the work's end", works).await.unwrap();
            let heir = place.start("b", LONG);
            drop(awaited("the heir to lead", heir.elected()).await.unwrap());
            awaited("the elector to leave", handle.shutdown()).await;
            awaited("the elector's end", driver).await;
            awaited("the heir to leave", heir.shutdown()).await;
        }));
    }

    /// Dropping an executor drops its tasks: the elector with them, and with the elector leadership.
    #[test]
    fn an_executor_that_is_dropped_ends_leadership() {
        let executor = Executor::new();
        let (place, handle, lease) = future::block_on(executor.run(async {
            let place = Place::new().await;
            let (handle, driver) = place.elector("doomed", SHORT).into_parts();
            executor.spawn(driver).detach();
            let lease = awaited("the elector to lead", handle.elected()).await.unwrap();
            (place, handle, lease)
        }));
        assert!(handle.is_leader() && lease.is_held());
        drop(executor);
        assert!(!handle.is_leader());
        future::block_on(async {
            assert_eq!(awaited("the end of belief", lease.lost()).await.reason, Loss::Withdrawn);
            assert!(handle.status().closed && handle.status().tenure.is_none());
            let epoch = lease.epoch();
            drop(lease);
            let heir = place.start("heir", SHORT);
            let next = awaited("the lease to run out", heir.elected()).await.unwrap();
            assert!(next.epoch() > epoch);
            drop(next);
            awaited("the heir to leave", heir.shutdown()).await;
        });
    }

    /// An elector whose executor is blocked can tell nobody anything. The clock can.
    #[test]
    fn an_elector_on_a_blocked_executor_does_not_lead() {
        let place = future::block_on(Place::new());
        let (handle, driver) = place.elector("stalled", SHORT).into_parts();
        let (resume, stalled) = mpsc::channel::<()>();
        let leads = Arc::new(async_lock::Barrier::new(2));
        let blocked = {
            let (handle, leads) = (handle.clone(), leads.clone());
            std::thread::spawn(move || {
                let local = LocalExecutor::new();
                future::block_on(local.run(async {
                    let driver = local.spawn(driver);
                    drop(handle.elected().await.unwrap());
                    leads.wait().await;
                    let _ = stalled.recv(); // blocks the only thread there is
                    driver.await;
                }));
            })
        };
        future::block_on(async {
            awaited("the elector to lead", leads.wait()).await;
            let tenure = handle.status().tenure.unwrap();
            let heir = place.start("heir", SHORT);
            let next = awaited("the heir to lead", heir.elected()).await.unwrap();
            assert!(now() >= tenure.stop_by, "another led before this one's work had to be over");
            assert!(!handle.is_leader() && handle.lease().is_none());
            assert!(next.epoch() > tenure.term.epoch);
            assert!(handle.overdue() > Duration::ZERO, "it should have acted long ago");
            resume.send(()).unwrap();
            handle.withdraw();
            drop(next);
            awaited("the heir to leave", heir.shutdown()).await;
        });
        eventually("the end of the blocked elector", || blocked.is_finished().then_some(()));
        blocked.join().unwrap();
        assert!(handle.status().closed);
    }
}
