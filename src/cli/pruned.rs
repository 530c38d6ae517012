//! Reads what was pruned from a session, in the file beside the session or in its archive.

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
use std::io;
use std::path::{Path, PathBuf};

/// Returns the path as it was given; for a symbolic link, the path of its target.
pub fn session_own_path(file: &SessionFile) -> PathBuf {
    if file.path().is_symlink() {
        file.resolved().to_owned()
    } else {
        file.path().to_owned()
    }
}

/// Opens the file beside a session; `None` if the file does not exist.
pub fn open_if_exists(path: &Path) -> Result<Option<SessionFile>, Failure> {
    match SessionFile::open(path) {
        Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => Ok(None),
        file => Ok(Some(file?)),
    }
}

/// Returns the prune operations that the file beside a session lists. Returns none if the file is
/// missing or damaged.
pub fn list_pruned(open: &OpenSession) -> Vec<Operation> {
    let Some(file) = open.input.file() else {
        // Nothing is beside a stream, or beside an archive.
        return Vec::new();
    };
    let Ok(side_file) = Glance::open(&pruned_file(&session_own_path(file))) else {
        return Vec::new();
    };
    read_operations(&side_file, &open.session.header.id).unwrap_or_default()
}

/// Returns the number of branches that were pruned from a session, as words. `None` if none were.
pub fn describe_pruned_branches(open: &OpenSession) -> Option<String> {
    let mut branch_count = 0;
    let mut entry_count = 0;
    for operation in list_pruned(open) {
        // Other operations pruned entries that are no whole branch.
        if operation.branches > 0 {
            branch_count += operation.branches;
            entry_count += operation.entries;
        }
    }
    if branch_count == 0 {
        return None;
    }
    // It is not recorded how many of the entries are bookkeeping.
    let bookkeeping_count = 0;
    Some(describe_pruned(
        entry_count,
        bookkeeping_count,
        branch_count,
    ))
}

/// Returns numbers of pruned parts as words, for example `2 branches (40 entries, 3 of them
/// bookkeeping)`.
///
/// `bookkeeping_count` is the number of those entries that are bookkeeping. It is printed only with
/// branches, because the numbers of entries that `pisess branches` prints do not include
/// bookkeeping.
pub fn describe_pruned(
    entry_count: usize,
    bookkeeping_count: usize,
    branch_count: usize,
) -> String {
    let entries = format_count(entry_count, "entry", "entries");
    if branch_count == 0 {
        return entries;
    }
    let branches = format_count(branch_count, "branch", "branches");
    if bookkeeping_count == 0 {
        return format!("{branches} ({entries})");
    }
    format!("{branches} ({entries}, {bookkeeping_count} of them bookkeeping)")
}

/// Reads what was pruned from the session at a path. `None` if nothing was. If the path is a
/// symbolic link, the file may be beside the link or beside its target.
///
/// # Errors
/// If the file is damaged, or belongs to another session.
pub fn load_pruned_beside(
    path: &Path,
    source: &dyn ReadAt,
) -> Result<Option<Restoration>, Failure> {
    let mut side_paths = vec![pruned_file(path)];
    if path.is_symlink() {
        let target = store::Disk::resolve_links(&store::OnDisk, path);
        side_paths.push(pruned_file(&target));
    }
    for side_path in side_paths {
        // Most sessions have no such file.
        let Ok(pruned) = Glance::open(&side_path) else {
            continue;
        };
        let written_ms = pruned.modified_ms();
        return load_restore(&side_path, source, Box::new(pruned), Some(written_ms));
    }
    Ok(None)
}

/// Reads what was pruned from a session. `None` if nothing was. For a session with a file, it is in
/// another file beside it; for an archived session, in the archive.
///
/// # Errors
/// As for [`load_pruned_beside`], and if the archive is damaged.
pub fn load_pruned(input: &Input) -> Result<Option<Restoration>, Failure> {
    if let Some(file) = input.file() {
        return load_pruned_beside(file.path(), file);
    }
    match &input.path {
        Some(path) => load_pruned_in_archive(path, input),
        // Nothing can be beside a stream.
        None => Ok(None),
    }
}

/// Reads what was pruned from a session that was read from the archive at a path. `None` if nothing
/// was, or if the file is not an archive: then it is a session of another agent, which was
/// converted.
///
/// # Errors
/// If the archive is damaged, or what was pruned belongs to another session.
fn load_pruned_in_archive(path: &Path, input: &Input) -> Result<Option<Restoration>, Failure> {
    let Ok(file) = Glance::open(path) else {
        // A named pipe, which was read already, or a file that was removed after it was read. The
        // session is in memory, so it is used without what was pruned.
        return Ok(None);
    };
    let Some(archive) = input.map_read_error(Archive::read(&file))? else {
        return Ok(None);
    };
    // The archive holds the file beside the session under this name, if there was one.
    let Some(pruned) = input.map_read_error(archive.companion(&file, PRUNED))? else {
        return Ok(None);
    };
    // `companion` returns the content of the file without its modification time.
    let written_ms = None;
    load_restore(
        path,
        input.unredacted_source(),
        Box::new(pruned),
        written_ms,
    )
}

