//! A list of sessions for people.

use crate::cli::ids::Ids;
use crate::cli::locate::is_archive;
use crate::cli::output::{
    Clock, Column, Failure, GAP, SEPARATORS, Table, Ui, columns, fitted, fitted_end, fitted_path,
    visible,
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
/// The number of columns that the name or message keeps; to give it these, other columns are left
/// out.
const TEXT: usize = 20;

/// A column of a list, and its cells.
struct Fact {
    column: Column,
    is_shown: bool,
    /// The key by which it is sorted; the column that a list is sorted by is always shown.
    key: Option<Order>,
    /// The columns with a rank are left out if space is scarce, the first ones first.
    rank: Option<u8>,
    cells: Vec<(String, Style)>,
}

impl Fact {
    /// Returns the number of columns that it takes, with the gap after it.
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|(text, _)| columns(text));
        let used = cells.max().unwrap_or(0).max(columns(self.column.title));
        GAP + if self.key == Some(Order::Name) {
            used.min(TEXT)
        } else {
            used.max(1)
        }
    }
}

/// Prints the rows of a list, with titles. `distinct` are the titles shown in place of those that
/// begin like many others, by index in the list. `last` is the session that `last` names; the
/// column of `order` is always shown.
pub fn print(
    list: &[Listed],
    rows: &[ListRow],
    distinct: &HashMap<usize, String>,
    last: Option<&Path>,
    order: Order,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let width = ui.width();
    let mut facts = facts(list, rows, distinct, last, ui)?;
    facts.retain(|fact| fact.is_shown || fact.key == Some(order));
    let room = width.map_or(usize::MAX, |width| width + GAP);
    while facts.iter().map(Fact::width).sum::<usize>() > room {
        let is_spare = |&at: &usize| facts[at].rank.is_some() && facts[at].key != Some(order);
        let Some(first) = (0..facts.len())
            .filter(is_spare)
            .min_by_key(|&at| facts[at].rank)
        else {
            break;
        };
        facts.remove(first);
    }
    let mut table = Table::new(facts.iter().map(|fact| fact.column).collect::<Vec<_>>());
    for at in 0..rows.len() {
        table.row(
            facts
                .iter_mut()
                .map(|fact| vec![std::mem::take(&mut fact.cells[at])])
                .collect(),
        );
    }
    table.print(ui)
}

