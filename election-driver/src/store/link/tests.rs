use super::*;
use crate::SqliteStore;
use futures_lite::future::block_on;

/// Otherwise an outage would make every later one longer.
#[test]
fn once_one_has_connected_waits_begin_anew() {
    let room = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(room.path().join("e.db")).unwrap();
    store.client.make().unwrap();
    let failed = StoreError::new(Failure::Transient, "it says");
    let broken = Broken { ended: Timestamp::MAX, kind: failed.kind, why: failed.told() };
    let mut link = Link { vain: [5, 7], broken: vec![broken], ..Link::default() };
    block_on(link.open(&store.client, Use::Call, &store.statements)).unwrap();
    assert_eq!((link.vain, link.broken.len()), ([0; 2], 0));
}
