//! Regressions found by the fuzzer: each file of `fixtures/fuzz/<target>` runs through its target
//! again.

mod targets;

use crate::sandbox::{fixture, hazards};
use std::path::Path;

fn each(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/fuzz")
        .join(target);
    for file in std::fs::read_dir(&folder).into_iter().flatten() {
        run(&std::fs::read(file.unwrap().path()).unwrap());
    }
}

#[test]
fn fuzz_corpus_inputs_still_pass() {
    each("lines", targets::lines);
    each("entries", targets::entries);
    each("references", targets::references);
    each("round", targets::round);
}

#[test]
fn hazards_go_the_whole_round() {
    for name in hazards() {
        let bytes = fixture(&format!("hazards/{name}.jsonl"));
        bytes.split(|&byte| byte == b'\n').for_each(targets::lines);
        targets::entries(&bytes);
        targets::round(&bytes);
    }
}

#[test]
fn references_of_every_form() {
    for reference in [
        "@",
        "root",
        ":2",
        "id:aaaa1111",
        "label:root",
        "aaaa",
        "@^^^",
        "@~2",
        "@^{user}",
        "a^~{}@:",
        "",
        "^",
        "~",
    ] {
        targets::references(reference.as_bytes());
    }
}
