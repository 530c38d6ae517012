//! A fork for an agent with a format of its own, written to the store of that agent.

use super::{Args, is_reported, new_file_path};
use crate::cli::follow::parent_folder;
use crate::cli::foreign::agent_root;
use crate::cli::hook::HookEvent;
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::process::command_line::quote_word;
use crate::cli::transaction::{Creation, NewContent};
use crate::import::{NativeFormat, NativeTarget, Origin, write_native_session};
use crate::load::{LoadOptions, load};
use crate::ops::plan::NewSession;
use crate::session::read::entry_reader::EntryReader;
use pisess_json::text::Text;
use pisess_store::{
    self as store, Attempt, InputFile, SessionFile, Spooled, StoreError, WriteOptions,
};
use std::path::{Path, PathBuf};

/// A fork that is converted into a session of another agent.
pub struct NativeFork<'a> {
    pub args: &'a Args,
    pub open: &'a OpenSession,
    pub agent: Origin,
    /// The format of that agent's sessions.
    pub format: &'static dyn NativeFormat,
    /// The fork as a session of pi, before it is converted.
    pub new_session: &'a NewSession,
}

impl NativeFork<'_> {
    /// Converts the fork, and chooses the path of the new file: in the agent's store, unless `-o`
    /// or `--dir` names another place. Fails if the fork has no message, because the agent could
    /// not continue it.
    pub fn create(
        &self,
        editor_text: Option<Text<'static>>,
        notification: Option<HookEvent>,
        now_ms: i64,
        ui: &Ui,
    ) -> Result<Creation, Failure> {
        let cwd = self.cwd(ui);
        let target = NativeTarget {
            format: self.format,
            session_id: &self.new_session.id,
            cwd: &cwd,
            created_ms: now_ms,
        };
        let native = self.convert(&target)?;
        // The path below the root of the store. It has a directory for the project or the day.
        let path_in_store = self.format.file_path(&target);
        // `None` if the fork is written elsewhere.
        let root = self.store_folder(ui)?;
        let folder = root.map(|root| parent_folder(&root.join(&path_in_store)).to_owned());
        let file_name = path_in_store.file_name().unwrap_or_default();
        let file_name = file_name.to_string_lossy();
        Ok(Creation {
            content: NewContent::Whole(native),
            path: new_file_path(self.args, self.open, folder.as_deref(), &file_name),
            folder,
            editor_text,
            notification,
        })
    }

    /// Returns the fork in the format of the agent. Fails if it has no message, because the agent
    /// could not continue it.
    fn convert(&self, target: &NativeTarget) -> Result<Spooled, Failure> {
        let input = &self.open.input;
        // The fork is first written as a session of pi, which the conversion reads.
        let copy = store::spool_written(&mut |out| {
            self.new_session
                .write(&self.open.session, input.source(), out)
        })?;
        let session = load(&copy, &LoadOptions::default())
            .map_err(|error| Failure::from_load_error(&input.name, error))?;
        let reader = EntryReader::new(&session, &copy);
        let mut can_be_continued = false;
        let native = store::spool_written(&mut |out| {
            can_be_continued = write_native_session(&reader, target, out)?;
            Ok(())
        })?;
        if can_be_continued {
            return Ok(native);
        }
        let agent = self.agent.display_name();
        let failure = input.failure(format_args!("no message that {agent} could continue"));
        Err(failure.with_hint("choose a REF at or below a message"))
    }

    /// Writes the session. If it is written to the agent's store, also lists its title there and,
    /// on a terminal, prints the command that continues it. Elsewhere, the agent would not find it.
    pub fn write(&self, creation: Creation, now_ms: i64, ui: &mut Ui) -> Result<Exit, Failure> {
        let path = creation.path.clone();
        let is_in_store = creation.folder.is_some();
        let exit = self.open.create_session(creation, &self.args.write, ui)?;
        if is_in_store && !self.args.write.change.dry_run {
            self.add_to_title_list(now_ms, ui);
        }
        if is_reported(self.args, &path) && is_in_store && ui.stderr_is_terminal() {
            let id = quote_word(self.new_session.id.as_ref());
            ui.print_status(&format!("`pisess resume {id}` continues it"));
        }
        Ok(exit)
    }

    /// Adds the session's title, `--name` or the name of the source, to the file in which the agent
    /// looks for titles. Does nothing if there is no name, or if the agent has no such file.
    ///
    /// The session is written already, so a failure is only a warning.
    fn add_to_title_list(&self, now_ms: i64, ui: &mut Ui) {
        let own_name = self.args.normalized_name(self.open);
        let Some(title) = own_name.or_else(|| self.open.session.name()) else {
            return;
        };
        // The directory of the agent, with all its files.
        let Some(root) = agent_root(self.agent, ui) else {
            return;
        };
        let target = NativeTarget {
            format: self.format,
            session_id: &self.new_session.id,
            cwd: &Text::default(),
            created_ms: now_ms,
        };
        let Some(list) = self.format.title_list(&target, &title) else {
            return;
        };
        let path = root.join(list.file_name);
        if let Err(error) = append_line(&path, &list.line) {
            ui.warn(&format!("the title is not listed: {error}"));
        }
    }

    /// Returns the working directory of the new session: `--cwd`, else the directory of the
    /// session, else the current directory.
    fn cwd(&self, ui: &Ui) -> Text<'static> {
        if let Some(cwd) = self.args.absolute_cwd(ui) {
            return Text::from(cwd.to_string_lossy().into_owned());
        }
        match &self.open.session.header.cwd {
            Some(cwd) if !cwd.is_blank() => cwd.clone().into_owned(),
            _ => Text::from(ui.current_folder().to_string_lossy().into_owned()),
        }
    }

    /// Returns the root of the agent's store. `None` if `-o` or `--dir` names another place, or if
    /// the session is from standard input: then it is written to standard output.
    fn store_folder(&self, ui: &Ui) -> Result<Option<PathBuf>, Failure> {
        let is_elsewhere = self.args.write.output.is_some() || self.args.dir.is_some();
        let is_from_stdin = self.open.input.path.is_none();
        if is_elsewhere || is_from_stdin {
            return Ok(None);
        }
        match agent_root(self.agent, ui) {
            Some(root) => Ok(Some(root)),
            None => Err(Failure::invalid("the home directory is unknown")
                .with_hint("name the new file with -o")),
        }
    }
}

/// Appends a line to a file of the target agent, or creates the file with this line. If the agent
/// appends at the same time, the append is repeated after its lines.
///
/// # Errors
/// If the file cannot be written, or if the agent creates it at the same time: it is not replaced.
fn append_line(path: &Path, line: &[u8]) -> Result<(), StoreError> {
    if !path.exists() {
        let force = false;
        let mut write = |out: &mut dyn std::io::Write| out.write_all(line);
        store::create(path, InputFile::Stream, force, &mut write)?;
        return Ok(());
    }
    let file = SessionFile::open(path)?;
    let mut locked = store::lock(&file, &WriteOptions::default())?;
    loop {
        if locked.is_stale() {
            // This moves the place of the append to the new end of the file. The line does not
            // depend on the contents, so the file that is returned is not read.
            let _grown_file = locked.reopen()?;
        }
        locked = match locked.append(line)? {
            Attempt::Done(_) => return Ok(()),
            Attempt::Stale(still_locked) => *still_locked,
        };
    }
}
