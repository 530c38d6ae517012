//! `pisess branches`: lists the branches of a session.

use crate::agents::row::ROW_UNITS;
use crate::cli::guide::{Example, Guide};
use crate::cli::ids::Ids;
use crate::cli::open::{NO_ENTRIES, OpenSession};
use crate::cli::output::{
    Cell, Column, Exit, Failure, Styles, Table, Ui, plain_cell, to_visible, truncate_end,
};
use crate::cli::pruned::describe_pruned_branches;
use crate::cli::pruned::load_pruned;
use crate::cli::rows::entry::{row_options_for, tone_style};
use crate::cli::rows::ids::IdPainter;
use crate::format::{format_age, format_estimate, format_tokens};
use crate::load::LoadOptions;
use crate::ops::branches::{Branch, Outcome, find_branches};
use crate::ops::context_estimate::{PrunedPayloads, estimate_wrong_counts};
use crate::ops::rows::EntryRow;
use crate::ops::switch::is_mark;
use crate::ops::tree::{TreeView, view_without_layout};
use crate::ops::undo::find_undone;
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Role};
use crate::session::tree::Tree;
use foldhash::HashMap;
use owo_colors::Style;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "List the branches, newest first",
        "pisess branches session.jsonl",
    ),
    Example::new(
        "List the branches as JSON",
        "pisess branches --json session.jsonl",
    ),
]);

/// List the branches of a session.
///
/// Each row is a branch, newest first. The columns are:
///
/// - `*` if the leaf is on the branch
/// - the id of its last entry, with the label of that entry
/// - the age of that entry; if a `switch` moved the leaf to it, the age of the
///   switch
/// - the number of entries after the branch point
/// - the size of its context in tokens: the provider's last count, plus an estimate
///   of what followed. If this sum is less than a quarter of the agent's estimate for
///   all messages, or if `prune` has moved parts of messages since the count, that
///   estimate is shown instead, marked with `~`
/// - the branch point: the last entry that the branch shares with another branch,
///   apart from settings and bookkeeping. A narrow terminal shows only its id. The
///   column is left out if no branch has one
/// - its first user message after the branch point. The column is left out on a narrow
///   terminal, and if in every branch this message is also the last user message
/// - its last user message, with the label of that message
/// - its outcome: the last answer or other entry after its last user message;
///   `(failed)` precedes the outcome if this entry or the last tool call failed
///
/// `[LABEL] on ID` is a label of another entry on the branch. `(undone)` means
/// that `undo` took back the last entry.
///
/// A branch ends at its last entry; bookkeeping is not counted. Bookkeeping is
/// labels, names, marks (appended by `switch`) and other entries that neither
/// change a setting nor reach a model. If the leaf is in the middle of a branch,
/// one row ends at the leaf, and another at the last entry of the branch.
///
/// A note reports how many branches `prune --branch` removed.
#[derive(Debug, clap::Args)]
#[command(about = "List the branches of a session", verbatim_doc_comment)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Print the result as JSON (an object per branch)
    #[arg(long)]
    pub json: bool,
}

/// The branches of a session, and the facts printed about them.
struct BranchList<'a> {
    drawing: TreeView<'a>,
    branches: Vec<Branch>,
    facts: BranchFacts,
    /// The entry that is shown for each branch point; empty for JSON.
    shown_branch_points: HashMap<EntryIx, Option<EntryIx>>,
}

/// What is read of the lines of branches.
struct BranchFacts {
    /// The size of the context at each tip, in tokens, as the agent counts it.
    context_sizes: HashMap<EntryIx, f64>,
    /// Estimates of the contexts whose counts are implausible, for example after `prune`.
    context_estimates: HashMap<EntryIx, f64>,
    /// The tips that `switch` appended as marks: the text of a mark does not describe its branch.
    switch_marks: Vec<EntryIx>,
    /// For the entry of each skill prompt, what the user typed to invoke the skill. The entry
    /// itself contains the text of the skill.
    typed_skills: HashMap<EntryIx, Text<'static>>,
}

