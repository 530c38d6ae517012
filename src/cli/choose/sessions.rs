//! Lets the user choose a session of any project.

use super::chooser::{Chooser, Question, ROW_WIDTH, Stop};
use crate::cli::ids::Ids;
use crate::cli::locate::{Scope, SessionStores};
use crate::cli::named::{read_for_list, shown_title};
use crate::cli::output::{Failure, Ui, display_width, to_visible, truncate_path};
use crate::cli::titled::TitleWords;
use crate::format::format_age;
use crate::ops::list::{ListedSession, display_cost};
use crate::session::paths::abbreviate_home;
use pisess_store::modified_ms;
use pisess_store::workers::in_order;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::path::PathBuf;

/// The widths of the columns of a row, in terminal columns.
const AGE_WIDTH: usize = 5;
const PROJECT_WIDTH: usize = 24;
const COST_WIDTH: usize = 7;
/// The width of the project on a terminal narrower than [`ROW_WIDTH`].
const NARROW_PROJECT_WIDTH: usize = 16;

/// Lets the user choose one of the sessions in the stores of both agents. If words are given, only
/// sessions whose titles have them are offered. The session whose file changed last is offered
/// first. Sessions of sub-agents are not offered.
pub fn choose_session(
    title_words: Option<&TitleWords>,
    program: &OsStr,
    ui: &mut Ui,
) -> Result<PathBuf, Stop> {
    let mut files = SessionStores::locate(ui).find_sessions(&Scope::All).files;
    files.retain(|file| file.owner.is_none());
    files.sort_by_cached_key(|file| Reverse(modified_ms(&file.path)));
    let mut files = files.into_iter();

    // Not every file is a session. The chooser is not started before a session is found.
    let painter = RowPainter::new(title_words, ui)?;
    let first_row = files.find_map(|file| painter.read_row(file.path));
    let Some(first_row) = first_row else {
        let failure = Failure::invalid("there are no sessions to choose from");
        return Err(failure
            .with_hint("the stores of pi and oh-my-pi are empty; `pisess help sessions` says where they are")
            .into());
    };

    // Rows are offered while further sessions are read.
    let question = Question {
        noun: "session",
        session: None,
        program,
    };
    let mut chooser = Chooser::start(&question, ui)?;
    chooser.offer(first_row.path.as_os_str(), &first_row.text);
    let mut paths = vec![first_row.path];
    // An error means only that no more rows are wanted.
    let _: Result<(), Full> = in_order(
        files,
        ui.processor_count(),
        |file| painter.read_row(file.path),
        |row| {
            let Some(row) = row else {
                return Ok(());
            };
            let wants_more = chooser.offer(row.path.as_os_str(), &row.text);
            paths.push(row.path);
            if wants_more { Ok(()) } else { Err(Full) }
        },
    );
    let index = chooser.finish(ui)?;
    Ok(paths.swap_remove(index))
}

/// The error by which a choice ends the search: no more rows are wanted.
struct Full;

/// A session that the user can choose.
struct SessionRow {
    path: PathBuf,
    text: String,
}

/// Formats sessions as rows: age, project, cost and title.
struct RowPainter<'w> {
    /// The words that a title must have to be offered; `None` for all titles.
    title_words: Option<&'w TitleWords>,
    now_ms: i64,
    home: Option<String>,
    project_width: usize,
}

impl<'w> RowPainter<'w> {
    /// Prepares to format rows. The project column is narrower on a narrow terminal.
    fn new(title_words: Option<&'w TitleWords>, ui: &Ui) -> Result<RowPainter<'w>, Failure> {
        let is_narrow = ui.row_width().is_some_and(|width| width < ROW_WIDTH);
        Ok(RowPainter {
            title_words,
            now_ms: Ids::new(ui)?.now_ms(ui),
            home: ui.home(),
            project_width: if is_narrow {
                NARROW_PROJECT_WIDTH
            } else {
                PROJECT_WIDTH
            },
        })
    }

    /// Reads a session, and returns its row. `None` if the file is not a session, if it cannot be
    /// read, or if the title lacks the words.
    fn read_row(&self, path: PathBuf) -> Option<SessionRow> {
        let session = read_for_list(&path)?;
        if let Some(words) = self.title_words {
            let has_words = words.describe(&session);
            if !has_words {
                return None;
            }
        }
        let text = self.format_row(&session);
        Some(SessionRow { path, text })
    }

    /// Returns the columns of a row: age, project, cost and title.
    fn format_row(&self, session: &ListedSession) -> String {
        let age = format_age(self.now_ms, session.modified_ms);
        let cwd = session.cwd.to_string_lossy();
        let project = to_visible(&abbreviate_home(&cwd, self.home.as_deref()));
        let project = truncate_path(&project, 0..project.len(), self.project_width, "…");
        let padding = " ".repeat(self.project_width.saturating_sub(display_width(&project)));
        let cost = display_cost(&session.usage).unwrap_or_else(|| "-".to_owned());
        let title = shown_title(session);
        format!("{age:>AGE_WIDTH$}  {project}{padding}  {cost:>COST_WIDTH$}  {title}")
    }
}
