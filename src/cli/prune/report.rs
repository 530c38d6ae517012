//! The rows of a plan, and the result of `prune`.

use super::branch::described;
use crate::cli::output::{Cell, Column, Exit, Failure, Table, Ui, visible};
use crate::cli::prune::{Job, Task};
use crate::cli::rows::entry::said;
use crate::format::{counted, size, tokens};
use crate::load::{Options, load};
use crate::ops::prune::{Prune, Record, context_tokens};
use crate::ops::tree::rows;
use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo};
use owo_colors::Style;
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
        let entries = placed.iter().filter(|placed| placed.field().is_none()).count();
        Outcome { payloads: placed.len() - entries, entries, ..Outcome::default() }
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

/// A row of a plan: an entry or a part of it, and its kind and size.
pub struct PlanRow<'a> {
    pub id: Text<'a>,
    pub line: LineNo,
    pub field: Option<&'a str>,
    pub what: Option<(Text<'a>, usize)>,
    /// The row of a whole entry.
    pub said: Option<Cell>,
}

impl Job<'_> {
    /// Prints a row for each payload or entry, and the sizes of session and context before and after.
    pub fn plan(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        self.name_dependents(ui)?;
        self.warn_of_refusal(ui)?;
        let (session, source) = (&self.open.session, self.open.input.source());
        let prune = self.find(self.open, ui)?;
        let place = |ix: EntryIx| (session.id(ix), session.entry(ix).line);
        let whole = source.len() as usize;
        let sizes = format!("session {} to {}", size(whole), size(whole - prune.saved(session)));
        let (drawing, styles) = (rows(session, session.leaf), ui.styles);
        let payloads = prune.payloads().map(|payload| {
            let (id, line) = place(payload.entry);
            let what = Some((Text::from(payload.kind.name()), payload.bytes));
            PlanRow { id, line, field: Some(&*payload.field), what, said: None }
        });
        let entries = prune.entries.iter().map(|&ix| {
            let (id, line) = place(ix);
            let what = Some((session.kind_name(ix), session.entry(ix).span.len as usize));
            PlanRow { id, line, field: None, what, said: Some(said(&drawing.row(ix), &styles)) }
        });
        self.print_rows(payloads.chain(entries), ui)?;
        let mut summary = format!("{}; {sizes}", Outcome::of(&prune, session).described());
        if let Task::Payloads { .. } = self.task {
            let [before, after] = self.context(&prune)?.map(|count| tokens(count as f64));
            summary += &format!("; context {before} to {after} tokens");
        }
        if self.write.change.json {
            ui.status(&summary)
        } else {
            ui.print(&(summary + "\n"))?
        }
        Ok(Exit::Done)
    }

    /// Returns the number of tokens of the context before and after pruning.
    fn context(&self, prune: &Prune) -> Result<[u64; 2], Failure> {
        let (session, input) = (&self.open.session, &self.open.input);
        let pruned = input.read(prune.pruned(session, input.source()))?;
        let after = pruned.over(input.source());
        let options = Options { messages: true, workers: self.open.workers(), ..Options::default() };
        let loaded = load(&after, &options).map_err(|error| Failure::load(&input.name, error))?;
        let before = input.read(context_tokens(session, input.source()))?;
        Ok([before, input.read(context_tokens(&loaded, &after))?])
    }

    pub fn print_rows<'p>(
        &self,
        rows: impl Iterator<Item = PlanRow<'p>>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let (text, number) = (Column::text(""), Column::number(""));
        let sizes = match self.task {
            Task::Restore => vec![],
            Task::Payloads { .. } => vec![text, number],
            Task::Branch(_) | Task::Compacted => vec![number],
        };
        let mut table = Table::new([vec![text], sizes, vec![text.cut()]].concat());
        for PlanRow { id, line, field, what, said } in rows {
            if self.write.change.json {
                let row = Object::new()
                    .text_or_null("id", Some(&id).filter(|id| !id.is_empty()))
                    .number("line", f64::from(line.0))
                    .str_or_null("field", field)
                    .with(what, |row, (kind, bytes)| row.text("kind", &kind).number("bytes", bytes as f64));
                ui.print_json(&row.finish())?;
                continue;
            }
            let shown = |text: &Text| visible(&text.to_string_lossy());
            let kind = what.as_ref().filter(|_| said.is_none()).map(|(kind, _)| shown(kind));
            let texts = [Some(shown(&id)), kind, what.map(|(_, bytes)| size(bytes))];
            let cells = texts.into_iter().flatten().map(|text| vec![(text, Style::new())]);
            let last = said.unwrap_or_else(|| vec![(visible(field.unwrap_or_default()), Style::new())]);
            table.row(cells.chain([last]).collect());
            table.stream(ui)?;
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
        if let Some(committed) = &committed {
            ui.warn_of(committed);
            self.open.input.report_path(ui);
        }
        let print = |ui: &mut Ui| self.print_outcome(committed.is_some(), outcome, ui);
        match &committed {
            Some(_) => ui.print_after(&self.place.to_string_lossy(), print)?,
            None => print(ui)?,
        }
        Ok(Exit::Done)
    }

    fn print_outcome(&self, is_written: bool, outcome: &Outcome, ui: &mut Ui) -> Result<(), Failure> {
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
            ui.status(&format!("{}: {what} pruned, {}", self.open.input.name, size(outcome.bytes)));
            ui.print_path(&pruned)?;
        }
        Ok(())
    }
}
