//! What was pruned from a session: reads the file beside it, or that in its archive.

use crate::cli::named::named;
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Failure, Ui, visible};
use crate::format::counted;
use crate::load::{Options, load};
use crate::ops::archive::PRUNED;
use crate::ops::plan::copy_all;
use crate::ops::prune::{Operation, Restore, SideError, operations, pruned_file, read};
use crate::session::RequestScope;
use crate::session::usage::Usage;
use pisess_store::{self as store, Archive, Glance, ReadAt, SessionFile};
use std::path::{Path, PathBuf};

/// Returns the path as given, or with links resolved if it is a symbolic link.
pub fn own_path(file: &SessionFile) -> PathBuf {
    if file.path().is_symlink() {
        file.resolved().to_owned()
    } else {
        file.path().to_owned()
    }
}

/// Returns what was pruned from a session, as the file beside it lists it; nothing if that file is
/// damaged.
pub fn pruned(open: &OpenSession) -> Vec<Operation> {
    let pruned = open
        .input
        .file()
        .and_then(|file| Glance::open(&pruned_file(&own_path(file))).ok());
    let listed = pruned.and_then(|pruned| operations(&pruned, &open.session.header.id).ok());
    listed.unwrap_or_default()
}

/// Returns how many branches were pruned from a session, if any, for a message.
pub fn pruned_branches(open: &OpenSession) -> Option<String> {
    let operations = pruned(open);
    let branches = operations.iter().map(|operation| operation.branches).sum();
    let of_branches = operations.iter().filter(|operation| operation.branches > 0);
    let entries = of_branches.map(|operation| operation.entries).sum();
    (branches > 0).then(|| described(entries, 0, branches))
}

/// Returns what was pruned, for a message.
pub fn described(entries: usize, notes: usize, branches: usize) -> String {
    let entries = counted(entries, "entry", "entries");
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
            counted(branches, "branch", "branches")
        ),
    }
}

/// Returns what was pruned from the session at a path, if anything. Behind a symbolic link, the file
/// may be beside the link or beside the session.
///
/// # Errors
/// If the file beside it is damaged, or that of another session.
pub fn pruned_from(path: &Path, source: &dyn ReadAt) -> Result<Option<Restore>, Failure> {
    let beside_path = pruned_file(path);
    if let Ok(pruned) = Glance::open(&beside_path) {
        return with(&beside_path, source, Box::new(pruned));
    }
    if !path.is_symlink() {
        return Ok(None);
    }
    let target = store::Disk::real(&store::OnDisk, path);
    let beside_target = pruned_file(&target);
    match Glance::open(&beside_target) {
        Ok(pruned) => with(&beside_target, source, Box::new(pruned)),
        Err(_) => Ok(None),
    }
}

/// Returns what was pruned from a session, if anything. For an archived session, it is in the
/// archive.
///
/// # Errors
/// As [`pruned_from`], or if the archive is damaged.
pub fn pruned_of(input: &Input) -> Result<Option<Restore>, Failure> {
    if let Some(file) = input.file() {
        return pruned_from(file.path(), file);
    }
    let Some(path) = &input.path else {
        return Ok(None);
    };
    let Ok(file) = Glance::open(path) else {
        return Ok(None);
    };
    let Some(archive) = input.read(Archive::read(&file))? else {
        return Ok(None);
    };
    let pruned = input.read(archive.companion(&file, PRUNED))?;
    pruned.map_or(Ok(None), |pruned| {
        with(path, input.unredacted(), Box::new(pruned))
    })
}

/// Returns what was pruned from a session, or why it cannot be read.
pub fn split(pruned: Result<Option<Restore>, Failure>) -> (Option<Restore>, Option<Failure>) {
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
        failure.line()
    ));
}

/// Returns a session with what was pruned from it; `None` if it cannot be read.
fn with(
    path: &Path,
    source: &dyn ReadAt,
    pruned: Box<dyn ReadAt>,
) -> Result<Option<Restore>, Failure> {
    let Ok(session) = load(source, &Options::default()) else {
        return Ok(None);
    };
    let operations = read(&*pruned, &session.header.id).map_err(|error| unusable(path, error))?;
    match Restore::new(&session, source, operations, pruned) {
        Ok(restore) => Ok(Some(restore)),
        Err(error) => Err(unusable(path, error.into())),
    }
}

/// Returns the failure for what was pruned from a session, if it cannot be put back.
pub fn unusable(path: &Path, error: SideError) -> Failure {
    let name = visible(&path.to_string_lossy());
    match error {
        SideError::Io(error) => Failure::reading(&name, error),
        error => match error.line() {
            Some(line) => Failure::cannot(format_args!("{name}:{}: {error}", line.0))
                .path(&name)
                .on_line(line.0),
            None => Failure::cannot(format_args!("{name}: {error}")).path(&name),
        },
    }
}

/// Returns the requests in a scope of a session, with those that were pruned, and their times;
/// `None` if none was pruned.
pub fn requests(open: &OpenSession, scope: RequestScope) -> Option<Vec<(i64, Usage)>> {
    let pruned = pruned_of(&open.input).ok()??;
    let options = Options {
        usage: true,
        workers: open.workers(),
        ..Options::default()
    };
    let whole = load(&pruned.whole(open.input.unredacted()), &options).ok()?;
    let scope_in_whole = match scope {
        RequestScope::AllBranches => RequestScope::AllBranches,
        RequestScope::PathTo(end) => {
            RequestScope::PathTo(end.and_then(|end| whole.find(&open.session.id(end))))
        }
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

/// Opens a session as it was before parts of it were pruned; `None` if nothing was.
pub fn with_pruned(
    path: &Path,
    options: Options,
    ui: &mut Ui,
) -> Result<Option<OpenSession>, Failure> {
    if path == Path::new("-") {
        return Ok(None);
    }
    let input = Input::open_path(&named(path, ui)?, ui.stdout_is())?;
    let Some(pruned) = pruned_of(&input)? else {
        return Ok(None);
    };
    let whole = pruned.whole(input.source());
    let copy = store::spool_written(&mut |out| copy_all(&whole, out))?;
    Ok(Some(OpenSession::of(input.redacted(copy), options, ui)?))
}
