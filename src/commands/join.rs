//! `pisess join`: combines two copies of a session.

use crate::cli::copies::{CopyAccess, FilesOfSession, find_both_copies, resolve_copy_in_folder};
use crate::cli::guide::{Example, Guide};
use crate::cli::open::{Input, OpenSession, failure_with_hint};
use crate::cli::options::{ChangeArgs, WriteArgs};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::cli::pruned::{load_pruned, with_pruned};
use crate::cli::rows::entry::report_destination;
use crate::cli::transaction::{Decision, refuse_output_in_dry_run};
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::Refusal;
use crate::ops::join::{Join, SessionCopy, add_to_first, join};
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use pisess_json::write::Object;
use pisess_store::{self as store, Disk, OnDisk};
use std::io::Write;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Add to a session what only its copy from another computer has",
        "pisess join session.jsonl copy.jsonl",
    ),
    Example::new(
        "Join the two in a new file",
        "pisess join session.jsonl copy.jsonl -o joined.jsonl",
    ),
])
.with_found("the stores have no other copy of the session");

/// Join two copies of a session that grew apart.
///
/// The first copy gets the entries that only the other has; nothing else in it changes. If both
/// copies grew, the entries that were added to the second become a branch, and the conversation
/// continues where the first copy ends. If the second copy only extends the first, the conversation
/// continues where the second ends. The second copy is only read.
///
/// Without the second SESSION, the stores of pi and oh-my-pi (the directories in which they keep
/// sessions) are searched for the other copy: the session with the same id, in any project. If the
/// name matches both copies, the one that changed last is the first copy. -n reports which files
/// the copies are. If there are several other copies, the command fails and lists them.
///
/// With -o, the result is written to PATH: the header of the first copy, and all entries of both
/// copies, each once. The copies stay as they are, unless PATH is the first copy.
///
/// Entries with the same id must have the same content. Otherwise nothing is written, and the error
/// names both lines. Entries and payloads that were pruned from a copy are taken from
/// SESSION.pruned. If something was pruned from the first copy, entries cannot be added to it: use
/// -o.
///
/// To find copies of sessions in a directory, run `pisess check` on it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// The other copy, or a directory that contains it; without it, the only other session in the
    /// stores with the same id
    #[arg(value_name = "SESSION")]
    pub other: Option<PathBuf>,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Joins two copies of a session. The entries that only the second copy has are appended to the
/// first copy; or the joined session is written elsewhere (`-o`, or a first copy from a stream).
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let access = CopyAccess::Append;
    let [first_path, second_path] = match &args.other {
        Some(other) => resolve_copy_in_folder([&args.session, other], access, ui)?,
        None => match find_both_copies(&args.session, access, ui)? {
            FilesOfSession::Both(paths) => paths,
            FilesOfSession::Only { message, .. } => return Err(no_copy(message)),
        },
    };
    let stdin = Path::new("-");
    if first_path == stdin && second_path == stdin {
        return Err(Failure::usage_error("standard input cannot be both copies"));
    }

    let first = open_copy(&first_path, ui)?;
    let mut second = open_copy(&second_path, ui)?;
    if let Some(output) = &args.write.output {
        return join_to_output(args, first, second, output, ui);
    }
    // Nothing can be appended to a stream, so its joined session goes to standard output.
    if first.input.file().is_none() {
        return write_joined(args, &first, &second, Path::new("-"), ui);
    }
    let exit = add_in_place(args, first, &mut second, ui)?;

    // If the user gave only the name or the id of the copies, neither can be given by it until the
    // second one is gone.
    let is_name_ambiguous = args.other.is_none();
    if is_name_ambiguous && !args.write.change.dry_run && !args.write.change.json {
        let argument = quote_word(second_path.as_os_str());
        ui.print_status(&format!(
            "the first copy has everything now; `pisess archive {argument}` moves the second away"
        ));
    }
    Ok(exit)
}

/// Writes the joined session to the file of `-o`. If that is the first copy, the entries are
/// appended to it; the second copy is refused.
fn join_to_output(
    args: &Args,
    first: OpenSession,
    mut second: OpenSession,
    output: &Path,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    if is_file_of(&second, output, ui) {
        let failure = second
            .input
            .failure("the entries are added to the first copy, and this is the second");
        return Err(failure.with_hint("give the copies in the other order"));
    }
    if is_file_of(&first, output, ui) {
        return add_in_place(args, first, &mut second, ui);
    }
    write_joined(args, &first, &second, output, ui)
}

/// Returns the failure for a session without a copy.
fn no_copy(what: String) -> Failure {
    Failure::negative(what).with_hint("give the other copy as the second SESSION")
}

/// Whether `path` is the file of a session.
fn is_file_of(open: &OpenSession, path: &Path, ui: &Ui) -> bool {
    let Some(file) = open.input.file() else {
        return false;
    };
    OnDisk.resolve_links(&ui.resolve_path(path)) == OnDisk.resolve_links(file.path())
}