impl BranchFacts {
    /// Reads the facts about the branches of a session.
    fn read(branches: &[Branch], open: &OpenSession) -> Result<BranchFacts, Failure> {
        let input = &open.input;
        let tips: Vec<EntryIx> = branches.iter().map(|branch| branch.tip).collect();
        let agent = open.session.agent();
        let context_sizes = agent.estimate_contexts(&tips, &open.entry_reader());
        let context_sizes = input.map_read_error(context_sizes)?;
        let context_estimates = estimate_implausible(&tips, &context_sizes, open);
        let switch_marks = find_switch_marks(&tips, open);
        let typed_skills = read_typed_skills(branches, open);
        Ok(BranchFacts {
            context_estimates: input.map_read_error(context_estimates)?,
            context_sizes,
            switch_marks: input.map_read_error(switch_marks)?,
            typed_skills: input.map_read_error(typed_skills)?,
        })
    }
}

/// Estimates the contexts at those tips whose size, in tokens, is implausible. The agent takes the
/// size from the last reply, which does not know what `prune` has removed since.
fn estimate_implausible(
    tips: &[EntryIx],
    context_sizes: &HashMap<EntryIx, f64>,
    open: &OpenSession,
) -> io::Result<HashMap<EntryIx, f64>> {
    // If the file of pruned payloads cannot be read, the agent's sizes are used, as in `list`.
    let pruned = load_pruned(&open.input).ok().flatten();
    let payloads = PrunedPayloads::new(pruned.as_ref(), &open.session);
    estimate_wrong_counts(tips, context_sizes, payloads.as_ref(), &open.entry_reader())
}

/// Which columns the table has.
struct TableForm {
    has_branch_points: bool,
    /// Whether the first user message of a branch is shown besides the last one.
    shows_first_message: bool,
    /// Whether there is little space. A branch point is only an id then.
    is_narrow: bool,
}

impl TableForm {
    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![
            Column::text(""),
            Column::text("id"),
            Column::number("age"),
            Column::number("entries"),
            Column::number("tokens"),
        ];
        if self.has_branch_points {
            let mut column = Column::text("branch point").with_max_width(MAX_BRANCH_POINT_WIDTH);
            // In a narrow table, the column has only ids, which are not truncated.
            if !self.is_narrow {
                column = column.allow_shrink();
            }
            columns.push(column);
        }
        if self.shows_first_message {
            columns.push(Column::text("first user message").allow_shrink());
        }
        columns.push(Column::text("last user message").allow_shrink());
        columns.push(Column::text("outcome").allow_shrink());
        columns
    }
}

/// Prints the branches of a session, as JSON or as a table. The branches are found before rows are
/// loaded: rows are needed only for the entries that are shown.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let options = LoadOptions {
        timestamps: args.json,
        ..LoadOptions::default()
    };
    let mut open = OpenSession::open_to_read(&args.session, options, ui)?;
    let branches = find_branches(&open.session, &Tree::new(&open.session));
    let facts = BranchFacts::read(&branches, &open)?;
    let mut shown_branch_points = HashMap::default();
    if !args.json {
        shown_branch_points = find_shown_branch_points(&branches, &open.session);
    }
    let options = LoadOptions {
        timestamps: args.json,
        ..row_options_for(args.json, ui)
    };
    open.add_rows(
        &list_shown_entries(&branches, &shown_branch_points),
        options,
    )?;

    let session = &open.session;
    let mut drawing = view_without_layout(session, session.leaf);
    drawing.undone = open
        .input
        .map_read_error(find_undone(session, &open.entry_reader()))?;
    let list = BranchList {
        drawing,
        branches,
        facts,
        shown_branch_points,
    };
    if args.json {
        list.print_json(ui)?;
    } else {
        list.print_table(ui)?;
    }
    if list.branches.is_empty() {
        ui.warn(NO_ENTRIES);
    }
    if let Some(pruned) = describe_pruned_branches(&open) {
        ui.print_status(&format!(
            "{pruned} pruned; `pisess prune --restore` restores them"
        ));
    }
    Ok(Exit::Done)
}

