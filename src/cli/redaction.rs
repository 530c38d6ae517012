//! What `redact` and `export --redact` remove: their shared options, and the check of the result.

use super::given;
use super::open::Input;
use crate::cli::output::{Failure, Ui, visible};
use crate::format::counted as amount;
use crate::ops::redact::{Found, Report, left_over, redact};
use crate::redact::Redactor;
use crate::redact::people::{People, home_of};
use crate::redact::values::{Value, from_env_file, from_secret_file};
use foldhash::HashMap;
use pisess_json::write::Object;
use pisess_store::{self as store, Spooled};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// What to remove besides the secrets that are found by their shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct RedactionArgs {
    /// Also remove the values in this dotenv file
    #[arg(long, value_name = "FILE")]
    pub env_file: Vec<PathBuf>,
    /// Also remove the secrets in this file, one per line
    #[arg(long, value_name = "FILE")]
    pub secret_file: Vec<PathBuf>,
    /// Replace home directories by `~` and user names by `user`
    #[arg(long)]
    pub paths: bool,
    /// Keep images, which cannot be searched for secrets
    #[arg(long)]
    pub keep_images: bool,
}

impl RedactionArgs {
    /// Returns the redactor for a session, which removes these values, too.
    pub fn redactor(
        &self,
        session: &Input,
        values: Vec<Value>,
        ui: &Ui,
    ) -> Result<Redactor, Failure> {
        let cwd = session.header()?.cwd.map(|cwd| cwd.to_string());
        let people = if self.paths {
            // This user, and the one of the session.
            let homes = [
                ui.home(),
                cwd.as_deref().and_then(home_of).map(str::to_owned),
            ];
            Some(People::new(homes.iter().flatten().map(String::as_str)))
        } else {
            None
        };
        Ok(Redactor::new(values, people, self.keep_images))
    }

    /// Returns the values in the named files. None of them may be standard input if a session is.
    pub fn values(&self, session: &Input, ui: &mut Ui) -> Result<Vec<Value>, Failure> {
        let mut all = Vec::new();
        let files = self
            .env_file
            .iter()
            .map(|path| (path, from_env_file as fn(&[u8]) -> Vec<Value>));
        let lists = self
            .secret_file
            .iter()
            .map(|path| (path, from_secret_file as fn(&[u8]) -> Vec<Value>));
        for (path, read) in files.chain(lists) {
            let (_, bytes) = given::read(
                path,
                "a file of secrets",
                given::MOST_TEXT,
                Some(session),
                ui,
            )?;
            all.extend(read(&bytes));
        }
        let (short, values): (Vec<_>, Vec<_>) = all.into_iter().partition(Value::is_short);
        if !short.is_empty() {
            let one = "value shorter than 6 characters is";
            let skipped = amount(short.len(), one, "values shorter than 6 characters are");
            ui.warn(&format!(
                "{skipped} not searched for: such text occurs by chance"
            ));
        }
        Ok(values)
    }
}

/// Fails if any secret is left, so that the new file is discarded.
pub fn refuse_any(is_any_left: bool) -> io::Result<()> {
    if is_any_left {
        Err(io::Error::other("a secret is left"))
    } else {
        Ok(())
    }
}

/// Returns a copy of a session without its secrets, after checking that none is left in it.
pub fn redacted(
    session: &Input,
    redactor: &mut Redactor,
    workers: usize,
) -> Result<(Spooled, Report), Failure> {
    let mut report = Report::default();
    let copy = store::spool_written(&mut |out| {
        report = redact(session.source(), redactor, workers, Some(out))?;
        Ok(())
    })?;
    let left = session.read(left_over(&copy, redactor, &mut report, workers))?;
    none_left(&left, session)?;
    Ok((copy, report))
}

/// Fails with the places if any secret is left in the copy of a session.
pub fn none_left(left: &[Found], session: &Input) -> Result<(), Failure> {
    let Some(first) = left.first() else {
        return Ok(());
    };
    let others = if left.len() > 1 {
        format!(" and {} more", left.len() - 1)
    } else {
        String::new()
    };
    let (name, line, kind) = (&session.name, first.line.0, first.secret.kind);
    let failure = Failure::cannot(format_args!(
        "{name}:{line}: {kind}{others} would remain in {}; nothing was written",
        place(first)
    ));
    Err(failure.path(name).on_line(line).hint(
        "a placeholder replaces only text; change the number in a copy of the session, and redact that",
    ))
}

/// Returns the field of a secret, for messages.
pub fn place(found: &Found) -> String {
    if found.secret.field.is_empty() {
        "malformed line".into()
    } else {
        visible(&found.secret.field)
    }
}

/// The secrets that were removed from a session before its export.
pub struct Removed {
    /// What was removed from it.
    pub report: Report,
    /// The secrets of the session, and those of its sub-agents.
    pub secrets: Vec<Value>,
    /// For each secret, the name of the session and its first place there.
    places: Vec<(String, Option<Found>)>,
}

