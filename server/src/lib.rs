//! The server: everything that does I/O, as a library behind a thin `main`.

pub mod model;
