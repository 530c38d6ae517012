//! Prints a list of sessions for people.

use crate::cli::ids::Ids;
use crate::cli::locate::is_archive;
use crate::cli::output::{
    COLUMN_GAP, Cell, Clock, Column, Failure, SEPARATORS, Table, Ui, apply_style, display_width,
    to_visible, truncate_end, truncate_path, truncate_start,
};
use crate::format::{
    ID_SUFFIX_LEN, format_age, format_bytes, format_count, format_estimate, format_tokens,
    id_suffix,
};
use crate::import::RolloutName;
use crate::ops::list::{ListRow, ListedSession, Order, display_cost, display_title};
use crate::session::paths::abbreviate_home;
use crate::session::prefixes::UniquePrefixes;
use crate::session::usage::UsageSums;
use foldhash::{HashMap, HashSet};
use owo_colors::Style;
use pisess_json::text::Text;
use std::borrow::Cow;
use std::path::Path;

/// The terminal width, in columns, from which the project column is wide.
const MIN_WIDE_WIDTH: usize = 110;
/// The width of the project column on a wide terminal and, below, on a narrow one.
const PROJECT_WIDTH_WIDE: usize = 24;
const PROJECT_WIDTH: usize = 12;
/// The minimum width of the name or message. To keep it, other columns are left out.
const MIN_TITLE_WIDTH: usize = 20;

/// A column of the list, with a cell for each row.
struct ListColumn {
    column: Column,
    cells: Vec<(String, Style)>,
    /// Whether the column is shown, as long as there is space. The column by which the list is
    /// sorted is always shown.
    is_shown: bool,
    /// The sort order that this column shows.
    sort_order: Option<Order>,
    /// The rank by which columns are left out if space is scarce, the lowest first. A column
    /// without a rank is never left out.
    drop_rank: Option<u8>,
    /// The highlighted prefixes of the cells, if there are any.
    bright_starts: Option<BrightStarts>,
}

/// The highlighted prefixes of cells.
struct BrightStarts {
    /// For each cell, the length of its prefix in characters.
    lengths: Vec<usize>,
    style: Style,
}

impl ListColumn {
    /// Returns a column that is always shown.
    fn new(column: Column, cells: Vec<(String, Style)>) -> ListColumn {
        ListColumn {
            column,
            cells,
            is_shown: true,
            sort_order: None,
            drop_rank: None,
            bright_starts: None,
        }
    }

    /// Hides the column, unless the list is sorted by it.
    fn hidden(self) -> ListColumn {
        self.hidden_if(true)
    }

    /// Hides the column if `is_hidden`, unless the list is sorted by it.
    fn hidden_if(mut self, is_hidden: bool) -> ListColumn {
        self.is_shown = !is_hidden;
        self
    }

    /// Records that the column shows this sort order.
    fn sorted_by(mut self, order: Order) -> ListColumn {
        self.sort_order = Some(order);
        self
    }

    /// Lets the column be left out if space is scarce. The lowest rank goes first.
    fn with_rank(mut self, rank: u8) -> ListColumn {
        self.drop_rank = Some(rank);
        self
    }

    /// Takes the cell of a row. A highlighted prefix is a separate part of it.
    fn take_cell(&mut self, row_index: usize) -> Cell {
        let (text, style) = std::mem::take(&mut self.cells[row_index]);
        let Some(bright) = &self.bright_starts else {
            return vec![(text, style)];
        };
        let start_chars = text.chars().take(bright.lengths[row_index]);
        let start: String = start_chars.collect();
        let rest = text[start.len()..].to_owned();
        vec![(start, bright.style), (rest, style)]
    }

    /// Returns the width of the column in terminal columns, including the gap after it.
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|(text, _)| display_width(text));
        let longest_cell = cells.max().unwrap_or(0);
        let content_width = longest_cell.max(display_width(self.column.title));
        if self.sort_order == Some(Order::Name) {
            // The title is truncated to the remaining space, so it needs only its minimum.
            COLUMN_GAP + content_width.min(MIN_TITLE_WIDTH)
        } else {
            COLUMN_GAP + content_width.max(1)
        }
    }
}