impl Removed {
    /// Returns the session without its secrets.
    pub fn taken_from(
        input: Input,
        args: &RedactionArgs,
        ui: &mut Ui,
    ) -> Result<(Input, Removed), Failure> {
        let values = args.values(&input, ui)?;
        let mut redactor = args.redactor(&input, values, ui)?;
        let (copy, report) = redacted(&input, &mut redactor, ui.processors())?;
        let mut secrets = redactor.found();
        secrets.retain(|value| !value.is_ordinary());
        let mut first_places: HashMap<_, _> = report
            .secrets()
            .iter()
            .map(|places| (places[0].secret.placeholder.clone(), places[0].clone()))
            .collect();
        let mut places = Vec::new();
        for secret in &secrets {
            let first = first_places.remove(&redactor.placeholder(secret));
            places.push((input.name.clone(), first));
        }
        let removed = Removed {
            report,
            secrets,
            places,
        };
        Ok((input.redacted(copy), removed))
    }

    /// Adds the secrets that were removed from the session of a sub-agent.
    pub fn add(&mut self, of_agent: Removed) {
        self.secrets.extend(of_agent.secrets);
        self.places.extend(of_agent.places);
    }

    /// Fails with the place in the session if any of these secrets is left in the export.
    pub fn none_in(&self, left: &BTreeSet<usize>, session: &Input) -> Result<(), Failure> {
        let Some(&first) = left.first() else {
            return Ok(());
        };
        let others = if left.len() > 1 {
            format!(" and {} more", left.len() - 1)
        } else {
            String::new()
        };
        let remains = format!("{others} would remain in the export; nothing was written");
        let kind = self.secrets[first].kind;
        let failure = match &self.places[first] {
            (name, Some(found)) => {
                let (line, place) = (found.line.0, place(found));
                Failure::cannot(format_args!("{name}:{line}: {kind} of {place}{remains}"))
                    .path(name)
                    .on_line(line)
            }
            _ => session.cannot(format_args!("{kind}{remains}")),
        };
        Err(failure.hint("a command of --renderer may have printed it"))
    }
}

/// Prints a line on standard error for each secret whose text remains where it may be ordinary.
fn warn_of_kept(report: &Report, session: &Input, ui: &mut Ui) {
    let mut kept: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for found in &report.kept {
        let place = format!("line {} ({})", found.line.0, place(found));
        kept.entry(&found.secret.placeholder)
            .or_default()
            .push(place);
    }
    for (placeholder, places) in kept {
        let (name, places) = (&session.name, first_few(places));
        ui.warn(&format!(
            "{name}: the text of {placeholder} may be ordinary elsewhere, and remains in {places}"
        ));
    }
}

/// The maximum number of places to list.
const MOST_PLACES: usize = 5;

/// Returns the first places of a list, and how many more there are.
pub fn first_few(mut places: Vec<String>) -> String {
    let more = places.len().saturating_sub(MOST_PLACES);
    places.truncate(MOST_PLACES);
    if more > 0 {
        places.push(format!("{more} more"));
    }
    places.join(", ")
}

/// Prints a line on standard error with the secrets that were found, by kind.
pub fn summarize(report: &Report, session: &Input, is_removed: bool, ui: &mut Ui) {
    warn_of_kept(report, session, ui);
    let kinds: Vec<_> = report
        .kinds()
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let removed = if is_removed { "removed " } else { "" };
    let secrets = if kinds.is_empty() {
        "no secrets found".to_owned()
    } else {
        format!("{removed}{}", kinds.join(", "))
    };
    let opaque = amount(report.opaque, "signature or image", "signatures and images");
    let opaque = format!("; {removed}{opaque}, which cannot be searched");
    let opaque = if report.opaque == 0 { "" } else { &opaque };
    ui.status(&format!("{}: {secrets}{opaque}", session.name));
    if report.addresses > 0 {
        let addresses = amount(
            report.addresses,
            "e-mail address is",
            "e-mail addresses are",
        );
        ui.status(&format!("{}: {addresses} kept", session.name));
    }
    if report.examples > 0 {
        let examples = amount(report.examples, "example key", "example keys");
        ui.status(&format!("{}: {examples} kept", session.name));
    }
}

/// Adds what was found to a row: the number of secrets of each kind, and of what cannot be
/// searched.
pub fn counted(row: Object, report: &Report) -> Object {
    let mut kinds = Object::new();
    for (kind, count) in report.kinds() {
        kinds = kinds.number(kind, count as f64);
    }
    row.json("found", &kinds.finish())
        .number("opaque", report.opaque as f64)
        .number("kept", report.kept.len() as f64)
        .number("addresses", report.addresses as f64)
        .number("examples", report.examples as f64)
}
