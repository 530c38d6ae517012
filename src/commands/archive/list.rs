//! `--list`: lists archived sessions, reading only the first bytes of each archive.

use crate::cli::ids::Ids;
use crate::cli::locate::Places;
use crate::cli::output::{Column, Exit, Failure, Table, Ui, visible};
use crate::format::{ID, age, id_end, size};
use crate::ops::archive::{Facts, Filter};
use crate::ops::list::display_title;
use crate::session::paths::below_home;
use pisess_json::time::iso_string;
use pisess_json::write::Object;
use pisess_store::{Archive, Glance, ReadAt};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// An archived session.
pub struct Archived {
    /// The path of the archive.
    path: PathBuf,
    pub facts: Facts,
    /// The number of files in the archive.
    files: usize,
    /// The size of these files, and that of the archive.
    bytes: u64,
    archived: u64,
}

impl Archived {
    /// Reads what an archive contains.
    ///
    /// # Errors
    /// If it is damaged, or not an archive.
    pub fn read(path: &Path) -> Result<Archived, Failure> {
        let name = visible(&path.to_string_lossy());
        let file = Glance::open(path)?;
        let archive = Archive::read(&file).map_err(|error| Failure::reading(&name, error))?;
        let Some(archive) = archive else {
            return Err(Failure::cannot(format_args!("{name} is not an archive")).path(&name));
        };
        let facts = Facts::read(&archive.head).map_err(|error| Failure::load(&name, error))?;
        let bytes = archive.members.iter().map(|member| member.size).sum();
        Ok(Archived {
            path: path.to_owned(),
            facts,
            files: archive.members.len(),
            bytes,
            archived: file.len(),
        })
    }
}

/// Prints the archived sessions that a filter chooses, newest first.
pub fn list(
    places: &Places,
    all: bool,
    filter: Filter,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let mut exit = Exit::Done;
    let mut list = Vec::new();
    for path in places.archived(all)? {
        match Archived::read(&path) {
            Ok(archived) if filter.fits(archived.facts.modified, archived.facts.messages) => {
                list.push(archived)
            }
            Ok(_) => {}
            Err(failure) => exit = exit.max(ui.report(&failure)),
        }
    }
    list.sort_by_key(|archived| Reverse(archived.facts.modified));
    if json {
        for archived in &list {
            ui.print_json(&archived.json(places))?;
        }
        return Ok(exit);
    }
    let home = ui.home();
    let [age_of, messages, bytes_of, archive] =
        ["age", "msgs", "size", "archive"].map(Column::number);
    let [id, project] = ["id", "project"].map(Column::text);
    let title = Column::text("name or first user message").cut();
    let mut table = Table::new([age_of, id, project, messages, bytes_of, archive, title]);
    for Archived {
        facts,
        bytes,
        archived,
        ..
    } in &list
    {
        let cwd = facts
            .header
            .cwd
            .as_ref()
            .map(|cwd| below_home(&cwd.to_string_lossy(), home.as_deref()));
        table.texts([
            age(now_ms, facts.modified),
            visible(id_end(&facts.header.id.to_string_lossy(), ID)),
            visible(&cwd.unwrap_or_default()),
            facts.messages.to_string(),
            size(*bytes as usize),
            size(*archived as usize),
            visible(&display_title(&facts.title, facts.messages)),
        ]);
    }
    table.print(ui)?;
    Ok(exit)
}

impl Archived {
    fn json(&self, places: &Places) -> Vec<u8> {
        let Archived {
            path,
            facts,
            files,
            bytes,
            archived,
        } = self;
        let header = &facts.header;
        Object::new()
            .str("path", &path.to_string_lossy())
            .with(places.session_of(path), |object, session| {
                object.str("session", &session.to_string_lossy())
            })
            .text("id", &header.id)
            .str("agent", &facts.agent)
            .text_or_null("name", facts.name.as_ref())
            .text("title", &facts.title)
            .text("cwd", &header.cwd.clone().unwrap_or_default())
            .str_or_null("created", header.started_ms().map(iso_string).as_deref())
            .str("modified", &iso_string(facts.modified))
            .number("messageCount", f64::from(facts.messages))
            .number("files", *files as f64)
            .number("bytes", *bytes as f64)
            .number("archivedBytes", *archived as f64)
            .finish()
    }
}
