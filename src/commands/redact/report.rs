//! Prints found secrets, as rows, as a table or as JSON.

use super::check::{SearchedSession, SessionHeading};
use crate::cli::open::Input;
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Column, Failure, Ui, apply_style, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, RowNoun};
use crate::cli::redaction::{
    KeptTexts, SecretsOutcome, describe_place, join_first_few, report_redaction,
};
use crate::format::{ID_SUFFIX_LEN, format_count, id_suffix};
use crate::ops::redact::FoundSecret;
use foldhash::{HashMap, HashSet};
use pisess_json::write::{Object, array};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Prints found secrets. For a single session, each secret has a row. For several sessions, each
/// session with secrets has a heading, below which all secrets of the same kind and name share a
/// row. With `-n`, a table has a row for each kind and name in all sessions. JSON always has an
/// object per secret.
pub(super) struct SecretPrinter {
    form: SecretForm,
    /// Whether only one session is searched.
    is_one: bool,
    /// The number of sessions searched so far.
    session_count: usize,
    /// The texts of the secrets found so far. One that is in several sessions counts once.
    distinct_texts: HashSet<Arc<[u8]>>,
    /// The number of sessions that have secrets.
    found_session_count: usize,
    groups: SecretGroups,
    /// Of several sessions, what copies would keep.
    kept: KeptTexts,
}

/// The form in which secrets are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretForm {
    /// An object for each secret.
    Json,
    /// A line for each secret of the only session.
    Lines,
    /// With `-n`, a table with a row for each secret of the only session.
    Plan,
    /// A heading for each session, with a row for each kind and name of its secrets.
    BelowHeadings,
    /// With `-n`, a table with a row for each kind and name, because the same kind of secret may be
    /// in all sessions.
    GroupedPlan,
}

impl SecretForm {
    fn from_options(change: &ChangeArgs, is_one: bool) -> SecretForm {
        if change.json {
            return SecretForm::Json;
        }
        match (is_one, change.dry_run) {
            (true, false) => SecretForm::Lines,
            (true, true) => SecretForm::Plan,
            (false, false) => SecretForm::BelowHeadings,
            (false, true) => SecretForm::GroupedPlan,
        }
    }
}

impl SecretPrinter {
    /// Returns a printer for a single session (`is_one`) or for several.
    pub(super) fn new(change: &ChangeArgs, is_one: bool) -> SecretPrinter {
        SecretPrinter {
            form: SecretForm::from_options(change, is_one),
            is_one,
            session_count: 0,
            distinct_texts: HashSet::default(),
            found_session_count: 0,
            groups: SecretGroups::default(),
            kept: KeptTexts::default(),
        }
    }

    /// Whether each session with secrets gets a heading with its title.
    pub(super) fn has_headings(&self) -> bool {
        self.form == SecretForm::BelowHeadings
    }

    pub(super) fn has_secrets(&self) -> bool {
        self.found_session_count > 0
    }

    /// Prints the secrets of a session, and counts them. If it is the only session, also prints the
    /// summary of its redaction.
    pub(super) fn print_session(
        &mut self,
        path: &Path,
        searched: &SearchedSession,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let SearchedSession { input, report, .. } = searched;
        // Each secret is the list of its places.
        let secrets = report.group_by_secret();
        self.print_secrets(path, searched, &secrets, ui)?;

        self.session_count += 1;
        if !secrets.is_empty() {
            self.found_session_count += 1;
        }
        for places in &secrets {
            self.distinct_texts.insert(searched.text_of(places[0]));
        }
        if self.is_one {
            // Flushed first, so that the secrets precede the summary where both streams are one.
            ui.flush()?;
            report_redaction(report, input, SecretsOutcome::Found, ui);
        } else {
            self.kept.add(report);
        }
        Ok(())
    }

    /// Prints the secrets of a session, each the list of its places. The rows of
    /// [`SecretForm::GroupedPlan`] are only collected: [`Self::print_summary`] prints them, when
    /// all sessions are known.
    fn print_secrets(
        &mut self,
        path: &Path,
        searched: &SearchedSession,
        secrets: &[Vec<&FoundSecret>],
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        match self.form {
            SecretForm::Json => {
                for places in secrets {
                    ui.print_json(&secret_json(path, places))?;
                }
            }
            SecretForm::Lines => {
                for places in secrets {
                    ui.print(&secret_line(&searched.input, places))?;
                }
            }
            SecretForm::Plan => print_plan(secrets, ui)?,
            SecretForm::BelowHeadings => print_below_heading(searched, secrets, ui)?,
            SecretForm::GroupedPlan => {
                for places in secrets {
                    self.groups.add_secret(searched, places);
                }
            }
        }
        Ok(())
    }

