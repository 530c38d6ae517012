//! `show --file` and `show --files`: prints files as the conversation left them.

use super::Args;
use crate::agents::readable::{Folders, shorten_path};
use crate::cli::open::OpenSession;
use crate::cli::output::{Column, Exit, Failure, Table, Ui, plain_cell, to_visible};
use crate::cli::rows::ids::IdPainter;
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::files::{
    FileChange, FileContent, FileOperation, Known, RecordedPaths, find_command, list_operations,
    read_change,
};
use crate::session::Session;
use crate::session::conversation::Conversation;
use crate::session::entry::EntryIx;
use crate::session::file_calls::FileAction;
use crate::session::reference::{CURRENT_REFERENCE, Position};
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::collections::{BTreeMap, BTreeSet};

/// Prints the content of the file given by `--file`, or a row for each file.
pub fn show_files(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    // clap cannot refuse this: together with --patch, --file takes --last.
    if args.last.entry_count.is_some() {
        let failure = Failure::usage_error("--file and --files cannot be combined with --last");
        return Err(failure.with_hint(
            "give the entry up to which calls count as REF, such as '@~3'; \
             with --patch, --file takes --last",
        ));
    }
    let options = LoadOptions {
        file_calls: true,
        tool_calls: true,
        ..LoadOptions::default()
    };
    let open = OpenSession::open_to_read(&args.session, options, ui)?;
    let reference = match &args.entries[..] {
        [] => CURRENT_REFERENCE,
        [reference] => reference,
        _ => {
            let what = "--file and --files take one REF";
            return Err(Failure::usage_error(what));
        }
    };
    let position = open.resolve_position(reference)?;
    let home = ui.home().map(Text::from);
    let shown = ShownFiles::at_position(&open, position, home.as_ref());
    match &args.file {
        Some(file) => shown.print_content(file, args.json, ui),
        None => shown.print_list(args.json, ui),
    }
}

/// The files named by tool calls on a path.
pub(super) struct ShownFiles<'a> {
    open: &'a OpenSession,
    /// The entries from the root to REF.
    path: Vec<EntryIx>,
    /// The entries after REF, where the conversation continues.
    later: Vec<EntryIx>,
    folders: Folders<'a>,
}

impl<'a> ShownFiles<'a> {
    /// Returns the files named by calls up to a position, which is at REF or at the end of a range.
    /// `home` is the user's home directory.
    pub(super) fn at_position(
        open: &'a OpenSession,
        position: Position,
        home: Option<&'a Text<'static>>,
    ) -> ShownFiles<'a> {
        ShownFiles {
            path: open.session.path(position.entry()),
            later: Conversation::new(&open.session).entries_after(position),
            folders: Folders {
                cwd: open.session.header.cwd.as_ref(),
                home,
            },
            open,
        }
    }
}

