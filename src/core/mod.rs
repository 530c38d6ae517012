//! The core: no printing, no clock, no randomness, no environment.
//!
//! `bytes → log (lines) → entries → tree → operation → plan → bytes`; each module sees only the
//! types to its left.

pub mod json;
pub mod text;

pub mod entry;
pub mod index;
pub mod session;

pub mod bodies;

pub mod omp;

pub mod prepare;
