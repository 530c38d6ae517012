//! What is large by construction, or needs an unusual machine. `cargo test` leaves these tests out;
//! `.ci/run` runs them with the release binary, as `PISESS=$PWD/target/release/pisess cargo test
//! --test large` does.

#![cfg(target_os = "linux")]

#[path = "../it/every.rs"]
#[allow(dead_code, reason = "the tests of `it` use more of it")]
mod every;
#[path = "../it/faults.rs"]
#[allow(dead_code, reason = "the tests of `it` use more of it")]
mod faults;
#[path = "../it/sandbox.rs"]
#[allow(dead_code, reason = "the tests of `it` use more of it")]
mod sandbox;

#[path = "../it/store.rs"]
mod store;

mod limits;
mod others;
mod sizes;
