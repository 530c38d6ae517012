//! The directories in which both agents keep their sessions.
//!
//! Each agent uses an environment variable, else a setting, else a default below the home
//! directory. All of these are passed in ([`Surroundings`], [`Disk`]), so the result is a function
//! of its inputs.
//!
//! ```text
//!          flat: sessions of all projects             nested: a directory for each project
//! pi       $PI_CODING_AGENT_SESSION_DIR               $PI_CODING_AGENT_DIR/sessions
//!          sessionDir in .pi/settings.json            ~/.pi/agent/sessions
//!          sessionDir in <agent dir>/settings.json
//! omp      $PI_CODING_AGENT_SESSION_DIR               $PI_CODING_AGENT_DIR/sessions
//!                                                     $XDG_DATA_HOME/omp/sessions, if its parent exists
//!                                                     ~/.omp/agent/sessions
//! ```
//!
//! With a profile P (`$OMP_PROFILE`, else `$PI_PROFILE`), oh-my-pi ignores `$PI_CODING_AGENT_DIR`,
//! and uses `$XDG_DATA_HOME/omp/profiles/P/sessions` or `~/.omp/profiles/P/agent/sessions`.
//!
//! Older versions of oh-my-pi gave project directories other names. oh-my-pi moves their sessions
//! when it starts in the project; until then, those directories are searched as well.

use crate::session::dialect::Dialect;
use crate::session::paths::{is_windows, of_windows_shell};
use pisess_json::Raw;
pub use pisess_store::Disk;
use sha2::{Digest, Sha256};
use std::path::{Component, Path, PathBuf};

/// The inputs that determine where the stores are.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Returns an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The directories that paths are relative to.
    pub here: Here<'a>,
    /// Whether the settings in the current directory are read.
    pub reads_project: bool,
}

/// The directories that paths are relative to.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// The home directory, if there is one.
    pub home: Option<&'a Path>,
    /// The current directory, absolute.
    pub folder: &'a Path,
}

/// A directory in which an agent keeps sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// The agent; both may use the same place.
    pub agent: Dialect,
    /// The root directory.
    pub root: PathBuf,
    /// The directories that may contain sessions of the current project. Each project has
    /// directories below the root, the one with its current name first; or sessions of all projects
    /// are in the root itself, distinguished by the `cwd` in their headers.
    pub folders: Vec<PathBuf>,
}

impl Store {
    fn flat(agent: Dialect, root: PathBuf) -> Store {
        Store {
            agent,
            folders: vec![root.clone()],
            root,
        }
    }

    /// Whether the `cwd` of a header decides which project a session belongs to.
    pub fn is_flat(&self) -> bool {
        self.folders.first() == Some(&self.root)
    }
}

/// Returns the stores of both agents, pi's first. Without a home directory, only those set by
/// variables.
pub fn stores(surroundings: Surroundings, disk: &dyn Disk) -> Vec<Store> {
    let flat = variable(surroundings, "PI_CODING_AGENT_SESSION_DIR");
    let flat = flat.map(|named| absolute(&named, surroundings.here));
    let pi = pi_store(surroundings, flat.clone(), disk);
    let omp = omp_store(surroundings, flat, disk);
    pi.into_iter().chain(omp).collect()
}

/// Returns the directory of oh-my-pi's blobs: payloads that it keeps outside of its sessions.
pub fn blobs(surroundings: Surroundings, disk: &dyn Disk) -> Option<PathBuf> {
    Some(omp_root(surroundings, disk)?.with_file_name("blobs"))
}

/// Whether the `cwd` of a header is the current directory; as in pi, both are made absolute,
/// without resolving links.
pub fn is_cwd(cwd: &str, here: Here) -> bool {
    !cwd.is_empty() && absolute(cwd, here) == lexical(here.folder)
}

