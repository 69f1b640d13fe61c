//! Faults of the disk that the database is on.

use super::{
    Wound,
    database::{forgets, forgot, is_up},
};
use crate::{cast::ttl, plan::Hit, world::World};
use election_testing::Kind;
use std::{fs, io::Write as _, path::Path};

/// What is on it takes all the room, and what comes next needs more.
pub(super) fn fill(world: &mut World, _: &Hit) -> Option<Wound> {
    let ballast = world.home().disk().join("ballast");
    match world.database.server().map(|server| server.kind()) {
        None => drop(world.database.administer("PRAGMA wal_checkpoint(TRUNCATE)")),
        Some(Kind::Postgres) => drop(world.database.administer("CHECKPOINT")),
        Some(Kind::MariaDb) => {}
    }
    fill_up(&ballast);
    if world.database.server().is_some_and(|server| server.kind() == Kind::Postgres) {
        world.database.administer("SELECT pg_switch_wal()"); // a new file of 16 MB
    }
    Wound::until_done(move |world| {
        let _ = fs::remove_file(&ballast); // done before: as well
        is_up(world)
    })
}

pub(super) fn fill_up(file: &Path) {
    let mut file = fs::File::create(file).expect("a disk of our own");
    for size in [1 << 20, 4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

/// A copy that was made a moment ago takes the place of the data, with the old log or without.
pub(super) fn old_copy(world: &mut World, hit: &Hit) -> Option<Wound> {
    let copy = world.home().path().join("copy");
    let _ = fs::remove_dir_all(&copy); // none there yet: as well
    match world.database.server() {
        Some(server) => server.copy_data(&copy),
        None => {
            world.database.administer(&format!("VACUUM INTO '{}'", copy.display()));
        }
    }
    world.wait(hit.lasts);
    world.turn_the_page()?;
    let from = forgets(world);
    match world.database.server() {
        Some(server) => {
            server.kill();
            server.restore_data(&copy);
        }
        None => exchange_file(world, &copy),
    }
    Wound::until_done(move |world| {
        let up = is_up(world);
        if up {
            forgot(world, from);
        }
        up
    })
}

fn exchange_file(world: &mut World, copy: &Path) {
    let Some(file) = world.database.file() else { return };
    // On the same disk, so that it takes the place of the other in one step.
    let next = file.directory().join("next");
    if fs::copy(copy, &next).is_ok() {
        for companion in file.companions() {
            let _ = fs::remove_file(companion); // none there: as well
        }
        fs::rename(next, file.path()).expect("a disk of our own");
    }
    let _ = fs::remove_file(copy);
}

/// The directory of the database is moved away, and back.
pub(super) fn file_away(world: &mut World, _: &Hit) -> Option<Wound> {
    let directory = world.database.file()?.directory();
    let away = directory.with_extension("away");
    fs::rename(&directory, &away).ok()?;
    Wound::until(move |world| {
        let back = world.within(ttl(), |_| fs::rename(&away, &directory).ok());
        assert!(back.is_some(), "somebody has made another directory");
    })
}

/// What SQLite keeps beside the file is deleted while it is in use.
pub(super) fn log_away(world: &mut World, _: &Hit) -> Option<Wound> {
    world.turn_the_page()?;
    let from = forgets(world);
    for companion in world.database.file()?.companions() {
        let _ = fs::remove_file(companion); // none there: as well
    }
    forgot(world, from);
    Some(Wound::Once)
}