/// Appends to the first copy the entries that only the second one has.
fn add_in_place(
    args: &Args,
    first: OpenSession,
    second: &mut OpenSession,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    if load_pruned(&first.input)?.is_some() {
        let failure = first
            .input
            .failure("parts of it were pruned, so it cannot get the entries of the other copy");
        return Err(failure
            .with_hint("`pisess prune --restore` it first, or write the result with -o PATH"));
    }

    let write = WriteArgs {
        output: None,
        ..args.write.clone()
    };
    // Decided again if the first copy grows before the commit. The last decision is committed.
    let mut last_addition = None;
    let exit = first.apply_change(&write, ui, |locked_first, id_source| {
        let first_reader = locked_first.entry_reader();
        let second_reader = second.entry_reader();
        let first_copy = session_copy(locked_first, &first_reader);
        let second_copy = session_copy(second, &second_reader);
        let addition = add_to_first(first_copy, second_copy, id_source)
            .map_err(|refusal| join_failure(refusal, locked_first))?;
        last_addition = Some(DecidedAddition {
            counts: CopyCounts {
                only_first: addition.only_first,
                only_second: addition.only_second,
            },
            continues_first: addition.continues_first,
            first_leaf: locked_first.session.leaf.into(),
        });
        // The new entries are not reported: their ids are known from the other copy.
        Ok(Decision {
            change: addition.change,
            ..Decision::default()
        })
    })?;
    if let Some(addition) = last_addition
        && addition.counts.only_second > 0
        && !write.change.json
    {
        report_addition(args, &addition, first, second, ui);
    }
    Ok(exit)
}

/// What a decision to add entries to the first copy found.
struct DecidedAddition {
    counts: CopyCounts,
    /// Whether the conversation continues where the first copy ends, and not where the second ends.
    continues_first: bool,
    /// The end of the first copy before the addition.
    first_leaf: Position,
}

/// Reports how many entries each copy had alone, and where the conversation continues.
fn report_addition(
    args: &Args,
    addition: &DecidedAddition,
    mut first: OpenSession,
    second: &mut OpenSession,
    ui: &mut Ui,
) {
    let change = &args.write.change;
    addition.counts.report(ui);
    if !change.dry_run && args.other.is_some() {
        let first_name = &first.input.name;
        ui.print_status(&format!("{first_name} has the entries of both now"));
    }
    if addition.continues_first {
        report_destination(&mut first, addition.first_leaf, change, ui);
    } else {
        let second_leaf = Position::from(second.session.leaf);
        report_destination(second, second_leaf, change, ui);
    }
}

fn session_copy<'a>(open: &'a OpenSession, reader: &'a EntryReader<'a>) -> SessionCopy<'a> {
    SessionCopy {
        name: &open.input.name,
        reader,
    }
}

/// Writes a session with the entries of both copies to `output`; `-` is standard output.
fn write_joined(
    args: &Args,
    first: &OpenSession,
    second: &OpenSession,
    output: &Path,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let ChangeArgs {
        json,
        dry_run,
        force,
        ..
    } = args.write.change;
    let is_printed = output == Path::new("-");
    if is_printed && json && !dry_run {
        return Err(Failure::stdout_carries_session());
    }

    let first_reader = first.entry_reader();
    let second_reader = second.entry_reader();
    let first_copy = session_copy(first, &first_reader);
    let second_copy = session_copy(second, &second_reader);
    let joined = join(first_copy, second_copy).map_err(|refusal| join_failure(refusal, first))?;
    if dry_run {
        refuse_output_in_dry_run(output, &first.input, force)?;
        refuse_output_in_dry_run(output, &second.input, force)?;
        print_planned_join(output, &joined, json, ui)?;
        return Ok(Exit::Done);
    }

    let mut write = |out: &mut dyn Write| joined.write(first_copy, second_copy, out);
    if is_printed {
        write(&mut ui.verbatim_stdout()).map_err(Failure::from_stdout_error)?;
        return Ok(Exit::Done);
    }

    // The store refuses an output that is the first copy, but knows only one input.
    let path = ui.resolve_path(output);
    store::refuse_further_input(&path, second.input.protected_file())?;
    let committed = store::create(&path, first.input.protected_file(), force, &mut write)?;
    ui.report_commit_warnings(&committed);
    let shown_path = output.to_string_lossy();
    ui.print_after_write(&shown_path, |ui| {
        print_result(&shown_path, &joined, json, ui)
    })?;
    Ok(Exit::Done)
}

/// For `-n`: prints what would be written to `output`.
fn print_planned_join(
    output: &Path,
    joined: &Join,
    json: bool,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let shown = output.to_string_lossy();
    if json {
        return print_result(&shown, joined, json, ui);
    }
    let path = to_visible(&shown);
    let entries = format_count(joined.entry_count(), "entry", "entries");
    ui.print(&format!("would create {path} with {entries}\n"))
}

fn join_failure(refusal: Refusal, first: &OpenSession) -> Failure {
    match refusal {
        Refusal::Unreadable(error) => first.input.read_failure(error),
        refused => failure_with_hint(&refused, |what| Failure::invalid(what)),
    }
}

/// Opens a copy with everything that was pruned from it, so that the copies can be compared.
fn open_copy(path: &Path, ui: &mut Ui) -> Result<OpenSession, Failure> {
    let mut input = Input::open_unconverted(path, ui)?;
    if let Some(pruned) = load_pruned(&input)? {
        input = with_pruned(input, &pruned)?;
    }
    OpenSession::from_input(input, LoadOptions::default(), ui)
}

/// The number of entries that only one of the copies has.
struct CopyCounts {
    only_first: usize,
    only_second: usize,
}

impl CopyCounts {
    fn report(&self, ui: &mut Ui) {
        let only_first = format_count(self.only_first, "entry", "entries");
        let only_second = format_count(self.only_second, "entry", "entries");
        ui.print_status(&format!(
            "{only_first} only in the first copy, {only_second} only in the second"
        ));
    }
}

/// Prints the path of the joined session, and the numbers of entries that only one copy has.
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
    let counts = CopyCounts {
        only_first: joined.only_first,
        only_second: joined.only_second,
    };
    counts.report(ui);
    Ok(())
}