    /// Prints the table of groups, if there is one. If several sessions were searched, also prints
    /// the number of secrets.
    pub(super) fn print_summary(&self, ui: &mut Ui) -> Result<(), Failure> {
        if self.form == SecretForm::GroupedPlan {
            self.groups.print_plan(ui)?;
        }
        ui.flush()?;
        for kept in self.kept.describe() {
            ui.print_status(&kept);
        }
        if self.session_count > 1 {
            let sessions = format_count(self.session_count, "session", "sessions");
            let mut found = format_count(self.distinct_texts.len(), "secret", "secrets");
            if self.found_session_count > 0 {
                let in_sessions = format_count(self.found_session_count, "session", "sessions");
                found += &format!(" in {in_sessions}");
            }
            ui.print_status(&format!("{sessions} searched: {found}"));
        }
        Ok(())
    }
}

/// The secrets of several sessions, grouped by kind and by the name to which they are assigned: the
/// same name may be in hundreds of sessions.
#[derive(Default)]
struct SecretGroups {
    groups: BTreeMap<(&'static str, Arc<str>), SecretGroup>,
}

#[derive(Default)]
struct SecretGroup {
    /// The session and the place of the first secret in the group.
    first_place: String,
    /// The texts of the secrets in the group.
    distinct_texts: HashSet<Arc<[u8]>>,
    session_count: usize,
    /// The number of bytes of all secrets in the group, in all their places.
    bytes: usize,
    /// The last session that was counted, so that no session is counted twice.
    last_session: String,
}

impl SecretGroup {
    /// Counts a session that has a secret of the group, unless it was the last one that was
    /// counted. That suffices to count each session once, because sessions are searched one after
    /// another.
    fn count_session(&mut self, name: &str) {
        if self.last_session != name {
            self.session_count += 1;
            name.clone_into(&mut self.last_session);
        }
    }
}

impl SecretGroups {
    /// Adds a secret of a session to the group of its kind and name. `places` are all places of the
    /// secret in the session; an empty list adds nothing.
    ///
    /// All secrets of a session have to be added before those of the next: see
    /// [`SecretGroup::count_session`].
    fn add_secret(&mut self, searched: &SearchedSession, places: &[&FoundSecret]) {
        let Some(&first_place) = places.first() else {
            return;
        };
        let secret = &first_place.secret;
        let key = (secret.number.kind, secret.name.clone());
        let group = self.groups.entry(key).or_default();
        let session_name = &searched.input.name;
        let is_new_group = group.distinct_texts.is_empty();
        if is_new_group {
            let line = first_place.line.0;
            let place = describe_place(first_place);
            group.first_place = format!("{session_name}:{line} ({place})");
        }
        group.distinct_texts.insert(searched.text_of(first_place));
        group.bytes += count_bytes(places);
        group.count_session(session_name);
    }

    /// Prints a row for each group, with the size of its secrets.
    fn print_plan(&self, ui: &mut Ui) -> Result<(), Failure> {
        let columns = [
            Column::text("kind"),
            Column::text("name"),
            Column::number("secrets"),
            Column::number("sessions"),
            Column::text("first place").allow_shrink(),
        ];
        let noun = RowNoun {
            one: "kind of secret",
            many: "kinds of secrets",
        };
        let mut plan = PlanTable::new(&columns, noun);
        for ((kind, name), group) in &self.groups {
            let cells = vec![
                plain_cell((*kind).to_owned()),
                plain_cell(to_visible(name)),
                plain_cell(group.distinct_texts.len().to_string()),
                plain_cell(group.session_count.to_string()),
                plain_cell(group.first_place.clone()),
            ];
            plan.add_row(group.bytes, cells, ui)?;
        }
        plan.print(ui)
    }
}

/// Prints the secrets of one of several sessions: a heading with the id, the title and the path of
/// the session, and a row for each kind and name, with the line of the first secret.
fn print_below_heading(
    searched: &SearchedSession,
    secrets: &[Vec<&FoundSecret>],
    ui: &mut Ui,
) -> Result<(), Failure> {
    if secrets.is_empty() {
        return Ok(());
    }
    let heading = heading_text(searched);
    ui.print(&format!("{}\n", apply_style(&heading, ui.styles.bold)))?;
    for group in group_by_kind_and_name(secrets) {
        ui.print(&group_line(&group))?;
    }
    Ok(())
}

/// Returns the heading of a session: `3f9a77c1  Fix the parser  a.jsonl`. The id or the title is
/// missing if it is not known or may have a secret.
fn heading_text(searched: &SearchedSession) -> String {
    let path = &searched.input.name;
    let Some(SessionHeading { id, title }) = &searched.heading else {
        return path.clone();
    };
    let Some(id) = id else {
        return format!("{title}  {path}");
    };
    let id = id.to_string_lossy();
    let short_id = to_visible(id_suffix(&id, ID_SUFFIX_LEN));
    format!("{short_id}  {title}  {path}")
}

/// Groups secrets by their kind and name, in the order of the first of each group. Each secret is
/// represented by its first place.
fn group_by_kind_and_name<'s>(secrets: &[Vec<&'s FoundSecret>]) -> Vec<Vec<&'s FoundSecret>> {
    let mut groups: Vec<Vec<&FoundSecret>> = Vec::new();
    let mut index_by_kind_and_name: HashMap<(&str, &str), usize> = HashMap::default();
    for places in secrets {
        let first_place = places[0];
        let key = (first_place.secret.number.kind, &*first_place.secret.name);
        match index_by_kind_and_name.get(&key) {
            Some(&index) => groups[index].push(first_place),
            None => {
                index_by_kind_and_name.insert(key, groups.len());
                groups.push(vec![first_place]);
            }
        }
    }
    groups
}

