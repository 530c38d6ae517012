//! The options that `redact` and `export --redact` share, and the check that no secret is left.

use super::given;
use super::open::Input;
use crate::cli::output::{Failure, Ui, to_visible};
use crate::export::verify::{Rendition, find_leaked_values};
use crate::format::format_count as amount;
use crate::ops::redact::{FoundSecret, RedactionReport, find_remaining, redact_session};
use crate::redact::Redactor;
use crate::redact::people::{People, find_home};
use crate::redact::values::{SecretValue, from_env_file, from_secret_file};
use foldhash::HashMap;
use pisess_json::write::Object;
use pisess_store::{self as store, ReadAt, Spooled};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The hint for taking secrets out of a session itself. `redact` does not do that: it only writes
/// copies.
pub const PRUNE_SECRETS_HINT: &str = "redact only writes copies: `pisess prune --secrets SESSION` takes the secrets out of the session itself; with --purge, for good";

/// Values to remove besides the secrets that are found by their shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct SecretValueArgs {
    /// Remove the values in this dotenv file as well
    #[arg(long, value_name = "FILE")]
    pub env_file: Vec<PathBuf>,
    /// Remove the texts in this file, one per line, as well
    #[arg(long, value_name = "FILE")]
    pub secret_file: Vec<PathBuf>,
}

/// What to remove besides the secrets that are found by their shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct RedactionArgs {
    #[command(flatten)]
    pub values: SecretValueArgs,
    /// Replace home directories by `~` and user names by `user`
    #[arg(long)]
    pub paths: bool,
    /// Keep images, which cannot be searched for secrets
    #[arg(long)]
    pub keep_images: bool,
}

impl RedactionArgs {
    /// Returns the redactor for a session. In addition to recognized secrets, it removes `values`.
    pub fn new_redactor(
        &self,
        session: &Input,
        values: Vec<SecretValue>,
        ui: &Ui,
    ) -> Result<Redactor, Failure> {
        let cwd = session.read_header()?.cwd.map(|cwd| cwd.to_string());
        let people = if self.paths {
            // The home directories of this user, and of the user who recorded the session.
            let homes = [
                ui.home(),
                cwd.as_deref().and_then(find_home).map(str::to_owned),
            ];
            Some(People::new(homes.iter().flatten().map(String::as_str)))
        } else {
            None
        };
        Ok(Redactor::new(values, people, self.keep_images))
    }
}

impl SecretValueArgs {
    pub fn is_given(&self) -> bool {
        !self.env_file.is_empty() || !self.secret_file.is_empty()
    }

    /// Reads the secret values in the files of the options. None of the files may be standard input
    /// if the session is.
    pub fn read_values(
        &self,
        session: Option<&Input>,
        ui: &mut Ui,
    ) -> Result<Vec<SecretValue>, Failure> {
        let mut values = Vec::new();
        for path in &self.env_file {
            let content = read_secrets_argument(path, session, ui)?;
            values.extend(from_env_file(&content));
        }
        for path in &self.secret_file {
            let content = read_secrets_argument(path, session, ui)?;
            values.extend(from_secret_file(&content));
        }

        let count = values.len();
        values.retain(|value| !value.is_short());
        let short_count = count - values.len();
        if short_count > 0 {
            let one = "value shorter than 6 characters is";
            let many = "values shorter than 6 characters are";
            let skipped = amount(short_count, one, many);
            ui.warn(&format!(
                "{skipped} not searched for: such text occurs by chance"
            ));
        }
        Ok(values)
    }
}

/// Reads a file given by an option. `-` is standard input, unless the session is.
fn read_secrets_argument(
    path: &Path,
    session: Option<&Input>,
    ui: &mut Ui,
) -> Result<Vec<u8>, Failure> {
    let file = given::read_argument(
        path,
        "a file of secrets",
        given::MOST_TEXT_BYTES,
        session,
        ui,
    )?;
    Ok(file.bytes)
}

/// Fails if a secret is left: then the new file is discarded.
pub fn refuse_leftovers(is_any_left: bool) -> io::Result<()> {
    if is_any_left {
        Err(io::Error::other("a secret is left"))
    } else {
        Ok(())
    }
}

/// Returns a copy of a session without its secrets, and the report of what was removed.
///
/// The copy is then searched for the removed secrets. Fails if one of them is left. A text that is
/// a secret in one place, and may be an ordinary word in others, remains in those: the report then
/// has these places as `kept_ordinary`.
pub fn redact_to_copy(
    session: &Input,
    redactor: &mut Redactor,
    workers: usize,
) -> Result<(Spooled, RedactionReport), Failure> {
    // The copy and the report are made in one pass. Only the copy is returned by `spool_written`,
    // so the report is assigned here.
    let mut report = RedactionReport::default();
    let copy = store::spool_written(&mut |out| {
        report = redact_session(session.source(), redactor, workers, Some(out))?;
        Ok(())
    })?;

    let remaining = session.map_read_error(find_remaining(&copy, redactor, workers))?;
    refuse_left_over(&remaining.secrets, session, COPY_LEFT_OVER_HINT)?;
    report.kept_ordinary = remaining.ordinary;
    Ok((copy, report))
}

