//! JSON as these files need it: lossless, without recursion, one value per line.
//!
//! - [`scan`] walks over bytes and checks that they are JSON.
//! - [`raw`] reads a checked value, without building anything.
//! - [`string`] decodes and encodes strings, including lone surrogates and invalid UTF-8.
//! - [`js`] writes a value as JavaScript's `JSON.stringify` would after `JSON.parse`.
//! - [`mod@pretty`] formats a value over several lines, for people.
//! - [`mod@write`] builds new values; [`edit`] changes members of an old one and keeps all other
//!   bytes.
//! - [`text`] has JavaScript's strings, [`time`] its dates.
//!
//! There is no tree of values: a session's line is its best representation, and a value nested a
//! million levels deep must neither be built nor dropped recursively.

pub mod text;

mod lanes;

pub mod scan;

pub mod strings;

pub mod outline;
pub mod raw;
pub mod string;

pub mod js;
pub mod pretty;

pub mod edit;
pub mod write;

pub mod time;

pub use raw::{Raw, range_in};
pub use scan::{KeyCache, Malformed, Scanner};