/// Prints the rows of a list as a table. `distinct_titles` has, by index in the list, titles that
/// replace those that begin like many others. `last` is the session to which the name `last`
/// refers. `order` is the order of the rows: the column by which they are sorted is always shown.
pub fn print(
    list: &[ListedSession],
    rows: &[ListRow],
    distinct_titles: &HashMap<usize, String>,
    last: Option<&Path>,
    order: Order,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut columns = list_columns(list, rows, distinct_titles, last, ui)?;
    columns.retain(|column| column.is_shown || column.sort_order == Some(order));
    if let Some(width) = ui.row_width() {
        drop_columns(&mut columns, width + COLUMN_GAP, order);
    }

    let table_columns: Vec<_> = columns.iter().map(|column| column.column).collect();
    let mut table = Table::new(table_columns);
    for row_index in 0..rows.len() {
        let mut row = Vec::new();
        for column in &mut columns {
            row.push(column.take_cell(row_index));
        }
        table.add_row(row);
    }
    table.print(ui)
}

/// Prints how many sessions have rows, their size and their cost. `cost_note` follows the cost if
/// that has the cost of entries which several sessions have, which nobody paid for twice.
pub fn print_total(
    list: &[ListedSession],
    rows: &[ListRow],
    cost_note: Option<&str>,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut bytes = 0;
    let mut usage = UsageSums::default();
    for row in rows {
        let session = &list[row.index];
        bytes += session.bytes;
        usage.add_sums(&session.usage);
    }
    let mut total = format!(
        "{}, {}",
        format_count(rows.len(), "session", "sessions"),
        format_bytes(bytes as usize)
    );
    if let Some(cost) = display_cost(&usage) {
        total += &format!(", {cost}");
        if let Some(note) = cost_note {
            total += &format!(" ({note})");
        }
    }
    ui.print(&format!("{}\n", apply_style(&total, ui.styles.dim)))
}

/// Removes columns, the lowest rank first, until the others fit into `room` terminal columns.
/// Columns without a rank stay, and so does the column by which the list is sorted.
fn drop_columns(columns: &mut Vec<ListColumn>, room: usize, order: Order) {
    loop {
        let width: usize = columns.iter().map(ListColumn::width).sum();
        if width <= room {
            return;
        }
        let Some(index) = find_column_to_drop(columns, order) else {
            return;
        };
        columns.remove(index);
    }
}

/// Returns the index of the first column with the lowest rank, apart from the column by which the
/// list is sorted. `None` if no column may be dropped.
fn find_column_to_drop(columns: &[ListColumn], order: Order) -> Option<usize> {
    let mut lowest_rank = None;
    let mut index_to_drop = None;
    for (index, column) in columns.iter().enumerate() {
        if column.sort_order == Some(order) {
            continue;
        }
        let Some(rank) = column.drop_rank else {
            continue;
        };
        if lowest_rank.is_none_or(|lowest| rank < lowest) {
            lowest_rank = Some(rank);
            index_to_drop = Some(index);
        }
    }
    index_to_drop
}

/// Returns all columns, in the order from left to right.
fn list_columns(
    list: &[ListedSession],
    rows: &[ListRow],
    distinct: &HashMap<usize, String>,
    last: Option<&Path>,
    ui: &Ui,
) -> Result<Vec<ListColumn>, Failure> {
    let source = ColumnSource {
        list,
        sessions: rows.iter().map(|row| &list[row.index]).collect(),
        is_wide: ui.row_width().is_none_or(|width| width >= MIN_WIDE_WIDTH),
        dim: ui.styles.dim,
    };

    let marks = source.cells(ui.styles.active, |session| session_marks(session, last));
    let mut columns = vec![ListColumn::new(Column::text(""), marks)];
    columns.extend(source.age_columns(ui)?);
    columns.extend(source.name_columns(ui));
    columns.extend(source.count_columns());

    let mut titles = Vec::new();
    for row in rows {
        let session = &list[row.index];
        let style = match session.name {
            Some(_) => ui.styles.label,
            None => Style::new(),
        };
        titles.push((title_cell(session, distinct.get(&row.index), row), style));
    }
    let title_column = Column::text("name or first user message").allow_shrink();
    columns.push(ListColumn::new(title_column, titles).sorted_by(Order::Name));
    Ok(columns)
}

