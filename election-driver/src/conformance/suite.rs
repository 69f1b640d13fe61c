//! What makes tests of the rooms' checks. Each room lists its own, with [`list`].

/// Makes a test of each check: of what users await, of the quorum, on SQLite, of what is counted if the calling crate has
/// the feature `metrics`, and on PostgreSQL and MariaDB if it has `mysql`, `postgres` and `tls`. See [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_futures!(nothing, OnNothing, $runtime, $block_on);
        $crate::conformance_on_quorum!($runtime, $block_on);
        #[cfg(feature = "metrics")]
        $crate::conformance_of_metrics!($runtime, $block_on);
        mod sqlite {
            use super::*;
            $crate::conformance_on_sqlite!($runtime, $block_on);
            $crate::conformance_of_files!($runtime, $block_on);
        }
        #[cfg(all(feature = "mysql", feature = "postgres", feature = "tls"))]
        mod postgres {
            use super::*;
            $crate::conformance_on_postgres!($runtime, $block_on);
        }
        #[cfg(all(feature = "mysql", feature = "postgres", feature = "tls"))]
        mod mariadb {
            use super::*;
            $crate::conformance_on_mariadb!($runtime, $block_on);
        }
    };
}

/// Makes a test of each check on SQLite. See [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance_on_sqlite {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_lease!(sqlite, OnSqlite, $runtime, $block_on);
        $crate::__conformance_embedded!(in_file, InFile, $runtime, $block_on);
    };
}

/// Makes a test of each check of SQLite files: paths, mounts, tables. See
/// [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance_of_files {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_files!(in_file, InFile, $runtime, $block_on);
    };
}

/// Makes a test of each check on PostgreSQL. See [`conformance`](mod@crate::conformance). It takes the
/// features `mysql`, `postgres` and `tls`.
#[macro_export]
macro_rules! conformance_on_postgres {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_lease!(postgres, OnPostgres, $runtime, $block_on);
        $crate::__conformance_servers!(postgres, OnPostgres, $runtime, $block_on);
    };
}

/// Makes a test of the central checks with the statements for CockroachDB and YugabyteDB, on PostgreSQL.
/// One runtime is enough for them. See [`conformance`](mod@crate::conformance). It takes the features
/// `mysql`, `postgres` and `tls`.
#[macro_export]
macro_rules! conformance_of_clusters {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_lease!(cluster, OnCluster, $runtime, $block_on);
    };
}

/// Makes a test of each check on MariaDB. See [`conformance`](mod@crate::conformance). It takes the
/// features `mysql`, `postgres` and `tls`.
#[macro_export]
macro_rules! conformance_on_mariadb {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_lease!(mariadb, OnMariaDb, $runtime, $block_on);
        $crate::__conformance_servers!(mariadb, OnMariaDb, $runtime, $block_on);
    };
}

/// Makes a test of each check of what is counted. See [`conformance`](mod@crate::conformance). It takes
/// the feature `metrics`.
#[macro_export]
macro_rules! conformance_of_metrics {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_metrics!(in_file, InFile, $runtime, $block_on);
    };
}

/// Makes a test of each check of a quorum's nodes, with certificates too if the calling crate has the
/// feature `tls`. See [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance_on_quorum {
    ($runtime:ty, $block_on:path) => {
        $crate::__conformance_quorum!(nothing, OnNothing, $runtime, $block_on);
        #[cfg(feature = "tls")]
        $crate::__conformance_secured!(nothing, OnNothing, $runtime, $block_on);
    };
}

/// Writes a room's list: which check concerns which database.
macro_rules! list {
    ($d:tt $name:ident in $room:ident: $($area:ident { $($check:ident: $($on:ident)+;)+ })+) => {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $name {
            ($d on:ident, $d fixture:ident, $d runtime:ty, $d block_on:path) => {
                mod $room {
                    #[allow(unused_imports)]
                    use super::*;
                    $(mod $area {
                        #[allow(unused_imports)]
                        use super::*;
                        $($crate::__conformance_test!(
                            $d on in [$($on)+];
                            $room $area $check $d fixture; $d runtime; $d block_on
                        );)+
                    })+
                }
            };
        }
    };
}

pub(crate) use list;

/// A test, if the check concerns this database. On `bare` ones it starts its servers itself, and with
/// `no_file` it makes its files.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_test {
    (sqlite in [sqlite $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (postgres in [postgres $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (mariadb in [mariadb $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (cluster in [cluster $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (nothing in [nothing $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (in_file in [in_file $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($($test)*);
    };
    (in_file in [no_file]; $room:ident $area:ident $check:ident $on:ident; $($test:tt)*) => {
        $crate::__conformance_test!($room $area $check OnNothing; $($test)*);
    };
    (postgres in [bare_postgres]; $room:ident $area:ident $check:ident $on:ident; $($test:tt)*) => {
        $crate::__conformance_test!($room $area $check OnNothing; $($test)*);
    };
    (mariadb in [bare_mariadb]; $room:ident $area:ident $check:ident $on:ident; $($test:tt)*) => {
        $crate::__conformance_test!($room $area $check OnNothing; $($test)*);
    };
    ($on:ident in [$other:ident $($rest:ident)*]; $($test:tt)*) => {
        $crate::__conformance_test!($on in [$($rest)*]; $($test)*);
    };
    ($on:ident in []; $($test:tt)*) => {};
    ($room:ident $area:ident $check:ident $fixture:ident; $runtime:ty; $block_on:path) => {
        #[test]
        fn $check() {
            use $crate::conformance::{$room::$area, database};
            $block_on(database::run::<database::$fixture<$runtime>, _>($area::$check));
        }
    };
}
