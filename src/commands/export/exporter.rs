//! Writes the export of a session to a file or to standard output. Searches it for secrets that
//! should have been removed.

use super::browser::open_page;
use super::{Args, WRITE_BUFFER, open_needs_file_failure};
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::redaction::{
    LeftSecrets, RemovedSecrets, SecretsOutcome, add_counts, refuse_leftovers, report_redaction,
};
use crate::export::atif::{SubAgent, has_steps, write_trajectory};
use crate::export::fit::fit_to_size;
use crate::export::markdown::write_document;
use crate::export::page::{OwnPage, read_own_page, write_page};
use crate::export::source::{Contents, ExportedPart};
use crate::export::static_html::write_static_page;
use crate::export::verify::Rendition;
use crate::ops::plan::copy_all;
use crate::session::blobs::BlobStore;
use crate::session::range::EntryRange;
use pisess_json::write::Object;
use pisess_store::{self as store, Committed, Fill, Glance, ReadAt, StoreError};
use std::io;
use std::path::Path;

/// Writes the export of one session.
pub struct Exporter<'a> {
    pub args: &'a Args,
    pub format: Rendition,
    pub session: &'a Input,
    /// Whether the command exports a directory that contains the session.
    pub is_from_directory: bool,
    /// With `--redact`, the secrets that were removed from the session.
    pub removed: Option<&'a RemovedSecrets>,
    /// The sessions of sub-agents, which a trajectory embeds.
    pub agents: &'a [OpenSession],
    pub workers: usize,
}

/// The existing files that an export may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MayReplace {
    /// Any file, but only with `--force`.
    AnyIfForced,
    /// Without `--force`, an unchanged page that pisess wrote of the same session.
    OwnPage,
}