/// Returns the marks at the start of a row: `*` for the session to which the name `last` refers,
/// `●` for one that an agent is working on.
fn session_marks(session: &ListedSession, last: Option<&Path>) -> String {
    let mut marks = String::new();
    if last == Some(session.path.as_path()) {
        marks.push('*');
    }
    if session.is_running {
        marks.push('●');
    }
    marks
}

/// The sessions that fill the columns of a list.
struct ColumnSource<'l> {
    /// All sessions, including those that have no row.
    list: &'l [ListedSession],
    /// The session of each row.
    sessions: Vec<&'l ListedSession>,
    is_wide: bool,
    dim: Style,
}

impl ColumnSource<'_> {
    /// Returns the cells of a column, one per row, with the text that `text` returns for a session.
    fn cells(&self, style: Style, text: impl Fn(&ListedSession) -> String) -> Vec<(String, Style)> {
        let texts = self.sessions.iter().map(|session| text(session));
        texts.map(|text| (text, style)).collect()
    }

    /// Returns the columns with the age of a session's newest message, and the local date on which
    /// it was started.
    fn age_columns(&self, ui: &Ui) -> Result<[ListColumn; 2], Failure> {
        let now_ms = Ids::new(ui)?.now_ms(ui);
        let plain = Style::new();
        let ages = self.cells(plain, |session| format_age(now_ms, session.modified_ms));
        let clock = Clock::new(ui);
        let created = self.cells(plain, |session| match session.created_ms {
            Some(time) => clock.format_date_and_time(time).date,
            None => ABSENT.to_owned(),
        });
        Ok([
            ListColumn::new(Column::number("age"), ages).sorted_by(Order::Modified),
            ListColumn::new(Column::number("created"), created)
                .hidden()
                .sorted_by(Order::Created),
        ])
    }

    /// Returns the columns with a session's id, agent, repository and working directory. The last
    /// three are hidden if all rows have the same. Shortened ids and directories are distinct in
    /// the whole list, not only among the rows.
    fn name_columns(&self, ui: &Ui) -> [ListColumn; 4] {
        let home = ui.home();
        // In a pipe, directories are printed whole.
        let folder_width = match ui.row_width() {
            None => None,
            Some(_) if self.is_wide => Some(PROJECT_WIDTH_WIDE),
            Some(_) => Some(PROJECT_WIDTH),
        };
        [
            self.id_column(ui),
            self.agent_column(),
            self.repository_column(folder_width, home.as_deref()),
            self.project_column(folder_width, home.as_deref()),
        ]
    }

    /// Returns the column with the short ids. With colours, the unique prefix of each is
    /// highlighted.
    fn id_column(&self, ui: &Ui) -> ListColumn {
        let id_length = distinct_id_length(self.list);
        let ids = self.cells(self.dim, |session| {
            to_visible(&short_id(session, id_length))
        });
        let mut column = ListColumn::new(Column::text("id"), ids);
        if ui.styles.has_colour() {
            column.bright_starts = Some(BrightStarts {
                lengths: self.unique_start_lengths(id_length),
                style: ui.styles.id_prefix,
            });
        }
        column
    }

    /// Returns the column with the agents; hidden if all rows have the same agent.
    fn agent_column(&self) -> ListColumn {
        let agents = self.cells(Style::new(), |session| {
            let own_program = session.agent.agent().constants().program;
            session.other_agent.unwrap_or(own_program).to_owned()
        });
        let is_one_agent = have_same_text(&agents);
        ListColumn::new(Column::text("agent"), agents)
            .hidden_if(is_one_agent)
            .with_rank(2)
    }

    /// Returns the column with the repositories; hidden if all rows have the same. A directory has
    /// at most `width` columns.
    fn repository_column(&self, width: Option<usize>, home: Option<&str>) -> ListColumn {
        let all_repositories = self.list.iter().filter_map(repository_path);
        let short_names = short_folder_names(all_repositories, width, home);
        let repositories = self.cells(Style::new(), |session| {
            let short_name = repository_path(session).and_then(|folder| short_names.get(&*folder));
            match short_name {
                Some(short_name) => short_name.clone(),
                None => ABSENT.to_owned(),
            }
        });
        let is_one_repository = have_same_text(&repositories);
        ListColumn::new(Column::text("repository"), repositories).hidden_if(is_one_repository)
    }

    /// Returns the column with the working directories; hidden if the whole list has only one. A
    /// directory has at most `width` columns.
    fn project_column(&self, width: Option<usize>, home: Option<&str>) -> ListColumn {
        let all_projects = self
            .list
            .iter()
            .map(|session| session.cwd.to_string_lossy());
        let short_names = short_folder_names(all_projects, width, home);
        let projects = self.cells(Style::new(), |session| {
            let short_name = short_names.get(&*session.cwd.to_string_lossy());
            short_name.cloned().unwrap_or_default()
        });
        let is_one_project = short_names.len() <= 1;
        ListColumn::new(Column::text("project"), projects)
            .hidden_if(is_one_project)
            .sorted_by(Order::Project)
            .with_rank(6)
    }

    /// Returns, for each row, the number of characters that distinguish its session: the length of
    /// the shortest prefix of its short id that no other short id in the list has. `id_length` is
    /// the number of characters of a short id.
    fn unique_start_lengths(&self, id_length: usize) -> Vec<usize> {
        // The short ids of the whole list, also of sessions without a row.
        let mut short_ids = Vec::new();
        for session in self.list {
            short_ids.push(short_id(session, id_length));
        }
        let prefixes = UniquePrefixes::from_ids(short_ids.iter().map(String::as_bytes));
        let mut lengths = Vec::new();
        for session in &self.sessions {
            let id = short_id(session, id_length);
            let unique_bytes = prefixes.prefix_len(&Text::from(&*id));
            lengths.push(id[..unique_bytes].chars().count());
        }
        lengths
    }

    /// Returns the columns with the number of messages, the number of branches, the size of the
    /// file, the tokens, the size of the context, and the cost of a session. Branches are hidden if
    /// every session has one branch; context and cost are hidden if no session has any.
    fn count_columns(&self) -> [ListColumn; 6] {
        let plain = Style::new();
        let messages = self.cells(plain, |session| session.message_count.to_string());
        let branches = self.cells(plain, |session| session.branch_count.to_string());
        let sizes = self.cells(plain, |session| format_bytes(session.bytes as usize));
        let token_sums = self.cells(plain, token_text);
        let contexts = self.cells(plain, context_text);
        let costs = self.cells(plain, |session| {
            display_cost(&session.usage).unwrap_or_else(|| ABSENT.to_owned())
        });
        let have_one_branch = all_cells_are(&branches, "1");
        let lack_context = all_cells_are(&contexts, ABSENT);
        let lack_cost = all_cells_are(&costs, ABSENT);
        [
            ListColumn::new(Column::number("msgs"), messages)
                .sorted_by(Order::Messages)
                .with_rank(4),
            ListColumn::new(Column::number("br"), branches)
                .hidden_if(have_one_branch)
                .with_rank(1),
            ListColumn::new(Column::number("size"), sizes)
                .sorted_by(Order::Size)
                .with_rank(0),
            ListColumn::new(Column::number("tokens"), token_sums)
                .hidden()
                .sorted_by(Order::Tokens),
            ListColumn::new(Column::number("context"), contexts)
                .hidden_if(lack_context)
                .sorted_by(Order::Context)
                .with_rank(3),
            ListColumn::new(Column::number("cost"), costs)
                .hidden_if(lack_cost)
                .sorted_by(Order::Cost)
                .with_rank(5),
        ]
    }
}