fn pi_store(surroundings: Surroundings, flat: Option<PathBuf>, disk: &dyn Disk) -> Option<Store> {
    let agent_folder = match variable(surroundings, "PI_CODING_AGENT_DIR") {
        Some(named) => Some(absolute(&named, surroundings.here)),
        None => surroundings
            .here
            .home
            .map(|home| home.join(".pi").join("agent")),
    };
    let setting = || {
        let of_project = || surroundings.here.folder.join(".pi").join("settings.json");
        let project = surroundings.reads_project.then(of_project);
        let own = agent_folder
            .as_ref()
            .map(|folder| folder.join("settings.json"));
        let set = [project, own]
            .into_iter()
            .flatten()
            .find_map(|path| session_setting(&path, disk))?;
        // An empty setting of the project overrides that of the user.
        (!set.is_empty()).then(|| absolute(&set, surroundings.here))
    };
    let set = flat.or_else(setting);
    let agent = Dialect::Pi;
    let nested = agent_folder.map(|folder| {
        let root = folder.join("sessions");
        let project = root.join(encoded(&lexical(surroundings.here.folder)));
        Store {
            agent,
            root,
            folders: vec![project],
        }
    });
    // The default directory, set explicitly, is not flat.
    let is_default = |flat: &PathBuf| {
        nested
            .as_ref()
            .is_some_and(|nested| nested.folders[0] == *flat)
    };
    let flat = set
        .filter(|flat| !is_default(flat))
        .map(|root| Store::flat(agent, root));
    flat.or(nested)
}

/// Returns `sessionDir` of a settings file; a file that is not JSON has no settings.
fn session_setting(path: &Path, disk: &dyn Disk) -> Option<String> {
    let text = disk.text(path)?;
    let folder = Raw::parse(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text))
        .ok()?
        .get_text("sessionDir")?;
    Some(folder.to_string_lossy().into_owned())
}

fn omp_store(surroundings: Surroundings, flat: Option<PathBuf>, disk: &dyn Disk) -> Option<Store> {
    let agent = Dialect::OhMyPi;
    if let Some(root) = flat {
        return Some(Store::flat(agent, root));
    }
    let root = omp_root(surroundings, disk)?;
    let real = disk.real(surroundings.here.folder);
    let (scope, current) = omp_project(surroundings, &real, disk);
    let older = encoded(&lexical(surroundings.here.folder));
    let mut names = vec![current, older, hashed(scope, &real)];
    names.dedup();
    let folders = names.into_iter().map(|name| root.join(name)).collect();
    Some(Store {
        agent,
        root,
        folders,
    })
}

/// Returns oh-my-pi's session directory.
fn omp_root(surroundings: Surroundings, disk: &dyn Disk) -> Option<PathBuf> {
    // `OMP_PROFILE` applies even if it is empty.
    let named = (surroundings.env)("OMP_PROFILE").or_else(|| (surroundings.env)("PI_PROFILE"));
    let profile = normalized_profile(named);
    // Here, `~` has no special meaning.
    let own = variable(surroundings, "PI_CODING_AGENT_DIR").filter(|_| profile.is_none());
    let own = own.map(|named| lexical(&surroundings.here.folder.join(named)));
    let config = variable(surroundings, "PI_CONFIG_DIR").unwrap_or_else(|| ".omp".to_owned());
    let config = |profile: Option<&str>| {
        let root = surroundings
            .here
            .home?
            .join(config.trim_start_matches(['/', '\\']));
        Some(profile.map_or(root.clone(), |profile| root.join("profiles").join(profile)))
    };
    let default = config(profile.as_deref()).map(|root| root.join("agent"));
    // oh-my-pi sets `PI_CODING_AGENT_DIR` to its profile's directory for child processes; such a
    // value is ignored.
    let fallback = normalized_profile((surroundings.env)("PI_PROFILE"));
    let derived = fallback.and_then(|profile| Some(config(Some(&profile))?.join("agent")));
    let agent_folder = own
        .filter(|own| Some(own) != derived.as_ref())
        .or_else(|| default.clone())?;
    if Some(&agent_folder) == default.as_ref() && !cfg!(windows) {
        let data = variable(surroundings, "XDG_DATA_HOME").map(|data| {
            let root = absolute(&data, surroundings.here).join("omp");
            profile
                .iter()
                .fold(root, |at, name| at.join("profiles").join(name))
        });
        if let Some(data) = data.filter(|data| disk.exists(data)) {
            return Some(data.join("sessions"));
        }
    }
    Some(agent_folder.join("sessions"))
}

