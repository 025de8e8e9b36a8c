//! The server: sessions, faces and the command line.

pub use adjutant_host::{aside, clock, faults, scarce, settings, uri};
pub use adjutant_model as model;
pub use adjutant_tools as tools;
pub use adjutant_tools::documents;
pub use adjutant_transport as transport;

pub mod agent;
#[cfg(feature = "lsp")]
pub mod cli;
pub mod client;
pub mod doctor;
pub mod editor;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "lsp")]
pub mod lsp;
pub mod origin;
pub mod reviews;
pub mod session;
pub mod sessions;
pub mod setup;

// The fuzz targets use this crate by its name, also when they are part of its own tests.
#[cfg(test)]
extern crate self as adjutant;