/// The cell of a session that lacks the value of a column.
const ABSENT: &str = "-";

/// Returns the last `length` characters of a session's id.
fn short_id(session: &ListedSession, length: usize) -> String {
    id_suffix(&session.id.to_string_lossy(), length).to_owned()
}

/// Whether all cells have the same text. True without cells.
fn have_same_text(cells: &[(String, Style)]) -> bool {
    match cells.first() {
        Some((first_text, _)) => all_cells_are(cells, first_text),
        None => true,
    }
}

/// Whether all cells have this text.
fn all_cells_are(cells: &[(String, Style)], wanted: &str) -> bool {
    cells.iter().all(|(text, _)| text == wanted)
}

/// Returns the path of a session's repository; `None` if its directory is in none.
fn repository_path(session: &ListedSession) -> Option<Cow<'_, str>> {
    session
        .repository
        .as_ref()
        .map(|folder| folder.to_string_lossy())
}

/// Returns the tokens of all requests of a session.
fn token_text(session: &ListedSession) -> String {
    let sum = session.usage.total_tokens();
    if sum > 0.0 {
        format_tokens(sum)
    } else {
        ABSENT.to_owned()
    }
}

/// Returns the size of the context of a session: an estimate if there is one, because the count of
/// the provider is then outdated.
fn context_text(session: &ListedSession) -> String {
    if let Some(estimate) = session.context_estimate {
        return format_estimate(estimate);
    }
    match session.context_tokens {
        Some(size) => format_tokens(size),
        None => ABSENT.to_owned(),
    }
}

