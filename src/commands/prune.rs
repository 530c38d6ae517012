//! `pisess prune`: moves large payloads of a session into a file beside it, and back.

use super::amounts::{counted, tokens};
use super::input::{Input, OpenSession};
use super::transaction::{Attempted, store_options, under_lock};
use crate::core::entry::EntryIx;
use crate::core::json::write::Object;
use crate::core::load::Options;
use crate::core::ops::prune::{Kind, Prune, Restore, RestoreError, Wanted, find_places, size};
use crate::core::plan::copy_all;
use crate::core::store::{self, Attempt, Committed, Locked, ReadAt, SessionFile, StoreError};
use crate::guide::{Example, Guide};
use crate::options::{WriteArgs, bytes};
use crate::ui::{Exit, Failure, Ui, visible};
use std::path::{Path, PathBuf};

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "prune",
    examples: &[
        Example::new("Show what would shrink", "pisess prune -n --over 1k session.jsonl"),
        Example::new(
            "Prune images over 1 MB, and nothing else",
            "pisess prune --images --over 1M session.jsonl",
        ),
        Example::new(
            "Prune large payloads, and put them back",
            "pisess prune --over 1k session.jsonl && pisess prune --restore session.jsonl",
        ),
    ],
    found: None,
    writes: true,
    refers: false,
};

/// Move large payloads of a session into a file beside it.
///
/// Images, results of tools and commands, and details stored by extensions and tools are moved to
/// SESSION.pruned, one JSON line each, if they are larger than the size given with --over. Each is replaced by
/// a short placeholder, such as `[image removed, 1.2 MB png]`, which is what a model sees. All other bytes of
/// the session stay as they are.
///
/// With --restore, the payloads are put back and SESSION.pruned is removed. The session is then what it was,
/// byte for byte, plus any entries added since.
///
/// SESSION.pruned is written and synced before the session changes. If the command is killed, the session
/// is either as it was or pruned, and can be restored in both cases. The path of SESSION.pruned is printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path or a name (see `pisess --help`)
    pub session: PathBuf,
    /// Prune payloads larger than SIZE bytes, such as 500000, 64k or 1.5M
    #[arg(long, value_name = "SIZE", default_value = "64k", value_parser = bytes)]
    pub over: usize,
    /// Prune images
    #[arg(long)]
    pub images: bool,
    /// Prune results of tools and commands
    #[arg(long)]
    pub results: bool,
    /// Prune details of extensions and tools, which a model never sees
    #[arg(long)]
    pub details: bool,
    /// Put the payloads back
    #[arg(long, conflicts_with_all = ["over", "images", "results", "details"])]
    pub restore: bool,
    /// Output and locking options.
    #[command(flatten)]
    pub write: WriteArgs,
}

impl Args {
    /// Returns the kinds given by options; all kinds if there are none.
    fn wanted(&self) -> Wanted {
        let named = [self.images, self.results, self.details];
        let is_wanted = |at: usize| named[at] || !named.contains(&true);
        let kinds = Kind::ALL.into_iter().enumerate().filter(|(at, _)| is_wanted(*at));
        Wanted { over: self.over, kinds: kinds.map(|(_, kind)| kind).collect() }
    }
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.write.output.as_deref() == Some(Path::new("-")) {
        let failure = Failure::usage("-o -: what is pruned goes to a file beside the result");
        return Err(failure.hint("give a path with -o"));
    }
    let open = OpenSession::open(&args.session, Options { messages: true, ..Options::default() }, ui)?;
    let place = match (&args.write.output, open.input.file()) {
        (Some(path), _) => path.clone(),
        (None, Some(file)) => own_path(file),
        (None, None) if args.write.dry_run && !args.restore => PathBuf::from("-"),
        (None, None) => {
            return Err(open.input.cannot("a stream cannot be pruned").hint("give the path of a file"));
        }
    };
    let job = Job { args, open: &open, pruned: beside(&place), place };
    match (args.restore, args.write.dry_run) {
        (false, true) => job.plan(ui),
        (false, false) => job.prune(ui),
        (true, _) => job.restore(ui),
    }
}

