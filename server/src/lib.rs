//! The server: everything that touches the world.

pub use adjutant_host::{aside, clock, faults, scarce, settings, uri};
pub use adjutant_model as model;
pub use adjutant_tools as tools;
pub use adjutant_tools::documents;
pub use adjutant_transport as transport;

pub mod agent;
#[cfg(feature = "lsp")]
pub mod cli;
pub mod client;
pub mod editor;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "lsp")]
pub mod lsp;
pub mod session;
pub mod sessions;

// The fuzz targets name us as everybody else does, also where they are part of our own tests.
#[cfg(test)]
extern crate self as adjutant;
