//! Errors of a system that temporarily has no free file descriptor or process.
//!
//! Only recognises such an error and says what to do. Never waits, and never frees anything.

use std::io;

use rustix::io::Errno;

/// Returns the cause and what to do if the error means that no file descriptor is free.
pub fn descriptors(error: &io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::MFILE => Some(
            "too many files are open in this process; close some sessions or raise the limit (`ulimit -n`), then \
             try again",
        ),
        Errno::NFILE => Some("too many files are open on this machine; end other programs, then try again"),
        _ => None,
    }
}

/// Returns the cause and what to do if the error means that no process or thread can be started.
pub fn processes(error: &io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::AGAIN => Some(
            "too many processes run for this user; end some of them or raise the limit (`ulimit -u`), then try again",
        ),
        _ => None,
    }
}
