//! Writes the sessions of `tests/it/summaries/stories.rs` and of `tests/summary/sessions` to a
//! directory: `cargo run --example stories DIR`. Their keys are written to `DIR.keys`.

#[path = "../it/summaries/people.rs"]
mod people;
#[path = "../it/summaries/stories.rs"]
mod stories;

use people::{Origin, Wants};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(
        env::args_os()
            .nth(1)
            .ok_or_else(|| io::Error::other("usage: stories DIR"))?,
    );
    let mut keys = String::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/summary");
    let mut scripts = people::read_scripts(&tests.join("sessions"))?;
    scripts.extend(people::read_stories(&tests.join("stories.txt"))?);
    for script in scripts {
        fs::write(
            folder.join(format!("{}.jsonl", script.name)),
            script.story.file(),
        )?;
        for key in script.keys {
            let _ = writeln!(
                keys,
                "{}\t{}\t{}\t{}\t{}",
                script.name,
                match script.origin {
                    Origin::Tuned => "tuned",
                    Origin::HeldOut => "held out",
                    Origin::Generated => "generated",
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
