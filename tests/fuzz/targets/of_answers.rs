//! The targets about answers of providers alone, for the tests of the crate that reads them.

mod cutting;
pub mod events;
pub mod replies;

use cutting::{number, pieces};
