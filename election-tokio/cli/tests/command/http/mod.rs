//! The HTTP port of `election serve` and `election run --http`.

mod answers;
mod attacks;
pub(crate) mod client;
mod credentials;
mod metrics;
mod options;
mod rolling;
mod three;
