//! The suite that every runtime passes.

#[cfg(feature = "async-std")]
mod async_std {
    use ::async_std::task::block_on;
    use election_async_std::AsyncStd;

    election_driver::conformance!(AsyncStd, block_on);
}

#[cfg(feature = "smol")]
mod smol {
    use ::smol::block_on;
    use election_async_std::smol::Smol;

    election_driver::conformance!(Smol, block_on);
}
