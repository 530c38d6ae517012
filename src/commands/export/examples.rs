//! `export --as messages`: writes conversations as examples for fine-tuning, each as a line of
//! JSON.

use super::output_path::{place_output, session_stem};
use super::session::{load_options, remove_secrets};
use super::sub_agents::open_session;
use super::{Args, WRITE_BUFFER, find_sessions};
use crate::agents::request::write_example;
use crate::cli::locate::SessionStores;
use crate::cli::named::name_argument;
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::redaction::{RemovedSecrets, SecretsOutcome, report_redaction};
use crate::cli::rollouts::Rollouts;
use crate::cli::shared_secrets::SharedSecrets;
use crate::cli::transaction::copy_failure;
use crate::export::verify::Rendition;
use crate::format::format_count;
use crate::ops::branches::find_branches;
use crate::ops::plan::copy_all;
use crate::session::Session;
use crate::session::blobs::BlobStore;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::range::EntryRange;
use crate::session::reference::Position;
use crate::session::tree::Tree;
use pisess_json::write::Object;
use pisess_store::{self as store, InputFile, Spooled};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The suffix of a file name that is derived from the session or the directory.
pub const SUFFIX: &str = ".messages.jsonl";

/// The sessions and directories to export, and the part of a session to write.
struct Sources<'a> {
    paths: Vec<&'a Path>,
    reference: Option<&'a str>,
}

impl Sources<'_> {
    /// Interprets the arguments after the first session: a REF, or further sessions and
    /// directories. The second argument is a REF if it is the last and does not look like a path.
    ///
    /// clap stores the second argument in `at` in any case, and the others in `others`.
    fn from_args(args: &Args) -> Result<Sources<'_>, Failure> {
        let mut paths = vec![args.session.as_path()];
        let mut reference = None;
        if let Some(second) = args.at.as_deref() {
            let is_last = args.others.is_empty();
            let looks_like_path = name_argument(Path::new(second)).is_none();
            if is_last && !looks_like_path {
                reference = Some(second);
            } else {
                paths.push(Path::new(second));
            }
        }
        paths.extend(args.others.iter().map(PathBuf::as_path));
        if reference.is_some() && args.session.is_dir() {
            let failure = Failure::usage_error("REF is an entry of one session");
            return Err(failure.with_hint("omit REF, or give a session"));
        }
        Ok(Sources { paths, reference })
    }

    /// Whether there is exactly one session. Then its failure is the failure of the command.
    fn is_single_session(&self) -> bool {
        matches!(self.paths[..], [path] if !path.is_dir())
    }
}

/// Writes a line for each conversation: of each session, and of each session below the directories.
/// A session without messages has no line. From directories, sessions of sub-agents and
/// conversations without a user message are left out.
pub fn export_examples(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let sources = Sources::from_args(args)?;
    let mut writer = ExampleWriter::new(args, &sources, ui);
    // All lines are written to a temporary file first, so that a failure leaves no partial output.
    let lines = store::spool_written(&mut |out| {
        writer.write_sessions(&sources, out, ui);
        Ok(())
    })?;
    if let Some(failure) = writer.failure {
        return Err(failure);
    }
    if writer.count == 0 {
        return Err(writer.no_conversation_failure());
    }
    writer.refuse_left_secrets(&lines)?;
    write_result(args, &lines, &writer, ui)?;
    writer.report_left_out(ui);
    Ok(writer.exit)
}

/// Writes conversations one after another, and counts them.
struct ExampleWriter<'a> {
    args: &'a Args,
    /// The entry or range to write; without it, the whole path to the leaf.
    reference: Option<&'a str>,
    /// Whether there is exactly one session. Then its failure is the failure of the command.
    is_single_session: bool,
    /// The number of conversations written so far.
    count: usize,
    /// The number of conversations left out so far, because they have no user message.
    without_question: usize,
    /// Where the images are that oh-my-pi keeps outside of its sessions.
    blobs: BlobStore,
    /// With `--redact`, the secrets to remove from the sessions.
    secrets: Option<SharedSecrets>,
    /// With `--redact`, the secrets removed from the sessions so far.
    removed: Option<RemovedSecrets>,
    /// The first session, which failures about the whole export name.
    first_input: Option<Input>,
    /// The files of all sessions. The output must not replace any of them.
    input_paths: Vec<PathBuf>,
    exit: Exit,
    /// The failure of the only session, or of the search for sessions, which ends the export.
    failure: Option<Failure>,
}

