//! `pisess branches`: lists the branches of a session.

use super::age::age;
use super::entry_rows::row_options;
use super::ids::Ids;
use super::input::OpenSession;
use crate::core::entry::{EntryIx, Flags};
use crate::core::json::js;
use crate::core::json::write::Object;
use crate::core::ops::branches::{Branch, branches};
use crate::core::ops::switch::is_mark;
use crate::core::ops::tree::{Drawing, rows};
use crate::core::session::Session;
use crate::core::text::Text;
use crate::core::tree::Tree;
use crate::guide::{Example, Guide};
use crate::ui::{Exit, Failure, Ui, fitted, visible};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};
use std::collections::HashMap;
use std::path::PathBuf;

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "branches",
    examples: &[
        Example::new("List the branches, newest first", "pisess branches session.jsonl"),
        Example::new("List the branches as JSON", "pisess branches --json session.jsonl"),
    ],
    found: None,
    writes: false,
    refers: false,
};

/// List the branches of a session.
///
/// One row is printed per branch, newest first: `*` if the leaf is on it, the id of its last entry,
/// the age of that entry, the number of entries after the branch point, the size of its context in
/// tokens (as the agent estimates it), and the last user message on it, preceded by a label if one
/// was set on the branch.
///
/// A branch ends at an entry that is followed only by labels and other notes. If the leaf is in the
/// middle of a conversation, it counts as the end of a branch, too.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// Print one JSON object per branch
    #[arg(long)]
    pub json: bool,
}

/// The maximum length of a row's text.
const ROW_UNITS: usize = 200;

/// The branches, and the data for their rows.
struct Listing<'a> {
    session: &'a Session,
    drawing: Drawing<'a>,
    branches: Vec<Branch<'a>>,
    sizes: HashMap<EntryIx, f64>,
    /// The tips that are marks of a switch: their own text does not describe the branch.
    marks: Vec<EntryIx>,
    /// The text that the user typed to invoke a skill, by its prompt: the prompt itself is the skill's text.
    typed: HashMap<EntryIx, Text<'static>>,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, row_options(ui, false, args.json), ui)?;
    let session = &open.session;
    let tree = Tree::new(session);
    let branches = branches(session, &tree);
    let tips: Vec<_> = branches.iter().map(|branch| branch.tip).collect();
    let bodies = open.bodies();
    let unreadable = |error| open.input.unreadable(error);
    let sizes = session.agent().sizes(session, &tree, &tips, &bodies).map_err(unreadable)?;
    let mut marks = Vec::new();
    for tip in tips {
        if is_mark(session, &bodies, tip).map_err(unreadable)? {
            marks.push(tip);
        }
    }
    let mut typed = HashMap::new();
    let is_skill = |ix: &EntryIx| session.entry(*ix).flags.has(Flags::SKILL_PROMPT);
    for request in branches.iter().filter_map(|branch| branch.request).filter(is_skill) {
        let text = session.agent().draft_text(session, &bodies, request).map_err(unreadable)?;
        typed.insert(request, row_text(&text));
    }
    let drawing = rows(session, session.leaf);
    let listing = Listing { session, drawing, branches, sizes, marks, typed };
    match args.json {
        true => listing.branches.iter().try_for_each(|branch| ui.print_json(&listing.json(branch)))?,
        false => listing.print(ui)?,
    }
    Ok(Exit::Done)
}

impl Listing<'_> {
    fn size(&self, branch: &Branch) -> Option<f64> {
        self.sizes.get(&branch.tip).copied()
    }

    /// Returns the text of the last user message; without one, that of the tip, unless the tip is a mark.
    fn text(&self, branch: &Branch) -> Text<'_> {
        match branch.request {
            None if self.marks.contains(&branch.tip) => Text::from(""),
            Some(request) if self.typed.contains_key(&request) => self.typed[&request].borrowed(),
            request => self.drawing.text(request.unwrap_or(branch.tip)),
        }
    }

    fn json(&self, branch: &Branch) -> Vec<u8> {
        let (tip, session) = (branch.tip, self.session);
        let id = |ix: EntryIx| Some(session.id(ix)).filter(|id| !id.is_empty());
        Object::new()
            .text_or_null("id", id(tip).as_ref())
            .text_or_null("label", branch.label.as_ref())
            .text("text", &self.text(branch))
            .number("entries", f64::from(branch.entries))
            .text_or_null("branchPoint", branch.branch_point.and_then(id).as_ref())
            .text_or_null("timestamp", session.timestamp(tip).as_ref())
            .json("tokens", self.size(branch).map_or("null".to_owned(), js::number).as_bytes())
            .bool("active", branch.active)
            .number("line", f64::from(session.entry(tip).line.0))
            .finish()
    }

    fn print(&self, ui: &mut Ui) -> Result<(), Failure> {
        if self.branches.is_empty() {
            return Ok(());
        }
        let now = Ids::new(ui)?.now_ms(ui);
        let width = ui.width();
        let mut table = Table::new();
        table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["", "id", "age", "entries", "tokens", "last question"]);
        for branch in &self.branches {
            let label = branch.label.as_ref().map(|label| format!("[{label}] ")).unwrap_or_default();
            table.add_row([
                (if branch.active { "*" } else { "" }).to_owned(),
                visible(&self.session.id(branch.tip).to_string_lossy()),
                age(now, self.session.entry(branch.tip).time_ms),
                branch.entries.to_string(),
                self.size(branch).map_or("?".to_owned(), js::number),
                visible(&format!("{label}{}", self.text(branch))),
            ]);
        }
        for column in table.column_iter_mut().skip(2).take(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in table.lines() {
            // The first column is kept even if no row is marked.
            let line = fitted(line.get(1..).unwrap_or_default().trim_end(), width.unwrap_or(usize::MAX), "…");
            ui.print(&format!("{line}\n"))?;
        }
        Ok(())
    }
}

/// Returns the text that a user typed to invoke a skill, as the text of a row.
fn row_text(typed: &Text) -> Text<'static> {
    let words = typed.to_string_lossy().split_whitespace().collect::<Vec<_>>().join(" ");
    Text::from(format!("[skill-prompt]: {words}")).head_whole(ROW_UNITS).into_owned()
}