/// Returns all columns, from left to right.
fn facts(
    list: &[Listed],
    rows: &[ListRow],
    distinct: &HashMap<usize, String>,
    last: Option<&Path>,
    ui: &Ui,
) -> Result<Vec<Fact>, Failure> {
    let (now, clock, home) = (Ids::new(ui)?.now_ms(ui), Clock::new(ui), ui.home());
    let is_wide = ui.width().is_none_or(|width| width >= WIDE);
    let (active, label, dim) = (ui.styles.active, ui.styles.label, ui.styles.dim);
    let width = ui.width().map(|_| PROJECT[usize::from(!is_wide)]);
    let cwds = list.iter().map(|session| session.cwd.to_string_lossy());
    let projects = shown_folders(cwds, width, home.as_deref());
    let repositories = shown_folders(list.iter().filter_map(repository), width, home.as_deref());
    let id = id_length(list);
    let age = |time: i64| age(now, time);
    let none = || "-".to_owned();

    let cells = |cell: &dyn Fn(&Listed) -> String, style: Style| -> Vec<_> {
        rows.iter()
            .map(|row| (cell(&list[row.at]), style))
            .collect()
    };
    let plain = |cell: &dyn Fn(&Listed) -> String| cells(cell, Style::new());
    let mark = |session: &Listed| if last == Some(&session.path) { "*" } else { "" }.to_owned();
    let start = |time: i64| if is_wide { clock.text(time) } else { age(time) };
    let created = |session: &Listed| session.created.map_or_else(none, start);
    let id = |session: &Listed| visible(id_end(&session.id.to_string_lossy(), id));
    let agents = plain(&|session| session.agent.agent().program.to_owned());
    let group = |session: &Listed| repositories.get(&*repository(session)?).cloned();
    let groups = plain(&|session| group(session).unwrap_or_else(none));
    let project = |session: &Listed| {
        projects
            .get(&*session.cwd.to_string_lossy())
            .cloned()
            .unwrap_or_default()
    };
    let messages = |session: &Listed| session.messages.to_string();
    let sum = |session: &Listed| {
        Some(session.usage.tokens())
            .filter(|&sum| sum > 0.0)
            .map_or_else(none, tokens)
    };
    let context = |session: &Listed| session.context.map_or_else(none, tokens);
    let style = |session: &Listed| {
        if session.name.is_some() {
            label
        } else {
            Style::new()
        }
    };
    let titles = rows
        .iter()
        .map(|row| {
            let title = title(&list[row.at], distinct.get(&row.at), row);
            (title, style(&list[row.at]))
        })
        .collect();

    let differ = |cells: &[(String, Style)]| cells.iter().any(|(text, _)| *text != cells[0].0);
    let [text, number] = [Column::text, Column::number];
    let fact = |column, is_shown, key, rank, cells| Fact {
        column,
        is_shown,
        key,
        rank,
        cells,
    };
    Ok(vec![
        fact(text(""), true, None, None, cells(&mark, active)),
        fact(
            number("age"),
            true,
            Some(Order::Modified),
            None,
            plain(&|session| age(session.modified)),
        ),
        fact(
            text("time"),
            is_wide,
            None,
            Some(0),
            cells(&|session| clock.text(session.modified), dim),
        ),
        fact(
            number("created"),
            false,
            Some(Order::Created),
            None,
            plain(&created),
        ),
        fact(text("id"), true, None, None, cells(&id, dim)),
        fact(text("agent"), differ(&agents), None, Some(2), agents),
        fact(text("repository"), differ(&groups), None, None, groups),
        fact(
            text("project"),
            projects.len() > 1,
            Some(Order::Project),
            Some(6),
            plain(&project),
        ),
        fact(
            number("msgs"),
            true,
            Some(Order::Messages),
            Some(4),
            plain(&messages),
        ),
        fact(
            number("br"),
            true,
            None,
            Some(1),
            plain(&|session| session.branches.to_string()),
        ),
        fact(
            number("tokens"),
            false,
            Some(Order::Tokens),
            None,
            plain(&sum),
        ),
        fact(
            number("context"),
            true,
            Some(Order::Context),
            Some(3),
            plain(&context),
        ),
        fact(
            number("cost"),
            true,
            Some(Order::Cost),
            Some(5),
            plain(&cost),
        ),
        fact(
            text("name or first user message").cut(),
            true,
            Some(Order::Name),
            None,
            titles,
        ),
    ])
}

fn repository(session: &Listed) -> Option<Cow<'_, str>> {
    session
        .repository
        .as_ref()
        .map(|folder| folder.to_string_lossy())
}

/// Returns, for each of some directories, the last of its names that tell it from the others, cut
/// to a width where that still tells them apart. Without a width, returns the whole path, with `~`
/// for the home directory.
fn shown_folders<'s>(
    folders: impl Iterator<Item = Cow<'s, str>>,
    width: Option<usize>,
    home: Option<&str>,
) -> HashMap<String, String> {
    let folders: HashSet<String> = folders.map(Cow::into_owned).collect();
    let folders: Vec<String> = folders.into_iter().collect();
    let whole: Vec<String> = folders
        .iter()
        .map(|folder| visible(&below_home(folder, home)))
        .collect();
    let Some(width) = width else {
        return folders.into_iter().zip(whole).collect();
    };
    let ends = distinct_ends(&whole);
    let fits: [&dyn Fn(&str) -> String; 4] = [
        &|text| fitted(text, width, "…"),
        &|text| fitted_end(text, width, "…"),
        &|text| fitted_path(text, 0..text.len(), width, "…"),
        &|text| text.to_owned(),
    ];
    let cut = |fit: &dyn Fn(&str) -> String| ends.iter().map(|end| fit(end)).collect::<Vec<_>>();
    let tells_apart =
        |texts: &Vec<String>| texts.iter().collect::<HashSet<_>>().len() == texts.len();
    let texts = fits.into_iter().map(cut).find(tells_apart).unwrap_or(whole);
    folders.into_iter().zip(texts).collect()
}