/// Returns the row of secrets of the same kind and name, of which `group` has the first places:
/// `  12  key api_token: 3 secrets, first in message.content`.
fn group_line(group: &[&FoundSecret]) -> String {
    let first_place = group[0];
    let secret = &first_place.secret;
    let mut line = format!("{:>6}  {}", first_place.line.0, secret.number.kind);
    if !secret.name.is_empty() {
        line += &format!(" {}", to_visible(&secret.name));
    }
    let place = describe_place(first_place);
    if group.len() == 1 {
        line += &format!(" in {place}\n");
    } else {
        line += &format!(": {} secrets, first in {place}\n", group.len());
    }
    line
}

/// Prints a row for each secret of a session, with its size in all places together. Each element of
/// `secrets` is a secret, as the list of its places, which is not empty.
fn print_plan(secrets: &[Vec<&FoundSecret>], ui: &mut Ui) -> Result<(), Failure> {
    let columns = [
        Column::text("secret"),
        Column::number("places"),
        Column::number("line"),
        Column::text("id"),
        Column::text("first place").allow_shrink(),
    ];
    let noun = RowNoun {
        one: "secret",
        many: "secrets",
    };
    let mut plan = PlanTable::new(&columns, noun);
    for places in secrets {
        let first_place = places[0];
        let cells = vec![
            plain_cell(described_placeholder(first_place)),
            plain_cell(places.len().to_string()),
            plain_cell(first_place.line.0.to_string()),
            plain_cell(visible_id(first_place)),
            plain_cell(describe_place(first_place)),
        ];
        plan.add_row(count_bytes(places), cells, ui)?;
    }
    plan.print(ui)
}

/// Returns the number of bytes that a secret takes in all its places together.
fn count_bytes(places: &[&FoundSecret]) -> usize {
    places.iter().map(|place| place.secret.length).sum()
}

/// Returns the id of the entry that contains a secret; `-` if the entry has none.
fn visible_id(place: &FoundSecret) -> String {
    match &place.id {
        Some(id) => to_visible(&id.to_string_lossy()),
        None => "-".to_owned(),
    }
}

/// Returns the placeholder of a secret, followed by the name to which the secret is assigned.
fn described_placeholder(place: &FoundSecret) -> String {
    let secret = &place.secret;
    if secret.name.is_empty() {
        secret.placeholder()
    } else {
        format!("{} of {}", secret.placeholder(), to_visible(&secret.name))
    }
}

/// Returns a secret as a line of text: its first place and, if there are several, all lines.
fn secret_line(input: &Input, places: &[&FoundSecret]) -> String {
    let first_place = places[0];
    let mut all_places = String::new();
    if places.len() > 1 {
        let mut lines: Vec<_> = places
            .iter()
            .map(|place| place.line.0.to_string())
            .collect();
        // Places are in the order of lines, so equal lines are adjacent.
        lines.dedup();
        all_places = format!(
            " ({} places, lines {})",
            places.len(),
            join_first_few(lines)
        );
    }
    format!(
        "{}:{}: {} {}, {} bytes: would become {}{all_places}\n",
        input.name,
        first_place.line.0,
        visible_id(first_place),
        describe_place(first_place),
        first_place.secret.length,
        described_placeholder(first_place),
    )
}

/// Returns a secret as JSON. `places` are all its places in the session, at least one. The members
/// `id`, `line` and `field` describe the first place.
fn secret_json(path: &Path, places: &[&FoundSecret]) -> Vec<u8> {
    let first_place = places[0];
    let secret = &first_place.secret;
    Object::new()
        .str("path", &path.to_string_lossy())
        .text_or_null("id", first_place.id.as_deref())
        .number("line", f64::from(first_place.line.0))
        .str("field", &secret.field)
        .str("kind", secret.number.kind)
        .str("name", &secret.name)
        .str("placeholder", &secret.placeholder())
        .number("length", secret.length as f64)
        .json(
            "places",
            &array(places.iter().map(|place| place_json(place))),
        )
        .finish()
}

/// Returns a place of a secret as JSON.
fn place_json(place: &FoundSecret) -> Vec<u8> {
    Object::new()
        .text_or_null("id", place.id.as_deref())
        .number("line", f64::from(place.line.0))
        .str("field", &place.secret.field)
        .finish()
}
