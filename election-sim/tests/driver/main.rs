//! The driver itself in simulated time, used in every way that it offers: an elector of a lease, and a
//! member of a quorum. `election-sim/planted` has bugs of the driver that these tests find.

mod network;
mod quorum;
mod services;

mod lease {
    crate::services::every_service!(crate::services::Kind::Lease);
}
