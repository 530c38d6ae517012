//! A list of sessions for people.

use crate::cli::output::{Cell, Clock, Column, Failure, Styles, Table, Ui, visible};
use crate::format::{ID, age, dollars, id_end, tokens};
use crate::ops::list::{ListRow, Listed};
use crate::session::paths::{below_home, name};
use foldhash::HashSet;
use owo_colors::Style;
use std::path::Path;

/// The width from which times and directories are shown in full.
const WIDE: usize = 110;
/// The width of the project column if space is scarce.
const PROJECT: usize = 12;

/// The data that rows depend on, besides the list.
pub struct ListContext<'a> {
    /// The current time in milliseconds since 1970.
    pub now: i64,
    /// The session that `last` names.
    pub last: Option<&'a Path>,
}

/// Prints the rows of a list, with titles.
pub fn print(list: &[Listed], rows: &[ListRow], look: &ListContext, ui: &mut Ui) -> Result<(), Failure> {
    let shape = Shape {
        look,
        is_wide: ui.width().is_none_or(|width| width >= WIDE),
        id: id_length(list),
        has_projects: list.iter().any(|session| session.cwd != list[0].cwd),
        clock: Clock::new(ui),
        home: ui.home(),
        styles: ui.styles,
    };
    let mut table = Table::new(shape.columns());
    for row in rows {
        table.row(shape.cells(row, &list[row.at]));
    }
    table.print(ui)
}

/// The properties that the rows of a list share.
struct Shape<'a> {
    look: &'a ListContext<'a>,
    is_wide: bool,
    /// The number of characters shown from the end of an id.
    id: usize,
    has_projects: bool,
    clock: Clock,
    home: Option<String>,
    styles: Styles,
}

impl Shape<'_> {
    fn columns(&self) -> Vec<Column> {
        let project = Column::text("project").at_most(if self.is_wide { usize::MAX } else { PROJECT });
        self.shown([
            Column::text(""),
            Column::number("age"),
            Column::text("time"),
            Column::text("id"),
            project,
            Column::number("msgs"),
            Column::number("br"),
            Column::number("context"),
            Column::number("cost"),
            Column::text("name or first user message").cut(),
        ])
    }

    fn cells(&self, row: &ListRow, session: &Listed) -> Vec<Cell> {
        let (styles, plain) = (&self.styles, Style::new());
        let is_last = self.look.last == Some(&session.path);
        let cells = [
            ((if is_last { "*" } else { "" }).to_owned(), styles.active),
            (age(self.look.now, session.modified).replace(' ', ""), plain),
            (self.clock.text(session.modified), styles.dim),
            (visible(id_end(&session.id.to_string_lossy(), self.id)), styles.dim),
            (self.project(session), plain),
            (session.messages.to_string(), plain),
            (session.branches.to_string(), plain),
            (session.context.map_or("-".to_owned(), tokens), plain),
            (cost(session), plain),
            (title(session, row), if session.name.is_some() { styles.label } else { plain }),
        ];
        self.shown(cells.map(|cell| vec![cell]))
    }

    /// Returns the columns that have information and space.
    fn shown<T>(&self, columns: [T; 10]) -> Vec<T> {
        let is_shown = |at: usize| (at != 2 || self.is_wide) && (at != 4 || self.has_projects);
        columns.into_iter().enumerate().filter(|(at, _)| is_shown(*at)).map(|(_, column)| column).collect()
    }

    /// Returns the directory, with `~` for the home directory; only its last part if space is scarce.
    fn project(&self, session: &Listed) -> String {
        let cwd = session.cwd.to_string_lossy();
        visible(&if self.is_wide { below_home(&cwd, self.home.as_deref()) } else { name(&cwd).to_owned() })
    }
}

/// Returns the name or the first user message, after the marks of the row's position.
fn title(session: &Listed, row: &ListRow) -> String {
    let branch = match (row.depth, row.is_last) {
        (0, _) => String::new(),
        (depth, true) => format!("{}└─ ", "   ".repeat(depth.min(24) - 1)),
        (depth, false) => format!("{}├─ ", "   ".repeat(depth.min(24) - 1)),
    };
    let agent = session.owner.as_ref().and_then(|_| session.path.file_stem());
    let agent = agent.map(|stem| format!("{}: ", stem.to_string_lossy().trim_start_matches('_')));
    let text = session.title();
    let text = match (session.messages, text.is_empty()) {
        (0, true) => "(no messages)".into(),
        (_, true) => "(no text)".into(),
        _ => text.to_string_lossy(),
    };
    visible(&format!("{branch}{}{}", agent.unwrap_or_default(), text.trim()))
}

/// Returns the number of characters from the end that distinguish all ids.
fn id_length(list: &[Listed]) -> usize {
    let tells_apart = |&length: &usize| {
        let mut seen = HashSet::default();
        list.iter().all(|session| seen.insert(id_end(&session.id.to_string_lossy(), length).to_owned()))
    };
    [ID, ID + 4].into_iter().find(tells_apart).unwrap_or(ID)
}

/// Returns dollars; `-` if no response has a cost, followed by `+` if only some have.
fn cost(session: &Listed) -> String {
    let usage = &session.usage;
    let some = if usage.unpriced > 0 { "+" } else { "" };
    match usage.cost {
        cost if cost <= 0.0 && usage.unpriced > 0 => "-".to_owned(),
        cost if cost <= 0.0 && usage.tokens() <= 0.0 => "-".to_owned(),
        cost => format!("{}{some}", dollars(cost)),
    }
}
