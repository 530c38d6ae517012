//! `pisess prune`: moves large payloads of a session into a file beside it, and back.

mod report;
mod restore;

use self::report::Outcome;
use self::restore::found_places;
use crate::cli::guide::{Example, Guide};
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::{WriteArgs, bytes};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::transaction::{Attempted, store_options, under_lock};
use crate::load::Options;
use crate::ops::prune::{PayloadKind, Prune, Wanted, pruned_file, size};
use pisess_store::{self as store, Attempt, Beside, Committed, Locked, SessionFile, StoreError};
use std::path::{Path, PathBuf};

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "prune",
    examples: &[
        Example::new("List what would be moved", "pisess prune -n --over 1k session.jsonl"),
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
pub struct Args {
    /// The session: a path or a name (see `pisess --help`)
    pub session: PathBuf,
    /// Prune payloads larger than SIZE bytes, such as 500000, 64k or 1.5M
    #[arg(long, value_name = "SIZE", default_value = "64k", value_parser = bytes)]
    pub over: usize,
    /// Prune only images; may be combined with --results and --details
    #[arg(long)]
    pub images: bool,
    /// Prune only results of tools and commands
    #[arg(long)]
    pub results: bool,
    /// Prune only details of extensions and tools, which a model never sees
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
        let kinds = PayloadKind::ALL.into_iter().enumerate().filter(|(at, _)| is_wanted(*at));
        Wanted { over: self.over, kinds: kinds.map(|(_, kind)| kind).collect() }
    }
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.write.output.as_deref() == Some(Path::new("-")) {
        let failure =
            Failure::usage("-o -: the payloads go to a file beside the result, so it must be a file");
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
    let job = Job { args, open: &open, pruned: pruned_file(&place), place };
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

/// Opens the file beside a session, if it exists.
fn existing(path: &Path) -> Result<Option<SessionFile>, Failure> {
    match SessionFile::open(path) {
        Err(StoreError::NotFound { .. }) => Ok(None),
        file => Ok(Some(file?)),
    }
}

struct Job<'a> {
    args: &'a Args,
    open: &'a OpenSession,
    /// The file that is pruned or restored.
    place: PathBuf,
    /// The file beside it.
    pruned: PathBuf,
}

impl Job<'_> {
    fn prune(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let (committed, outcome) = match &self.args.write.output {
            Some(_) => self.prune_elsewhere(ui)?,
            None => {
                let options = store_options(&self.args.write, &self.open.session);
                let mut attempt = |grown: Option<Input>, locked: Locked| self.attempt(grown, locked);
                under_lock(&self.open.input, &options, &mut attempt)?
            }
        };
        if outcome.payloads == 0 {
            ui.status(&format!(
                "{}: no payload is larger than {}",
                self.open.input.name,
                size(self.args.over)
            ));
        }
        self.report(committed, &outcome, ui)
    }

    /// Prunes the session under its lock: writes the file beside it, then the session. If the session cannot
    /// be written, the file beside it is what it was.
    fn attempt(&self, grown: Option<Input>, locked: Locked) -> Attempted<Outcome> {
        let grown = grown.map(|input| self.open.reloaded(input)).transpose()?;
        let now = grown.as_ref().unwrap_or(self.open);
        let prune = self.find(now)?;
        let outcome = Outcome { payloads: prune.payloads.len(), bytes: prune.saved() };
        if prune.payloads.is_empty() {
            return Ok((None, outcome));
        }
        let old = existing(&self.pruned)?;
        let beside = self.write_pruned(now, &prune, old.as_ref(), old.is_some())?;
        let (session, source) = (&now.session, now.input.source());
        let attempt = locked.rewrite(None, &mut |out| prune.write_session(session, source, out))?;
        if let Attempt::Done(_) = attempt {
            beside.keep();
        }
        Ok((Some(attempt), outcome))
    }

    fn find(&self, now: &OpenSession) -> Result<Prune, Failure> {
        let prune = Prune::new(&now.session, now.input.source(), self.args.wanted());
        prune.map_err(|error| now.input.unreadable(error))
    }

    /// Writes the lines of the file beside the session that are still needed, then the new payloads: those that a killed
    /// run wrote are in the session, too. Neither adds to a file that pisess did not write, nor replaces one.
    fn write_pruned(
        &self,
        now: &OpenSession,
        prune: &Prune,
        old: Option<&SessionFile>,
        replaces: bool,
    ) -> Result<Beside, Failure> {
        if let Some(there) = existing(&self.pruned)?.filter(|_| replaces) {
            found_places(now, &there)?;
        }
        let old = old.map(|old| Ok::<_, Failure>((old, found_places(now, old)?))).transpose()?;
        let made = store::create_beside(&self.pruned, now.input.file(), replaces, &mut |out| {
            if let Some((old, places)) = &old {
                places.write_missing(*old, out)?;
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
            self.open.input.file().map(|file| existing(&pruned_file(&own_path(file)))).transpose()?.flatten();
        let is_needed = old.is_some() || !prune.payloads.is_empty();
        let beside =
            is_needed.then(|| self.write_pruned(self.open, &prune, old.as_ref(), force)).transpose()?;
        let (session, source) = (&self.open.session, self.open.input.source());
        let written = store::create(&self.place, self.open.input.file(), force, &mut |out| {
            prune.write_session(session, source, out)
        })?;
        beside.into_iter().for_each(|beside| ui.warn_of(&beside.keep()));
        Ok((Some(written), Outcome { payloads: prune.payloads.len(), bytes: prune.saved() }))
    }
}
