//! The secrets that several sessions share: one that is recognized in a session is searched for in
//! all others.

use super::open::Input;
use super::output::{Failure, Ui, to_visible};
use super::pruned::{open_if_exists, session_own_path};
use super::rollouts::Rollouts;
use crate::ops::prune::pruned_file;
use crate::ops::redact::{ValueFinder, recognize_secrets};
use crate::redact::values::SecretValue;
use foldhash::{HashMap, HashSet};
use pisess_store::{FoundFile, SessionFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The values to search for in a group of sessions, besides the secrets that are recognized in
/// each.
///
/// A token that one session assigns to a name, as in `TOKEN=x9Qd…`, stands alone in another, where
/// nothing shows that it is a secret. So a secret that is recognized in one session is a value for
/// the others.
pub struct SharedSecrets {
    /// The values of `--env-file` and `--secret-file`.
    given: Vec<SecretValue>,
    /// Finds the secrets that are recognized in any session of the group, or in its
    /// SESSION.pruned, and are not given.
    recognized: ValueFinder,
    /// The secrets that are recognized in each session itself, by its path.
    recognized_by_path: HashMap<PathBuf, SecretSet>,
}

/// Secrets, without their kinds.
type SecretSet = HashSet<Arc<[u8]>>;

impl SharedSecrets {
    /// Returns the given values alone: no session has secrets to search for in the others.
    pub fn given_only(given: Vec<SecretValue>) -> SharedSecrets {
        SharedSecrets {
            given,
            recognized: ValueFinder::new(Vec::new()),
            recognized_by_path: HashMap::default(),
        }
    }

    /// Returns the `given` values, and the secrets that are recognized in these sessions. For a
    /// single session, nothing is read.
    ///
    /// `open` returns `None` for a file that is left out. A session that cannot be read is left
    /// out, too: it is reported when the session itself is searched. So is standard input, which
    /// can be read only once. A warning names each SESSION.pruned that cannot be read.
    pub fn recognize_in(
        files: &[FoundFile],
        given: Vec<SecretValue>,
        open: impl Fn(&Path) -> Option<Input> + Sync,
        ui: &mut Ui,
    ) -> SharedSecrets {
        if files.len() < 2 {
            return SharedSecrets::given_only(given);
        }
        let recognize = |file: FoundFile| {
            if file.path == Path::new("-") {
                return None;
            }
            let session = open(&file.path)?;
            Some(RecognizedSecrets::read(file.path, &session))
        };
        let mut collector = SecretCollector::new(&given);
        ui.map_in_parallel(files.to_vec(), recognize, |ui, recognized| {
            if let Some(recognized) = recognized {
                collector.add(recognized, ui);
            }
        });
        SharedSecrets {
            given,
            recognized: ValueFinder::new(collector.values),
            recognized_by_path: collector.recognized_by_path,
        }
    }

    /// Returns the `given` values, and the secrets that are recognized in these files, which are
    /// opened here. Each may be a session of pi or oh-my-pi, or a file of another agent. `rollouts`
    /// caches the files of Codex that belong together.
    pub fn recognize_in_files(
        files: &[FoundFile],
        given: Vec<SecretValue>,
        rollouts: &Rollouts,
        ui: &mut Ui,
    ) -> SharedSecrets {
        let stdout_is = ui.stdout_predicate();
        let all_entries = None;
        let open =
            |path: &Path| Input::open_path_to_read(path, rollouts, all_entries, stdout_is).ok();
        SharedSecrets::recognize_in(files, given, open, ui)
    }

    /// Returns the values to search for in one of the sessions: the given ones, and those secrets
    /// of the other sessions that occur in it or in its SESSION.pruned.
    ///
    /// A secret that is recognized in the session itself is left out, because a value has no name.
    /// The rules find it in `TOKEN=x9Qd…` together with its name, `TOKEN`.
    pub fn values_for(&self, session: &Input, workers: usize) -> Result<Vec<SecretValue>, Failure> {
        let mut values = self.given.clone();
        if self.recognized.is_empty() {
            return Ok(values);
        }
        let in_session = self.recognized.find_in(session.source(), workers);
        let mut shared = session.map_read_error(in_session)?;
        // A SESSION.pruned that cannot be read is reported by `recognize_in`.
        if let Ok(Some(side_file)) = open_side_file(session)
            && let Ok(in_side_file) = self.recognized.find_in(&side_file, workers)
        {
            shared.extend(in_side_file);
        }

        let mut left_out = self.recognized_in(session).cloned().unwrap_or_default();
        for value in shared {
            if left_out.insert(value.bytes.clone()) {
                values.push(value);
            }
        }
        Ok(values)
    }

    fn recognized_in(&self, session: &Input) -> Option<&SecretSet> {
        let path = session.path.as_ref()?;
        self.recognized_by_path.get(path)
    }
}

/// The secrets that are recognized in one session of a group.
struct RecognizedSecrets {
    path: PathBuf,
    /// Those in the session itself. None, if it cannot be read.
    in_session: Vec<SecretValue>,
    /// Those in its SESSION.pruned.
    in_side_file: Result<Vec<SecretValue>, Failure>,
}

impl RecognizedSecrets {
    fn read(path: PathBuf, session: &Input) -> RecognizedSecrets {
        RecognizedSecrets {
            path,
            in_session: recognize_secrets(session.source(), WORKERS).unwrap_or_default(),
            in_side_file: recognize_in_side_file(session),
        }
    }
}

/// Several sessions are read at the same time, each on one thread.
const WORKERS: usize = 1;

/// Returns the secrets that are recognized in the SESSION.pruned of a session.
fn recognize_in_side_file(session: &Input) -> Result<Vec<SecretValue>, Failure> {
    let Some(side_file) = open_side_file(session)? else {
        return Ok(Vec::new());
    };
    recognize_secrets(&side_file, WORKERS).map_err(|error| {
        let name = to_visible(&side_file.path().to_string_lossy());
        Failure::from_read_error(&name, error)
    })
}

/// Opens the SESSION.pruned of a session; `None` if there is none.
fn open_side_file(session: &Input) -> Result<Option<SessionFile>, Failure> {
    match session.file() {
        Some(file) => open_if_exists(&pruned_file(&session_own_path(file))),
        // Nothing is beside a stream, or beside an archive.
        None => Ok(None),
    }
}

/// Collects the secrets of the sessions of a group, each once.
struct SecretCollector {
    /// The secrets that are not given.
    values: Vec<SecretValue>,
    /// The given values, and all in `values`.
    known: SecretSet,
    recognized_by_path: HashMap<PathBuf, SecretSet>,
}

impl SecretCollector {
    fn new(given: &[SecretValue]) -> SecretCollector {
        let mut known = SecretSet::default();
        for value in given {
            known.insert(value.bytes.clone());
        }
        SecretCollector {
            values: Vec::new(),
            known,
            recognized_by_path: HashMap::default(),
        }
    }

    /// Adds the secrets of a session. Warns if its SESSION.pruned could not be read.
    fn add(&mut self, recognized: RecognizedSecrets, ui: &mut Ui) {
        let mut own = SecretSet::default();
        for value in recognized.in_session {
            own.insert(value.bytes.clone());
            self.add_value(value);
        }
        self.recognized_by_path.insert(recognized.path, own);

        match recognized.in_side_file {
            Ok(values) => {
                for value in values {
                    self.add_value(value);
                }
            }
            Err(mut failure) => {
                // The user did not give the path, so no other one is suggested.
                failure.hint = None;
                let failure =
                    failure.with_context("secrets in SESSION.pruned are not searched for");
                ui.warn(&failure.to_line());
            }
        }
    }

    fn add_value(&mut self, value: SecretValue) {
        let is_new = self.known.insert(value.bytes.clone());
        if is_new {
            self.values.push(value);
        }
    }
}
