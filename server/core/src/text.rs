//! Texts: documents, their changes, and how another program displays a text.

pub mod cells;
pub mod display;
pub mod document;
pub mod draft;
pub mod edit;
pub mod locate;
pub mod position;
pub mod review;
pub mod trace;