/// Returns the entries of branches that are shown, in file order and each once: several branches
/// may have the same last user message.
fn list_shown_entries(
    branches: &[Branch],
    shown_branch_points: &HashMap<EntryIx, Option<EntryIx>>,
) -> Vec<EntryIx> {
    let mut shown_entries = Vec::new();
    for branch in branches {
        shown_entries.push(branch.request.unwrap_or(branch.tip));
        shown_entries.extend(branch.first_request);
        shown_entries.extend(branch.outcome.map(|outcome| outcome.entry));
    }
    shown_entries.extend(shown_branch_points.values().flatten());
    shown_entries.sort_unstable();
    shown_entries.dedup();
    shown_entries
}

/// Returns the tips that are marks of a switch.
fn find_switch_marks(tips: &[EntryIx], open: &OpenSession) -> io::Result<Vec<EntryIx>> {
    let reader = open.entry_reader();
    let mut marks = Vec::new();
    for &tip in tips {
        if is_mark(&reader, tip)? {
            marks.push(tip);
        }
    }
    Ok(marks)
}

/// Returns what the user typed to invoke a skill, for each branch whose first or last user message
/// is the prompt of a skill.
fn read_typed_skills(
    branches: &[Branch],
    open: &OpenSession,
) -> io::Result<HashMap<EntryIx, Text<'static>>> {
    let session = &open.session;
    let reader = open.entry_reader();
    let mut typed_by_entry = HashMap::default();
    for branch in branches {
        for request in [branch.first_request, branch.request].into_iter().flatten() {
            if session.entry(request).flags.contains(Flags::SKILL_PROMPT) {
                let text = session.agent().draft_text(&reader, request)?;
                typed_by_entry.insert(request, join_lines(&text));
            }
        }
    }
    Ok(typed_by_entry)
}