/// Returns the trimmed name, if it can be that of a profile; `default` cannot.
fn normalized_profile(name: Option<String>) -> Option<String> {
    let name = name?.trim().to_owned();
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let fits = starts && name.len() <= 64 && !name.ends_with('.') && name.chars().all(is_inner);
    (fits && name != "default").then_some(name)
}

/// Returns the name of a project's directory in oh-my-pi's store, preceded by the scope that the
/// name is relative to: `home`, `tmp` or `abs`.
fn omp_project(surroundings: Surroundings, real: &Path, disk: &dyn Disk) -> (&'static str, String) {
    let below = |folder: &Path, prefix: &str| {
        let rest = real
            .strip_prefix(disk.real(folder))
            .ok()?
            .to_string_lossy()
            .into_owned();
        let separator = if rest.is_empty() || prefix.ends_with('-') {
            ""
        } else {
            "-"
        };
        // oh-my-pi mistakes a name that starts with `..` for a path outside the directory.
        (!rest.starts_with(".."))
            .then(|| format!("{prefix}{separator}{}", without_separators(&rest)))
    };
    let names: &[&str] = if cfg!(windows) {
        &["TEMP", "TMP"]
    } else {
        &["TMPDIR", "TMP", "TEMP"]
    };
    let temporary = names.iter().find_map(|name| variable(surroundings, name));
    let temporary = PathBuf::from(temporary.unwrap_or_else(|| "/tmp".to_owned()));
    let home = surroundings
        .here
        .home
        .and_then(|home| below(home, "-"))
        .map(|name| ("home", name));
    let temporary = || below(&temporary, "-tmp").map(|name| ("tmp", name));
    home.or_else(temporary)
        .unwrap_or_else(|| ("abs", encoded(real)))
}

/// Returns the name that oh-my-pi 17.2.5 to 17.2.8 gave to a project's directory.
fn hashed(scope: &str, real: &Path) -> String {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let parts: Vec<_> = name
        .split(|c| !is_kept(c))
        .filter(|part| !part.is_empty())
        .collect();
    let joined = parts.join("-");
    let whole = joined.trim_matches('-');
    // The text is ASCII.
    let end = &whole[whole.len().saturating_sub(80)..];
    let readable = if end.is_empty() { "project" } else { end };
    let digest = Sha256::digest(real.to_string_lossy().replace('\\', "/").as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{scope}-{readable}-{digest}")
}

/// Returns a path encoded as a directory name.
fn encoded(path: &Path) -> String {
    let whole = path.to_string_lossy();
    let below_root = whole.strip_prefix(['/', '\\']).unwrap_or(&whole);
    format!("--{}--", without_separators(below_root))
}

fn without_separators(path: &str) -> String {
    path.replace(['/', '\\', ':'], "-")
}

/// Whether a store of an agent has this name for the directory of a project.
pub fn is_name_of_project(name: &str, cwd: &str, home: Option<&Path>) -> bool {
    let cwd = Path::new(cwd);
    if name == encoded(cwd) {
        return true;
    }
    let Some((root, rest)) = project_in_name(name, home) else {
        return false;
    };
    cwd.strip_prefix(&root)
        .is_ok_and(|below| without_separators(&below.to_string_lossy()) == rest)
}

/// Splits the name that a store has for a project's directory: into the directory that it is
/// relative to, and the rest of the path with `-` for each separator. `None` if it is not such a
/// name, or that of a directory on Windows.
pub fn project_in_name<'n>(name: &'n str, home: Option<&Path>) -> Option<(PathBuf, &'n str)> {
    if let Some(rest) = name.strip_prefix("--") {
        let rest = rest.strip_suffix("--")?;
        return windows_path(rest)
            .is_none()
            .then(|| (PathBuf::from("/"), rest));
    }
    let rest = name.strip_prefix('-')?;
    if rest == "tmp" {
        return Some((PathBuf::from("/tmp"), ""));
    }
    if let Some(rest) = rest.strip_prefix("tmp-") {
        return Some((PathBuf::from("/tmp"), rest));
    }
    Some((home?.to_owned(), rest))
}

