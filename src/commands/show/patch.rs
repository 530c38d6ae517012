//! `show --patch`: prints what the tool calls of a range changed in files, as a unified diff.

use super::Args;
use super::files::ShownFiles;
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::files::{FileComparison, FileDifference, list_operations, read_change};
use crate::session::range::EntryRange;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::collections::BTreeMap;

/// Prints a diff for each file that the tool calls of a range changed, sorted by path; with
/// `--file`, only for that file. The exit code is [`Exit::Found`] if a changed file is not in the
/// patch.
pub fn show_patch(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let options = LoadOptions {
        file_calls: true,
        tool_calls: true,
        ..LoadOptions::default()
    };
    let open = OpenSession::open_to_read(&args.session, options, ui)?;
    let argument = match &args.entries[..] {
        [] => None,
        [argument] => Some(argument.as_str()),
        _ => return Err(Failure::usage_error("--patch takes one REF or range")),
    };
    let range = open.resolve_range(argument, args.last.entry_count)?;
    let home = ui.home().map(Text::from);
    let files = ShownFiles::at_position(&open, range.end, home.as_ref());
    let only_file = match &args.file {
        Some(named) => Some(files.find_file(named, ui)?),
        None => None,
    };
    let differences = compare_files(&open, range, &files, only_file.as_deref())?;
    if differences.is_empty() {
        let unchanged = match &only_file {
            Some(file) => files.shown_path(file),
            None => "a file".to_owned(),
        };
        let what = format!("no call changed {unchanged}");
        let failure = open.input.negative_answer(what);
        return Err(failure.with_hint("changes made by commands are not known"));
    }

    let cwd = open.session.header.cwd.as_ref();
    let folder = cwd.map(|cwd| cwd.to_string_lossy().trim_end_matches('/').to_owned() + "/");
    let mut exit = Exit::Done;
    for (path, difference) in &differences {
        let inside = match &folder {
            Some(folder) => path.strip_prefix(folder.as_str()),
            None => None,
        };
        let patch = format_patch(path, inside, difference);
        if args.json {
            ui.print_json(&difference_json(path, difference, &patch))?;
        } else {
            let written = ui.verbatim_stdout().write_all(patch.as_bytes());
            written.map_err(Failure::from_stdout_error)?;
        }
        let is_in_patch = warn_of_gaps(path, inside, difference, ui);
        if !is_in_patch {
            exit = Exit::Found;
        }
    }
    Ok(exit)
}

/// Warns if a file is not or only partly in the patch, or has an absolute path there. `inside` is
/// its path relative to the session's directory; `None` if the file is outside it. Returns whether
/// it is in the patch.
fn warn_of_gaps(
    path: &str,
    inside: Option<&str>,
    difference: &FileDifference,
    ui: &mut Ui,
) -> bool {
    let shown_path = to_visible(inside.unwrap_or(path));
    if let Some(reason) = omission_reason(difference) {
        ui.warn(&format!("{shown_path} is not in the patch: {reason}"));
        return false;
    }
    if inside.is_none() {
        ui.warn(&format!(
            "{shown_path} is outside of the session's directory: its path in the patch is absolute"
        ));
    }
    if let FileDifference::Recorded(diffs) = difference {
        let count = match diffs.len() {
            1 => "the diff that its edit recorded".to_owned(),
            _ => format!(
                "the diffs that its {} recorded",
                format_count(diffs.len(), "edit", "edits")
            ),
        };
        ui.warn(&format!(
            "{shown_path} is only partly known: the patch has {count}"
        ));
    }
    true
}

