//! What was pruned from a session: reads the file beside it, or that in its archive.

use crate::cli::named::resolve_argument;
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Failure, Ui, to_visible};
use crate::format::format_count;
use crate::load::{LoadOptions, load};
use crate::ops::archive::PRUNED;
use crate::ops::plan::copy_all;
use crate::ops::prune::{
    Operation, PrunedFileError, Restoration, pruned_file, read_operations, read_pruned_file,
};
use crate::session::range::EntryRange;
use crate::session::reference::Position;
use crate::session::usage::Usage;
use crate::session::{RequestScope, Session};
use pisess_store::{self as store, Archive, Glance, ReadAt, SessionFile};
use std::path::{Path, PathBuf};

/// Returns the path as given, or with links resolved if it is a symbolic link.
pub fn session_own_path(file: &SessionFile) -> PathBuf {
    if file.path().is_symlink() {
        file.resolved().to_owned()
    } else {
        file.path().to_owned()
    }
}

/// Returns what was pruned from a session, as the file beside it lists it; nothing if that file is
/// damaged.
pub fn list_pruned(open: &OpenSession) -> Vec<Operation> {
    let side_file = open
        .input
        .file()
        .and_then(|file| Glance::open(&pruned_file(&session_own_path(file))).ok());
    let listed =
        side_file.and_then(|side_file| read_operations(&side_file, &open.session.header.id).ok());
    listed.unwrap_or_default()
}

/// Returns how many branches were pruned from a session, if any, for a message.
pub fn describe_pruned_branches(open: &OpenSession) -> Option<String> {
    let operations = list_pruned(open);
    let branches = operations.iter().map(|operation| operation.branches).sum();
    let of_branches = operations.iter().filter(|operation| operation.branches > 0);
    let entries = of_branches.map(|operation| operation.entries).sum();
    (branches > 0).then(|| describe_pruned(entries, 0, branches))
}

/// Returns what was pruned, for a message.
pub fn describe_pruned(entries: usize, notes: usize, branches: usize) -> String {
    let entries = format_count(entries, "entry", "entries");
    // `branches` does not count them.
    let notes = if notes > 0 {
        format!(", {notes} of them bookkeeping")
    } else {
        String::new()
    };
    match branches {
        0 => entries,
        _ => format!(
            "{} ({entries}{notes})",
            format_count(branches, "branch", "branches")
        ),
    }
}

/// Returns what was pruned from the session at a path, if anything. Behind a symbolic link, the
/// file may be beside the link or beside the session.
///
/// # Errors
/// If the file beside it is damaged, or that of another session.
pub fn load_pruned_beside(
    path: &Path,
    source: &dyn ReadAt,
) -> Result<Option<Restoration>, Failure> {
    let beside_path = pruned_file(path);
    if let Ok(pruned) = Glance::open(&beside_path) {
        let written_ms = pruned.modified_ms();
        return load_restore(&beside_path, source, Box::new(pruned), Some(written_ms));
    }
    if !path.is_symlink() {
        return Ok(None);
    }
    let target = store::Disk::resolve_links(&store::OnDisk, path);
    let beside_target = pruned_file(&target);
    match Glance::open(&beside_target) {
        Ok(pruned) => {
            let written_ms = pruned.modified_ms();
            load_restore(&beside_target, source, Box::new(pruned), Some(written_ms))
        }
        Err(_) => Ok(None),
    }
}

/// Returns what was pruned from a session, if anything. For an archived session, it is in the
/// archive.
///
/// # Errors
/// As [`load_pruned_beside`], or if the archive is damaged.
pub fn load_pruned(input: &Input) -> Result<Option<Restoration>, Failure> {
    if let Some(file) = input.file() {
        return load_pruned_beside(file.path(), file);
    }
    let Some(path) = &input.path else {
        return Ok(None);
    };
    let Ok(file) = Glance::open(path) else {
        return Ok(None);
    };
    let Some(archive) = input.map_read_error(Archive::read(&file))? else {
        return Ok(None);
    };
    let Some(pruned) = input.map_read_error(archive.companion(&file, PRUNED))? else {
        return Ok(None);
    };
    load_restore(path, input.unredacted_source(), Box::new(pruned), None)
}

