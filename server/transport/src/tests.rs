//! Tests of the transport as a client sees it: a real dispatcher with a small backend, on pipes of the
//! system. Deadlines only end a test that hangs.

mod rig;

mod lifecycle;
mod outgoing;
mod random;
mod serving;