/// Returns the short name of each directory, by its path: the shortest suffix of whole names that
/// no other directory has. For example, `/src/a/app` and `/src/b/app` become `a/app` and `b/app`.
///
/// The short names are truncated to `width` columns, unless they would no longer be distinct.
/// Without a width, a short name is the whole path, with `~` for the home directory.
fn short_folder_names<'s>(
    folders: impl Iterator<Item = Cow<'s, str>>,
    width: Option<usize>,
    home: Option<&str>,
) -> HashMap<String, String> {
    let distinct_folders: HashSet<String> = folders.map(Cow::into_owned).collect();
    let folders: Vec<String> = distinct_folders.into_iter().collect();
    // The paths as they are printed, so that widths and suffixes apply to the printed text. This
    // list, and the short names, have the order of `folders`.
    let whole_paths: Vec<String> = folders
        .iter()
        .map(|folder| to_visible(&abbreviate_home(folder, home)))
        .collect();
    let mut cut_names = None;
    if let Some(width) = width {
        // `None` if the names would look alike.
        cut_names = cut_to_distinct(&distinct_suffixes(&whole_paths), width);
    }
    let short_names = cut_names.unwrap_or(whole_paths);
    folders.into_iter().zip(short_names).collect()
}

/// Truncates paths to `width` columns: at the end, at the start or in the middle, whichever is the
/// first to leave all paths distinct. If none does, returns the paths uncut. `None` if the uncut
/// paths are not distinct either.
fn cut_to_distinct(paths: &[&str], width: usize) -> Option<Vec<String>> {
    let cuts: [fn(&str, usize) -> String; 4] = [
        |path, width| truncate_end(path, width, "…"),
        |path, width| truncate_start(path, width, "…"),
        |path, width| truncate_path(path, 0..path.len(), width, "…"),
        |path, _width| path.to_owned(),
    ];
    for cut in cuts {
        let cut_paths: Vec<String> = paths.iter().map(|path| cut(path, width)).collect();
        let distinct: HashSet<&String> = cut_paths.iter().collect();
        let are_all_distinct = distinct.len() == cut_paths.len();
        if are_all_distinct {
            return Some(cut_paths);
        }
    }
    None
}

