//! The targets for answers of providers alone, for the tests of the crate that parses these.

mod cutting;
pub mod events;
pub mod replies;

use cutting::{number, pieces};
