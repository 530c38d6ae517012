//! Writes the sessions of `tests/it/summaries/stories.rs` and of `tests/summary/sessions` to a
//! directory: `cargo run --example stories DIR`. The keys of the latter are written to `DIR.keys`.

#[path = "../it/summaries/people.rs"]
mod people;
#[path = "../it/summaries/stories.rs"]
mod stories;

use people::Wants;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(
        env::args_os()
            .nth(1)
            .ok_or_else(|| io::Error::other("usage: stories DIR"))?,
    );
    for story in stories::stories() {
        fs::write(folder.join(format!("{}.jsonl", story.name)), story.file())?;
    }

    let mut keys = String::new();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/summary/sessions");
    for script in people::read_scripts(&scripts)? {
        fs::write(
            folder.join(format!("{}.jsonl", script.name)),
            script.story.file(),
        )?;
        for key in script.keys {
            let _ = writeln!(
                keys,
                "{}\t{}\t{}\t{}\t{}",
                script.name,
                if script.is_held_out {
                    "held out"
                } else {
                    "tuned"
                },
                key.criterion,
                if key.wants == Wants::Present {
                    "present"
                } else {
                    "absent"
                },
                key.phrases.join("\t")
            );
        }
    }
    fs::write(folder.with_extension("keys"), keys)
}
