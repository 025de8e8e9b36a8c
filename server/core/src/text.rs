//! Texts: of documents and of their changes, and how one looks where another program draws it.

pub mod cells;
pub mod display;
pub mod document;
pub mod draft;
pub mod edit;
pub mod locate;
pub mod position;
pub mod review;
