//! A list of sessions for people.

use crate::cli::ids::Ids;
use crate::cli::locate::is_archive;
use crate::cli::output::{
    Clock, Column, Failure, GAP, Styles, Table, Ui, columns, fitted, fitted_end, fitted_path, visible,
};
use crate::format::{ID, age, dollars, id_end, tokens};
use crate::ops::list::{ListRow, Listed, Order, titled};
use crate::session::paths::below_home;
use foldhash::{HashMap, HashSet};
use owo_colors::Style;
use std::borrow::Cow;
use std::path::Path;

/// The width from which times are shown.
const WIDE: usize = 110;
/// The width of the project column, on a wide terminal and on others.
const PROJECT: [usize; 2] = [24, 12];
/// The number of columns that the name or message keeps; to give it these, other columns are left out.
const TEXT: usize = 20;

/// A column, in the order from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Mark,
    Age,
    Time,
    Created,
    Id,
    Agent,
    Repository,
    Project,
    Messages,
    Branches,
    Tokens,
    Context,
    Cost,
    Text,
}

impl Fact {
    const ALL: [Fact; 14] = [
        Fact::Mark,
        Fact::Age,
        Fact::Time,
        Fact::Created,
        Fact::Id,
        Fact::Agent,
        Fact::Repository,
        Fact::Project,
        Fact::Messages,
        Fact::Branches,
        Fact::Tokens,
        Fact::Context,
        Fact::Cost,
        Fact::Text,
    ];
    /// The columns that are left out if space is scarce, in this order.
    const SPARED: [Fact; 7] =
        [Fact::Time, Fact::Branches, Fact::Agent, Fact::Context, Fact::Messages, Fact::Cost, Fact::Project];

    /// Returns the column with the key that a list is sorted by.
    fn of(order: Order) -> Fact {
        match order {
            Order::Modified => Fact::Age,
            Order::Created => Fact::Created,
            Order::Name => Fact::Text,
            Order::Project => Fact::Project,
            Order::Messages => Fact::Messages,
            Order::Context => Fact::Context,
            Order::Tokens => Fact::Tokens,
            Order::Cost => Fact::Cost,
        }
    }

    fn column(self) -> Column {
        match self {
            Fact::Mark => Column::text(""),
            Fact::Age => Column::number("age"),
            Fact::Time => Column::text("time"),
            Fact::Created => Column::number("created"),
            Fact::Id => Column::text("id"),
            Fact::Agent => Column::text("agent"),
            Fact::Repository => Column::text("repository"),
            Fact::Project => Column::text("project"),
            Fact::Messages => Column::number("msgs"),
            Fact::Branches => Column::number("br"),
            Fact::Tokens => Column::number("tokens"),
            Fact::Context => Column::number("context"),
            Fact::Cost => Column::number("cost"),
            Fact::Text => Column::text("name or first user message").cut(),
        }
    }
}

/// Prints the rows of a list, with titles. `last` is the session that `last` names; the column of `order` is always shown.
pub fn print(
    list: &[Listed],
    rows: &[ListRow],
    last: Option<&Path>,
    order: Order,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let is_wide = ui.width().is_none_or(|width| width >= WIDE);
    let (width, home) = (ui.width().map(|_| PROJECT[usize::from(!is_wide)]), ui.home());
    let folders =
        |folders: &mut dyn Iterator<Item = Cow<str>>| shown_folders(folders, width, home.as_deref());
    let shape = Shape {
        now: Ids::new(ui)?.now_ms(ui),
        last,
        key: Fact::of(order),
        is_wide,
        id: id_length(list),
        projects: folders(&mut list.iter().map(|session| session.cwd.to_string_lossy())),
        repositories: folders(&mut list.iter().filter_map(repository)),
        clock: Clock::new(ui),
        styles: ui.styles,
    };
    let cells: Vec<_> = rows.iter().map(|row| shape.cells(row, &list[row.at])).collect();
    let shown = shape.shown(&cells, ui.width());
    let mut table = Table::new(shown.iter().map(|fact| fact.column()).collect::<Vec<_>>());
    for mut cells in cells {
        table.row(shown.iter().map(|&fact| vec![std::mem::take(&mut cells[fact as usize])]).collect());
    }
    table.print(ui)
}

/// The properties that the rows of a list share.
struct Shape<'a> {
    /// The current time in milliseconds since 1970.
    now: i64,
    last: Option<&'a Path>,
    /// The column that the list is sorted by.
    key: Fact,
    is_wide: bool,
    /// The number of characters shown from the end of an id.
    id: usize,
    /// The text for each directory.
    projects: HashMap<String, String>,
    /// The text for each repository.
    repositories: HashMap<String, String>,
    clock: Clock,
    styles: Styles,
}

