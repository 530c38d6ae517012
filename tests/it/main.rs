//! The integration tests: one binary, a module per command.

mod generated;
mod store;
