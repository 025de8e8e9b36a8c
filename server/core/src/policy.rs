//! What may run, what is asked first, and in which words.

pub mod ask;
pub mod cause;
pub mod choices;
pub mod key_shape;
pub mod observation;
pub mod permission;
pub(crate) mod standing;
pub mod unsaved;
