//! The rows of a plan, and the result of `prune`.

use super::job::{Job, Task};
use crate::cli::output::{Cell, Column, Exit, Failure, Table, Ui, plain, visible};
use crate::cli::pruned::described;
use crate::cli::rows::entry::said;
use crate::format::{counted, size, tokens};
use crate::ops::prune::{Prune, Record};
use crate::ops::tree::rows;
use crate::session::Session;
use crate::session::entry::LineNo;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::Committed;

/// What was pruned or restored.
#[derive(Default)]
pub struct Outcome {
    pub payloads: usize,
    pub entries: usize,
    pub notes: usize,
    pub branches: usize,
    pub bytes: usize,
}

impl Outcome {
    pub fn of(prune: &Prune, session: &Session) -> Outcome {
        Outcome {
            payloads: prune.payloads().count(),
            entries: prune.entries.len(),
            notes: prune.notes(session),
            branches: prune.branches,
            bytes: prune.saved(session),
        }
    }

    pub fn restored(placed: &[Record]) -> Outcome {
        let entries = placed
            .iter()
            .filter(|placed| placed.field().is_none())
            .count();
        Outcome {
            payloads: placed.len() - entries,
            entries,
            ..Outcome::default()
        }
    }

    pub fn is_nothing(&self) -> bool {
        self.payloads + self.entries == 0
    }

    fn described(&self) -> String {
        let payloads = counted(self.payloads, "payload", "payloads");
        let entries = described(self.entries, self.notes, self.branches);
        match (self.payloads, self.entries) {
            (_, 0) => payloads,
            (0, _) => entries,
            _ => format!("{entries} and {payloads}"),
        }
    }
}