/// Splits a result into what was pruned, if it could be read, and the failure.
pub fn split_result(
    pruned: Result<Option<Restoration>, Failure>,
) -> (Option<Restoration>, Option<Failure>) {
    match pruned {
        Ok(pruned) => (pruned, None),
        Err(failure) => (None, Some(failure)),
    }
}

/// Warns that the pruned parts of a session cannot be read, so that sums lack their usage.
pub fn warn_uncounted(failure: &Failure, ui: &mut Ui) {
    ui.warn(&format!(
        "what was pruned is not counted: {}",
        failure.to_line()
    ));
}

/// Reads what was pruned, and finds the place of each part in the session. Returns `None` if the
/// session cannot be read: opening it will report that.
///
/// `path` is the file with the pruned parts, for messages. `written_ms` is the modification time of
/// that file; `None` if it is unknown.
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
    let mut restoration = Restoration::new(&session, source, operations, pruned)
        .map_err(|error| pruned_failure(path, error.into()))?;
    restoration.written_ms = written_ms;
    Ok(Some(restoration))
}

/// Returns the failure for a file with pruned parts that cannot be read or restored.
pub fn pruned_failure(path: &Path, error: PrunedFileError) -> Failure {
    let name = to_visible(&path.to_string_lossy());
    let error = match error {
        PrunedFileError::Io(error) => return Failure::from_read_error(&name, error),
        error => error,
    };
    match error.line() {
        Some(line) => Failure::invalid(format_args!("{name}:{}: {error}", line.0))
            .with_path(&name)
            .with_line(line.0),
        None => Failure::invalid(format_args!("{name}: {error}")).with_path(&name),
    }
}

/// Returns the requests in a scope of a session, including pruned ones, each with its time in
/// milliseconds since 1970. `None` if no requests were pruned, or if what was pruned cannot be
/// read: then only the requests that are left are known.
pub fn requests_with_pruned(open: &OpenSession, scope: RequestScope) -> Option<Vec<(i64, Usage)>> {
    let Ok(Some(pruned)) = load_pruned(&open.input) else {
        return None;
    };
    let options = LoadOptions {
        usage: true,
        workers: open.worker_count(),
        ..LoadOptions::default()
    };
    let restored_file = pruned.restored_file(open.input.unredacted_source());
    let Ok(whole) = load(&restored_file, &options) else {
        return None;
    };

    let requests = whole.requests(scope_in_whole(open, &whole, scope));
    // Usually, the pruned payloads contain no usage of sub-agents.
    if requests.len() <= open.session.requests(scope).len() {
        return None;
    }
    let mut timed_requests = Vec::new();
    for request in requests {
        let time_ms = whole.entry(request.entry).time_ms;
        timed_requests.push((time_ms, request.usage));
    }
    Some(timed_requests)
}

/// Returns the scope in the whole session, `whole`, that corresponds to a scope in the session as
/// it is now. The same entries have other indexes there.
fn scope_in_whole(open: &OpenSession, whole: &Session, scope: RequestScope) -> RequestScope {
    match scope {
        RequestScope::AllBranches => RequestScope::AllBranches,
        RequestScope::Range(range) => RequestScope::Range(EntryRange {
            after: find_in_whole(open, whole, range.after),
            end: find_in_whole(open, whole, range.end),
        }),
    }
}

/// Returns the position in the whole session, `whole`, that corresponds to a position in the
/// session as it is now.
fn find_in_whole(open: &OpenSession, whole: &Session, position: Position) -> Position {
    match position {
        Position::Root => Position::Root,
        Position::Entry(ix) => whole.find_entry(&open.session.id(ix)).into(),
    }
}

/// Opens a session as it was before parts of it were pruned. `None` if nothing was pruned, or if
/// the session is a stream.
pub fn open_with_pruned(
    session: &Input,
    options: LoadOptions,
    ui: &mut Ui,
) -> Result<Option<OpenSession>, Failure> {
    let Some(path) = &session.path else {
        return Ok(None);
    };
    // Opened again, because the caller keeps `session`.
    let input = Input::open_path(path, ui.stdout_predicate())?;
    let Some(pruned) = load_pruned(&input)? else {
        return Ok(None);
    };
    let whole = with_pruned(input, &pruned)?;
    Ok(Some(OpenSession::from_input(whole, options, ui)?))
}

/// Returns an input that reads a session as it was before parts of it were pruned.
pub fn with_pruned(input: Input, pruned: &Restoration) -> Result<Input, Failure> {
    let whole = pruned.restored_file(input.source());
    let copy = store::spool_written(&mut |out| copy_all(&whole, out))?;
    Ok(input.with_copy(copy))
}
