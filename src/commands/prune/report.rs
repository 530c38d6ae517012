//! The rows of a plan, and the result of `prune`.

use super::alternatives::find_alternatives;
use super::job::{PruneJob, Task};
use super::secrets::{KEPT_SECRETS_NOTE, Purge, SecretsOutcome};
use crate::cli::open::OpenSession;
use crate::cli::output::{Cell, Column, Exit, Failure, Ui, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, RowNoun};
use crate::cli::pruned::describe_pruned;
use crate::cli::redaction::join_first_few;
use crate::cli::rows::entry::row_cell;
use crate::format::{format_bytes, format_count, format_tokens};
use crate::ops::prune::{PrunePlan, PrunedRecord, SECRET_KIND};
use crate::ops::tree::view_without_layout;
use crate::session::entry::LineNo;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_store::Committed;
use std::path::PathBuf;

/// The note that follows the report of pruned sessions.
pub const KEPT_NOTE: &str = "SESSION.pruned holds what was pruned (hint: --restore puts it back; --purge removes it for good)";

/// The numbers of parts that were pruned or restored.
#[derive(Clone, Default)]
pub struct PruneOutcome {
    /// The number of payloads, or of strings with secrets.
    pub payloads: usize,
    pub secrets: SecretsOutcome,
    pub entries: usize,
    pub notes: usize,
    pub branches: usize,
    /// The number of bytes by which a prune makes the session smaller; 0 for a restoration.
    pub bytes: usize,
    /// The size of the session before a prune, in bytes; 0 for a restoration.
    pub session_bytes: usize,
}

impl PruneOutcome {
    /// Returns the numbers of a plan for an open session.
    pub fn from_prune(prune: &PrunePlan, open: &OpenSession) -> PruneOutcome {
        let session = &open.session;
        PruneOutcome {
            payloads: prune.payloads().count() + prune.secrets.strings.len(),
            secrets: SecretsOutcome::from_prune(prune),
            entries: prune.entries.len(),
            notes: prune.note_count(session),
            branches: prune.branch_count,
            bytes: prune.saved_bytes(session),
            session_bytes: open.input.source().len() as usize,
        }
    }

    /// Counts what was restored. A record with a field is a payload; one without is an entry.
    pub fn from_restored(records: &[PrunedRecord]) -> PruneOutcome {
        let entries = records
            .iter()
            .filter(|placed| placed.field().is_none())
            .count();
        PruneOutcome {
            payloads: records.len() - entries,
            entries,
            ..PruneOutcome::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.payloads + self.entries == 0
    }

    /// Returns the sizes of the session before and after a prune, for people.
    pub fn describe_session_sizes(&self) -> String {
        let before = format_bytes(self.session_bytes);
        let after = format_bytes(self.session_bytes.saturating_sub(self.bytes));
        if before == after {
            format!("session still {after}")
        } else {
            format!("session {before} to {after}")
        }
    }

    /// Returns the numbers for people, as in `2 entries and 3 payloads`.
    pub fn describe(&self) -> String {
        if self.secrets.count > 0 {
            return self.secrets.describe(self.payloads);
        }
        let payloads = format_count(self.payloads, "payload", "payloads");
        if self.entries == 0 {
            return payloads;
        }
        let entries = describe_pruned(self.entries, self.notes, self.branches);
        if self.payloads == 0 {
            return entries;
        }
        format!("{entries} and {payloads}")
    }
}

const PAYLOADS: RowNoun = RowNoun {
    one: "payload",
    many: "payloads",
};
const STRINGS: RowNoun = RowNoun {
    one: "string",
    many: "strings",
};
/// The noun for restored parts, which are payloads and entries.
const PARTS: RowNoun = RowNoun {
    one: "part",
    many: "parts",
};
const ENTRIES: RowNoun = RowNoun {
    one: "entry",
    many: "entries",
};

impl PruneJob<'_> {
    /// Prints the plan of `-n`: a row for each payload or entry that would be pruned, and a summary
    /// with the sizes of the session before and after. For payloads, the summary also has the sizes
    /// of the context. With `--json`, the summary is printed on standard error.
    ///
    /// If the plan removes little, other options that would remove more are printed on standard
    /// error, too.
    pub fn print_plan(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        self.refuse_in_dry_run()?;
        self.report_dependents(ui)?;

        let plan = self.plan_prune(self.open, ui)?;
        let outcome = self.plan_outcome(&plan, self.open)?;
        match self.task {
            Task::Payloads { .. } => self.print_payloads(&plan, ui)?,
            Task::Secrets { .. } => self.print_secrets(&plan, ui)?,
            Task::Compacted | Task::Branch(_) | Task::Entries(_) | Task::Restore => {
                self.print_entries(&plan, ui)?;
            }
        }

        let summary = self.summarize_plan(&plan, &outcome)?;
        if self.write.change.json {
            ui.print_status(&summary);
        } else {
            ui.print(&(summary + "\n"))?;
        }
        let purge = self.purge_in_dry_run();
        outcome
            .secrets
            .report_remaining(&self.open.input.name, purge, ui);
        let alternatives = find_alternatives(self, outcome.bytes, ui)?;
        alternatives.report(outcome.session_bytes, outcome.bytes, ui);
        Ok(Exit::Done)
    }