/// Returns the path as given, or with links resolved if it is a symbolic link.
fn own_path(file: &SessionFile) -> PathBuf {
    match file.path().is_symlink() {
        true => file.resolved().to_owned(),
        false => file.path().to_owned(),
    }
}

/// Returns the path of the file beside a session.
fn beside(session: &Path) -> PathBuf {
    let mut name = session.as_os_str().to_owned();
    name.push(".pruned");
    PathBuf::from(name)
}

/// Opens the file beside a session, if it exists.
fn existing(path: &Path) -> Result<Option<SessionFile>, Failure> {
    match SessionFile::open(path) {
        Err(StoreError::NotFound { .. }) => Ok(None),
        file => Ok(Some(file?)),
    }
}

/// Returns the places of all payloads that have one.
fn found_places(now: &OpenSession, pruned: &SessionFile) -> Result<Restore, Failure> {
    let name = visible(&pruned.path().to_string_lossy());
    find_places(&now.session, now.input.source(), pruned).map_err(|error| match error {
        RestoreError::Io(error) => Failure::reading(&name, error),
        RestoreError::NotAPayload { line } => {
            Failure::cannot(format_args!("{name}:{}: {error}", line.0)).path(&name).on_line(line.0)
        }
    })
}

struct Job<'a> {
    args: &'a Args,
    open: &'a OpenSession,
    /// The file that is pruned or restored.
    place: PathBuf,
    /// The file beside it.
    pruned: PathBuf,
}

/// The numbers for the report.
#[derive(Default)]
struct Outcome {
    payloads: usize,
    bytes: usize,
}

