//! Writes the export of a session to a file or to standard output, and searches it for secrets.

use super::browser::open_page;
use super::{Args, WRITE_BUFFER, open_needs_file_failure};
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::redaction::{
    RemovedSecrets, SecretsOutcome, add_counts, refuse_leftovers, report_redaction,
};
use crate::export::atif::{SubAgent, has_steps, write_trajectory};
use crate::export::fit::fit_to_size;
use crate::export::markdown::write_document;
use crate::export::page::{OwnPage, read_own_page, write_page};
use crate::export::source::{Contents, ExportedPart};
use crate::export::static_html::write_static_page;
use crate::export::verify::{Rendition, find_leaked_values};
use crate::ops::plan::copy_all;
use crate::session::range::EntryRange;
use pisess_json::write::Object;
use pisess_store::{self as store, Committed, Fill, Glance, ReadAt, StoreError};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Writes the export of a session.
pub struct Exporter<'a> {
    pub args: &'a Args,
    pub format: Rendition,
    pub session: &'a Input,
    /// Whether the session is one of those of a directory.
    pub is_from_directory: bool,
    /// The secrets that were removed from the session, with `--redact`.
    pub removed: Option<&'a RemovedSecrets>,
    /// The sessions of sub-agents, for a trajectory.
    pub agents: &'a [OpenSession],
    pub workers: usize,
}

/// What the export may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replaced {
    /// Any file, with `--force`.
    IfForced,
    /// A page that pisess wrote of the same session.
    OwnPage,
}