impl<'a> ExampleWriter<'a> {
    /// Returns a writer that has written nothing yet.
    fn new(args: &'a Args, sources: &Sources<'a>, ui: &Ui) -> ExampleWriter<'a> {
        ExampleWriter {
            args,
            reference: sources.reference,
            is_single_session: sources.is_single_session(),
            count: 0,
            without_question: 0,
            blobs: SessionStores::locate(ui).blobs,
            secrets: None,
            removed: None,
            first_input: None,
            input_paths: Vec::new(),
            exit: Exit::Done,
            failure: None,
        }
    }

    /// Writes all sessions. If there is only one, its failure is stored in
    /// [`ExampleWriter::failure`]: it is the failure of the command.
    fn write_sessions(&mut self, sources: &Sources, out: &mut dyn Write, ui: &mut Ui) {
        let written = if self.is_single_session {
            self.write_single_session(out, ui)
        } else {
            self.write_found_sessions(sources, out, ui)
        };
        self.failure = written.err();
    }

    fn write_single_session(&mut self, out: &mut dyn Write, ui: &mut Ui) -> Result<(), Failure> {
        let input = Input::open_to_read(&self.args.session, ui)?;
        if self.args.redact {
            let given = self.args.redaction.values.read_values(Some(&input), ui)?;
            self.secrets = Some(SharedSecrets::given_only(given));
        }
        self.write_session(input, out, ui)
    }

    /// Writes all sessions that the arguments name, and those in directories among them. Sessions
    /// of sub-agents, which have an owner, are left out. A failure is reported, and does not stop
    /// the others.
    fn write_found_sessions(
        &mut self,
        sources: &Sources,
        out: &mut dyn Write,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let arguments: Vec<PathBuf> = sources.paths.iter().map(PathBuf::from).collect();
        let found = find_sessions(&arguments, ui)?;
        for failure in &found.failures {
            self.exit = self.exit.max(ui.report_failure(failure));
        }
        let rollouts = Rollouts::default();
        if self.args.redact {
            let given = self.args.redaction.values.read_values(None, ui)?;
            // A secret that is recognized in one session is removed from all of them.
            let secrets = SharedSecrets::recognize_in_files(&found.files, given, &rollouts, ui);
            self.secrets = Some(secrets);
        }

        for file in found.files.iter().filter(|file| file.owner.is_none()) {
            let opened = open_session(&file.path, &rollouts, ui);
            let written = opened.and_then(|input| self.write_session(input, out, ui));
            if let Err(failure) = written {
                self.report_unwritten(&failure, ui);
            }
        }
        Ok(())
    }

    /// Reports why one of several files has no lines in the output, unless that is ordinary: it is
    /// no session, or a session in which `--last` selects no entry.
    fn report_unwritten(&mut self, failure: &Failure, ui: &mut Ui) {
        let has_nothing_to_write = failure.is_transcript() || failure.exit() == Exit::Found;
        if !has_nothing_to_write {
            self.exit = self.exit.max(ui.report_failure(failure));
        }
    }

    /// Writes the conversations of a session, without its secrets if `--redact` is given, and
    /// counts them.
    fn write_session(
        &mut self,
        input: Input,
        out: &mut dyn Write,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        self.input_paths.push(input.protected_path());
        let input = self.remove_secrets(input, ui)?;
        let open = OpenSession::from_input(input, load_options(ui), ui)?;
        let mut conversations = self.conversations(&open)?;
        if self.is_single_session {
            // A failure ends the command before anything is printed, so no intermediate file is
            // needed.
            let written = self.write_examples(&open, &conversations, out);
            self.count += written.map_err(|error| copy_failure(&open.input, error))?;
        } else {
            self.remove_without_question(&mut conversations, &open.session);
            self.count += self.write_if_readable(&open, &conversations, out)?;
        }
        if self.first_input.is_none() {
            self.first_input = Some(open.input);
        }
        Ok(())
    }

    /// Removes conversations in which the user only ran commands, and counts them: they are useless
    /// for training. If the session is the only one, this is not called, because the user asked for
    /// that session.
    fn remove_without_question(&mut self, conversations: &mut Vec<EntryRange>, session: &Session) {
        let count_before = conversations.len();
        conversations.retain(|conversation| has_user_message(session, conversation.end));
        self.without_question += count_before - conversations.len();
    }

    /// Writes the conversations of a session if all of its lines can be read: otherwise, a part of
    /// it would precede the next session. Returns the number of lines written.
    fn write_if_readable(
        &self,
        open: &OpenSession,
        conversations: &[EntryRange],
        out: &mut dyn Write,
    ) -> Result<usize, Failure> {
        let mut line_count = 0;
        let lines = store::spool_written(&mut |lines| {
            line_count = self.write_examples(open, conversations, lines)?;
            Ok(())
        })?;
        open.input.map_read_error(copy_all(&lines, out))?;
        Ok(line_count)
    }

    /// With `--redact`, removes the secrets from a session, reports them, and adds them to the
    /// secrets of earlier sessions. Returns the redacted session; without `--redact`, the session
    /// itself.
    fn remove_secrets(&mut self, input: Input, ui: &mut Ui) -> Result<Input, Failure> {
        let Some(secrets) = &self.secrets else {
            return Ok(input);
        };
        let (redacted, removed) = remove_secrets(input, self.args, secrets, ui)?;
        report_redaction(&removed.report, &redacted, SecretsOutcome::LeftOut, ui);
        match &mut self.removed {
            Some(earlier) => earlier.merge(removed),
            None => self.removed = Some(removed),
        }
        Ok(redacted)
    }

    /// With `--redact`, fails if a removed secret is still in the lines of all sessions.
    fn refuse_left_secrets(&self, lines: &Spooled) -> Result<(), Failure> {
        if let (Some(removed), Some(input)) = (&self.removed, &self.first_input) {
            let left_secrets = removed.find_left_in(lines, Rendition::Messages);
            input.map_read_error(left_secrets)?.refuse(input)?;
        }
        Ok(())
    }

    /// Reports how many conversations were left out, because they have no user message.
    fn report_left_out(&self, ui: &mut Ui) {
        if self.without_question > 0 {
            let left_out = format_count(
                self.without_question,
                "conversation without a user message is",
                "conversations without a user message are",
            );
            ui.print_status(&format!("{left_out} left out"));
        }
    }

    /// Returns the failure if no conversation was written.
    fn no_conversation_failure(&self) -> Failure {
        let name = to_visible(&self.args.session.to_string_lossy());
        let lack = if self.without_question > 0 {
            "no conversation has a user message"
        } else {
            "no conversation has a message"
        };
        Failure::negative(format_args!("{name}: {lack}")).with_path(&name)
    }

    /// Returns the conversations of a session to write: the path to REF, or with `--branches` the
    /// path to each tip. The oldest conversation is first.
    fn conversations(&self, open: &OpenSession) -> Result<Vec<EntryRange>, Failure> {
        if !self.args.branches {
            let last_count = self.args.last.entry_count;
            return Ok(vec![open.resolve_range(self.reference, last_count)?]);
        }
        let tree = Tree::new(&open.session);
        let mut ranges = Vec::new();
        for branch in find_branches(&open.session, &tree) {
            ranges.push(EntryRange::path_to(Position::Entry(branch.tip)));
        }
        // `find_branches` returns the newest branch first.
        ranges.reverse();
        Ok(ranges)
    }

    /// Writes each conversation that has a message as a line. Returns the number of lines.
    fn write_examples(
        &self,
        open: &OpenSession,
        ranges: &[EntryRange],
        out: &mut dyn Write,
    ) -> io::Result<usize> {
        let mut out = io::BufWriter::with_capacity(WRITE_BUFFER, out);
        let mut count = 0;
        for &range in ranges {
            let is_written = self.write_example(open, range, &mut out)?;
            if is_written {
                count += 1;
            }
        }
        out.flush()?;
        Ok(count)
    }

    /// Writes a conversation as its agent's model would see it. Without `--context`, compactions
    /// are ignored, so that the original messages are written. Returns false if the conversation
    /// has no message, and nothing was written.
    fn write_example(
        &self,
        open: &OpenSession,
        range: EntryRange,
        out: &mut dyn Write,
    ) -> io::Result<bool> {
        let session = &open.session;
        let mut path: Vec<EntryIx> = session.path(range.end.entry());
        if !self.args.context {
            // Without the compaction entries, the agent builds the context of the whole path.
            path.retain(|&ix| session.entry(ix).kind != Kind::Compaction);
        }
        let new_reader = || open.entry_reader().with_blobs(&self.blobs);
        let mut context = session.agent().build_context(&path, &new_reader())?;
        if !range.is_whole_path() {
            let is_in_range = range.mask(session);
            context
                .messages
                .retain(|message| is_in_range[message.entry.index()]);
        }
        let messages = &context.messages;
        let is_written = write_example(messages, new_reader, open.worker_count(), out)?;
        if is_written {
            out.write_all(b"\n")?;
        }
        Ok(is_written)
    }
}

