//! What the machine is to Adjutant: settings and own files, the clock, limits that pass, work that
//! waits for the disk, and the points at which a test lets the process die.
//!
//! Knows no session, no model and no client.

pub mod aside;
pub mod clock;
pub mod faults;
pub mod scarce;
pub mod settings;
pub mod uri;