impl Job<'_> {
    /// Prints a row for each payload or entry, and the sizes of session and context before and
    /// after.
    pub fn plan(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        self.name_dependents(ui)?;
        self.warn_of_refusal(ui)?;
        let session = &self.open.session;
        let source = self.open.input.source();
        let prune = self.find(self.open, ui)?;
        let whole = source.len() as usize;
        let sizes = format!(
            "session {} to {}",
            size(whole),
            size(whole - prune.saved(session))
        );
        let mut summary = format!("{}; {sizes}", Outcome::of(&prune, session).described());
        if let Task::Payloads { .. } = self.task {
            self.print_payloads(&prune, ui)?;
            let sizes = prune.context_tokens(session, source, self.open.workers());
            let [before, after] = self
                .open
                .input
                .read(sizes)?
                .map(|count| tokens(count as f64));
            summary += &format!("; context {before} to {after} tokens");
        } else {
            self.print_entries(&prune, ui)?;
        }
        if self.write.change.json {
            ui.status(&summary)
        } else {
            ui.print(&(summary + "\n"))?
        }
        Ok(Exit::Done)
    }

    /// Prints a row for each payload that would be pruned: the entry's id, the kind, the size and the
    /// field.
    fn print_payloads(&self, prune: &Prune, ui: &mut Ui) -> Result<(), Failure> {
        let session = &self.open.session;
        let rows = prune.payloads().map(|payload| {
            let id = session.id(payload.entry);
            let line = session.entry(payload.entry).line;
            let field = &*payload.field;
            let kind = payload.kind.name();
            let bytes = payload.span.len;
            let json = plan_row(&id, line, Some(field))
                .str("kind", kind)
                .number("bytes", bytes as f64);
            let cells = [
                plain(shown(&id)),
                plain(kind.to_owned()),
                plain(size(bytes as usize)),
                plain(visible(field)),
            ];
            (json, cells)
        });
        let columns = [
            Column::text(""),
            Column::text(""),
            Column::number(""),
            Column::text("").cut(),
        ];
        self.print_rows(columns, rows, ui)
    }

    /// Prints a row for each entry that would be pruned: its id, its size, and what it says.
    fn print_entries(&self, prune: &Prune, ui: &mut Ui) -> Result<(), Failure> {
        let session = &self.open.session;
        let drawing = rows(session, session.leaf);
        let styles = ui.styles;
        let rows = prune.entries.iter().map(|&ix| {
            let id = session.id(ix);
            let entry = session.entry(ix);
            let bytes = entry.span.len;
            let json = plan_row(&id, entry.line, None)
                .text("kind", &session.kind_name(ix))
                .number("bytes", bytes as f64);
            let cells = [
                plain(shown(&id)),
                plain(size(bytes as usize)),
                said(&drawing.row(ix), &styles),
            ];
            (json, cells)
        });
        let columns = [Column::text(""), Column::number(""), Column::text("").cut()];
        self.print_rows(columns, rows, ui)
    }

    /// Prints a row for each payload or entry that would be put back.
    pub fn print_restored(&self, placed: &[Record], ui: &mut Ui) -> Result<(), Failure> {
        let rows = placed.iter().map(|record| {
            let cells = [
                shown(&record.id),
                visible(record.field().unwrap_or_default()),
            ]
            .map(plain);
            (plan_row(&record.id, record.line, record.field()), cells)
        });
        self.print_rows([Column::text(""), Column::text("").cut()], rows, ui)
    }

    /// Prints rows of a plan, each as JSON or in columns.
    fn print_rows<const N: usize>(
        &self,
        columns: [Column; N],
        rows: impl Iterator<Item = (Object, [Cell; N])>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let mut table = Table::new(columns);
        for (json, cells) in rows {
            if self.write.change.json {
                ui.print_json(&json.finish())?;
            } else {
                table.row(cells.into());
                table.stream(ui)?;
            }
        }
        table.print(ui)
    }

    /// Reports the result. A failure here does not affect what is written (rule 7 of the store).
    pub fn report(
        &self,
        committed: Option<Committed>,
        outcome: &Outcome,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        let Some(committed) = committed else {
            return self.print_outcome(false, outcome, ui).map(|()| Exit::Done);
        };
        ui.warn_of(&committed);
        self.open.input.report_path(ui);
        ui.print_after(&self.place.to_string_lossy(), |ui| {
            self.print_outcome(true, outcome, ui)
        })?;
        Ok(Exit::Done)
    }

    /// Prints what was pruned or restored: as JSON, also if nothing was; else on standard error, and
    /// after pruning the path of the file beside the session on standard output.
    fn print_outcome(
        &self,
        is_written: bool,
        outcome: &Outcome,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let pruned = self.pruned.to_string_lossy();
        if self.write.change.json {
            let action = match (is_written, &self.write.output) {
                (false, _) => "nothing",
                (true, None) => "rewrite",
                (true, Some(_)) => "create",
            };
            let report = Object::new()
                .str("path", &self.place.to_string_lossy())
                .str("action", action)
                .bool("dryRun", false)
                .str("pruned", &pruned)
                .number("payloads", outcome.payloads as f64)
                .number("entries", outcome.entries as f64)
                .number("branches", outcome.branches as f64)
                .number("bytes", outcome.bytes as f64);
            return ui.print_json(&report.finish());
        }
        if outcome.is_nothing() {
            return Ok(());
        }
        let what = outcome.described();
        if matches!(self.task, Task::Restore) {
            ui.status(&format!("{}: {what} restored", self.open.input.name))
        } else {
            ui.status(&format!(
                "{}: {what} pruned, {}",
                self.open.input.name,
                size(outcome.bytes)
            ));
            ui.print_path(&pruned)?;
        }
        Ok(())
    }
}

/// Returns what rows for payloads and entries have in common, as JSON.
fn plan_row(id: &Text, line: LineNo, field: Option<&str>) -> Object {
    Object::new()
        .text_or_null("id", Some(id).filter(|id| !id.is_empty()))
        .number("line", f64::from(line.0))
        .str_or_null("field", field)
}

fn shown(text: &Text) -> String {
    visible(&text.to_string_lossy())
}
