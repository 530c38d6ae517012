//! The sessions that a command reads: files, directories, or the agents' stores.

use super::input::Input;
use crate::core::session::Header;
use crate::core::store::{self, FoundFile, OnDisk};
use crate::core::stores::{Surroundings, is_cwd, stores};
use crate::core::stretches::StretchReader;
use crate::core::workers::in_order;
use crate::ui::{Exit, Failure, Ui};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// Which sessions.
#[derive(Clone, Debug, clap::Args)]
pub struct SessionsArgs {
    /// Sessions, or directories to search at any depth; - for standard input (default: the sessions of
    /// the current directory in both agents' stores)
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Include all sessions in both agents' stores
    #[arg(short, long, conflicts_with = "paths")]
    pub all: bool,
}

/// The sessions that were found; none has been read yet.
pub struct Sessions {
    files: Vec<Target>,
    /// The exit code for what could not be read.
    exit: Exit,
    /// Whether one session was given: its path need not be printed with each row.
    pub is_one: bool,
}

/// A session to read.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its path; `-` for standard input.
    pub path: PathBuf,
    /// Whether the path itself was given.
    named: bool,
    /// Whether its header decides if it belongs to the current directory.
    of_this_folder: bool,
    /// Whether files of its sub-agents were found, too.
    pub has_agents: bool,
}

impl SessionsArgs {
    /// Finds them. Paths that cannot be searched are reported, and the rest is found. Files last modified
    /// before `since_ms` are left out.
    pub fn find(&self, since_ms: Option<i64>, ui: &mut Ui) -> Result<Sessions, Failure> {
        if self.paths.iter().any(|path| path == Path::new("-")) {
            return self.standard_input();
        }
        if self.all && !self.paths.is_empty() {
            return Err(Failure::usage("--all cannot be combined with PATH").hint("omit one of them"));
        }
        let (paths, flat) =
            if self.paths.is_empty() { self.store_folders(ui) } else { (self.paths.clone(), 0) };
        let flat_folders = &paths[..flat];
        let finding = store::find(&paths);
        let mut exit = Exit::Done;
        for trouble in &finding.troubles {
            match trouble.is_failure() {
                true => exit = exit.max(ui.report(&Failure::cannot(trouble))),
                false => ui.warn(&trouble.to_string()),
            }
        }
        let with_agents = with_agents(&finding.files);
        let is_late =
            |path: &Path| since_ms.is_none_or(|since| modified_ms(path).is_none_or(|at| at >= since));
        let files =
            finding.files.into_iter().filter(|file| file.named || is_late(&file.path)).map(|file| Target {
                named: file.named,
                of_this_folder: flat_folders.iter().any(|folder| file.path.starts_with(folder)),
                has_agents: with_agents.contains(&file.path),
                path: file.path,
            });
        let files: Vec<_> = files.collect();
        if files.is_empty() && self.paths.is_empty() && !self.all {
            ui.warn("no sessions of the current directory (hint: --all includes all projects)");
        }
        let is_one = matches!((&self.paths[..], &files[..]), ([_], [file]) if file.named);
        Ok(Sessions { files, exit, is_one })
    }

    fn standard_input(&self) -> Result<Sessions, Failure> {
        if self.paths.len() > 1 {
            return Err(Failure::usage("standard input cannot be combined with paths").hint("give - alone"));
        }
        let path = PathBuf::from("-");
        let stdin = Target { path, named: true, of_this_folder: false, has_agents: false };
        Ok(Sessions { files: vec![stdin], exit: Exit::Done, is_one: true })
    }

    /// Returns the directories of both agents that exist, and how many of them, from the first on, contain
    /// sessions of other directories, too.
    fn store_folders(&self, ui: &Ui) -> (Vec<PathBuf>, usize) {
        let (mut flat, mut nested) = (Vec::new(), Vec::new());
        let home = ui.home().map(PathBuf::from);
        let env = |name: &str| ui.env(name);
        let surroundings = Surroundings { env: &env, home: home.as_deref(), folder: ui.folder() };
        for store in stores(surroundings, &OnDisk) {
            match (self.all, store.is_flat()) {
                (true, _) => nested.push(store.root),
                (false, true) => flat.push(store.root),
                (false, false) => nested.extend(store.project_folders().iter().cloned()),
            }
        }
        flat.dedup();
        let count = flat.iter().filter(|folder| folder.exists()).count();
        (flat.into_iter().chain(nested).filter(|folder| folder.exists()).collect(), count)
    }
}

impl Sessions {
    /// Reads the sessions on all processors with `work`, and passes its results to `take` in order. Sessions
    /// that cannot be read are reported, and the rest is read. Returns the exit code.
    pub fn read<T: Send>(
        self,
        ui: &mut Ui,
        work: impl Fn(&Target, &Input) -> Result<(Header, T), Failure> + Sync,
        mut take: impl FnMut(&mut Ui, &Target, Header, T) -> Result<(), Failure>,
    ) -> Result<Exit, Failure> {
        let mut exit = self.exit;
        let stdin = match &self.files[..] {
            [file] if file.path == Path::new("-") => Some(Input::open(&file.path, ui)?),
            _ => None,
        };
        let progress = ui.progress(self.files.len());
        let stdout_is = ui.stdout_is();
        let home = ui.home().map(PathBuf::from);
        let is_alone = self.is_one;
        let workers = ui.processors();
        let done = |target: Target| {
            let result = match &stdin {
                Some(input) => work(&target, input),
                None => Input::open_path(&target.path, stdout_is).and_then(|input| work(&target, &input)),
            };
            progress.advance();
            (target, result)
        };
        in_order(self.files, workers, done, |(target, result)| match result {
            Ok((header, _)) if target.of_this_folder && !is_of_folder(&header, home.as_deref(), ui) => Ok(()),
            Ok((header, found)) => take(ui, &target, header, found),
            Err(failure) if is_alone => Err(failure),
            Err(failure) if target.named => {
                exit = exit.max(ui.report(&failure));
                Ok(())
            }
            Err(failure) => {
                ui.warn(&failure.line());
                Ok(())
            }
        })?;
        Ok(exit)
    }
}

/// Buffers for reading, one for each worker.
#[derive(Default)]
pub struct Readers(Mutex<Vec<StretchReader>>);

impl Readers {
    /// Calls `work` with a reader that is not in use.
    pub fn with<T>(&self, work: impl FnOnce(&mut StretchReader) -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = lock().pop().unwrap_or_default();
        let done = work(&mut reader);
        lock().push(reader);
        done
    }
}

fn is_of_folder(header: &Header, home: Option<&Path>, ui: &Ui) -> bool {
    let env = |name: &str| ui.env(name);
    let surroundings = Surroundings { env: &env, home, folder: ui.folder() };
    header.cwd.as_ref().is_some_and(|cwd| is_cwd(&cwd.to_string_lossy(), surroundings))
}

/// Returns the sessions beside which files of their sub-agents were found. The usage of advisors is not in
/// tool results, so their files do not count it twice.
fn with_agents(files: &[FoundFile]) -> HashSet<PathBuf> {
    let is_agent = |file: &&FoundFile| {
        let name = file.path.file_name().unwrap_or_default();
        !name.as_encoded_bytes().starts_with(b"__advisor")
    };
    let owners = files.iter().filter(is_agent).filter_map(|file| file.owner.as_deref());
    owners.map(Path::to_owned).collect()
}

fn modified_ms(path: &Path) -> Option<i64> {
    let since = store::modified(path)?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}
