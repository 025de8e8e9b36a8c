//! The packages that users install, made by `packages/build --of-debug` and tried as users try them.
//!
//! Never compiles the program for users: that takes as long as all tests together. Everything else is the real command.

mod archive;
mod carried;
mod debian;
mod made;
mod needs;