/// Returns the directory that a name in a store stands for if each `-` of the name was a separator.
pub fn decoded_project(name: &str, home: Option<&Path>) -> Option<String> {
    let whole = name
        .strip_prefix("--")
        .and_then(|rest| rest.strip_suffix("--"));
    if let Some(path) = whole.and_then(windows_path) {
        return Some(path);
    }
    let (root, rest) = project_in_name(name, home)?;
    let path = root.join(rest.replace('-', "/"));
    Some(path.to_string_lossy().into_owned())
}

/// Returns the path on Windows that pi encoded as `C--Users-x`, if it did.
fn windows_path(encoded: &str) -> Option<String> {
    let (drive, rest) = encoded.split_once("--")?;
    let is_drive = drive.len() == 1 && drive.starts_with(|c: char| c.is_ascii_alphabetic());
    is_drive.then(|| format!("{drive}:\\{}", rest.replace('-', "\\")))
}

/// Returns a variable that is set and not empty.
fn variable(surroundings: Surroundings, name: &str) -> Option<String> {
    (surroundings.env)(name).filter(|value| !value.is_empty())
}

/// Resolves a path as pi does for paths from the user: `~` is the home directory, `file://` is
/// removed, relative paths start from the current directory.
pub fn absolute(path: &str, here: Here) -> PathBuf {
    let (url, separators): (_, &[char]) = if cfg!(windows) {
        ("file:///", &['/', '\\'])
    } else {
        ("file://", &['/'])
    };
    let shell = of_windows_shell(path).filter(|_| cfg!(windows));
    let path = shell
        .as_deref()
        .unwrap_or(path.strip_prefix(url).unwrap_or(path));
    if !cfg!(windows) && is_windows(path.as_bytes()) {
        // The directory of a session from another machine.
        return PathBuf::from(path);
    }
    let rest = path
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with(separators));
    let below_home = rest
        .zip(here.home)
        .map(|(rest, home)| home.join(rest.trim_start_matches(separators)));
    lexical(&below_home.unwrap_or_else(|| here.folder.join(path)))
}

