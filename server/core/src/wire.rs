//! Converts between the types of the core and the types of the wire (`adjutant_protocol`).
//!
//! No other folder of the core uses types of the wire, and no such type is ever stored. Ids are the exception,
//! because they are opaque texts.

pub mod ask;
pub mod call;
mod compaction;
pub mod context;
mod convert;
pub mod deciding;
pub mod history;
pub mod items;
pub mod mention;
pub mod models;
pub mod options;
pub mod origin;
pub mod plan;
pub mod prompt_buffer;
pub mod review;
pub mod rewind;
pub mod round;
pub mod slash;
pub mod start;
pub mod state;
pub mod transcript;
pub mod usage;

pub use convert::image_in_words;
