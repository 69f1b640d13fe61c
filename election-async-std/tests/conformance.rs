//! The suite that every runtime passes.

#[cfg(feature = "async-std")]
mod async_std {
    use ::async_std::task::block_on;
    use election_async_std::AsyncStd;

    election_driver::conformance!(AsyncStd, block_on);

    #[cfg(feature = "postgres")]
    mod postgres {
        use super::*;
        election_driver::conformance_of_store!(crate::servers::OnPostgres<AsyncStd>, block_on);
    }

    #[cfg(feature = "mysql")]
    mod mariadb {
        use super::*;
        election_driver::conformance_of_store!(crate::servers::OnMariaDb<AsyncStd>, block_on);
    }
}

#[cfg(feature = "smol")]
mod smol {
    use ::smol::block_on;
    use election_async_std::smol::Smol;

    election_driver::conformance!(Smol, block_on);

    #[cfg(feature = "postgres")]
    mod postgres {
        use super::*;
        election_driver::conformance_of_store!(crate::servers::OnPostgres<Smol>, block_on);
    }

    #[cfg(feature = "mysql")]
    mod mariadb {
        use super::*;
        election_driver::conformance_of_store!(crate::servers::OnMariaDb<Smol>, block_on);
    }
}

/// Throw-away servers of a test's own.
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod servers {
    use election_driver::{
        Runtime,
        conformance::{Fixture, Stores},
    };
    use election_testing::{Kind, Server};
    use std::marker::PhantomData;

    macro_rules! on {
        ($place:ident, $store:ident, $kind:ident) => {
            pub(crate) struct $place<R>(Server, PhantomData<fn() -> R>);

            impl<R: Runtime + Default> Fixture for $place<R> {
                type Runtime = R;

                async fn start() -> Self {
                    let place = Self(Server::start(Kind::$kind), PhantomData);
                    place.store().ensure_schema().await.expect("a server");
                    place
                }
            }

            impl<R: Runtime + Default> Stores for $place<R> {
                type Store = election_driver::$store;

                fn store(&self) -> Self::Store {
                    Self::Store::connect(&self.0.url()).expect("a URL")
                }
            }
        };
    }

    #[cfg(feature = "postgres")]
    on!(OnPostgres, PgStore, Postgres);
    #[cfg(feature = "mysql")]
    on!(OnMariaDb, MySqlStore, MariaDb);
}