impl ShownFiles<'_> {
    pub(super) fn recorded_paths(&self) -> RecordedPaths<'_> {
        RecordedPaths {
            folders: self.folders,
        }
    }

    /// Prints the known content of a file. Exit code 0 if that is the whole content. If it is
    /// incomplete, a warning says why, and the exit code is [`Exit::Found`].
    ///
    /// # Errors
    /// A negative answer, with the same exit code, if nothing of the content is known.
    fn print_content(&self, named: &str, json: bool, ui: &mut Ui) -> Result<Exit, Failure> {
        let file = self.find_file(named, ui)?;
        let at_ref = self.read_at_ref(&file)?;
        if json {
            let row = content_json(&file, &at_ref, &self.open.session);
            ui.print_json(&row)?;
        } else {
            let text = known_text(at_ref.content.known());
            let written = ui.verbatim_stdout().write_all(text.as_bytes());
            written.map_err(Failure::from_stdout_error)?;
        }

        let shown_path = self.shown_path(&file);
        if at_ref.content.is_unknown() {
            return Err(self.nothing_known_failure(&shown_path, &at_ref));
        }
        if let Some(read) = at_ref.later_read {
            let note = self.describe_later_read(read)?;
            ui.warn(&format!("{shown_path}: {note}"));
        }
        let gaps = self.describe_gaps(&at_ref.content);
        for gap in &gaps {
            ui.warn(&format!("{shown_path}: {gap}"));
        }
        if gaps.is_empty() {
            Ok(Exit::Done)
        } else {
            Ok(Exit::Found)
        }
    }

    /// Describes what is not known of a file of which something is known. Empty if all is known.
    fn describe_gaps(&self, content: &FileContent) -> Vec<String> {
        let mut gaps = Vec::new();
        if let Known::Parts(_) = content.known() {
            let parts = describe_parts(content);
            gaps.push(format!("only a part is known: {parts}"));
        }
        if let Some(reason) = self.describe_unknown_change(content) {
            gaps.push(format!("only partly known: {reason}"));
        }
        if content.unfit_edits > 0 {
            let edits = format_count(content.unfit_edits, "edit", "edits");
            gaps.push(format!(
                "{edits} not applied, because something else had changed the file"
            ));
        }
        gaps
    }

    /// Returns the failure for a file of which no text is known.
    fn nothing_known_failure(&self, shown_path: &str, at_ref: &FileAtRef) -> Failure {
        let reason = match self.describe_unknown_change(&at_ref.content) {
            Some(reason) => format!(": {reason}"),
            None => String::new(),
        };
        let what = format_args!("no text of {shown_path} is known{reason}");
        let failure = self.open.input.negative_answer(what);
        let hint = match at_ref.later_write {
            Some(write) => format!(
                "{} writes it after REF without a read before, so it may not have existed",
                self.visible_id(write)
            ),
            None => "--files lists the files, and how much of each is known".to_owned(),
        };
        failure.with_hint(hint)
    }

    /// Names the entry that changed the file in a way that is not known; `None` if there is none.
    fn describe_unknown_change(&self, content: &FileContent) -> Option<String> {
        let id = self.visible_id(content.unknown_from?);
        Some(format!("how {id} changed it is not stored in a known form"))
    }

    /// Prints a row for each file: how much of it is known, the number of calls, the last call, and
    /// the path.
    fn print_list(&self, json: bool, ui: &mut Ui) -> Result<Exit, Failure> {
        let mut by_path: BTreeMap<String, Vec<FileOperation>> = BTreeMap::new();
        let any_file = |_path: &str| true;
        for operation in self.list_operations(&self.path, &any_file)? {
            let operations = by_path.entry(operation.path.clone()).or_default();
            operations.push(operation);
        }
        if by_path.is_empty() {
            let failure = self.open.input.negative_answer("no call names a file");
            return Err(
                failure.with_hint("only files of the tools read, write and edit are listed")
            );
        }

        let session = &self.open.session;
        let ids = IdPainter::new(session, ui.styles);
        let mut table = Table::new([
            Column::text("KNOWN"),
            Column::number("CALLS"),
            Column::text("LAST"),
            Column::text("FILE").allow_shrink(),
        ]);
        for (path, operations) in &by_path {
            let Some(last) = operations.last() else {
                continue;
            };
            let content = self.read_content(operations)?;
            if json {
                let row = Object::new()
                    .str("path", path)
                    .str("known", known_name(&content))
                    .number("calls", operations.len() as f64)
                    .text("id", &session.id(last.entry));
                ui.print_json(&row.finish())?;
                continue;
            }
            table.add_row(vec![
                plain_cell(known_name(&content).to_owned()),
                plain_cell(operations.len().to_string()),
                ids.id_cell(last.entry),
                plain_cell(self.shown_path(path)),
            ]);
            table.flush_when_full(ui)?;
        }
        table.print(ui)?;
        Ok(Exit::Done)
    }

    /// Returns the operations of `entries` on the wanted files, in the order of the entries.
    fn list_operations(
        &self,
        entries: &[EntryIx],
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<FileOperation>, Failure> {
        let reader = self.open.entry_reader();
        let listed = list_operations(&reader, entries, self.recorded_paths(), is_wanted);
        self.open.input.map_read_error(listed)
    }

    /// Returns what is known of a file at REF.
    fn read_at_ref(&self, file: &str) -> Result<FileAtRef, Failure> {
        let operations = self.list_operations(&self.path, &|path| path == file)?;
        let content = self.read_content(&operations)?;
        if content.is_unknown() && content.unknown_from.is_none() {
            return self.read_ahead(file);
        }
        Ok(FileAtRef {
            content,
            ..FileAtRef::default()
        })
    }

    /// Returns the content of a file as the first reads after REF show it, up to the first call
    /// that writes the file. That is the content at REF, unless something else, such as a command,
    /// has changed the file.
    ///
    /// This is for a file of which the calls up to REF show nothing.
    fn read_ahead(&self, file: &str) -> Result<FileAtRef, Failure> {
        let reader = self.open.entry_reader();
        let mut at_ref = FileAtRef::default();
        // Also the calls up to REF, because their results may follow REF.
        let entries = self.path_through_ref();
        for operation in self.list_operations(&entries, &|path| path == file)? {
            if operation.action != FileAction::Read {
                let is_write = operation.action == FileAction::Write;
                at_ref.later_write = is_write.then_some(operation.entry);
                break;
            }

            let change = self
                .open
                .input
                .map_read_error(read_change(&reader, &operation))?;
            // The result of this read has no text of the file.
            if let FileChange::UnknownRead = change {
                continue;
            }
            at_ref.content.apply(operation.entry, change);
            at_ref.later_read = Some(operation.entry);
            // A further read could show no more.
            if at_ref.content.exact_text().is_some() {
                break;
            }
        }
        Ok(at_ref)
    }

    /// Describes a call that read the file after REF, where nothing up to REF shows its content. A
    /// shell command between REF and the read may have changed the file: the first one is named.
    fn describe_later_read(&self, read: EntryIx) -> Result<String, Failure> {
        let entries_between = self.entries_from_ref_to(read);
        let reader = self.open.entry_reader();
        let command = find_command(&reader, &entries_between);
        let command = self.open.input.map_read_error(command)?;

        let read_id = self.visible_id(read);
        Ok(match command {
            Some(command) => format!(
                "as {read_id} read it after REF; the command in {} before that may have changed it",
                self.visible_id(command)
            ),
            None => format!("as {read_id} read it after REF, before the first change"),
        })
    }

    /// Returns the entries from REF to the one before `later`. REF is included, because the calls
    /// in it run after it. Empty if `later` precedes REF, as a call does whose result follows REF.
    fn entries_from_ref_to(&self, later: EntryIx) -> Vec<EntryIx> {
        let mut entries = self.path_through_ref();
        let ref_index = self.path.len().saturating_sub(1);
        let later_index = entries.iter().position(|&ix| ix == later);
        match later_index {
            Some(later_index) if later_index > ref_index => {
                entries.truncate(later_index);
                entries.split_off(ref_index)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the entries from the root to REF, and on to the end of the conversation.
    fn path_through_ref(&self) -> Vec<EntryIx> {
        let mut entries = self.path.clone();
        entries.extend(&self.later);
        entries
    }

    fn visible_id(&self, ix: EntryIx) -> String {
        to_visible(&self.open.session.id(ix).to_string_lossy())
    }

    /// Returns the known content of a file after these operations on it, which are in the order of
    /// the path.
    fn read_content(&self, operations: &[FileOperation]) -> Result<FileContent, Failure> {
        let reader = self.open.entry_reader();
        let mut content = FileContent::default();
        for operation in operations {
            let change = self
                .open
                .input
                .map_read_error(read_change(&reader, operation))?;
            content.apply(operation.entry, change);
        }
        Ok(content)
    }

    /// Returns a path as `tree` shows it: relative to the session's directory, or with `~`.
    pub(super) fn shown_path(&self, path: &str) -> String {
        let path = shorten_path(&Text::from(path), self.folders);
        to_visible(&path.to_string_lossy())
    }

    /// Returns the path of the file that an argument names. Calls after REF may name it, too, but a
    /// file that a call up to REF names takes precedence.
    pub(super) fn find_file(&self, named: &str, ui: &Ui) -> Result<String, Failure> {
        for entries in [&self.path, &self.later] {
            if let Some(path) = self.find_named_by(entries, named, ui)? {
                return Ok(path);
            }
        }
        let what = format!("no call names the file {named}");
        Err(self
            .open
            .input
            .negative_answer(what)
            .with_hint("--files lists the files"))
    }

    /// Returns the absolute path of the file that the argument `named` means, if a call in
    /// `entries` names that file. The argument is relative to the session's directory, or to the
    /// current directory, or it is a suffix of the path that only one file has: `lib.rs` for
    /// `/app/src/lib.rs`.
    fn find_named_by(
        &self,
        entries: &[EntryIx],
        named: &str,
        ui: &Ui,
    ) -> Result<Option<String>, Failure> {
        let known_paths = self.known_paths(entries);
        let below_session_folder = self.recorded_paths().resolve(&Text::from(named));
        for path in [
            below_session_folder,
            self.path_below_current_folder(named, ui),
        ] {
            if known_paths.contains(&path) {
                return Ok(Some(path));
            }
        }

        let suffix = format!("/{named}");
        let mut matching_paths = Vec::new();
        for path in known_paths {
            if path.ends_with(&suffix) {
                matching_paths.push(path);
            }
        }
        match &matching_paths[..] {
            [] => Ok(None),
            [path] => Ok(Some(path.clone())),
            [first, second, ..] => {
                let what = format!("{named} could be {first} or {second}");
                let failure = self.open.input.failure(what);
                Err(failure.with_hint("give more of the path"))
            }
        }
    }

    /// Returns the absolute path of an argument that is relative to the current directory.
    fn path_below_current_folder(&self, named: &str, ui: &Ui) -> String {
        let current_folder = Text::from(ui.current_folder().to_string_lossy().into_owned());
        let paths_here = RecordedPaths {
            folders: Folders {
                cwd: Some(&current_folder),
                home: self.folders.home,
            },
        };
        paths_here.resolve(&Text::from(named))
    }

    /// Returns the absolute paths of all files that calls in `entries` name.
    fn known_paths(&self, entries: &[EntryIx]) -> BTreeSet<String> {
        let session = &self.open.session;
        let paths = self.recorded_paths();
        let mut known_paths = BTreeSet::new();
        for &ix in entries {
            for call in session.file_calls(ix).unwrap_or_default() {
                let path = session.text(call.path);
                known_paths.insert(paths.resolve_call(session.agent(), call.tool, path));
            }
        }
        known_paths
    }
}

/// What is known of a file at REF.
#[derive(Default)]
struct FileAtRef {
    content: FileContent,
    /// The last call whose result after REF shows some of the content; `None` if the calls up to
    /// REF show it.
    later_read: Option<EntryIx>,
    /// If the content is not known: the first call after REF that changes the file, if it writes
    /// the whole file.
    later_write: Option<EntryIx>,
}

/// Returns the known text: the whole text, or its known parts with an empty line between two.
fn known_text(known: &Known) -> String {
    match known {
        Known::Nothing => String::new(),
        Known::Whole(text) => text.clone(),
        Known::Parts(parts) => {
            let mut text = String::new();
            for part in parts {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&part.text);
                if !part.text.ends_with('\n') {
                    text.push('\n');
                }
            }
            text
        }
    }
}

/// Returns in one word how much of a file is known.
fn known_name(content: &FileContent) -> &'static str {
    match content.known() {
        Known::Nothing => "nothing",
        Known::Whole(_) if content.unfit_edits > 0 || content.unknown_from.is_some() => "outdated",
        Known::Whole(_) => "whole",
        Known::Parts(_) => "part",
    }
}

/// Describes the known parts of a file: ranges of lines; the number of lines whose position is
/// unknown, because edits may have moved them; and the number of texts from edits.
fn describe_parts(content: &FileContent) -> String {
    let Known::Parts(parts) = content.known() else {
        return String::new();
    };
    let mut descriptions = Vec::new();
    let mut moved_line_count = 0;
    let mut edit_count = 0;
    for part in parts {
        if let (Some(first), Some(last)) = (part.first_line, part.last_line()) {
            descriptions.push(format!("lines {first}-{last}"));
        } else if part.is_of_edit {
            edit_count += 1;
        } else {
            // Lines that were read, and whose numbers an edit may have changed since.
            moved_line_count += part.count();
        }
    }
    if moved_line_count > 0 {
        descriptions.push(format_count(
            moved_line_count,
            "line that was read",
            "lines that were read",
        ));
    }
    if edit_count > 0 {
        let edits = format_count(edit_count, "edit", "edits");
        descriptions.push(format!("the new text of {edits}"));
    }
    descriptions.join(", ")
}

/// Returns what is known of a file as JSON (docs/json.md, `show --file --json`): the whole `text`,
/// or some `parts` of it. `unfitEdits` is the number of edits that did not fit; after the entry
/// `unknownFrom`, the content is unknown. `laterRead` is the call after REF that read the content.
fn content_json(path: &str, at_ref: &FileAtRef, session: &Session) -> Vec<u8> {
    let FileAtRef {
        content,
        later_read,
        ..
    } = at_ref;
    let mut whole_text = None;
    let mut part_rows = Vec::new();
    match content.known() {
        Known::Whole(text) => whole_text = Some(Text::from(&**text)),
        Known::Parts(parts) => {
            for part in parts {
                let row = Object::new()
                    .number_or_null("firstLine", part.first_line.map(|line| line as f64))
                    .text("text", &Text::from(&*part.text));
                part_rows.push(row.finish());
            }
        }
        Known::Nothing => {}
    }
    let unknown_from = content.unknown_from.map(|ix| session.id(ix));
    let later_id = later_read.map(|ix| session.id(ix));
    Object::new()
        .str("path", path)
        .str("known", known_name(content))
        .text_or_null("text", whole_text.as_ref())
        .json("parts", &array(&part_rows))
        .number("unfitEdits", content.unfit_edits as f64)
        .text_or_null("unknownFrom", unknown_from.as_ref())
        .text_or_null("laterRead", later_id.as_ref())
        .finish()
}
