//! `--list`: lists archived sessions, reading only the first bytes of each archive.

use crate::cli::ids::Ids;
use crate::cli::locate::{ArchiveScope, SessionStores};
use crate::cli::output::{Column, Exit, Failure, Table, Ui, to_visible};
use crate::format::{ID_SUFFIX_LEN, format_age, format_bytes, id_suffix};
use crate::ops::archive::{ArchiveFacts, SESSION};
use crate::ops::list::{SelectionFacts, SessionFilter, display_title};
use crate::session::paths::abbreviate_home;
use pisess_json::time::iso_string;
use pisess_json::write::Object;
use pisess_store::{Archive, Glance, ReadAt};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// An archived session. The facts are from the head of its archive.
pub struct ArchivedSession {
    /// The path of the archive.
    path: PathBuf,
    pub facts: ArchiveFacts,
    /// The number of files in the archive.
    file_count: usize,
    /// The size of the session, the size of all files in the archive before compression, and the
    /// size of the archive itself, in bytes.
    session_size: u64,
    original_size: u64,
    archive_size: u64,
}

impl ArchivedSession {
    /// Reads the head of an archive. The compressed files are not read.
    ///
    /// # Errors
    /// If the head is damaged, or the file is not an archive.
    pub fn read(path: &Path) -> Result<ArchivedSession, Failure> {
        let name = to_visible(&path.to_string_lossy());
        let file = Glance::open(path)?;
        let archive =
            Archive::read(&file).map_err(|error| Failure::from_read_error(&name, error))?;
        let Some(archive) = archive else {
            return Err(Failure::invalid(format_args!("{name} is not an archive")).with_path(&name));
        };
        let facts = ArchiveFacts::decode(&archive.head)
            .map_err(|error| Failure::from_load_error(&name, error))?;
        let session_member = archive.members.iter().find(|member| member.name == SESSION);
        let session_size = session_member.map_or(0, |member| member.size);
        let original_size = archive.members.iter().map(|member| member.size).sum();
        Ok(ArchivedSession {
            path: path.to_owned(),
            facts,
            file_count: archive.members.len(),
            session_size,
            original_size,
            archive_size: file.len(),
        })
    }
}

/// Prints the archived sessions of a scope, newest first, as JSON or as a table. Only those that
/// the filter accepts are printed. An archive that cannot be read is reported, and the others are
/// listed.
pub fn list_archived(
    stores: &SessionStores,
    scope: ArchiveScope,
    filter: SessionFilter,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let mut exit = Exit::Done;
    let mut list = Vec::new();
    let archives = stores.find_archives(scope)?;
    let has_archives = !archives.is_empty();
    for path in archives {
        match ArchivedSession::read(&path) {
            Ok(archived) if filter.accepts(archived.selection_facts()) => list.push(archived),
            Ok(_) => {}
            Err(failure) => exit = exit.max(ui.report_failure(&failure)),
        }
    }
    if list.is_empty() && exit == Exit::Done {
        ui.warn(none_listed_note(has_archives, scope));
    }

    list.sort_by_key(|archived| Reverse(archived.facts.modified_ms));
    if json {
        for archived in &list {
            ui.print_json(&archived.archived_json(stores))?;
        }
    } else {
        list_table(&list, now_ms, ui).print(ui)?;
    }
    Ok(exit)
}

/// Returns the note that no archived session is listed. `has_archives` is whether there are any:
/// the options then choose none of them.
fn none_listed_note(has_archives: bool, scope: ArchiveScope) -> &'static str {
    if has_archives {
        "no archived session matches these options (hint: omit them)"
    } else if scope == ArchiveScope::AllProjects {
        "no archived sessions (hint: `pisess archive SESSION` archives one)"
    } else {
        "no archived sessions here (hint: --all lists all projects)"
    }
}

/// Returns the table of archived sessions. Its columns are age, id, project, number of messages,
/// size before archiving, size of the archive, and name or first user message.
fn list_table(list: &[ArchivedSession], now_ms: i64, ui: &Ui) -> Table {
    let home = ui.home();
    let mut table = Table::new([
        Column::number("age"),
        Column::text("id"),
        Column::text("project"),
        Column::number("msgs"),
        Column::number("size"),
        Column::number("archive"),
        Column::text("name or first user message").allow_shrink(),
    ]);
    for archived in list {
        let facts = &archived.facts;
        let cwd = facts
            .header
            .cwd
            .as_ref()
            .map(|cwd| abbreviate_home(&cwd.to_string_lossy(), home.as_deref()));
        table.add_text_row([
            format_age(now_ms, facts.modified_ms),
            to_visible(id_suffix(&facts.header.id.to_string_lossy(), ID_SUFFIX_LEN)),
            to_visible(&cwd.unwrap_or_default()),
            facts.message_count.to_string(),
            format_bytes(archived.original_size as usize),
            format_bytes(archived.archive_size as usize),
            to_visible(&display_title(&facts.title, facts.message_count)),
        ]);
    }
    table
}

impl ArchivedSession {
    /// Returns what a filter decides by.
    fn selection_facts(&self) -> SelectionFacts {
        SelectionFacts {
            modified_ms: self.facts.modified_ms,
            is_empty: self.facts.is_empty,
            bytes: self.session_size,
        }
    }

    /// Returns an archived session as JSON. `session` is the path to which it would be restored; it
    /// is absent if the archive is not beside a store.
    fn archived_json(&self, stores: &SessionStores) -> Vec<u8> {
        let facts = &self.facts;
        let header = &facts.header;
        Object::new()
            .str("path", &self.path.to_string_lossy())
            .with(
                stores.archived_session_path(&self.path),
                |object, session| object.str("session", &session.to_string_lossy()),
            )
            .text("id", &header.id)
            .str("agent", &facts.agent)
            .text_or_null("name", facts.name.as_ref())
            .text("title", &facts.title)
            .text("cwd", &header.cwd.clone().unwrap_or_default())
            .str_or_null("created", header.started_ms().map(iso_string).as_deref())
            .str("modified", &iso_string(facts.modified_ms))
            .number("messageCount", f64::from(facts.message_count))
            .number("files", self.file_count as f64)
            .number("bytes", self.original_size as f64)
            .number("archivedBytes", self.archive_size as f64)
            .finish()
    }
}