impl BranchList<'_> {
    /// Returns the number of tokens of a branch's context; `None` if it is unknown.
    fn context_tokens(&self, branch: &Branch) -> Option<f64> {
        self.facts
            .context_sizes
            .get(&branch.tip)
            .copied()
            .filter(|size| size.is_finite())
    }

    /// Returns the estimate that replaces the agent's count of a branch's context. `None` if the
    /// agent's count is plausible.
    fn context_estimate(&self, branch: &Branch) -> Option<f64> {
        self.facts.context_estimates.get(&branch.tip).copied()
    }

    /// Returns the entry that is shown as the branch point; `None` if there is none.
    fn shown_branch_point(&self, branch: &Branch) -> Option<EntryIx> {
        let shown = self.shown_branch_points.get(&branch.branch_point?);
        shown.copied().flatten()
    }

    fn branch_label(&self, branch: &Branch) -> Option<Text<'_>> {
        branch.labelled_entry.and_then(|ix| self.drawing.label(ix))
    }

    /// Returns the entry whose text describes the branch: its last user message, else its tip.
    /// `None` if there is no such message, and the tip is a mark of `switch`.
    fn representative_entry(&self, branch: &Branch) -> Option<EntryIx> {
        match branch.request {
            None if self.facts.switch_marks.contains(&branch.tip) => None,
            request => request.or(Some(branch.tip)),
        }
    }

    /// Returns a branch as JSON. `id` and `line` are the id and the line of its last entry, marks
    /// of pisess apart. `question` is its last user message, `outcome` what came out at its end,
    /// and `firstQuestion` its first user message after the branch point. A member that does not
    /// apply to the branch is `null`.
    fn branch_json(&self, branch: &Branch) -> Vec<u8> {
        let session = self.drawing.session;
        let last_entry = branch.last_shown_entry(session);
        let id_of = |ix: EntryIx| Some(session.id(ix)).filter(|id| !id.is_empty());
        let question = self.question_json(branch.request);
        let first_question = self.question_json(branch.first_request);
        let outcome = match branch.outcome {
            Some(outcome) => self.outcome_json(outcome),
            None => b"null".to_vec(),
        };
        let branch_point = branch.branch_point.and_then(id_of);
        Object::new()
            .text_or_null("id", id_of(last_entry).as_ref())
            .number("line", f64::from(session.shown_line(last_entry).0))
            .text_or_null("timestamp", session.timestamp(branch.tip).as_ref())
            .text_or_null("label", self.branch_label(branch).as_ref())
            .number("entries", f64::from(branch.entry_count))
            .text_or_null("branchPoint", branch_point.as_ref())
            .number_or_null("tokens", self.context_tokens(branch))
            .with(self.context_estimate(branch), |object, estimate| {
                object.number("contextEstimate", estimate)
            })
            .bool("active", branch.active)
            .json("question", &question)
            .json("outcome", &outcome)
            .json("firstQuestion", &first_question)
            .finish()
    }

    /// Returns a user message as JSON, or `null`.
    fn question_json(&self, request: Option<EntryIx>) -> Vec<u8> {
        let Some(request) = request else {
            return b"null".to_vec();
        };
        let id = Some(self.drawing.session.id(request)).filter(|id| !id.is_empty());
        Object::new()
            .text_or_null("id", id.as_ref())
            .text_or_null("label", self.drawing.label(request).as_ref())
            .text("text", &self.request_text(request))
            .finish()
    }

    fn outcome_json(&self, outcome: Outcome) -> Vec<u8> {
        let session = self.drawing.session;
        let id = Some(session.id(outcome.entry)).filter(|id| !id.is_empty());
        let row = self.drawing.row(outcome.entry);
        Object::new()
            .text_or_null("id", id.as_ref())
            .text("role", &row.role)
            .text("text", &without_half_pair(row.body.clone()))
            .bool("failed", outcome.has_failed(session))
            .finish()
    }

    /// Prints an object for each branch.
    fn print_json(&self, ui: &mut Ui) -> Result<(), Failure> {
        for branch in &self.branches {
            ui.print_json(&self.branch_json(branch))?;
        }
        Ok(())
    }

    /// Prints a row for each branch: `*` if it is active, the id of its last entry, that entry's
    /// age, the number of entries, the number of tokens, the first and the last user message, and
    /// the outcome.
    fn print_table(&self, ui: &mut Ui) -> Result<(), Failure> {
        let now_ms = Ids::new(ui)?.now_ms(ui);
        let styles = ui.styles;
        let ids = IdPainter::new(self.drawing.session, styles);
        let form = self.choose_form(ui);
        let mut table = Table::new(form.columns());
        for branch in &self.branches {
            let mut row = self.number_cells(branch, now_ms, &ids, &styles);
            if form.has_branch_points {
                let cell = match self.shown_branch_point(branch) {
                    Some(ix) if form.is_narrow => ids.id_cell(ix),
                    Some(ix) => self.branch_point_cell(ix, &ids, &styles),
                    None => Cell::new(),
                };
                row.push(cell);
            }
            if form.shows_first_message {
                let cell = match branch.first_request {
                    Some(ix) => plain_cell(to_visible(&self.request_text(ix).to_string_lossy())),
                    None => Cell::new(),
                };
                row.push(cell);
            }
            row.push(self.message_cell(branch, &styles));
            row.push(self.outcome_cell(branch, &styles));
            table.add_row(row);
        }
        table.print(ui)
    }

    /// Chooses the columns of the table. A column whose cells are the same for all branches is left
    /// out, and so is one for which there is no space.
    fn choose_form(&self, ui: &Ui) -> TableForm {
        let mut has_branch_points = false;
        let mut has_several_messages = false;
        for branch in &self.branches {
            has_branch_points |= branch.branch_point.is_some();
            has_several_messages |=
                branch.first_request.is_some() && branch.first_request != branch.request;
        }
        let is_narrow = ui.row_width().is_some_and(|width| width < MIN_WIDE_WIDTH);
        TableForm {
            has_branch_points,
            shows_first_message: has_branch_points && has_several_messages && !is_narrow,
            is_narrow,
        }
    }

    /// Returns the first cells of a row: mark, id, age, number of entries, number of tokens.
    fn number_cells(
        &self,
        branch: &Branch,
        now_ms: i64,
        ids: &IdPainter,
        styles: &Styles,
    ) -> Vec<Cell> {
        let active_mark = if branch.active { "*" } else { "" };
        let tip_time_ms = self.drawing.session.entry(branch.tip).time_ms;
        let tokens = match (self.context_estimate(branch), self.context_tokens(branch)) {
            (Some(estimate), _) => format_estimate(estimate),
            (None, Some(tokens)) => format_tokens(tokens),
            (None, None) => "?".to_owned(),
        };
        vec![
            vec![(active_mark.to_owned(), styles.active)],
            self.tip_cell(branch, ids, styles),
            vec![(format_age(now_ms, tip_time_ms), styles.dim)],
            plain_cell(branch.entry_count.to_string()),
            plain_cell(tokens),
        ]
    }

    /// Returns the cell of a branch point: `3f9a0c1b Two ways are possible`. The role of an
    /// assistant's message is left out, because most branches begin after one.
    fn branch_point_cell(&self, ix: EntryIx, ids: &IdPainter, styles: &Styles) -> Cell {
        let row = self.drawing.row(ix);
        let text = without_half_pair(row.body.clone());
        let mut cell = ids.id_cell(ix);
        cell.push((" ".to_owned(), Style::new()));
        if !self.drawing.session.is_message(ix, Role::Assistant) {
            cell.push(role_part(&row, styles));
        }
        cell.push((to_visible(&text.to_string_lossy()), Style::new()));
        cell
    }

    /// Returns the text of a request. For a skill prompt, that is what the user typed to invoke the
    /// skill.
    fn request_text(&self, ix: EntryIx) -> Text<'_> {
        match self.facts.typed_skills.get(&ix) {
            Some(typed) => without_half_pair(typed.as_borrowed()),
            None => without_half_pair(self.drawing.row(ix).body),
        }
    }

    /// Returns the cell with what came out at the end of a branch: `The map has 4 islands.`, or
    /// `(failed) bash: make test`. The role of an assistant's message is left out, because most
    /// branches end with one.
    fn outcome_cell(&self, branch: &Branch, styles: &Styles) -> Cell {
        let mut cell = Cell::new();
        let Some(outcome) = branch.outcome else {
            return cell;
        };
        let session = self.drawing.session;
        if outcome.has_failed(session) {
            cell.push(("(failed) ".to_owned(), styles.error));
        }
        let row = self.drawing.row(outcome.entry);
        if !session.is_message(outcome.entry, Role::Assistant) {
            cell.push(role_part(&row, styles));
        }
        let text = without_half_pair(row.body.clone());
        cell.push((to_visible(&text.to_string_lossy()), Style::new()));
        cell
    }

    /// Returns the id of a branch's last entry, followed by the entry's label.
    fn tip_cell(&self, branch: &Branch, ids: &IdPainter, styles: &Styles) -> Cell {
        let last_entry = branch.last_shown_entry(self.drawing.session);
        let mut cell = ids.id_cell(last_entry);
        if let Some(label) = self.drawing.label(last_entry) {
            let label = truncate_end(&bracket_label(&label), MAX_LABEL_WIDTH, "…");
            cell.push((format!(" {label}"), styles.label));
        }
        cell
    }

    /// Returns the cell with the last user message of a branch: `(undone) [bug] on 3f9a  [start]
    /// Draw the map`. A branch without such a message shows its tip instead.
    ///
    /// What precedes the message is there only if it applies: `(undone)`, if the branch was undone;
    /// the label of another entry of the branch, with the id of that entry; the label of the
    /// message itself. The label of the last entry is in another column: see [`Self::tip_cell`].
    fn message_cell(&self, branch: &Branch, styles: &Styles) -> Cell {
        let message = self.representative_entry(branch);
        let last_entry = branch.last_shown_entry(self.drawing.session);
        let mut cell = Cell::new();
        if self.drawing.is_undone(last_entry) {
            cell.push(("(undone) ".to_owned(), styles.dim));
        }
        if let Some(labelled) = branch.labelled_entry {
            // The row shows the labels of these two entries without their ids.
            let is_in_row = message == Some(labelled) || last_entry == labelled;
            if !is_in_row {
                cell.extend(self.label_of_other_entry(labelled, styles));
            }
        }

        let Some(message) = message else {
            return cell;
        };
        if message != last_entry
            && let Some(label) = self.drawing.label(message)
        {
            cell.push((bracket_label(&label) + " ", styles.label));
        }
        // The heading of the column is the role of a user message.
        if branch.request.is_none() {
            cell.push(role_part(&self.drawing.row(message), styles));
        }
        let text = self.request_text(message);
        cell.push((to_visible(&text.to_string_lossy()), Style::new()));
        cell
    }

    /// Returns the label of an entry that is not in the row, and the id of that entry: `[bug] on
    /// 3f9a  `. Empty if it has no label.
    fn label_of_other_entry(&self, labelled: EntryIx, styles: &Styles) -> Cell {
        let Some(label) = self.drawing.label(labelled) else {
            return Cell::new();
        };
        let id = self.drawing.session.id(labelled);
        vec![
            (bracket_label(&label) + " ", styles.label),
            (to_visible(&format!("on {id}  ")), styles.dim),
        ]
    }
}

