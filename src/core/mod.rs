//! The core: no printing, no clock, no randomness, no environment.
//!
//! Data flows `bytes → lines → entries → tree → operation → plan → bytes`. Each module uses only modules
//! declared above it in this file.

pub use pisess_json as json;
pub use pisess_json::{text, time};
pub use pisess_store as store;
pub use pisess_store::workers;

pub mod paths;

pub mod defect;
pub mod dialect;
pub mod shape;
pub mod stores;

pub(crate) mod column;
pub mod entry;
pub mod fields;
pub mod file_calls;
pub mod search;

pub mod index;

pub mod digest;
pub mod session;

pub mod lines;
pub mod stretches;

pub mod content;
pub mod forwarded;
pub mod record;

pub mod labels;
pub mod reference;
pub mod tree;
pub mod upgrade;

pub mod bodies;
pub mod prepare;
pub mod prompt;

pub mod pi;

pub mod omp;

pub mod row;

pub mod agent;
pub mod load;
pub mod request;

pub mod peek;

pub mod names;

pub mod redact;

pub mod summary;

pub mod convert;

pub mod plan;

pub mod ops;

pub mod export;
