//! `pisess branches`: lists the branches of a session.

use crate::agents::row::ROW_UNITS;
use crate::cli::guide::{Example, Guide};
use crate::cli::ids::Ids;
use crate::cli::open::OpenSession;
use crate::cli::output::{Cell, Column, Exit, Failure, Styles, Table, Ui, fitted, visible};
use crate::cli::pruned::pruned_branches;
use crate::cli::rows::entry::{row_options_of, tone_style};
use crate::format::{age, tokens};
use crate::load::Options;
use crate::ops::branches::{Branch, branches};
use crate::ops::switch::is_mark;
use crate::ops::tree::{Drawing, rows};
use crate::ops::undo::undone;
use crate::session::entry::{EntryIx, Flags};
use crate::session::reference::Position;
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
/// One row is printed per branch, newest first: `*` if the leaf is on it, the id of its last entry,
/// the age of that entry, the number of entries after the branch point, the size of its context in
/// tokens (as the agent estimates it), and the last user message on it. The label of the last entry
/// follows its id, the label of the user message precedes it, and `[LABEL] on ID` is the label of
/// another entry.
///
/// A branch ends at an entry that is followed by nothing, or only by bookkeeping: labels, marks of
/// `switch`, names and other entries that do not change what a model sees. If the leaf is in the
/// middle of a conversation, the entry there also counts as the end of a branch; after a `switch`,
/// the age is that of the switch. `(undone)` precedes the user message if `undo` took the last
/// entry back.
///
/// How many branches `prune --branch` removed is reported on standard error.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Print the result as JSON (an object per branch)
    #[arg(long)]
    pub json: bool,
}

/// The branches and what is printed about them.
struct BranchList<'a> {
    drawing: Drawing<'a>,
    branches: Vec<Branch>,
    sizes: HashMap<EntryIx, f64>,
    /// The tips that are marks of a switch: the text of a mark does not describe the branch.
    marks: Vec<EntryIx>,
    /// For each prompt of a skill, what the user typed to invoke it; the entry itself contains the
    /// text of the skill.
    typed: HashMap<EntryIx, Text<'static>>,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let options = Options {
        timestamps: args.json,
        ..Options::default()
    };
    let mut open = OpenSession::open(&args.session, options, ui)?;
    let branches = branches(&open.session, &Tree::new(&open.session));
    let tips: Vec<_> = branches.iter().map(|branch| branch.tip).collect();
    let sizes = open
        .session
        .agent()
        .estimate_contexts(&tips, &open.reader());
    let sizes = open.input.read(sizes)?;
    let marks = open.input.read(marks_among(&tips, &open))?;
    let typed = open.input.read(typed_texts(&branches, &open))?;

    // Only these rows are shown.
    let mut shown = Vec::new();
    for branch in &branches {
        shown.push(branch.request.unwrap_or(branch.tip));
    }
    shown.sort_unstable();
    shown.dedup();
    let options = Options {
        timestamps: args.json,
        ..row_options_of(args.json, ui)
    };
    open.add_rows(&shown, options)?;

    let session = &open.session;
    let mut drawing = rows(session, session.leaf);
    drawing.undone = open.input.read(undone(session, &open.reader()))?;
    let list = BranchList {
        drawing,
        branches,
        sizes,
        marks,
        typed,
    };
    if args.json {
        for branch in &list.branches {
            ui.print_json(&list.json(branch))?;
        }
    } else {
        list.print(ui)?;
    }
    if let Some(pruned) = pruned_branches(&open) {
        ui.status(&format!(
            "{pruned} pruned; `pisess prune --restore` restores them"
        ));
    }
    Ok(Exit::Done)
}

/// Returns the tips that are marks of a switch.
fn marks_among(tips: &[EntryIx], open: &OpenSession) -> io::Result<Vec<EntryIx>> {
    let reader = open.reader();
    let mut marks = Vec::new();
    for &tip in tips {
        if is_mark(&reader, tip)? {
            marks.push(tip);
        }
    }
    Ok(marks)
}

/// Returns what the user typed to invoke the skills among the last user messages of branches.
fn typed_texts(
    branches: &[Branch],
    open: &OpenSession,
) -> io::Result<HashMap<EntryIx, Text<'static>>> {
    let session = &open.session;
    let reader = open.reader();
    let mut typed = HashMap::default();
    for branch in branches {
        if let Some(request) = branch.request
            && session.entry(request).flags.has(Flags::SKILL_PROMPT)
        {
            let text = session.agent().draft_text(&reader, request)?;
            typed.insert(request, on_one_line(&text));
        }
    }
    Ok(typed)
}

