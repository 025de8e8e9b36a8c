//! The transport as a client sees it: a real router with a small backend, on
//! pipes of the system. Deadlines are for liveness alone.

mod rig;

mod lifecycle;
mod outgoing;
mod random;
mod serving;