impl Shape<'_> {
    /// Returns the text and the style of each column.
    fn cells(&self, row: &ListRow, session: &Listed) -> [(String, Style); Fact::ALL.len()] {
        let (styles, plain) = (&self.styles, Style::new());
        let is_last = self.last == Some(&session.path);
        let age = |time: i64| age(self.now, time);
        let created =
            session.created.map(|time| if self.is_wide { self.clock.text(time) } else { age(time) });
        let project = self.projects.get(&*session.cwd.to_string_lossy());
        let group = repository(session).and_then(|folder| self.repositories.get(&*folder));
        let sum = session.usage.tokens();
        [
            ((if is_last { "*" } else { "" }).to_owned(), styles.active),
            (age(session.modified), plain),
            (self.clock.text(session.modified), styles.dim),
            (created.unwrap_or_else(|| "-".to_owned()), plain),
            (visible(id_end(&session.id.to_string_lossy(), self.id)), styles.dim),
            (session.agent.agent().program.to_owned(), plain),
            (group.cloned().unwrap_or_else(|| "-".to_owned()), plain),
            (project.cloned().unwrap_or_default(), plain),
            (session.messages.to_string(), plain),
            (session.branches.to_string(), plain),
            (if sum > 0.0 { tokens(sum) } else { "-".to_owned() }, plain),
            (session.context.map_or("-".to_owned(), tokens), plain),
            (cost(session), plain),
            (title(session, row), if session.name.is_some() { styles.label } else { plain }),
        ]
    }

    /// Returns the columns that have information and space. That of the sort key is always shown.
    fn shown(&self, rows: &[[(String, Style); Fact::ALL.len()]], width: Option<usize>) -> Vec<Fact> {
        let has_information = |fact: Fact| match fact {
            Fact::Time => self.is_wide,
            Fact::Created | Fact::Tokens => false,
            Fact::Agent | Fact::Repository => {
                rows.iter().any(|cells| cells[fact as usize].0 != rows[0][fact as usize].0)
            }
            Fact::Project => self.projects.len() > 1,
            _ => true,
        };
        let mut shown: Vec<_> =
            Fact::ALL.into_iter().filter(|&fact| fact == self.key || has_information(fact)).collect();
        let wanted = |fact: Fact| {
            let cells = rows.iter().map(|cells| columns(&cells[fact as usize].0));
            let used = cells.max().unwrap_or(0).max(columns(fact.column().title()));
            GAP + if fact == Fact::Text { used.min(TEXT) } else { used.max(1) }
        };
        for spared in Fact::SPARED.into_iter().filter(|&spared| spared != self.key) {
            let used: usize = shown.iter().map(|&fact| wanted(fact)).sum();
            if width.is_none_or(|width| used <= width + GAP) {
                break;
            }
            shown.retain(|&fact| fact != spared);
        }
        shown
    }
}

fn repository(session: &Listed) -> Option<Cow<'_, str>> {
    session.repository.as_ref().map(|folder| folder.to_string_lossy())
}

/// Returns, for each of some directories, the last of its names that tell it from the others, cut to a width where that
/// still tells them apart. Without a width, returns the whole path, with `~` for the home directory.
fn shown_folders(
    folders: &mut dyn Iterator<Item = Cow<str>>,
    width: Option<usize>,
    home: Option<&str>,
) -> HashMap<String, String> {
    let folders: HashSet<String> = folders.map(Cow::into_owned).collect();
    let folders: Vec<String> = folders.into_iter().collect();
    let whole: Vec<String> = folders.iter().map(|folder| visible(&below_home(folder, home))).collect();
    let Some(width) = width else { return folders.into_iter().zip(whole).collect() };
    let ends = distinct_ends(&whole);
    let fits: [&dyn Fn(&str) -> String; 4] = [
        &|text| fitted(text, width, "…"),
        &|text| fitted_end(text, width, "…"),
        &|text| fitted_path(text, 0..text.len(), width, "…"),
        &|text| text.to_owned(),
    ];
    let cut = |fit: &dyn Fn(&str) -> String| ends.iter().map(|end| fit(end)).collect::<Vec<_>>();
    let tells_apart = |texts: &Vec<String>| texts.iter().collect::<HashSet<_>>().len() == texts.len();
    let texts = fits.into_iter().map(cut).find(tells_apart).unwrap_or(whole);
    folders.into_iter().zip(texts).collect()
}

/// Returns the shortest end of each path, in whole names, that no other path has.
fn distinct_ends(paths: &[String]) -> Vec<&str> {
    const SEPARATORS: [char; 2] = ['/', '\\'];
    let mut count: HashMap<&str, usize> = HashMap::default();
    let starts = |path: &str| -> Vec<usize> {
        let last = path.trim_end_matches(SEPARATORS).len();
        path[..last].rmatch_indices(SEPARATORS).map(|(at, _)| at + 1).chain([0]).collect()
    };
    for path in paths {
        starts(path).into_iter().for_each(|at| *count.entry(&path[at..]).or_default() += 1);
    }
    let is_own = |end: &&str| count.get(end) == Some(&1);
    paths
        .iter()
        .map(|path| starts(path).into_iter().map(|at| &path[at..]).find(is_own).unwrap_or(path))
        .collect()
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
    let archived = if is_archive(&session.path) { "(archived) " } else { "" };
    let text = titled(&session.title(), session.messages);
    visible(&format!("{branch}{}{archived}{text}", agent.unwrap_or_default()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_tells_it_apart() {
        let ends = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
            distinct_ends(&paths).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(ends(&["~/code/ferry", "~/garden"]), ["ferry", "garden"]);
        assert_eq!(ends(&["~/a/app", "~/b/app", "~/b/lib"]), ["a/app", "b/app", "lib"]);
        assert_eq!(ends(&["/app", "/x/app", "", "/"]), ["/app", "x/app", "", "/"]);
        assert_eq!(ends(&[r"C:\a\app", "~/app/"]), [r"app", "app/"]);
    }
}