/// The hint for a secret that would remain in a copy.
pub const COPY_LEFT_OVER_HINT: &str =
    "a placeholder replaces only text; change the number in a copy of the session, and redact that";

/// Fails if secrets remain in the copy of a session, or in its new content: that must not be
/// written. The failure has the place of the first one. A secret remains if it is no string, such
/// as a number in JSON, because a placeholder replaces only text.
pub fn refuse_left_over(
    remaining: &[FoundSecret],
    session: &Input,
    hint: &str,
) -> Result<(), Failure> {
    let Some(first) = remaining.first() else {
        return Ok(());
    };

    let name = &session.name;
    let line = first.line.0;
    let secret_kind = first.secret.number.kind;
    let others = and_more(remaining.len() - 1);
    let field = describe_place(first);
    let failure = Failure::invalid(format_args!(
        "{name}:{line}: {secret_kind}{others} would remain in {field}; nothing was written"
    ));
    Err(failure.with_path(name).with_line(line).with_hint(hint))
}

/// Returns the end of a list whose first item was named, such as ` and 3 more`. Returns an empty
/// text for 0.
fn and_more(count: usize) -> String {
    if count == 0 {
        String::new()
    } else {
        format!(" and {count} more")
    }
}

/// Returns the field that contains a secret, for messages.
pub fn describe_place(found: &FoundSecret) -> String {
    if found.secret.field.is_empty() {
        "malformed line".into()
    } else {
        to_visible(&found.secret.field)
    }
}

/// The secrets that were removed from a session before its export.
pub struct RemovedSecrets {
    /// The report of the session's own secrets.
    pub report: RedactionReport,
    /// The secrets of the session and, after [`RemovedSecrets::merge`], of its sub-agents.
    secrets: Vec<RemovedSecret>,
}

/// A secret that was removed.
struct RemovedSecret {
    value: SecretValue,
    /// The name of the session that contains the secret: the session itself or that of a sub-agent.
    session_name: String,
    /// The first place of the secret; `None` if no place in the report has its placeholder.
    first_place: Option<FoundSecret>,
}

impl RemovedSecrets {
    /// Removes the secrets from a session, and also `values`. Returns the redacted input, and the
    /// removed secrets.
    ///
    /// The secrets are kept, because the export is searched for them once it is written. Texts that
    /// may also be ordinary words, such as a short password, are not: they may be in the export
    /// without being secret there.
    pub fn remove_from(
        input: Input,
        values: Vec<SecretValue>,
        args: &RedactionArgs,
        ui: &mut Ui,
    ) -> Result<(Input, RemovedSecrets), Failure> {
        let mut redactor = args.new_redactor(&input, values, ui)?;
        let (copy, report) = redact_to_copy(&input, &mut redactor, ui.processor_count())?;

        // The report names secrets only by their placeholders.
        let mut place_by_placeholder = HashMap::default();
        for places in report.group_by_secret() {
            let first = places[0];
            place_by_placeholder.insert(first.secret.placeholder(), first.clone());
        }
        // The redactor has found the values while it made the copy.
        let mut secrets = Vec::new();
        for value in redactor.found_values() {
            if value.is_ordinary() {
                continue;
            }
            let placeholder = redactor.placeholder_for(&value);
            secrets.push(RemovedSecret {
                value,
                session_name: input.name.clone(),
                first_place: place_by_placeholder.remove(&placeholder),
            });
        }
        Ok((input.with_copy(copy), RemovedSecrets { report, secrets }))
    }

    /// Adds the secrets that were removed from another session, for example that of a sub-agent.
    pub fn merge(&mut self, of_agent: RemovedSecrets) {
        self.secrets.extend(of_agent.secrets);
    }

    /// Returns the secrets that a written export still contains: none, unless redaction has failed.
    pub fn find_left_in(
        &self,
        written: &dyn ReadAt,
        format: Rendition,
    ) -> io::Result<LeftSecrets<'_>> {
        let mut values = Vec::new();
        for secret in &self.secrets {
            values.push(secret.value.clone());
        }
        // A value has the index of its secret.
        let mut left = Vec::new();
        for index in find_leaked_values(format, written, &values)? {
            left.push(&self.secrets[index]);
        }
        Ok(LeftSecrets(left))
    }
}

/// The removed secrets that an export contains nevertheless, in the order of [`RemovedSecrets`].
#[derive(Default)]
pub struct LeftSecrets<'a>(Vec<&'a RemovedSecret>);

impl LeftSecrets<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fails if a secret is left. The failure names the first one by its first place in the
    /// exported session, or in the session of a sub-agent.
    pub fn refuse(&self, session: &Input) -> Result<(), Failure> {
        let Some(first) = self.0.first() else {
            return Ok(());
        };

        let others = and_more(self.0.len() - 1);
        let remains = format!("{others} would remain in the export; nothing was written");
        let kind = first.value.kind;
        let failure = match &first.first_place {
            Some(place) => {
                let session_name = &first.session_name;
                let line = place.line.0;
                let field = describe_place(place);
                Failure::invalid(format_args!(
                    "{session_name}:{line}: {kind} of {field}{remains}"
                ))
                .with_path(session_name)
                .with_line(line)
            }
            None => session.failure(format_args!("{kind}{remains}")),
        };
        Err(failure.with_hint("a command of --renderer may have printed it"))
    }
}