/// Returns what was pruned from a session, or why it cannot be read.
pub fn split_result(
    pruned: Result<Option<Restoration>, Failure>,
) -> (Option<Restoration>, Option<Failure>) {
    match pruned {
        Ok(pruned) => (pruned, None),
        Err(failure) => (None, Some(failure)),
    }
}

/// Reports that what was pruned from a session cannot be read, so that its usage is missing from
/// sums.
pub fn warn_uncounted(failure: &Failure, ui: &mut Ui) {
    ui.warn(&format!(
        "what was pruned is not counted: {}",
        failure.to_line()
    ));
}

/// Returns what was pruned from a session, with the places where it belongs; `None` if the session
/// cannot be read, which whoever opens the session reports. `path` is that of the file with what
/// was pruned, for messages. `written_ms` is when that file was written, if this is known.
fn load_restore(
    path: &Path,
    source: &dyn ReadAt,
    pruned: Box<dyn ReadAt>,
    written_ms: Option<i64>,
) -> Result<Option<Restoration>, Failure> {
    let Ok(session) = load(source, &LoadOptions::default()) else {
        return Ok(None);
    };
    let operations = read_pruned_file(&*pruned, &session.header.id)
        .map_err(|error| pruned_failure(path, error))?;
    match Restoration::new(&session, source, operations, pruned) {
        Ok(mut restore) => {
            restore.written_ms = written_ms;
            Ok(Some(restore))
        }
        Err(error) => Err(pruned_failure(path, error.into())),
    }
}

/// Returns the failure for what was pruned from a session, if it cannot be put back.
pub fn pruned_failure(path: &Path, error: PrunedFileError) -> Failure {
    let name = to_visible(&path.to_string_lossy());
    match error {
        PrunedFileError::Io(error) => Failure::from_read_error(&name, error),
        error => match error.line() {
            Some(line) => Failure::invalid(format_args!("{name}:{}: {error}", line.0))
                .with_path(&name)
                .with_line(line.0),
            None => Failure::invalid(format_args!("{name}: {error}")).with_path(&name),
        },
    }
}

/// Returns the requests in a scope of a session, with those that were pruned, and their times;
/// `None` if none was pruned.
pub fn requests_with_pruned(open: &OpenSession, scope: RequestScope) -> Option<Vec<(i64, Usage)>> {
    let pruned = load_pruned(&open.input).ok()??;
    let options = LoadOptions {
        usage: true,
        workers: open.worker_count(),
        ..LoadOptions::default()
    };
    let whole = load(
        &pruned.restored_file(open.input.unredacted_source()),
        &options,
    )
    .ok()?;
    let scope_in_whole = match scope {
        RequestScope::AllBranches => RequestScope::AllBranches,
        RequestScope::Range(range) => RequestScope::Range(EntryRange {
            after: find_in_whole(open, &whole, range.after),
            end: find_in_whole(open, &whole, range.end),
        }),
    };
    let requests = whole.requests(scope_in_whole);
    // Payloads that were pruned are seldom those with the usage of sub-agents.
    if requests.len() <= open.session.requests(scope).len() {
        return None;
    }
    let timed = requests
        .iter()
        .map(|request| (whole.entry(request.entry).time_ms, request.usage));
    Some(timed.collect())
}

/// Returns the position in the whole session that is a position in the session as it is.
fn find_in_whole(open: &OpenSession, whole: &Session, position: Position) -> Position {
    match position {
        Position::Root => Position::Root,
        Position::Entry(ix) => whole.find_entry(&open.session.id(ix)).into(),
    }
}

/// Opens a session as it was before parts of it were pruned; `None` if nothing was.
pub fn open_with_pruned(
    path: &Path,
    options: LoadOptions,
    ui: &mut Ui,
) -> Result<Option<OpenSession>, Failure> {
    if path == Path::new("-") {
        return Ok(None);
    }
    let input = Input::open_path(&resolve_argument(path, ui)?, ui.stdout_predicate())?;
    let Some(pruned) = load_pruned(&input)? else {
        return Ok(None);
    };
    let whole = pruned.restored_file(input.source());
    let copy = store::spool_written(&mut |out| copy_all(&whole, out))?;
    Ok(Some(OpenSession::from_input(
        input.with_copy(copy),
        options,
        ui,
    )?))
}
