//! Sets up a provider: what can be chosen, whether it works, and how it is written.
//!
//! The one seat of `adjutant setup` and of `agent/setup/*`. Asks nobody anything. Never writes a key anywhere
//! but into a file of its own that only its owner can read, and reads no file of a workspace.

mod services;
mod trial;
mod writing;

pub use services::{Description, LOCAL, SERVICES, Service, is_set};
pub use trial::{Trial, tried};
pub use writing::{Key, NewProvider, read, write, write_choice};
