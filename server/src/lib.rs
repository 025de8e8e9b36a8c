//! The server: everything that touches the world.

pub mod agent;
pub mod aside;
#[cfg(feature = "lsp")]
pub mod cli;
pub mod clock;
pub mod documents;
pub mod doors;
pub mod editor;
pub mod faults;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "lsp")]
pub mod lsp;
pub mod model;
pub mod scarce;
pub mod session;
pub mod sessions;
pub mod settings;
pub mod tools;
pub mod transport;
pub mod uri;

// The fuzz targets name us as everybody else does, also where they are part of our own tests.
#[cfg(test)]
extern crate self as adjutant;