    /// Returns the numbers of a plan for people, as in `3 payloads; session 4.2 MB to 1.1 MB`.
    fn summarize_plan(&self, plan: &PrunePlan, outcome: &PruneOutcome) -> Result<String, Failure> {
        let mut summary = if outcome.is_empty() {
            let size = format_bytes(outcome.session_bytes);
            format!("{}; session {size}", self.nothing_message())
        } else {
            let sizes = outcome.describe_session_sizes();
            format!("{}; {sizes}", outcome.describe())
        };
        if let Task::Payloads { .. } = self.task {
            let context = self.describe_context_sizes(plan, outcome)?;
            summary += &format!("; {context}");
        }
        Ok(summary)
    }

    /// Returns the sizes of the context before and after payloads are pruned, for people: `context
    /// 120k to 45k tokens`.
    fn describe_context_sizes(
        &self,
        plan: &PrunePlan,
        outcome: &PruneOutcome,
    ) -> Result<String, Failure> {
        let source = self.open.input.source();
        let tokens = plan.context_tokens(&self.open.session, source, self.open.worker_count());
        let tokens = self.open.input.map_read_error(tokens)?;
        let before = format_tokens(tokens.before as f64);
        if outcome.is_empty() {
            return Ok(format!("context {before} tokens"));
        }
        let after = format_tokens(tokens.after as f64);
        Ok(format!("context {before} to {after} tokens"))
    }

    /// Prints a row for each payload that would be pruned: its size, the id of its entry, its kind
    /// and field, and the text of the entry as in the tree: of a result, the tool and its command.
    fn print_payloads(&self, prune: &PrunePlan, ui: &mut Ui) -> Result<(), Failure> {
        let session = &self.open.session;
        let drawing = view_without_layout(session, session.leaf);
        let styles = ui.styles;
        let rows = prune.payloads().map(|payload| {
            let kind = payload.kind.name();
            let value = ReplacedValue {
                id: session.id(payload.entry),
                line: session.entry(payload.entry).line,
                field: &payload.field,
                kind,
                bytes: payload.span.len,
            };
            let [id, kind, field] = value.to_cells(kind.to_owned());
            let entry = row_cell(&drawing.row(payload.entry), &styles);
            PlanRow {
                json: value.to_json(),
                bytes: value.bytes as usize,
                cells: [id, kind, field, entry],
            }
        });
        let columns = [
            Column::text("id"),
            Column::text("kind"),
            Column::text("field"),
            Column::text("entry").allow_shrink(),
        ];
        self.print_rows(columns, PAYLOADS, rows, ui)
    }

    /// Prints a row for each string that contains secrets: the id of its entry, the placeholders
    /// that would replace the secrets, its size and its field.
    fn print_secrets(&self, prune: &PrunePlan, ui: &mut Ui) -> Result<(), Failure> {
        let rows = prune.secrets.strings.iter().map(|string| {
            let value = ReplacedValue {
                id: string.id.clone(),
                line: string.line,
                field: &string.field,
                kind: SECRET_KIND,
                bytes: string.span.len,
            };
            let mut placeholders = Vec::new();
            let mut json_placeholders = Vec::new();
            for secret in &string.secrets {
                let placeholder = secret.to_string();
                json_placeholders.push(encode_to_vec(&Text::from(placeholder.as_str())));
                placeholders.push(placeholder);
            }
            PlanRow {
                json: value
                    .to_json()
                    .json("placeholders", &array(&json_placeholders)),
                bytes: value.bytes as usize,
                cells: value.to_cells(join_first_few(placeholders)),
            }
        });
        // The text of an entry, as in the tree, could contain the secret.
        let columns = [
            Column::text("id"),
            Column::text("secrets"),
            Column::text("field").allow_shrink(),
        ];
        self.print_rows(columns, STRINGS, rows, ui)
    }

