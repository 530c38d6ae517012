//! What a session is, and what can be done with it; a part of pisess.
//!
//! [`load`](load::load) reads a session from anything that can be read by position, and [`ops`]
//! returns plans for changes, which [`pisess_store`] writes. Nothing here prints, opens a file, or
//! uses a clock, randomness or the environment.

pub mod session;

pub mod format;

pub mod agents;
pub mod load;

pub mod redact;

pub mod summary;

pub mod ops;