impl Job<'_> {
    /// Prints a row for each payload, and the sizes to which the session and its context would shrink.
    fn plan(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let (session, source) = (&self.open.session, self.open.input.source());
        let unreadable = |error| self.open.input.unreadable(error);
        let prune = Prune::new(session, source, self.args.wanted()).map_err(unreadable)?;
        for pruned in &prune.payloads {
            self.print_row(pruned.entry, &pruned.field, Some((pruned.kind, pruned.bytes)), ui)?;
        }
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
        match self.args.write.json {
            true => ui.status(&summary),
            false => ui.print(&(summary + "\n"))?,
        }
        Ok(Exit::Done)
    }

    fn print_row(
        &self,
        entry: EntryIx,
        field: &str,
        what: Option<(Kind, usize)>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let session = &self.open.session;
        let (id, line) = (session.id(entry), session.entry(entry).line.0);
        if self.args.write.json {
            let row = Object::new().text_or_null("id", Some(&id).filter(|id| !id.is_empty()));
            let row = row.number("line", f64::from(line)).str("field", field);
            let row = row
                .with(what, |row, (kind, bytes)| row.str("kind", kind.name()).number("bytes", bytes as f64));
            return ui.print_json(&row.finish());
        }
        let what =
            what.map(|(kind, bytes)| format!("  {:7}  {:>6}", kind.name(), size(bytes))).unwrap_or_default();
        ui.print(&format!("{}{what}  {}\n", visible(&id.to_string_lossy()), visible(field)))
    }

    fn prune(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let (committed, outcome) = match &self.args.write.output {
            Some(_) => self.prune_elsewhere(ui)?,
            None => {
                // The file beside the session, before the first attempt.
                let mut old = None;
                let options = store_options(&self.args.write, &self.open.session);
                let mut attempt =
                    |grown: Option<Input>, locked: Locked| self.attempt(grown, locked, &mut old);
                under_lock(&self.open.input, &options, &mut attempt)?
            }
        };
        if outcome.payloads == 0 {
            ui.status(&format!("{}: nothing takes more than {}", self.open.input.name, size(self.args.over)));
        }
        self.report(committed, &outcome, ui)
    }

    /// Prunes the session under its lock: writes the file beside it, then the session. If the session cannot
    /// be written, the file beside it is restored.
    fn attempt(
        &self,
        grown: Option<Input>,
        locked: Locked,
        old: &mut Option<Option<SessionFile>>,
    ) -> Attempted<Outcome> {
        let grown = grown.map(|input| self.open.reloaded(input)).transpose()?;
        let now = grown.as_ref().unwrap_or(self.open);
        let prune = self.find(now)?;
        let outcome = Outcome { payloads: prune.payloads.len(), bytes: prune.saved() };
        if prune.payloads.is_empty() {
            return Ok((None, outcome));
        }
        if old.is_none() {
            *old = Some(existing(&self.pruned)?);
        }
        // Refuses to add to a file that pisess did not write.
        old.iter().flatten().try_for_each(|old| found_places(now, old).map(drop))?;
        let old = old.as_ref().and_then(Option::as_ref);
        let made = self.write_pruned(now, &prune, old, true)?;
        let (session, source) = (&now.session, now.input.source());
        match locked.rewrite(None, &mut |out| prune.write_session(session, source, out)) {
            Ok(attempt) => Ok((Some(attempt), outcome)),
            Err(error) => {
                match old {
                    None => store::take_back(&made),
                    // If restoring fails, the file has surplus lines, which are harmless.
                    Some(old) => drop(store::create(&self.pruned, None, true, &mut |out| copy_all(old, out))),
                }
                Err(error.into())
            }
        }
    }

    fn find(&self, now: &OpenSession) -> Result<Prune, Failure> {
        let prune = Prune::new(&now.session, now.input.source(), self.args.wanted());
        prune.map_err(|error| now.input.unreadable(error))
    }

    /// Writes the existing lines of the file beside the session, then the new payloads.
    fn write_pruned(
        &self,
        now: &OpenSession,
        prune: &Prune,
        old: Option<&SessionFile>,
        force: bool,
    ) -> Result<Committed, Failure> {
        let made = store::create(&self.pruned, now.input.file(), force, &mut |out| {
            if let Some(old) = old.filter(|old| old.len() > 0) {
                copy_all(old, out)?;
                let mut last = [0];
                old.read_exact_at(&mut last, old.len() - 1)?;
                out.write_all(if last == *b"\n" { b"" } else { b"\n" })?;
            }
            prune.write_payloads(&now.session, now.input.source(), out)
        });
        Ok(made?)
    }

    /// Writes a pruned copy, whose file of payloads includes those pruned before.
    fn prune_elsewhere(&self, ui: &mut Ui) -> Result<(Option<Committed>, Outcome), Failure> {
        let prune = self.find(self.open)?;
        let force = self.args.write.force;
        let old =
            self.open.input.file().map(|file| existing(&beside(&own_path(file)))).transpose()?.flatten();
        let is_needed = old.is_some() || !prune.payloads.is_empty();
        let made =
            is_needed.then(|| self.write_pruned(self.open, &prune, old.as_ref(), force)).transpose()?;
        let (session, source) = (&self.open.session, self.open.input.source());
        let written = store::create(&self.place, self.open.input.file(), force, &mut |out| {
            prune.write_session(session, source, out)
        });
        if let (Err(_), Some(made)) = (&written, &made) {
            store::take_back(made);
        }
        made.iter().for_each(|made| ui.warn_of(made));
        Ok((Some(written?), Outcome { payloads: prune.payloads.len(), bytes: prune.saved() }))
    }

    fn restore(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let file = self.open.input.file();
        let source_of_payloads = file.map_or_else(|| self.pruned.clone(), |file| beside(&own_path(file)));
        let Some(pruned) = existing(&source_of_payloads)? else {
            ui.status(&format!("{}: nothing was pruned", self.open.input.name));
            return self.report(None, &Outcome::default(), ui);
        };
        if self.args.write.dry_run {
            let restore = self.places(self.open, &pruned)?;
            for (entry, field) in restore.places() {
                self.print_row(entry, field, None, ui)?;
            }
            return Ok(Exit::Done);
        }
        if self.args.write.output.is_some() {
            let restore = self.places(self.open, &pruned)?;
            let committed = store::create(&self.place, file, self.args.write.force, &mut |out| {
                restore.write_session(&self.open.session, self.open.input.source(), &pruned, out)
            })?;
            return self.report(Some(committed), &Outcome { payloads: restore.count(), bytes: 0 }, ui);
        }
        let options = store_options(&self.args.write, &self.open.session);
        let mut attempt = |grown: Option<Input>, locked: Locked| -> Attempted<(Outcome, bool)> {
            let grown = grown.map(|input| self.open.reloaded(input)).transpose()?;
            let now = grown.as_ref().unwrap_or(self.open);
            // Checked under the lock, because another pisess may have pruned or restored meanwhile.
            let Some(pruned) = existing(&self.pruned)? else {
                return Ok((None, (Outcome::default(), false)));
            };
            let restore = self.places(now, &pruned)?;
            let outcome = Outcome { payloads: restore.count(), bytes: 0 };
            let is_whole = restore.lost.is_empty();
            if restore.count() == 0 {
                return Ok((None, (outcome, is_whole)));
            }
            let (session, source) = (&now.session, now.input.source());
            let attempt: Attempt =
                locked.rewrite(None, &mut |out| restore.write_session(session, source, &pruned, out))?;
            Ok((Some(attempt), (outcome, is_whole)))
        };
        let (committed, (outcome, is_whole)) = under_lock(&self.open.input, &options, &mut attempt)?;
        if is_whole && let Err(error) = store::remove(&self.pruned) {
            ui.warn(&error.to_string());
        }
        self.report(committed, &outcome, ui)
    }

    /// Returns the places of all payloads; fails if one has none, unless --force is given.
    fn places(&self, now: &OpenSession, pruned: &SessionFile) -> Result<Restore, Failure> {
        let restore = found_places(now, pruned)?;
        let name = visible(&pruned.path().to_string_lossy());
        match restore.lost.first().filter(|_| !self.args.write.force) {
            None => Ok(restore),
            Some((id, field)) => Err(now
                .input
                .cannot(format_args!(
                    "{}, such as {field} of {id}",
                    match restore.lost.len() {
                        1 => format!("a placeholder for {name} is not in the session"),
                        count => format!("{count} placeholders for {name} are not in the session"),
                    }
                ))
                .hint("--force puts the others back and keeps that file")),
        }
    }

    fn report(&self, committed: Option<Committed>, outcome: &Outcome, ui: &mut Ui) -> Result<Exit, Failure> {
        if let Some(committed) = &committed {
            ui.warn_of(committed);
            self.open.input.report_path(ui);
        }
        let printed = self.print_outcome(committed.is_some(), outcome, ui).and_then(|()| ui.flush());
        let late = |failure: Failure| match committed {
            Some(_) => failure.after_writing(&self.place.to_string_lossy()),
            None => failure,
        };
        printed.map(|()| Exit::Done).map_err(late)
    }

    fn print_outcome(&self, is_written: bool, outcome: &Outcome, ui: &mut Ui) -> Result<(), Failure> {
        let Outcome { payloads, bytes } = outcome;
        let pruned = self.pruned.to_string_lossy();
        if self.args.write.json {
            let action = match (is_written, &self.args.write.output) {
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
        match self.args.restore {
            true => ui.status(&format!("{}: {payloads} restored", self.open.input.name)),
            false => {
                ui.status(&format!("{}: {payloads} pruned, {}", self.open.input.name, size(*bytes)));
                ui.print(&format!("{}\n", visible(&pruned)))?;
            }
        }
        Ok(())
    }
}