/// Whether a user message is on the path to a position.
fn has_user_message(session: &Session, end: Position) -> bool {
    session
        .ancestors(end.entry())
        .any(|ix| session.is_message(ix, Role::User))
}

/// Writes the lines of all conversations to standard output, or to a file. Then prints the path of
/// the file; with `--json`, an object with the path and the number of conversations. After the
/// lines on standard output, nothing is printed.
///
/// # Errors
/// If the file is one of the sessions that were read, or if it exists and `--force` is not given.
fn write_result(
    args: &Args,
    lines: &Spooled,
    writer: &ExampleWriter,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let output = output_path(args, ui);
    if output == Path::new("-") {
        if args.json {
            return Err(Failure::stdout_carries_session());
        }
        return copy_all(lines, &mut ui.verbatim_stdout()).map_err(Failure::from_stdout_error);
    }
    let path = ui.resolve_path(&output);
    for input in &writer.input_paths {
        store::refuse_further_input(&path, InputFile::Converted(input))?;
    }
    let mut write = |out: &mut dyn Write| copy_all(lines, out);
    // The lines need no check.
    let check = None;
    let committed = store::create_private(&path, InputFile::Stream, args.force, &mut write, check)?;
    ui.report_commit_warnings(&committed);

    let shown_path = output.to_string_lossy();
    ui.print_after_write(&shown_path, |ui| {
        if !args.json {
            return ui.print_path(&shown_path);
        }
        let row = Object::new()
            .str("path", &shown_path)
            .number("conversations", writer.count as f64);
        ui.print_json(&row.finish())
    })
}

/// Returns the path of the output: the file of `-o`, or a new name in the directory of `-o`, or in
/// the current directory. The new name is derived from the session or the directory. Without `-o`,
/// a session from standard input is exported to standard output.
fn output_path(args: &Args, ui: &Ui) -> PathBuf {
    let is_stream = args.session == Path::new("-");
    if is_stream && args.output.is_none() {
        return PathBuf::from("-");
    }
    // A directory may have a dot in its name.
    let own_name = if args.session.is_dir() {
        args.session.file_name()
    } else {
        session_stem(&args.session)
    };
    let stem = match own_name {
        Some(own_name) if !is_stream => Path::new(own_name),
        _ => Path::new("sessions"),
    };
    place_output(args, store::with_suffix(stem, SUFFIX), ui)
}
