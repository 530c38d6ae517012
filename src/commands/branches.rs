//! `pisess branches`: where the conversations of a session end.

use super::entry_rows::row_options;
use super::ids::Ids;
use super::input::OpenSession;
use crate::core::agent;
use crate::core::entry::{Entry, EntryIx};
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

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "branches",
    examples: &[
        Example::new("Which branches there are", "pisess branches session.jsonl"),
        Example::new("The same for a program", "pisess branches --json session.jsonl"),
    ],
    found: None,
    writes: false,
    refers: false,
};

/// List the branches.
///
/// A row for each branch, the newest first: `*` on the one where the conversation stands, the id of
/// its last entry, the age of that, how many entries it has behind the place where it branches off,
/// how many tokens its context takes by the agent's estimate, and the last question on it, behind a
/// label that was given on it.
///
/// A branch ends where nothing follows but labels and other notes. Where one stands in the middle of
/// a conversation, that is a branch, too.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// Print a JSON object for each branch
    #[arg(long)]
    pub json: bool,
}

/// The branches with what is told of them.
struct Listing<'a> {
    session: &'a Session,
    drawing: Drawing<'a>,
    branches: Vec<Branch<'a>>,
    sizes: HashMap<EntryIx, f64>,
    /// The tips that are marks of a move: what they say of themselves tells nothing of a branch.
    marks: Vec<EntryIx>,
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
    let sizes = agent::sizes(session, &tree, &tips, &bodies).map_err(unreadable)?;
    let mut marks = Vec::new();
    for tip in tips {
        if is_mark(session, &bodies, tip).map_err(unreadable)? {
            marks.push(tip);
        }
    }
    let drawing = rows(session, session.leaf);
    let listing = Listing { session, drawing, branches, sizes, marks };
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

    /// The row of the last question; without one that of the tip, unless it is a mark.
    fn text(&self, branch: &Branch) -> Text<'_> {
        match branch.request {
            None if self.marks.contains(&branch.tip) => Text::from(""),
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
            // The first column stays where no row has a mark.
            let line = fitted(line.get(1..).unwrap_or_default().trim_end(), width.unwrap_or(usize::MAX), "…");
            ui.print(&format!("{line}\n"))?;
        }
        Ok(())
    }
}

/// How long ago, in the largest unit of which that is at least one.
fn age(now: i64, time: i64) -> String {
    if time == Entry::NO_TIME {
        return "?".to_owned();
    }
    let seconds = now.saturating_sub(time).max(0) / 1000;
    let units =
        [("y", 31_557_600), ("mo", 2_629_800), ("w", 604_800), ("d", 86_400), ("h", 3_600), ("min", 60)];
    let found = units.iter().find(|&&(_, length)| seconds >= length);
    found.map_or("now".to_owned(), |(unit, length)| format!("{} {unit}", seconds / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_one_unit() {
        let told = |seconds: i64| age(seconds * 1000, 0);
        let ages = [-5, 0, 59, 60, 3_599, 3_600, 86_400, 604_799, 604_800, 2_629_800, 400 * 86_400];
        assert_eq!(
            ages.map(told),
            ["now", "now", "now", "1 min", "59 min", "1 h", "1 d", "6 d", "1 w", "1 mo", "1 y"]
        );
        assert_eq!(age(0, Entry::NO_TIME), "?");
    }
}