    /// Prints a row for each entry that would be pruned: its id, its size, and its text as in the
    /// tree.
    fn print_entries(&self, prune: &PrunePlan, ui: &mut Ui) -> Result<(), Failure> {
        let session = &self.open.session;
        let drawing = view_without_layout(session, session.leaf);
        let styles = ui.styles;
        let rows = prune.entries.iter().map(|&ix| {
            let id = session.id(ix);
            let entry = session.entry(ix);
            let bytes = entry.span.len;
            // The whole entry is removed.
            let field = None;
            let json = row_json(&id, entry.line, field)
                .text("kind", &session.kind_name(ix))
                .number("bytes", bytes as f64);
            let cells = [
                plain_cell(visible_text(&id)),
                row_cell(&drawing.row(ix), &styles),
            ];
            PlanRow {
                json,
                bytes: bytes as usize,
                cells,
            }
        });
        let columns = [Column::text("id"), Column::text("entry").allow_shrink()];
        self.print_rows(columns, ENTRIES, rows, ui)
    }

    /// Prints a row for each payload or entry that would be restored: its size, the id of the
    /// entry, and the field of a payload.
    pub fn print_restored(&self, records: &[PrunedRecord], ui: &mut Ui) -> Result<(), Failure> {
        let rows = records.iter().map(|record| PlanRow {
            json: row_json(&record.id, record.line, record.field()),
            bytes: record.spans.payload.len as usize,
            cells: [
                plain_cell(visible_text(&record.id)),
                plain_cell(record.field().map(describe_field).unwrap_or_default()),
            ],
        });
        let columns = [Column::text("id"), Column::text("field").allow_shrink()];
        self.print_rows(columns, PARTS, rows, ui)
    }

    /// Prints the rows of a plan in a table with their total size; with `--json`, each on a line of
    /// its own.
    fn print_rows<const N: usize>(
        &self,
        columns: [Column; N],
        noun: RowNoun,
        rows: impl Iterator<Item = PlanRow<N>>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if self.write.change.json {
            for row in rows {
                ui.print_json(&row.json.finish())?;
            }
            return Ok(());
        }

        let mut table = PlanTable::new(&columns, noun);
        for row in rows {
            table.add_row(row.bytes, row.cells.into(), ui)?;
        }
        // Prints the rows that `add_row` has kept, and the total.
        table.print(ui)
    }

    /// Reports the result. `committed` is `None` if nothing was written. A failure to print does
    /// not undo what was written: the failure then says that the change is written.
    pub fn report_outcome(
        &self,
        committed: Option<Committed>,
        outcome: &PruneOutcome,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        let json = self.write.change.json;
        let report = self.report(committed.is_some(), outcome.clone());
        let Some(committed) = committed else {
            report.print(json, ui)?;
            return Ok(Exit::Done);
        };
        ui.report_commit_warnings(&committed);
        // The session itself is not changed if the result is written elsewhere.
        if self.write.output.is_none() {
            self.open.input.report_path(ui);
        }
        ui.print_after_write(&self.target.to_string_lossy(), |ui| report.print(json, ui))?;
        // The note is on SESSION.pruned, which neither a purge nor a restoration keeps.
        if !json && !self.is_purged && !matches!(self.task, Task::Restore) {
            ui.print_status(self.kept_note());
        }
        Ok(Exit::Done)
    }

    /// Returns the note on SESSION.pruned that follows the report of pruned sessions.
    fn kept_note(&self) -> &'static str {
        match self.task {
            Task::Secrets { .. } => KEPT_SECRETS_NOTE,
            _ => KEPT_NOTE,
        }
    }

    /// Whether `--purge` was given, with `-n`.
    fn purge_in_dry_run(&self) -> Purge {
        if self.is_purged {
            Purge::Planned
        } else {
            Purge::NotRequested
        }
    }

    /// Returns the report of this job. `outcome` is what was pruned or restored. With `-n`, or if
    /// there was nothing to do, `is_written` is false, and `outcome` is what would be.
    pub fn report(&self, is_written: bool, outcome: PruneOutcome) -> PruneReport {
        PruneReport {
            name: self.open.input.name.clone(),
            target: self.target.clone(),
            side_file: self.side_file.clone(),
            is_written,
            is_elsewhere: self.write.output.is_some(),
            is_restored: matches!(self.task, Task::Restore),
            is_purged: self.is_purged,
            outcome,
        }
    }
}

/// The report of one session that was pruned or restored; with `-n`, of one that would be.
pub struct PruneReport {
    name: String,
    /// The file that is pruned or restored. `side_file` is SESSION.pruned beside it.
    pub target: PathBuf,
    side_file: PathBuf,
    is_written: bool,
    /// Whether the target is another file than the session that was read.
    is_elsewhere: bool,
    is_restored: bool,
    /// Whether SESSION.pruned is removed afterwards.
    is_purged: bool,
    pub outcome: PruneOutcome,
}

