//! Writes the sessions of `tests/it/summaries/stories.rs` to a directory: `cargo run --example
//! stories DIR`.

#[path = "../it/summaries/stories.rs"]
mod stories;

use std::path::PathBuf;
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
    Ok(())
}