/// Returns the shortest suffix of each path, in whole names, that no other path has. A path without
/// such a suffix is returned whole.
fn distinct_suffixes(paths: &[String]) -> Vec<&str> {
    let mut counts: HashMap<&str, usize> = HashMap::default();
    for path in paths {
        for suffix in name_suffixes(path) {
            *counts.entry(suffix).or_default() += 1;
        }
    }

    let mut distinct = Vec::new();
    for path in paths {
        let own_suffix = name_suffixes(path).find(|suffix| counts[suffix] == 1);
        distinct.push(own_suffix.unwrap_or(path));
    }
    distinct
}

/// Returns the suffixes of a path that begin with a whole name, the shortest first.
fn name_suffixes(path: &str) -> impl Iterator<Item = &str> {
    let trimmed_len = path.trim_end_matches(SEPARATORS).len();
    let separators = path[..trimmed_len].rmatch_indices(SEPARATORS);
    let starts = separators.map(|(offset, _)| offset + 1).chain([0]);
    starts.map(|start| &path[start..])
}

/// Returns the last cell of a row: the title of the session, which is its name or first user
/// message. `distinct_title`, if given, replaces the title, because other rows have the same one.
///
/// A row nested below another session is indented, with a line to that session; if it continues
/// that session, it has an arrow instead. The name of a sub-agent, and a mark for an archive,
/// precede the title, as in `└─ reviewer: Review the parser`.
fn title_cell(session: &ListedSession, distinct_title: Option<&String>, row: &ListRow) -> String {
    let mut title = indent_with_connector(row);
    // Most agents name the file of a sub-agent after it. Codex does not: its files are rollouts.
    let is_sub_agent = session.owner.is_some();
    let is_named_after_agent = RolloutName::parse(&session.path).is_none();
    if is_sub_agent
        && is_named_after_agent
        && let Some(stem) = session.path.file_stem()
    {
        // oh-my-pi begins the names of its own sub-agents, such as the advisor, with underscores.
        title += stem.to_string_lossy().trim_start_matches('_');
        title += ": ";
    }
    if is_archive(&session.path) {
        title += "(archived) ";
    }
    match distinct_title {
        Some(distinct_title) => title += distinct_title,
        None => title += &display_title(&session.title(), session.message_count),
    }
    to_visible(&title)
}

/// Returns what precedes the title of a row: its indentation, and then the line to the session
/// below which it is nested, or the arrow.
fn indent_with_connector(row: &ListRow) -> String {
    /// From this level on, rows are not indented further.
    const DEEPEST: usize = 24;
    /// The indentation of a level, as wide as a connector.
    const LEVEL_INDENT: &str = "   ";

    let level = row.level.min(DEEPEST);
    if row.continues_source {
        return LEVEL_INDENT.repeat(level) + "↳ ";
    }
    if level == 0 {
        return String::new();
    }
    // The connector takes the last level.
    let indentation = LEVEL_INDENT.repeat(level - 1);
    let connector = if row.is_last { "└─ " } else { "├─ " };
    indentation + connector
}

/// Returns the number of characters that short ids in the list have. That is [`ID_SUFFIX_LEN`], or
/// 4 more if only the longer ids are distinct.
fn distinct_id_length(list: &[ListedSession]) -> usize {
    for length in [ID_SUFFIX_LEN, ID_SUFFIX_LEN + 4] {
        let mut suffixes = HashSet::default();
        for session in list {
            suffixes.insert(short_id(session, length));
        }
        if suffixes.len() == list.len() {
            return length;
        }
    }
    ID_SUFFIX_LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_shows_the_shortest_distinct_suffix_of_a_path() {
        let suffixes = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
            distinct_suffixes(&paths)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(suffixes(&["~/code/ferry", "~/garden"]), ["ferry", "garden"]);
        assert_eq!(
            suffixes(&["~/a/app", "~/b/app", "~/b/lib"]),
            ["a/app", "b/app", "lib"]
        );
        assert_eq!(
            suffixes(&["/app", "/x/app", "", "/"]),
            ["/app", "x/app", "", "/"]
        );
        assert_eq!(suffixes(&[r"C:\a\app", "~/app/"]), [r"app", "app/"]);
    }
}
