//! The rows of a plan, and the result of `prune`.

use crate::cli::output::{Column, Exit, Failure, Table, Ui, visible};
use crate::cli::prune::Job;
use crate::format::{counted, size, tokens};
use crate::ops::prune::{PayloadKind, Prune};
use crate::session::entry::EntryIx;
use owo_colors::Style;
use pisess_json::write::Object;
use pisess_store::Committed;

/// What was pruned or restored.
#[derive(Default)]
pub struct Outcome {
    pub payloads: usize,
    pub bytes: usize,
}

impl Job<'_> {
    /// Prints a row for each payload, and the sizes of session and context before and after.
    pub fn plan(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let (session, source) = (&self.open.session, self.open.input.source());
        let unreadable = |error| self.open.input.unreadable(error);
        let prune = Prune::new(session, source, self.wanted.clone()).map_err(unreadable)?;
        let payloads = prune.payloads.iter();
        self.print_rows(
            payloads.map(|found| (found.entry, &*found.field, Some((found.kind, found.bytes)))),
            ui,
        )?;
        let [before, after] = prune.tokens(session, source).map_err(unreadable)?;
        let whole = source.len() as usize;
        let (payloads, context) = (
            counted(prune.payloads.len(), "payload", "payloads"),
            [before, after].map(|count| tokens(count as f64)),
        );
        let summary = format!(
            "{payloads}; session {} to {}; context {} to {} tokens",
            size(whole),
            size(whole - prune.saved()),
            context[0],
            context[1]
        );
        if self.write.json {
            ui.status(&summary)
        } else {
            ui.print(&(summary + "\n"))?
        }
        Ok(Exit::Done)
    }

    /// Prints a row for each payload: its entry and field, and its kind and size.
    pub fn print_rows<'p>(
        &self,
        payloads: impl Iterator<Item = (EntryIx, &'p str, Option<(PayloadKind, usize)>)>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let session = &self.open.session;
        let text = Column::text("");
        let sizes = if self.restores { vec![] } else { vec![text, Column::number("")] };
        let mut table = Table::new([vec![text], sizes, vec![text.cut()]].concat());
        for (entry, field, what) in payloads {
            let id = session.id(entry);
            if self.write.json {
                let row = Object::new().text_or_null("id", Some(&id).filter(|id| !id.is_empty()));
                let row = row.number("line", f64::from(session.entry(entry).line.0)).str("field", field);
                let row = row.with(what, |row, (kind, bytes)| {
                    row.str("kind", kind.name()).number("bytes", bytes as f64)
                });
                ui.print_json(&row.finish())?;
                continue;
            }
            let sizes = what.into_iter().flat_map(|(kind, bytes)| [kind.name().to_owned(), size(bytes)]);
            let cells = [visible(&id.to_string_lossy())].into_iter().chain(sizes).chain([visible(field)]);
            table.row(cells.map(|text| vec![(text, Style::new())]).collect());
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
        let Outcome { payloads, bytes } = outcome;
        let pruned = self.pruned.to_string_lossy();
        if self.write.json {
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
                .number("payloads", *payloads as f64)
                .number("bytes", *bytes as f64);
            return ui.print_json(&report.finish());
        }
        if *payloads == 0 {
            return Ok(());
        }
        let payloads = counted(*payloads, "payload", "payloads");
        if self.restores {
            ui.status(&format!("{}: {payloads} restored", self.open.input.name))
        } else {
            ui.status(&format!("{}: {payloads} pruned, {}", self.open.input.name, size(*bytes)));
            ui.print(&format!("{}\n", visible(&pruned)))?;
        }
        Ok(())
    }
}