impl Exporter<'_> {
    /// Leaves out as little as possible so that at most `max_size` bytes are written.
    pub fn fit_to_size(
        &self,
        contents: &mut Contents,
        max_size: u64,
        ui: &Ui,
    ) -> Result<(), Failure> {
        let _waiting = ui.start_spinner("fitting");
        let fits = fit_to_size(contents, max_size, &|contents, out| {
            self.write_contents(contents, out)
        });
        if self.session.map_read_error(fits)? {
            return Ok(());
        }
        let problem = format_args!("{max_size} bytes are too few even for the first request");
        Err(self
            .session
            .failure(problem)
            .with_hint("give a larger --max-size"))
    }

    /// Writes the export to standard output or to a file, whose path is then printed. With `--open`,
    /// the file is shown in the browser.
    pub fn write_output(
        &self,
        contents: &Contents,
        output: &Path,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if output == Path::new("-") {
            // The export of a stream is printed if there is no `-o`.
            if self.args.open {
                return Err(open_needs_file_failure());
            }
            return self.print_to_stdout(contents, ui);
        }

        if let Some(committed) = self.create_file(contents, output, ui)? {
            ui.report_commit_warnings(&committed);
        }
        self.print_path(contents, output, ui)?;
        if self.args.open {
            let page = ui.resolve_path(output);
            let opened = open_page(&page, ui);
            opened.map_err(|failure| failure.after_writing(&output.to_string_lossy()))?;
        }
        Ok(())
    }

    /// Writes the export to a new file, or in place of a page of the same session. With `--redact`,
    /// the export is searched before the file appears at its path: if a secret is left in it, the
    /// command fails without creating a file. Returns `None` if an earlier run has written the same
    /// file.
    fn create_file(
        &self,
        contents: &Contents,
        path: &Path,
        ui: &mut Ui,
    ) -> Result<Option<Committed>, Failure> {
        let path = ui.resolve_path(path);
        let _waiting = match self.session.start_reading(ui) {
            Some(bar) => bar,
            None => ui.start_spinner("exporting"),
        };
        if self.args.force {
            return self.create_file_at(contents, &path, Replaced::IfForced, ui);
        }
        let Some(page) = self.own_page(contents, &path) else {
            return self.create_file_at(contents, &path, Replaced::IfForced, ui);
        };
        if !self.may_replace(page) {
            return Err(redacted_page_failure(&path));
        }
        self.create_file_at(contents, &path, Replaced::OwnPage, ui)
    }

    /// Returns the page at a path if pisess wrote it of this session, without the session itself,
    /// and it was not changed since.
    fn own_page(&self, contents: &Contents, path: &Path) -> Option<OwnPage> {
        if !matches!(self.format, Rendition::Page | Rendition::StaticPage) {
            return None;
        }
        // A file that cannot be read is not replaced.
        let file = Glance::open(path).ok()?;
        read_own_page(&file, contents.session).ok()?
    }

    /// Whether the export may replace a page without `--force`. A redacted page is replaced only by
    /// a redacted one: it may be at a place where others see it.
    fn may_replace(&self, page: OwnPage) -> bool {
        !page.is_redacted || self.removed.is_some()
    }

    /// Writes the export to a file, as [`Exporter::create_file`] does.
    fn create_file_at(
        &self,
        contents: &Contents,
        path: &Path,
        replaced: Replaced,
        ui: &mut Ui,
    ) -> Result<Option<Committed>, Failure> {
        let session = self.session;
        let replaces_page = replaced == Replaced::OwnPage;
        let force = self.args.force || replaces_page;
        let mut write = |out: &mut dyn io::Write| self.write_contents(contents, out);
        if self.removed.is_none() && !replaces_page {
            let create_result =
                store::create_private(path, session.file(), force, &mut write, None);
            return self.accept_complete(path, create_result, &mut write);
        }

        // The store calls this with the complete file, right before it gets its name. An error
        // leaves the path as it was.
        let mut left_secrets = BTreeSet::new();
        let mut check = |written: &dyn ReadAt| {
            if let Some(removed) = self.removed {
                left_secrets = find_leaked_values(self.format, written, &removed.secrets)?;
                refuse_leftovers(!left_secrets.is_empty())?;
            }
            if replaces_page {
                // The user may have changed the page since it was looked at.
                let may_replace = match self.own_page(contents, path) {
                    Some(page) => self.may_replace(page),
                    None => false,
                };
                if !may_replace {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
            }
            Ok(())
        };
        let create_result =
            store::create_private(path, session.file(), force, &mut write, Some(&mut check));
        if let Some(removed) = self.removed {
            // First, because `create_result` is an error as well then, but does not name the secret.
            removed.refuse_left_in_export(&left_secrets, session)?;
            report_redaction(&removed.report, session, SecretsOutcome::LeftOut, ui);
        }
        // An earlier run kept its export only if no secret was left in it.
        self.accept_complete(path, create_result, &mut write)
    }

    /// Accepts that a file exists if the session is one of a directory's, and the file has the
    /// content that `write` would write: an earlier run wrote it before it was killed. Returns
    /// `None` then.
    fn accept_complete(
        &self,
        path: &Path,
        create_result: Result<Committed, StoreError>,
        write: &mut Fill,
    ) -> Result<Option<Committed>, Failure> {
        let error = match create_result {
            Ok(committed) => return Ok(Some(committed)),
            Err(error) => error,
        };
        let is_occupied = error.kind() == Some(io::ErrorKind::AlreadyExists);
        if self.is_from_directory && is_occupied && store::has_content(path, write)? {
            return Ok(None);
        }
        Err(error.into())
    }

    /// Writes the export to standard output. With `--redact`, it is written to a temporary file
    /// first, and printed only if no secret is left in it.
    fn print_to_stdout(&self, contents: &Contents, ui: &mut Ui) -> Result<(), Failure> {
        let session = self.session;
        let Some(removed) = self.removed else {
            return self
                .write_contents(contents, ui.stdout())
                .map_err(Failure::from_stdout_error);
        };
        let written = store::spool_written(&mut |out| self.write_contents(contents, out))?;
        let left_secrets =
            session.map_read_error(find_leaked_values(self.format, &written, &removed.secrets))?;
        removed.refuse_left_in_export(&left_secrets, session)?;
        copy_all(&written, ui.stdout()).map_err(Failure::from_stdout_error)?;
        ui.flush()?;
        report_redaction(&removed.report, session, SecretsOutcome::LeftOut, ui);
        Ok(())
    }

    /// Prints the path of the new file; as JSON, also the number of entries, and with `--redact`
    /// what was removed.
    fn print_path(&self, contents: &Contents, path: &Path, ui: &mut Ui) -> Result<(), Failure> {
        let path = path.to_string_lossy();
        ui.print_after_write(&path, |ui| {
            if !self.args.json {
                return ui.print_path(&path);
            }
            let row = Object::new()
                .str("path", &path)
                .number("entries", contents.entries.len() as f64)
                .with(self.removed, |row, removed| {
                    add_counts(row, &removed.report)
                });
            ui.print_json(&row.finish())
        })
    }

    /// Returns the contents of the sub-agents that have steps. If several have the same id, a
    /// number is appended from the second on, because ids must be unique in the trajectory.
    fn sub_agent_contents(&self) -> Vec<SubAgent<'_>> {
        let mut agents: Vec<SubAgent> = Vec::new();
        for OpenSession { input, session, .. } in self.agents {
            let path = ExportedPart::Range(EntryRange::path_to(session.leaf.into()));
            let contents = Contents::new(session, input.source(), path);
            if !has_steps(&contents) {
                continue;
            }
            let mut id = session.header.id.to_string_lossy().into_owned();
            let same_id_count = agents
                .iter()
                .filter(|agent| agent.contents.session.header.id == session.header.id)
                .count();
            if same_id_count > 0 {
                id += &format!("-{}", same_id_count + 1);
            }
            agents.push(SubAgent {
                id,
                path: path_text(input),
                contents,
            });
        }
        agents
    }

    /// Writes the contents in the format, through a buffer of [`WRITE_BUFFER`] bytes.
    fn write_contents(&self, contents: &Contents, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(WRITE_BUFFER, out);
        match self.format {
            Rendition::Markdown => write_document(contents, self.workers, &mut out)?,
            Rendition::Trajectory => {
                let path = path_text(self.session);
                let agents = self.sub_agent_contents();
                write_trajectory(contents, &path, &agents, self.workers, &mut out)?
            }
            Rendition::StaticPage => write_static_page(contents, self.workers, &mut out)?,
            Rendition::Page => write_page(contents, self.workers, self.args.attach, &mut out)?,
            // `export_examples` writes them.
            Rendition::Messages => {}
        }
        io::Write::flush(&mut out)
    }
}

/// Returns the failure for an export with secrets that would replace a page without them.
fn redacted_page_failure(page: &Path) -> Failure {
    let path = to_visible(&page.to_string_lossy());
    Failure::invalid(format_args!(
        "cannot create {path}: the page there is redacted, and this export is not"
    ))
    .with_path(&path)
    .with_hint("add --redact, choose another name, or overwrite it with --force")
}

/// Returns the path of a session; an empty text for a stream.
fn path_text(input: &Input) -> String {
    match input.file() {
        Some(file) => file.path().to_string_lossy().into_owned(),
        None => String::new(),
    }
}
