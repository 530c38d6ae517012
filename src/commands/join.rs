//! `pisess join`: two copies of a session as one.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::{OpenSession, failure_with_hint};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::pruned::open_with_pruned;
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::Refusal;
use crate::ops::join::{Join, SessionCopy, join};
use pisess_json::write::Object;
use pisess_store as store;
use std::io::Write;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[Example::new(
    "Join a session and its copy from another computer",
    "pisess join session.jsonl copy.jsonl -o joined.jsonl",
)]);

/// Join two copies of a session that grew apart.
///
/// Writes a session with all entries of both copies, each once. Entries that were appended to only
/// one copy become a branch. The conversation continues where the first copy ends. If the second
/// copy only extends the first, the conversation continues where the second ends. The header comes
/// from the first.
///
/// Entries with the same id must have the same content. Otherwise nothing is written, and the error
/// names both lines. Entries and payloads that were pruned from a copy are taken from
/// SESSION.pruned.
///
/// `pisess check` on a directory names the copies in it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// The other copy
    #[arg(value_name = "SESSION")]
    pub other: PathBuf,
    /// Write the result to PATH (- for standard output)
    #[arg(short, long, value_name = "PATH", required = true)]
    pub output: PathBuf,
    /// Override refusals (such as overwriting an existing output)
    #[arg(long)]
    pub force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let output = &args.output;
    let is_printed = output == Path::new("-");
    if is_printed && args.json {
        return Err(Failure::stdout_carries_session());
    }
    if args.session == Path::new("-") && args.other == Path::new("-") {
        return Err(Failure::usage_error("standard input cannot be both copies"));
    }

    let first = open_copy(&args.session, ui)?;
    let second = open_copy(&args.other, ui)?;
    let first_reader = first.entry_reader();
    let second_reader = second.entry_reader();
    let first_copy = SessionCopy {
        name: &first.input.name,
        reader: &first_reader,
    };
    let second_copy = SessionCopy {
        name: &second.input.name,
        reader: &second_reader,
    };
    let joined = join(first_copy, second_copy).map_err(|refusal| match refusal {
        Refusal::Unreadable(error) => first.input.read_failure(error),
        refused => failure_with_hint(&refused, |what| Failure::invalid(what)),
    })?;
    let mut write = |out: &mut dyn Write| joined.write(first_copy, second_copy, out);
    if is_printed {
        write(&mut ui.verbatim_stdout()).map_err(Failure::from_stdout_error)?;
        return Ok(Exit::Done);
    }

    let path = ui.resolve_path(output);
    let committed = store::create(&path, first.input.file(), args.force, &mut write)?;
    ui.report_commit_warnings(&committed);
    let shown = output.to_string_lossy().into_owned();
    ui.print_after_write(&shown, |ui| print_result(&shown, &joined, args.json, ui))?;
    Ok(Exit::Done)
}

/// Opens a copy as it was before anything was pruned from it.
fn open_copy(path: &Path, ui: &mut Ui) -> Result<OpenSession, Failure> {
    let options = LoadOptions::default();
    // Standard input can be read only once, and has no file beside it.
    if path != Path::new("-")
        && let Some(unpruned) = open_with_pruned(path, options.clone(), ui)?
    {
        return Ok(unpruned);
    }
    OpenSession::open(path, options, ui)
}

fn print_result(path: &str, joined: &Join, json: bool, ui: &mut Ui) -> Result<(), Failure> {
    if json {
        let row = Object::new()
            .str("path", path)
            .number("entries", joined.entry_count() as f64)
            .number("onlyFirst", joined.only_first as f64)
            .number("onlySecond", joined.only_second as f64);
        return ui.print_json(&row.finish());
    }
    ui.print_path(path)?;
    let only_first = format_count(joined.only_first, "entry", "entries");
    let only_second = format_count(joined.only_second, "entry", "entries");
    ui.print_status(&format!(
        "{only_first} only in the first copy, {only_second} only in the second"
    ));
    Ok(())
}