/// Returns how the tool calls of a range changed each file, by the file's absolute path. With
/// `only_file`, returns only the change of the file with this path. Unchanged files are left out.
///
/// The content of a file at the start of the range is known only from the calls before it, so these
/// are read, too.
fn compare_files(
    open: &OpenSession,
    range: EntryRange,
    files: &ShownFiles,
    only_file: Option<&str>,
) -> Result<BTreeMap<String, FileDifference>, Failure> {
    let session = &open.session;
    let reader = open.entry_reader();
    let path_to_end = session.path(range.end.entry());
    let is_in_range = range.mask(session);
    let is_wanted = |path: &str| only_file.is_none_or(|file| path == file);
    let listed = list_operations(&reader, &path_to_end, files.recorded_paths(), &is_wanted);
    let operations = open.input.map_read_error(listed)?;

    let mut comparisons: BTreeMap<String, FileComparison> = BTreeMap::new();
    for operation in operations {
        let change = open
            .input
            .map_read_error(read_change(&reader, &operation))?;
        // A call takes effect at its result, so that decides whether it is in the range.
        let effect = operation.result.unwrap_or(operation.entry);
        let comparison = comparisons.entry(operation.path).or_default();
        comparison.apply(operation.entry, change, is_in_range[effect.index()]);
    }

    let mut differences = BTreeMap::new();
    for (path, comparison) in comparisons {
        let difference = comparison.finish();
        if difference != FileDifference::Unchanged {
            differences.insert(path, difference);
        }
    }
    Ok(differences)
}

/// Returns the reason why a file is left out of the patch; `None` if it is in the patch.
fn omission_reason(difference: &FileDifference) -> Option<&'static str> {
    match difference {
        FileDifference::UnknownBefore => {
            Some("its content before is not known, and not every change recorded a diff")
        }
        FileDifference::UnknownAfter => {
            Some("its content after is not known, and not every change recorded a diff")
        }
        FileDifference::Unchanged
        | FileDifference::Contents { .. }
        | FileDifference::Recorded(_) => None,
    }
}

/// Returns the diffs of a file in git's format, with their headers. `inside` is the path relative
/// to the session's directory; `None` if the file is outside it.
fn format_patch(path: &str, inside: Option<&str>, difference: &FileDifference) -> String {
    let (old_name, new_name) = match inside {
        Some(inside) => (
            quote_name(&format!("a/{inside}")),
            quote_name(&format!("b/{inside}")),
        ),
        None => (quote_name(path), quote_name(path)),
    };
    let is_new = matches!(difference, FileDifference::Contents { old: None, .. });
    let mut out = String::new();
    for hunks in difference.hunks() {
        out += &format!("diff --git {old_name} {new_name}\n");
        if is_new {
            out += "new file mode 100644\n";
        }
        if hunks.is_empty() {
            // An empty new file has a header, but no hunks.
            continue;
        }
        let name_before = if is_new { "/dev/null" } else { &old_name };
        out += &format!("--- {}\n", end_name(name_before));
        out += &format!("+++ {}\n", end_name(&new_name));
        out += &hunks;
    }
    out
}

/// Returns a name as git quotes it. It is in double quotes if it contains a quote, a backslash or a
/// control character.
fn quote_name(name: &str) -> String {
    let is_plain = |c: char| c != '"' && c != '\\' && !c.is_ascii_control();
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    let mut quoted = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            _ if c.is_ascii_control() => quoted += &format!("\\{:03o}", u32::from(c)),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a name for a `---` or `+++` line. As in git, a tab follows a name with a space:
/// otherwise, a reader would take the text after the space for a time.
fn end_name(name: &str) -> String {
    if name.contains(' ') {
        format!("{name}\t")
    } else {
        name.to_owned()
    }
}

/// Returns a difference as JSON. `source` is what the patch was made from: `contents` or recorded
/// `edits`. Without a patch, `source` and `patch` are `null`.
fn difference_json(path: &str, difference: &FileDifference, patch: &str) -> Vec<u8> {
    let source = match difference {
        FileDifference::Contents { .. } => Some("contents"),
        FileDifference::Recorded(_) => Some("edits"),
        FileDifference::Unchanged
        | FileDifference::UnknownBefore
        | FileDifference::UnknownAfter => None,
    };
    let patch = source.map(|_| Text::from(patch));
    Object::new()
        .str("path", path)
        .text_or_null("source", source.map(Text::from).as_ref())
        .text_or_null("patch", patch.as_ref())
        .finish()
}
