//! Hints for a session that was not found.

use crate::cli::guide::takes_reference;
use crate::cli::output::{Failure, to_visible};
use crate::session::reference::is_reference_form;
use pisess_store as store;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The end of the usual hint for a session that does not exist. A better hint replaces it.
const SEVERAL_WORDS: &str = "several words need quotes";

/// The maximum number of edits (insert, delete, replace, swap two neighbours) between the name of a
/// missing file and a name that is suggested.
const MOST_FILE_EDITS: usize = 2;

/// Replaces the hint of a failure, if a session was not found and the command line shows what the
/// user may have meant: a later argument is the session; a file has a similar name; or only an
/// entry was given.
pub fn hint_session_first(failure: Failure, args: &[OsString], command: &clap::Command) -> Failure {
    if !failure.is_missing_file {
        return failure;
    }
    let Some(line) = TypedLine::parse(args, command) else {
        return failure;
    };
    let hint = line
        .hint_for_later_session(&failure)
        .or_else(|| hint_for_similar_file(&failure))
        .or_else(|| line.hint_for_lone_entry(&failure));
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// The words of a command line that are not options. The value of an option may be among them.
struct TypedLine<'a> {
    /// The name of the command.
    name: Cow<'a, str>,
    subcommand: Option<&'a clap::Command>,
    first_argument: Cow<'a, str>,
    later_arguments: Vec<&'a OsString>,
}

impl<'a> TypedLine<'a> {
    /// Returns `None` for a line without arguments.
    fn parse(args: &'a [OsString], command: &'a clap::Command) -> Option<TypedLine<'a>> {
        // The first argument is the program.
        let mut words = args
            .iter()
            .skip(1)
            .filter(|arg| !arg.to_string_lossy().starts_with('-'));
        let name = words.next()?.to_string_lossy();
        let first_argument = words.next()?.to_string_lossy();
        Some(TypedLine {
            subcommand: command.find_subcommand(&*name),
            name,
            first_argument,
            later_arguments: words.collect(),
        })
    }

    /// Returns a hint if the first argument was taken for the session, and a later one is the path
    /// of a session, as in `pisess show @ a.jsonl`.
    fn hint_for_later_session(&self, failure: &Failure) -> Option<String> {
        let first = &*self.first_argument;
        // If the first word is the value of an option, the missing session is another word.
        let is_first_missing = failure.path.as_deref() == Some(first);
        if !is_first_missing || first.ends_with(".jsonl") {
            return None;
        }
        // `diff` and `join` take a second session, so that the order may be right, unless the first
        // argument can only be an entry.
        let is_reference = is_reference_form(first) && !first.contains('/');
        if self.subcommand.is_some_and(takes_second_session) && !is_reference {
            return None;
        }

        let session = self.later_arguments.iter().find(|arg| {
            let is_session_path = arg.to_string_lossy().ends_with(".jsonl");
            is_session_path && Path::new(arg).is_file()
        })?;
        Some(format!(
            "the session comes first: pisess {} {} {first}",
            self.name,
            session.to_string_lossy()
        ))
    }

    /// Returns a hint if the only argument may be an entry of a command that takes a session and an
    /// entry, as in `pisess show 3f9a`.
    fn hint_for_lone_entry(&self, failure: &Failure) -> Option<String> {
        let subcommand = self.subcommand?;
        let takes_entry = takes_reference(subcommand) && subcommand.get_positionals().count() > 1;
        if !takes_entry || !self.later_arguments.is_empty() {
            return None;
        }
        // A path or a title is not an entry.
        let first = &*self.first_argument;
        if first.contains(['/', '.', ' ']) {
            return None;
        }
        // Any other hint fits the failure better than this one.
        let hint = failure.hint.as_ref()?;
        if !hint.ends_with(SEVERAL_WORDS) {
            return None;
        }
        Some(format!(
            "`pisess list --all` lists all sessions; \
             an entry or a label comes after the session: pisess {} last {first}",
            self.name
        ))
    }
}

/// Whether the second argument of a command may be a session, as for `join` and `diff`.
fn takes_second_session(subcommand: &clap::Command) -> bool {
    let second = subcommand.get_positionals().nth(1);
    let names = second.and_then(clap::Arg::get_value_names);
    names
        .unwrap_or_default()
        .iter()
        .any(|name| name.split('|').any(|name| name == "SESSION"))
}

/// Returns a hint if a file has nearly the name of the one that was not found, which may be any
/// argument of the command.
fn hint_for_similar_file(failure: &Failure) -> Option<String> {
    let missing = Path::new(failure.path.as_deref()?);
    if missing.exists() {
        return None;
    }
    let similar = find_similar_file(missing)?;
    let similar = to_visible(&similar.to_string_lossy());
    Some(format!("did you mean {similar}?"))
}

/// Returns the file that the user may have meant by a missing path: the session whose `.jsonl` was
/// left out, else the file beside it with the most similar name.
fn find_similar_file(missing: &Path) -> Option<PathBuf> {
    let with_extension = store::with_suffix(missing, ".jsonl");
    if with_extension.is_file() {
        return Some(with_extension);
    }
    // A path without an extension may be the name of a session, which no file resembles.
    missing.extension()?;

    let wanted = missing.file_name()?.to_str()?;
    let parent = missing.parent()?;
    let folder = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let similar_name = find_similar_name(folder, wanted)?;
    Some(parent.join(similar_name))
}

/// Returns the name of the file in a directory that needs the fewest edits to become `wanted`, of
/// equals the first by name. `None` if every file needs more than [`MOST_FILE_EDITS`].
fn find_similar_name(folder: &Path, wanted: &str) -> Option<String> {
    let mut fewest_edits = MOST_FILE_EDITS + 1;
    let mut similar = None;
    // The paths are sorted, so the first of equally similar names remains.
    for path in store::paths_in(folder).ok()? {
        let Some(name) = path.file_name().and_then(OsStr::to_str) else {
            continue;
        };
        let edits = strsim::osa_distance(wanted, name);
        if edits < fewest_edits && path.is_file() {
            fewest_edits = edits;
            similar = Some(name.to_owned());
        }
    }
    similar
}
