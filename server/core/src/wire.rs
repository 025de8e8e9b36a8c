//! What is said to clients and what they say, from and into the types of the core.
//!
//! The only folder of the core that knows the wire: a type of `adjutant_protocol`
//! goes no further, and nothing stored is one of its types. Ids are the exception;
//! they are opaque texts.

pub mod ask;
mod convert;
pub mod models;
pub mod options;
pub mod start;
pub mod state;
pub mod transcript;

pub use convert::image_in_words;
