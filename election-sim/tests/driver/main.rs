//! The driver itself in simulated time, used in every way that it offers: an elector of a lease, and a
//! member of a quorum. `election-sim/planted` has bugs of the driver that these tests find.

mod lease;
mod quorum;
mod services;