/// Warns of each secret whose text also occurs, and remains, where it is probably an ordinary word.
/// `name` is the name of the session.
pub fn warn_kept(kept_ordinary: &[FoundSecret], name: &str, ui: &mut Ui) {
    let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for found in kept_ordinary {
        let place = format!("line {} ({})", found.line.0, describe_place(found));
        kept.entry(found.secret.placeholder())
            .or_default()
            .push(place);
    }
    for (placeholder, places) in kept {
        let places = join_first_few(places);
        ui.warn(&format!(
            "{name}: the text of {placeholder} may be ordinary elsewhere, and remains in {places}"
        ));
    }
}

/// The maximum number of places to list.
const MOST_PLACES: usize = 5;

/// Joins the first items of a list, followed by the number of the others.
pub fn join_first_few(mut places: Vec<String>) -> String {
    let more = places.len().saturating_sub(MOST_PLACES);
    places.truncate(MOST_PLACES);
    if more > 0 {
        places.push(format!("{more} more"));
    }
    places.join(", ")
}

/// Whether the reported secrets were removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretsOutcome {
    /// The secrets were only searched for.
    Found,
    /// Placeholders replace the secrets in the copy or the document. The session itself still has
    /// them.
    LeftOut,
}

/// Prints the numbers of found secrets by kind, as a line on standard error. Further lines have the
/// numbers of parts that are kept.
pub fn report_redaction(
    report: &RedactionReport,
    session: &Input,
    outcome: SecretsOutcome,
    ui: &mut Ui,
) {
    let name = &session.name;
    warn_kept(&report.kept_ordinary, name, ui);
    ui.print_status(&format!("{name}: {}", describe_secrets(report, outcome)));
    let mut kept_texts = KeptTexts::default();
    kept_texts.add(report);
    for kept in kept_texts.describe() {
        ui.print_status(&format!("{name}: {kept}"));
    }
}

/// Texts in sessions that are no secrets, but may look like some, and are kept. One that is in
/// several sessions counts once.
#[derive(Default)]
pub struct KeptTexts {
    addresses: BTreeSet<Vec<u8>>,
    /// The example keys of documentation.
    examples: BTreeSet<Vec<u8>>,
}

impl KeptTexts {
    /// Adds the texts in a session.
    pub fn add(&mut self, report: &RedactionReport) {
        self.addresses.extend(report.addresses.iter().cloned());
        self.examples.extend(report.examples.iter().cloned());
    }

    /// Returns a line for each kind of texts, if there are any: `3 e-mail addresses are kept`.
    pub fn describe(&self) -> Vec<String> {
        let address_count = self.addresses.len();
        let example_count = self.examples.len();
        let mut lines = Vec::new();
        if address_count > 0 {
            let addresses = amount(address_count, "e-mail address is", "e-mail addresses are");
            lines.push(format!("{addresses} kept"));
        }
        if example_count > 0 {
            let examples = amount(example_count, "example key", "example keys");
            lines.push(format!("{examples} kept"));
        }
        lines
    }
}

/// Returns the numbers of secrets by kind, and of parts that cannot be searched: `left out 2 API
/// key, 1 password, in 5 places; left out 3 signatures and images, which cannot be searched`.
fn describe_secrets(report: &RedactionReport, outcome: SecretsOutcome) -> String {
    let lead = match outcome {
        SecretsOutcome::Found => "",
        SecretsOutcome::LeftOut => "left out ",
    };
    let mut counts = Vec::new();
    for (kind, count) in report.count_by_kind() {
        counts.push(format!("{count} {kind}"));
    }
    let mut line = if counts.is_empty() {
        "no secrets found".to_owned()
    } else {
        format!("{lead}{}", counts.join(", "))
    };
    // A reader of the copy need not search for the other places of a secret.
    let is_any_repeated = report.found.len() > report.secret_count();
    if outcome == SecretsOutcome::LeftOut && is_any_repeated {
        line += &format!(", in {} places", report.found.len());
    }
    if report.opaque_count > 0 {
        let opaque = amount(
            report.opaque_count,
            "signature or image",
            "signatures and images",
        );
        line += &format!("; {lead}{opaque}, which cannot be searched");
    }
    line
}

/// Adds the counts of a report to a row of JSON: the number of secrets of each kind, and the
/// numbers of parts that cannot be searched or are kept.
pub fn add_counts(row: Object, report: &RedactionReport) -> Object {
    let mut kinds = Object::new();
    for (kind, count) in report.count_by_kind() {
        kinds = kinds.number(kind, count as f64);
    }
    row.json("found", &kinds.finish())
        .number("opaque", report.opaque_count as f64)
        .number("kept", report.kept_ordinary.len() as f64)
        .number("addresses", report.addresses.len() as f64)
        .number("examples", report.examples.len() as f64)
}
