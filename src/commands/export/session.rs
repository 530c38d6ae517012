//! Exports one session: opens it, collects the contents of the export, and writes them.

use super::Args;
use super::directory::{Batch, same_file_name_failure};
use super::exporter::Exporter;
use super::output_path::output_path;
use super::sub_agents::{AgentRedaction, list_sub_agents, open_sub_agents};
use crate::cli::locate::SessionStores;
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::pruned::{load_pruned, requests_with_pruned};
use crate::cli::redaction::RemovedSecrets;
use crate::cli::rollouts::Rollouts;
use crate::cli::rows::entry::row_options;
use crate::cli::shared_secrets::SharedSecrets;
use crate::export::atif::has_steps;
use crate::export::source::{Contents, Display, ExportedPart};
use crate::export::verify::Rendition;
use crate::export::work::Work;
use crate::load::LoadOptions;
use crate::ops::navigate::last_request;
use crate::ops::stats::{SessionStats, collect_stats, count_loaded};
use crate::session::entry::Role;
use crate::session::range::EntryRange;
use pisess_store::FoundFile;
use std::path::{Path, PathBuf};

/// Exports one session. `batch` is the state of the export of a directory; `None` if the user gave
/// the session itself.
pub fn export_session(
    args: &Args,
    path: &Path,
    format: Rendition,
    mut batch: Option<&mut Batch>,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let input = match &batch {
        Some(batch) => Input::open_found_to_read(path, &batch.rollouts, ui)?,
        None => Input::open_to_read(path, ui)?,
    };
    let own_secrets = if args.redact && batch.is_none() {
        Some(read_secrets(args, &input, format, ui)?)
    } else {
        None
    };
    // In the export of a directory, the secrets were read before the first session.
    let secrets = match &batch {
        Some(batch) => batch.secrets.as_ref(),
        None => own_secrets.as_ref(),
    };
    let (input, mut removed_secrets) = match secrets {
        Some(secrets) => {
            let (redacted_input, removed) = remove_secrets(input, args, secrets, ui)?;
            (redacted_input, Some(removed))
        }
        None => (input, None),
    };
    let options = LoadOptions {
        // A page shows them.
        stats: format == Rendition::Page,
        ..load_options(ui)
    };
    let open = OpenSession::from_input(input, options, ui)?;
    let mut contents = load_contents(args, format, &open, ui)?;
    let mut agents = Vec::new();
    if format == Rendition::Trajectory {
        let redaction = match (secrets, &mut removed_secrets) {
            (Some(secrets), Some(removed)) => Some(AgentRedaction { secrets, removed }),
            _ => None,
        };
        agents = open_sub_agents(&open.input, args, redaction, ui)?;
    }

    let is_from_directory = batch.is_some();
    contents.apply_cuts(args.cuts());
    let output = output_path(args, format, &contents, &open.input, is_from_directory, ui);
    if let Some(batch) = &mut batch {
        reserve_output(batch, &output, path)?;
    }
    if output == Path::new("-") && ui.stdout_is_terminal() {
        contents.display = Display::Terminal;
    }
    if format != Rendition::Page {
        warn_of_other_branches(&contents, batch, ui);
    }

    let exporter = Exporter {
        args,
        format,
        session: &open.input,
        is_from_directory,
        removed: removed_secrets.as_ref(),
        agents: &agents,
        workers: ui.processor_count(),
    };
    if let Some(max_size) = args.max_size {
        exporter.fit_to_size(&mut contents, max_size, ui)?;
    }
    exporter.write_output(&contents, &output, ui)?;
    Ok(Exit::Done)
}

/// Reserves a file for one session of a directory. Fails if another session of it has the same
/// file.
fn reserve_output(batch: &mut Batch, output: &Path, session: &Path) -> Result<(), Failure> {
    let is_free = batch.outputs.insert(output.to_owned());
    if is_free {
        Ok(())
    } else {
        Err(same_file_name_failure(session))
    }
}

/// Returns the secrets to remove from a session: the values of `--env-file` and `--secret-file`.
///
/// A trajectory embeds the sessions of the sub-agents. For it, a secret that is recognized in one
/// of the sessions is removed from the others, too.
fn read_secrets(
    args: &Args,
    session: &Input,
    format: Rendition,
    ui: &mut Ui,
) -> Result<SharedSecrets, Failure> {
    let option_values = args.redaction.values.read_values(Some(session), ui)?;
    if format != Rendition::Trajectory {
        return Ok(SharedSecrets::given_only(option_values));
    }
    // A stream has no path, and no sub-agents.
    let Some(path) = &session.path else {
        return Ok(SharedSecrets::given_only(option_values));
    };

    let mut files = vec![unowned_file(path.clone())];
    for sub_agent in list_sub_agents(session) {
        files.push(unowned_file(sub_agent));
    }
    let rollouts = Rollouts::default();
    Ok(SharedSecrets::recognize_in_files(
        &files,
        option_values,
        &rollouts,
        ui,
    ))
}

/// Returns a file that is searched for secrets. Which session owns it does not matter for that.
fn unowned_file(path: PathBuf) -> FoundFile {
    FoundFile {
        path,
        owner: None,
        is_given: true,
    }
}