impl PruneReport {
    /// Prints the report. As JSON, it is printed even if nothing was changed. As text, it is
    /// printed on standard error; after pruning, the path of SESSION.pruned follows on standard
    /// output, for scripts.
    pub fn print(&self, json: bool, ui: &mut Ui) -> Result<(), Failure> {
        let name = &self.name;
        let purge = if self.is_purged {
            Purge::Done
        } else {
            Purge::NotRequested
        };
        self.outcome.secrets.report_remaining(name, purge, ui);
        if json {
            let is_dry_run = false;
            return ui.print_json(&self.to_json(is_dry_run));
        }
        if self.outcome.is_empty() {
            return Ok(());
        }
        let parts = self.outcome.describe();
        if self.is_restored {
            ui.print_status(&format!("{name}: {parts} restored"));
            return Ok(());
        }

        let action = self.describe_prune();
        let sizes = self.outcome.describe_session_sizes();
        ui.print_status(&format!("{name}: {parts} {action}; {sizes}"));
        if self.is_purged {
            // There is no SESSION.pruned.
            return Ok(());
        }
        ui.print_path(&self.side_file.to_string_lossy())
    }

    /// Describes what was done with the pruned parts: `pruned, 1.2 MB`, `pruned`, or `removed for
    /// good`. Secrets have no size, because their placeholders are about as long.
    fn describe_prune(&self) -> String {
        let are_secrets = self.outcome.secrets.count > 0;
        match (are_secrets, self.is_purged) {
            (false, _) => format!("pruned, {}", format_bytes(self.outcome.bytes)),
            (true, false) => "pruned".to_owned(),
            (true, true) => "removed for good".to_owned(),
        }
    }

    /// Returns the report as JSON. With `is_dry_run`, it describes what would be done.
    pub fn to_json(&self, is_dry_run: bool) -> Vec<u8> {
        let outcome = &self.outcome;
        // A dry run writes nothing, but has an action if there is something to prune.
        let has_action = if is_dry_run {
            !outcome.is_empty()
        } else {
            self.is_written
        };
        let action = if !has_action {
            "nothing"
        } else if self.is_elsewhere {
            "create"
        } else {
            "rewrite"
        };
        let side_file = if self.is_purged {
            None
        } else {
            Some(self.side_file.to_string_lossy())
        };
        Object::new()
            .str("path", &self.target.to_string_lossy())
            .str("action", action)
            .bool("dryRun", is_dry_run)
            .str_or_null("pruned", side_file.as_deref())
            .number("payloads", outcome.payloads as f64)
            .number("entries", outcome.entries as f64)
            .number("branches", outcome.branches as f64)
            .number("secrets", outcome.secrets.count as f64)
            .number("bytes", outcome.bytes as f64)
            .finish()
    }
}

/// A row of a plan, as JSON and as cells of a table.
struct PlanRow<const N: usize> {
    json: Object,
    bytes: usize,
    cells: [Cell; N],
}

/// A value of a line that would be replaced by a placeholder.
struct ReplacedValue<'a> {
    /// The id of the entry; empty if it has none.
    id: Text<'a>,
    line: LineNo,
    /// The path of the value in the line; empty for the whole line.
    field: &'a str,
    kind: &'static str,
    bytes: u64,
}

impl ReplacedValue<'_> {
    fn to_json(&self) -> Object {
        row_json(&self.id, self.line, Some(self.field))
            .str("kind", self.kind)
            .number("bytes", self.bytes as f64)
    }

    /// Returns the cells for the id, for `content`, and for the field.
    fn to_cells(&self, content: String) -> [Cell; 3] {
        [
            plain_cell(visible_text(&self.id)),
            plain_cell(content),
            plain_cell(describe_field(self.field)),
        ]
    }
}

/// Returns the members that the JSON rows of payloads and of entries have in common. `field` is the
/// field of a payload.
fn row_json(id: &Text, line: LineNo, field: Option<&str>) -> Object {
    Object::new()
        .text_or_null("id", Some(id).filter(|id| !id.is_empty()))
        .number("line", f64::from(line.0))
        .str_or_null("field", field)
}

/// Returns the path of a value for people. An empty path means the whole line.
fn describe_field(field: &str) -> String {
    if field.is_empty() {
        "the whole line".to_owned()
    } else {
        to_visible(field)
    }
}

fn visible_text(text: &Text) -> String {
    to_visible(&text.to_string_lossy())
}
