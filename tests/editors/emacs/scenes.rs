//! Scenes in this editor.
//!
//! Never looks into the server.