/// Removes the secrets of a session in memory. Returns the redacted session, and what was removed.
pub fn remove_secrets(
    input: Input,
    args: &Args,
    secrets: &SharedSecrets,
    ui: &mut Ui,
) -> Result<(Input, RemovedSecrets), Failure> {
    let values = secrets.values_for(&input, ui.processor_count())?;
    RemovedSecrets::remove_from(input, values, &args.redaction, ui)
}

/// Warns that the session has other branches, which are not exported. In the export of a directory,
/// they are only counted: one warning follows for all sessions.
fn warn_of_other_branches(contents: &Contents, batch: Option<&mut Batch>, ui: &mut Ui) {
    let Some(others) = contents.count_other_branches() else {
        return;
    };
    match batch {
        Some(batch) => batch.add_other_branches(others),
        None => ui.warn(&format!(
            "{others} not exported (hint: give the REF of another branch; `pisess branches` lists them)"
        )),
    }
}

/// Warns if a range begins within a turn: its first message is a reply or a tool result, and the
/// user message of that turn is above the range.
fn warn_if_within_turn(open: &OpenSession, range: EntryRange, ui: &mut Ui) {
    let session = &open.session;
    let entries = range.entries(session);
    let Some(&first) = entries.iter().find(|&&ix| session.is_conversation(ix)) else {
        return;
    };
    let is_within_turn =
        session.is_message(first, Role::Assistant) || session.is_message(first, Role::ToolResult);
    if is_within_turn && let Some(request) = last_request(session, range.after.entry()) {
        let id = to_visible(&session.id(request).to_string_lossy());
        ui.warn(&format!(
            "the first of these entries is within a turn (hint: `{id}..` begins after its user message, `{id}^..` with it)"
        ));
    }
}

/// Collects the contents of the export, before options leave anything out.
///
/// # Errors
/// If the entries that REF or `--last` selects do not exist, or cannot be exported in this format.
fn load_contents<'a>(
    args: &Args,
    format: Rendition,
    open: &'a OpenSession,
    ui: &mut Ui,
) -> Result<Contents<'a>, Failure> {
    let part = resolve_part(args, format, open, ui)?;
    let mut contents = Contents::new(&open.session, open.input.source(), part);
    contents.blobs = SessionStores::locate(ui).blobs;
    contents.requests = requests_with_pruned(open, part.request_scope());
    contents.is_redacted = args.redact;
    if format == Rendition::Page {
        // Only this format shows them.
        contents.work = count_work(open, &contents);
        contents.file_name = file_name(&open.input);
    }
    let shown = contents.entries.iter().copied();
    contents.rendered = args.renderers.render(open, shown, ui)?;

    if format == Rendition::Trajectory && !has_steps(&contents) {
        return Err(open
            .input
            .negative_answer("the path has no message")
            .with_hint("name an entry further down"));
    }
    Ok(contents)
}

/// Returns the part of the session that REF and `--last` select. Without them, a trajectory is the
/// path to the leaf, because it can have only one path; the other formats have all branches.
fn resolve_part(
    args: &Args,
    format: Rendition,
    open: &OpenSession,
    ui: &mut Ui,
) -> Result<ExportedPart, Failure> {
    let range = open.resolve_range(args.at.as_deref(), args.last.entry_count)?;
    if args.last.entry_count.is_some() {
        warn_if_within_turn(open, range, ui);
    }
    if args.attach && !range.is_whole_path() {
        return Err(
            Failure::usage_error("--attach needs a session that begins at the root")
                .with_hint("omit --attach, or give one REF to export the path to it"),
        );
    }
    if args.selects_part() || format == Rendition::Trajectory {
        Ok(ExportedPart::Range(range))
    } else {
        Ok(ExportedPart::AllBranches(range.end))
    }
}

/// Returns the usage that a page shows for its entries, computed as in `stats`. Pruned entries are
/// included if they can be read.
fn count_work(open: &OpenSession, contents: &Contents) -> Work {
    match count_with_pruned(open) {
        Some(stats) => Work::add_up(contents, &stats.session, &stats.entries),
        None => Work::add_up(contents, &open.session, &count_loaded(&open.session)),
    }
}

/// Returns the usage of a session with its pruned entries. `None` if nothing was pruned, or if it
/// cannot be read.
fn count_with_pruned(open: &OpenSession) -> Option<SessionStats> {
    let pruned = load_pruned(&open.input).ok()??;
    let options = LoadOptions {
        usage: true,
        stats: true,
        workers: open.worker_count(),
        ..LoadOptions::default()
    };
    let source = open.input.unredacted_source();
    // A page shows the sub-agents' usage that the session itself records.
    let agents = None;
    collect_stats(source, &options, agents, Some(&pruned)).ok()
}

/// Returns the name of a session's file; `None` for a stream.
fn file_name(input: &Input) -> Option<String> {
    let name = input.file()?.path().file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// Returns the options for loading a session: with rows, and with the usage that pages and
/// trajectories show.
pub fn load_options(ui: &Ui) -> LoadOptions {
    LoadOptions {
        usage: true,
        message_spans: true,
        ..row_options(ui)
    }
}
