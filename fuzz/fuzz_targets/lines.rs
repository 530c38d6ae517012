//! See `tests/it/fuzz/targets.rs`.

#![no_main]

#[allow(dead_code)]
#[path = "../../tests/it/fuzz/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::lines(data));