/// Returns the entry that is shown for each branch point, the entry after which branches differ.
/// That is the branch point itself or, if it is a label or another annotation, the nearest entry of
/// the conversation above it; `None` if there is none.
///
/// The result also has the annotations between a branch point and its shown entry. So the search
/// from another branch point among them ends there, and no entry is visited twice.
fn find_shown_branch_points(
    branches: &[Branch],
    session: &Session,
) -> HashMap<EntryIx, Option<EntryIx>> {
    let mut shown_entries = HashMap::default();
    for branch in branches {
        let mut shown = None;
        let mut annotations = Vec::new();
        for ix in session.ancestors(branch.branch_point) {
            if session.is_conversation(ix) {
                shown_entries.insert(ix, Some(ix));
            }
            if let Some(&known) = shown_entries.get(&ix) {
                shown = known;
                break;
            }
            annotations.push(ix);
        }
        for ix in annotations {
            shown_entries.insert(ix, shown);
        }
    }
    shown_entries
}

/// Returns the role of an entry as a part of a cell. If the row has a body, which is to follow, it
/// ends with a colon.
fn role_part(row: &EntryRow, styles: &Styles) -> (String, Style) {
    let colon = if row.body.is_empty() { "" } else { ": " };
    let role = to_visible(&format!("{}{colon}", row.role));
    (role, tone_style(row.tone, styles))
}

/// The terminal width, in columns, from which the column with the branch point also has what was
/// said there.
const MIN_WIDE_WIDTH: usize = 110;

/// The maximum width of the column with the branch point: an id, and the beginning of what was said
/// there.
const MAX_BRANCH_POINT_WIDTH: usize = 40;

/// The maximum width of the label of a branch's last entry.
const MAX_LABEL_WIDTH: usize = 24;

/// Removes the first half of a surrogate pair, with which a truncated row may end.
fn without_half_pair(mut text: Text) -> Text {
    text.drop_high_surrogate();
    text
}

fn bracket_label(label: &Text) -> String {
    to_visible(&format!("[{label}]"))
}

/// Joins the lines of a text with spaces, and truncates the result to the maximum length of a row.
fn join_lines(text: &Text) -> Text<'static> {
    let words = text
        .to_string_lossy()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    Text::from(words).head_whole(ROW_UNITS).into_owned()
}