/// Returns the shortest end of each path, in whole names, that no other path has.
fn distinct_ends(paths: &[String]) -> Vec<&str> {
    let mut count: HashMap<&str, usize> = HashMap::default();
    let starts = |path: &str| -> Vec<usize> {
        let last = path.trim_end_matches(SEPARATORS).len();
        path[..last]
            .rmatch_indices(SEPARATORS)
            .map(|(at, _)| at + 1)
            .chain([0])
            .collect()
    };
    for path in paths {
        starts(path)
            .into_iter()
            .for_each(|at| *count.entry(&path[at..]).or_default() += 1);
    }
    let is_own = |end: &&str| count.get(end) == Some(&1);
    paths
        .iter()
        .map(|path| {
            starts(path)
                .into_iter()
                .map(|at| &path[at..])
                .find(is_own)
                .unwrap_or(path)
        })
        .collect()
}

/// Returns the name or the first user message, or what is shown in its place, after the marks of
/// the row's position.
fn title(session: &Listed, distinct: Option<&String>, row: &ListRow) -> String {
    let branch = match (row.ancestors, row.is_last) {
        (0, _) => String::new(),
        (ancestors, true) => format!("{}└─ ", "   ".repeat(ancestors.min(24) - 1)),
        (ancestors, false) => format!("{}├─ ", "   ".repeat(ancestors.min(24) - 1)),
    };
    let stem = session
        .owner
        .as_ref()
        .and_then(|_| session.path.file_stem());
    let agent = stem.map(|stem| format!("{}: ", stem.to_string_lossy().trim_start_matches('_')));
    let archived = if is_archive(&session.path) {
        "(archived) "
    } else {
        ""
    };
    let text = match distinct {
        Some(distinct) => distinct.clone(),
        None => titled(&session.title(), session.messages),
    };
    visible(&format!(
        "{branch}{}{archived}{text}",
        agent.unwrap_or_default()
    ))
}

/// Returns the number of characters from the end that distinguish all ids.
fn id_length(list: &[Listed]) -> usize {
    let tells_apart = |&length: &usize| {
        let mut seen = HashSet::default();
        list.iter()
            .all(|session| seen.insert(id_end(&session.id.to_string_lossy(), length).to_owned()))
    };
    [ID, ID + 4].into_iter().find(tells_apart).unwrap_or(ID)
}

/// Returns dollars; `-` if no response has a cost, followed by `+` if only some have.
fn cost(session: &Listed) -> String {
    let usage = &session.usage;
    if usage.cost <= 0.0 && (usage.unpriced > 0 || usage.tokens() <= 0.0) {
        return "-".to_owned();
    }
    let some = if usage.unpriced > 0 { "+" } else { "" };
    format!("{}{some}", dollars(usage.cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_tells_it_apart() {
        let ends = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
            distinct_ends(&paths)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(ends(&["~/code/ferry", "~/garden"]), ["ferry", "garden"]);
        assert_eq!(
            ends(&["~/a/app", "~/b/app", "~/b/lib"]),
            ["a/app", "b/app", "lib"]
        );
        assert_eq!(
            ends(&["/app", "/x/app", "", "/"]),
            ["/app", "x/app", "", "/"]
        );
        assert_eq!(ends(&[r"C:\a\app", "~/app/"]), [r"app", "app/"]);
    }
}
