//! The strict edge: bytes in, routed calls out, and one writer.
pub mod envelope;
pub mod framing;
