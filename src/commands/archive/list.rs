//! `--list`: lists archived sessions, reading only the first bytes of each archive.

use crate::cli::ids::Ids;
use crate::cli::locate::SessionStores;
use crate::cli::output::{Column, Exit, Failure, Table, Ui, to_visible};
use crate::format::{ID_SUFFIX_LEN, format_age, format_bytes, id_suffix};
use crate::ops::archive::{ArchiveFacts, ArchiveFilter};
use crate::ops::list::display_title;
use crate::session::paths::abbreviate_home;
use pisess_json::time::iso_string;
use pisess_json::write::Object;
use pisess_store::{Archive, Glance, ReadAt};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// An archived session.
pub struct ArchivedSession {
    /// The path of the archive.
    path: PathBuf,
    pub facts: ArchiveFacts,
    /// The number of files in the archive.
    file_count: usize,
    /// The size of these files, and that of the archive.
    original_size: u64,
    archive_size: u64,
}

impl ArchivedSession {
    /// Reads what an archive contains.
    ///
    /// # Errors
    /// If it is damaged, or not an archive.
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
        let bytes = archive.members.iter().map(|member| member.size).sum();
        Ok(ArchivedSession {
            path: path.to_owned(),
            facts,
            file_count: archive.members.len(),
            original_size: bytes,
            archive_size: file.len(),
        })
    }
}

/// Prints the archived sessions that a filter chooses, newest first.
pub fn list_archived(
    places: &SessionStores,
    all: bool,
    filter: ArchiveFilter,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let mut exit = Exit::Done;
    let mut list = Vec::new();
    for path in places.find_archives(all)? {
        match ArchivedSession::read(&path) {
            Ok(archived)
                if filter.accepts(archived.facts.modified_ms, archived.facts.message_count) =>
            {
                list.push(archived)
            }
            Ok(_) => {}
            Err(failure) => exit = exit.max(ui.report_failure(&failure)),
        }
    }
    list.sort_by_key(|archived| Reverse(archived.facts.modified_ms));
    if json {
        for archived in &list {
            ui.print_json(&archived.archived_json(places))?;
        }
        return Ok(exit);
    }
    let home = ui.home();
    let [age_column, messages, size_column, archive] =
        ["age", "msgs", "size", "archive"].map(Column::number);
    let [id, project] = ["id", "project"].map(Column::text);
    let title = Column::text("name or first user message").allow_shrink();
    let mut table = Table::new([
        age_column,
        id,
        project,
        messages,
        size_column,
        archive,
        title,
    ]);
    for ArchivedSession {
        facts,
        original_size: bytes,
        archive_size: archived,
        ..
    } in &list
    {
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
            format_bytes(*bytes as usize),
            format_bytes(*archived as usize),
            to_visible(&display_title(&facts.title, facts.message_count)),
        ]);
    }
    table.print(ui)?;
    Ok(exit)
}

impl ArchivedSession {
    fn archived_json(&self, places: &SessionStores) -> Vec<u8> {
        let ArchivedSession {
            path,
            facts,
            file_count: files,
            original_size: bytes,
            archive_size: archived,
        } = self;
        let header = &facts.header;
        Object::new()
            .str("path", &path.to_string_lossy())
            .with(places.archived_session_path(path), |object, session| {
                object.str("session", &session.to_string_lossy())
            })
            .text("id", &header.id)
            .str("agent", &facts.agent)
            .text_or_null("name", facts.name.as_ref())
            .text("title", &facts.title)
            .text("cwd", &header.cwd.clone().unwrap_or_default())
            .str_or_null("created", header.started_ms().map(iso_string).as_deref())
            .str("modified", &iso_string(facts.modified_ms))
            .number("messageCount", f64::from(facts.message_count))
            .number("files", *files as f64)
            .number("bytes", *bytes as f64)
            .number("archivedBytes", *archived as f64)
            .finish()
    }
}