/// Returns the path without `.`, `..` and trailing separators, links not resolved.
pub fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldhash::HashMap;

    /// A machine: variables, files, links.
    #[derive(Default)]
    struct Machine {
        env: HashMap<&'static str, &'static str>,
        files: HashMap<&'static str, &'static str>,
        links: Vec<(&'static str, &'static str)>,
        folder: &'static str,
    }

    impl Disk for Machine {
        fn text(&self, path: &Path) -> Option<Vec<u8>> {
            self.files
                .get(path.to_str()?)
                .map(|text| text.as_bytes().to_vec())
        }

        fn exists(&self, path: &Path) -> bool {
            self.text(path).is_some()
        }

        fn real(&self, path: &Path) -> PathBuf {
            let link = self
                .links
                .iter()
                .find_map(|(from, to)| Some((path.strip_prefix(from).ok()?, to)));
            match link {
                Some((rest, to)) if rest.as_os_str().is_empty() => PathBuf::from(to),
                Some((rest, to)) => Path::new(to).join(rest),
                None => path.to_owned(),
            }
        }
    }

    impl Machine {
        fn at(folder: &'static str) -> Machine {
            Machine {
                folder,
                ..Machine::default()
            }
        }

        fn env(&mut self, name: &'static str, value: &'static str) {
            self.env.insert(name, value);
        }

        fn file(&mut self, path: &'static str, text: &'static str) {
            self.files.insert(path, text);
        }

        fn surroundings<T>(&self, see: impl FnOnce(Surroundings) -> T) -> T {
            let env = |name: &str| self.env.get(name).map(|&value| value.to_owned());
            let home = Some(Path::new("/var/hh"));
            let here = Here {
                home,
                folder: Path::new(self.folder),
            };
            see(Surroundings {
                env: &env,
                here,
                reads_project: true,
            })
        }

        /// Returns the directories of the project in pi's and oh-my-pi's stores; a flat one is
        /// marked with a star.
        fn folders(&self) -> [String; 2] {
            let stores = self.surroundings(|surroundings| stores(surroundings, self));
            let [pi, omp] = &stores[..] else {
                panic!("{stores:?}")
            };
            assert_eq!((pi.agent, omp.agent), (Dialect::Pi, Dialect::OhMyPi));
            [pi, omp].map(|store| {
                let star = if store.is_flat() { "*" } else { "" };
                format!("{}{star}", store.folders[0].display())
            })
        }
    }

    #[test]
    fn projects_have_the_names_that_the_agents_give() {
        for (folder, pi, omp) in [
            ("/var/hh", "--var-hh--", "-"),
            ("/var/hh/proj/a-b", "--var-hh-proj-a-b--", "-proj-a-b"),
            ("/tmp", "--tmp--", "-tmp"),
            ("/tmp/x/y", "--tmp-x-y--", "-tmp-x-y"),
            ("/var/log", "--var-log--", "--var-log--"),
            ("/", "----", "----"),
            ("/opt/a:b", "--opt-a-b--", "--opt-a-b--"),
            (
                r"C:\Users\hh\proj",
                "--C--Users-hh-proj--",
                "--C--Users-hh-proj--",
            ),
        ] {
            let wanted = [
                format!("/var/hh/.pi/agent/sessions/{pi}"),
                format!("/var/hh/.omp/agent/sessions/{omp}"),
            ];
            assert_eq!(Machine::at(folder).folders(), wanted, "{folder}");
        }
    }

    #[test]
    fn names_of_projects_are_read_back() {
        let home = Some(Path::new("/var/hh"));
        for (name, cwd) in [
            ("--var-hh-proj--", "/var/hh/proj"),
            ("-", "/var/hh"),
            ("-proj-a", "/var/hh/proj/a"),
            ("-tmp", "/tmp"),
            ("-tmp-x", "/tmp/x"),
            ("----", "/"),
            ("--C--Users-hh--", r"C:\Users\hh"),
        ] {
            let decoded = decoded_project(name, home).unwrap();
            assert_eq!(
                decoded.trim_end_matches('/'),
                cwd.trim_end_matches('/'),
                "{name}"
            );
            assert!(is_name_of_project(name, cwd, home), "{name}");
        }
        assert!(is_name_of_project("--opt-a-b--", "/opt/a:b", home));
        assert!(!is_name_of_project("--opt-a-b--", "/opt/a", home));
        assert!(decoded_project("sessions", home).is_none());
    }

    #[test]
    fn oh_my_pi_resolves_links_first_and_its_older_folder_is_searched_too() {
        let mut machine = Machine::at("/link");
        machine.links.push(("/link", "/var/hh/proj"));
        let stores = machine.surroundings(|surroundings| stores(surroundings, &machine));
        let omp = Path::new("/var/hh/.omp/agent/sessions");
        let hashed = hashed("home", Path::new("/var/hh/proj"));
        assert_eq!(
            stores[1].folders,
            ["-proj", "--link--", &hashed].map(|name| omp.join(name))
        );
        assert_eq!(machine.folders()[0], "/var/hh/.pi/agent/sessions/--link--");
    }

    #[test]
    fn folders_of_oh_my_pi_17_2_5_have_a_hash() {
        let of_project =
            "home-my-proj-aae7dca0b39677615e6d0b22f5dac9eb6e0467f6a33bf250fee5f9ec7fb23e3a";
        assert_eq!(hashed("home", Path::new("/var/hh/my proj!")), of_project);
        let of_root =
            "abs-project-8a5edab282632443219e051e4ade2d1d5bbc671c781051bf1437897cbdfea0f1";
        assert_eq!(hashed("abs", Path::new("/")), of_root);
    }

    #[test]
    fn pis_variables_and_settings_have_an_order() {
        let pi = |machine: &Machine| machine.folders()[0].clone();
        let mut machine = Machine::at("/p");
        machine.file(
            "/var/hh/.pi/agent/settings.json",
            r#"{"sessionDir":"~/all"}"#,
        );
        assert_eq!(pi(&machine), "/var/hh/all*");
        machine.file(
            "/p/.pi/settings.json",
            "\u{feff}{\"sessionDir\":\"../q/./s/\"}",
        );
        assert_eq!(pi(&machine), "/q/s*");
        machine.env("PI_CODING_AGENT_SESSION_DIR", "~");
        assert_eq!(machine.folders(), ["/var/hh*", "/var/hh*"]);
        machine.env("PI_CODING_AGENT_SESSION_DIR", "");
        assert_eq!(pi(&machine), "/q/s*");
        machine.file("/p/.pi/settings.json", r#"{"sessionDir":""}"#);
        assert_eq!(pi(&machine), "/var/hh/.pi/agent/sessions/--p--");
        machine.file("/p/.pi/settings.json", "no JSON");
        assert_eq!(pi(&machine), "/var/hh/all*");
        machine.env("PI_CODING_AGENT_DIR", "~/x");
        assert_eq!(pi(&machine), "/var/hh/x/sessions/--p--");
        // The default by its own name is not flat.
        machine.env("PI_CODING_AGENT_SESSION_DIR", "/var/hh/x/sessions/--p--");
        assert_eq!(pi(&machine), "/var/hh/x/sessions/--p--");
    }

    #[test]
    fn oh_my_pis_variables_have_an_order() {
        let omp = |machine: &Machine| machine.folders()[1].clone();
        let mut machine = Machine::at("/p");
        machine.env("XDG_DATA_HOME", "/data");
        assert_eq!(omp(&machine), "/var/hh/.omp/agent/sessions/--p--");
        machine.file("/data/omp", "");
        assert_eq!(omp(&machine), "/data/omp/sessions/--p--");
        machine.env("PI_CODING_AGENT_DIR", "/own");
        assert_eq!(omp(&machine), "/own/sessions/--p--");
        machine.env("PI_PROFILE", "job");
        assert_eq!(
            omp(&machine),
            "/var/hh/.omp/profiles/job/agent/sessions/--p--"
        );
        machine.file("/data/omp/profiles/job", "");
        assert_eq!(omp(&machine), "/data/omp/profiles/job/sessions/--p--");
        machine.env("OMP_PROFILE", "");
        assert_eq!(omp(&machine), "/own/sessions/--p--");
        machine.env("PI_CODING_AGENT_DIR", "/var/hh/.omp/profiles/job/agent");
        assert_eq!(
            omp(&machine),
            "/data/omp/sessions/--p--",
            "handed down by a profile"
        );
        let mut machine = Machine::at("/p");
        machine.env("PI_CONFIG_DIR", ".cfg");
        machine.env("OMP_PROFILE", "Bad Name");
        assert_eq!(omp(&machine), "/var/hh/.cfg/agent/sessions/--p--");
    }

    #[test]
    fn a_cwd_is_compared_as_pi_does() {
        let here = Here {
            home: Some(Path::new("/var/hh")),
            folder: Path::new("/var/hh/p"),
        };
        for cwd in ["/var/hh/p", "/var/hh/p/", "~/p"] {
            assert!(is_cwd(cwd, here), "{cwd}");
        }
        for cwd in ["/var/hh/q", ""] {
            assert!(!is_cwd(cwd, here), "{cwd}");
        }
        // The directory of another system stays as it is.
        for cwd in [r"C:\Users\hh\p", "C:/p", r"\\server\share\p"] {
            assert_eq!(absolute(cwd, here), Path::new(cwd));
            assert!(!is_cwd(cwd, here));
        }
    }
}