impl BranchList<'_> {
    fn size(&self, branch: &Branch) -> Option<f64> {
        self.sizes
            .get(&branch.tip)
            .copied()
            .filter(|size| size.is_finite())
    }

    fn label(&self, branch: &Branch) -> Option<Text<'_>> {
        branch.labelled.and_then(|ix| self.drawing.label(ix))
    }

    /// Returns the entry that represents the branch: the last user message; if there is none, its
    /// tip, unless that is a mark.
    fn question(&self, branch: &Branch) -> Position {
        match branch.request {
            None if self.marks.contains(&branch.tip) => None,
            request => request.or(Some(branch.tip)),
        }
    }

    fn json(&self, branch: &Branch) -> Vec<u8> {
        let session = self.drawing.session;
        let end = branch.end(session);
        let id_of = |ix: EntryIx| Some(session.id(ix)).filter(|id| !id.is_empty());
        let question = match branch.request {
            Some(request) => Object::new()
                .text_or_null("id", id_of(request).as_ref())
                .text_or_null("label", self.drawing.label(request).as_ref())
                .text("text", &self.asked(request))
                .finish(),
            None => b"null".to_vec(),
        };
        let branch_point = branch.branch_point.and_then(id_of);
        Object::new()
            .text_or_null("id", id_of(end).as_ref())
            .number("line", f64::from(session.entry(end).line.0))
            .text_or_null("timestamp", session.timestamp(branch.tip).as_ref())
            .text_or_null("label", self.label(branch).as_ref())
            .number("entries", f64::from(branch.entries))
            .text_or_null("branchPoint", branch_point.as_ref())
            .number_or_null("tokens", self.size(branch))
            .bool("active", branch.active)
            .json("question", &question)
            .finish()
    }

    fn print(&self, ui: &mut Ui) -> Result<(), Failure> {
        let now = Ids::new(ui)?.now_ms(ui);
        let styles = ui.styles;
        let cell = |text: String, style: Style| vec![(text, style)];
        let mut table = Table::new([
            Column::text(""),
            Column::text("id"),
            Column::number("age"),
            Column::number("entries"),
            Column::number("tokens"),
            Column::text("last user message").cut(),
        ]);
        for branch in &self.branches {
            table.row(vec![
                cell(
                    (if branch.active { "*" } else { "" }).to_owned(),
                    styles.active,
                ),
                self.tip(branch, &styles),
                cell(
                    age(now, self.drawing.session.entry(branch.tip).time_ms),
                    styles.dim,
                ),
                cell(branch.entries.to_string(), Style::new()),
                cell(
                    self.size(branch).map_or("?".to_owned(), tokens),
                    Style::new(),
                ),
                self.said(branch, &styles),
            ]);
        }
        table.print(ui)
    }

    /// Returns the text of a request; for a skill, what the user typed to invoke it.
    fn asked(&self, ix: EntryIx) -> Text<'_> {
        let mut asked = self
            .typed
            .get(&ix)
            .map_or_else(|| self.drawing.row(ix).body, Text::borrowed);
        asked.drop_high_surrogate();
        asked
    }

    /// Returns the id of a branch's last entry, and its label.
    fn tip(&self, branch: &Branch, styles: &Styles) -> Cell {
        let end = branch.end(self.drawing.session);
        let id = (
            visible(&self.drawing.session.id(end).to_string_lossy()),
            styles.dim,
        );
        let label = self
            .drawing
            .label(end)
            .map(|label| fitted(&bracketed(&label), LABEL, "…"));
        [id].into_iter()
            .chain(label.map(|label| (format!(" {label}"), styles.label)))
            .collect()
    }

    /// Returns the last user message of a branch, after its label. If another entry of the branch
    /// has one, that precedes both, with the id of the entry.
    fn said(&self, branch: &Branch, styles: &Styles) -> Cell {
        let question = self.question(branch);
        let mut said = Cell::new();
        let end = branch.end(self.drawing.session);
        if self.drawing.is_undone(end) {
            said.push(("(undone) ".to_owned(), styles.dim));
        }
        let other = if branch.labelled == question {
            None
        } else {
            branch.labelled
        };
        for ix in [other, question]
            .into_iter()
            .flatten()
            .filter(|&ix| ix != end)
        {
            let Some(label) = self.drawing.label(ix) else {
                continue;
            };
            said.push((bracketed(&label) + " ", styles.label));
            if Some(ix) == other {
                said.push((
                    visible(&format!("on {}  ", self.drawing.session.id(ix))),
                    styles.dim,
                ));
            }
        }
        if let Some(ix) = question {
            let row = self.drawing.row(ix);
            // A user message needs no role.
            if branch.request.is_none() {
                let colon = if row.body.is_empty() { "" } else { ": " };
                said.push((
                    visible(&format!("{}{colon}", row.role)),
                    tone_style(row.tone, styles),
                ));
            }
            said.push((visible(&self.asked(ix).to_string_lossy()), Style::new()));
        }
        said
    }
}

/// The maximum width of the label of a branch's last entry.
const LABEL: usize = 24;

fn bracketed(label: &Text) -> String {
    visible(&format!("[{label}]"))
}

/// Returns the text that a user typed to invoke a skill, on one line.
fn on_one_line(typed: &Text) -> Text<'static> {
    let words = typed
        .to_string_lossy()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    Text::from(words).head_whole(ROW_UNITS).into_owned()
}