impl Exporter<'_> {
    /// Leaves out as little as possible, until the export has at most `max_size` bytes.
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

    /// Writes the export to standard output or to a file. Prints the path of the file, and with
    /// `--open` shows it in the browser.
    pub fn write_output(
        &self,
        contents: &Contents,
        output: &Path,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if output == Path::new("-") {
            // Without `-o`, `output` is `-` if the session is from standard input.
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

    /// Writes the export to a new file, or replaces a page of the same session. Returns `None` if
    /// an earlier run has already written an identical file.
    ///
    /// With `--redact`, the export is searched for secrets before it appears at its path. If one is
    /// left, the command fails without creating a file.
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
        if !self.args.force
            && let Some(page) = self.find_own_page(contents, &path)
        {
            if !self.may_replace_page(page) {
                return Err(redacted_page_failure(&path));
            }
            return self.create_file_at(contents, &path, MayReplace::OwnPage, ui);
        }
        // There is no page of this session at the path. Any other file is replaced with `--force`,
        // and without it makes this fail.
        self.create_file_at(contents, &path, MayReplace::AnyIfForced, ui)
    }

    /// Returns the page at a path that may be replaced: pisess wrote it of this session, it does
    /// not contain the session file itself, and it has not been changed since. `None` for any other
    /// file.
    fn find_own_page(&self, contents: &Contents, path: &Path) -> Option<OwnPage> {
        if !matches!(self.format, Rendition::Page | Rendition::StaticPage) {
            return None;
        }
        // A file that cannot be read is not replaced.
        let file = Glance::open(path).ok()?;
        read_own_page(&file, contents.session).ok()?
    }

    /// Whether the export may replace `page` without `--force`. A redacted page is replaced only by
    /// a redacted one, because others may be able to read it.
    fn may_replace_page(&self, page: OwnPage) -> bool {
        !page.is_redacted || self.removed.is_some()
    }

    /// Writes the export to a file, replacing only what `may_replace` permits. With `--redact`,
    /// reports the secrets that were left out. Returns `None` if the file has this content already.
    ///
    /// The store writes the whole export to a temporary file, and calls `check` with it before the
    /// file gets its name. If `check` fails, the path stays as it was.
    fn create_file_at(
        &self,
        contents: &Contents,
        path: &Path,
        may_replace: MayReplace,
        ui: &mut Ui,
    ) -> Result<Option<Committed>, Failure> {
        for agent in self.agents {
            store::refuse_further_input(path, agent.input.protected_file())?;
        }
        let mut write = |out: &mut dyn io::Write| self.write_contents(contents, out);
        let mut left_secrets = LeftSecrets::default();
        let mut check = |written: &dyn ReadAt| {
            left_secrets = self.find_left_secrets(written)?;
            refuse_leftovers(!left_secrets.is_empty())?;
            self.require_replaceable(contents, path, may_replace)
        };

        let force = self.permits_store_to_replace(may_replace);
        let protected = self.session.protected_file();
        let create_result =
            store::create_private(path, protected, force, &mut write, Some(&mut check));
        // If a secret is left, `create_result` is a failure as well, but does not name the secret.
        // So this failure comes first.
        left_secrets.refuse(self.session)?;
        if let Some(removed) = self.removed {
            report_redaction(&removed.report, self.session, SecretsOutcome::LeftOut, ui);
        }
        // An existing export can be accepted: an earlier run completed it only if no secret was
        // left.
        self.accept_complete(path, create_result, &mut write)
    }

    /// Whether the store may replace an existing file of any kind. To replace a page, it must be
    /// permitted that: then [`Exporter::require_replaceable`] refuses to replace anything else.
    fn permits_store_to_replace(&self, may_replace: MayReplace) -> bool {
        match may_replace {
            MayReplace::OwnPage => true,
            MayReplace::AnyIfForced => self.args.force,
        }
    }

    /// With `--redact`, returns the removed secrets that are left in a written export. Without it,
    /// returns none.
    fn find_left_secrets(&self, written: &dyn ReadAt) -> io::Result<LeftSecrets<'_>> {
        match self.removed {
            Some(removed) => removed.find_left_in(written, self.format),
            None => Ok(LeftSecrets::default()),
        }
    }

    /// Fails if a page is to be replaced, but the file at the path is no longer that page. The user
    /// may have changed it since [`Exporter::create_file`] looked at it.
    fn require_replaceable(
        &self,
        contents: &Contents,
        path: &Path,
        may_replace: MayReplace,
    ) -> io::Result<()> {
        if may_replace == MayReplace::AnyIfForced {
            // The store itself refuses to replace a file without `--force`.
            return Ok(());
        }
        match self.find_own_page(contents, path) {
            Some(page) if self.may_replace_page(page) => Ok(()),
            _ => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// Accepts that the file exists already if it has the content that `write` would write. This is
    /// only for the sessions of a directory: an earlier run wrote the file before it was killed.
    /// Returns `None` for such a file, and otherwise `create_result`.
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

    /// Writes the export to standard output. With `--redact`, writes it to a temporary file first,
    /// and prints it only if no secret is left in it.
    fn print_to_stdout(&self, contents: &Contents, ui: &mut Ui) -> Result<(), Failure> {
        if self.args.json {
            return Err(Failure::stdout_carries_session());
        }
        let session = self.session;
        let Some(removed) = self.removed else {
            return self
                .write_contents(contents, ui.stdout())
                .map_err(Failure::from_stdout_error);
        };
        let written = store::spool_written(&mut |out| self.write_contents(contents, out))?;
        let left_secrets = removed.find_left_in(&written, self.format);
        session.map_read_error(left_secrets)?.refuse(session)?;
        copy_all(&written, ui.stdout()).map_err(Failure::from_stdout_error)?;
        ui.flush()?;
        report_redaction(&removed.report, session, SecretsOutcome::LeftOut, ui);
        Ok(())
    }

    /// Prints the path of the new file. As JSON, adds the number of entries and, with `--redact`,
    /// the numbers of removed secrets.
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

    /// Returns the contents of the sub-agents that have steps. Ids must be unique in a trajectory:
    /// the second sub-agent with an id gets the suffix `-2`, the third `-3`, and so on. `blobs` has
    /// the images of oh-my-pi.
    fn sub_agent_contents(&self, blobs: &BlobStore) -> Vec<SubAgent<'_>> {
        let mut agents: Vec<SubAgent> = Vec::new();
        for OpenSession { input, session, .. } in self.agents {
            let path = ExportedPart::Range(EntryRange::path_to(session.leaf.into()));
            let mut contents = Contents::new(session, input.source(), path);
            contents.blobs = blobs.clone();
            if !has_steps(&contents) {
                continue;
            }

            let id = &session.header.id;
            let earlier_agents = agents
                .iter()
                .filter(|earlier| earlier.contents.session.header.id == *id);
            let number = 1 + earlier_agents.count();
            let unique_id = match number {
                1 => id.to_string(),
                _ => format!("{id}-{number}"),
            };
            agents.push(SubAgent {
                id: unique_id,
                path: path_text(input),
                contents,
            });
        }
        agents
    }

    /// Writes `contents` in the format of the export, through a buffer of [`WRITE_BUFFER`] bytes.
    fn write_contents(&self, contents: &Contents, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(WRITE_BUFFER, out);
        match self.format {
            Rendition::Markdown => write_document(contents, self.workers, &mut out)?,
            Rendition::Trajectory => {
                let path = path_text(self.session);
                let agents = self.sub_agent_contents(&contents.blobs);
                write_trajectory(contents, &path, &agents, self.workers, &mut out)?
            }
            Rendition::StaticPage => write_static_page(contents, self.workers, &mut out)?,
            Rendition::Page => write_page(contents, self.workers, self.args.attach, &mut out)?,
            // Not reached: `export_examples` writes this format, without an `Exporter`.
            Rendition::Messages => {}
        }
        io::Write::flush(&mut out)
    }
}

/// Returns the failure for an export with secrets that would replace a redacted page.
fn redacted_page_failure(page: &Path) -> Failure {
    let path = to_visible(&page.to_string_lossy());
    Failure::invalid(format_args!(
        "cannot create {path}: the page there is redacted, and this export is not"
    ))
    .with_path(&path)
    .with_hint("add --redact, choose another name, or overwrite it with --force")
}

/// Returns the path of a session's file; an empty text for a stream.
fn path_text(input: &Input) -> String {
    match input.file() {
        Some(file) => file.path().to_string_lossy().into_owned(),
        None => String::new(),
    }
}
