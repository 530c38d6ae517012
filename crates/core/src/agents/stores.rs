//! The directories in which both agents keep their sessions.
//!
//! Each agent uses an environment variable, else a setting, else a default below the home
//! directory. All of these are passed in ([`StoreEnv`], [`Disk`]), so the result is a function of
//! its inputs.
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
//! when it starts in the project. Until then, the directories with the old names are searched, too.

mod project_names;
mod user_paths;

pub use self::project_names::{
    ProjectName, decode_project_name, is_name_of_project, parse_project_name,
};
use self::project_names::{encode_path, hashed_project_name, relative_project_name};
pub use self::user_paths::{is_cwd, normalize_path, resolve_user_path};
use crate::session::dialect::Dialect;
use pisess_json::Raw;
pub use pisess_store::Disk;
use std::path::{Path, PathBuf};

/// The inputs that determine where the stores are.
#[derive(Clone, Copy)]
pub struct StoreEnv<'a> {
    /// Returns the value of an environment variable; `None` if it is not set.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The directories to which paths are relative.
    pub base_dirs: BaseDirs<'a>,
    /// Whether the settings in the current directory are read.
    pub reads_project: bool,
}

/// The directories to which paths are relative.
#[derive(Clone, Copy, Debug)]
pub struct BaseDirs<'a> {
    /// The home directory, if there is one.
    pub home: Option<&'a Path>,
    /// The current directory, absolute.
    pub cwd: &'a Path,
}

/// A directory in which an agent keeps sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// The agent. Both agents may use the same directory.
    pub agent: Dialect,
    /// The root directory of the store.
    pub root: PathBuf,
    /// The directories that may contain sessions of the current project. In a nested store, each
    /// project has directories below the root; the one with the project's current name comes first.
    /// In a flat store, this is only the root, which contains the sessions of all projects,
    /// distinguished by the `cwd` in their headers.
    pub folders: Vec<PathBuf>,
}

impl StoreEnv<'_> {
    /// Returns the value of an environment variable; `None` if it is not set or empty.
    fn non_empty_var(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }
}

impl Store {
    /// Returns a store that contains sessions of all projects in its root.
    fn new_flat(agent: Dialect, root: PathBuf) -> Store {
        Store {
            agent,
            folders: vec![root.clone()],
            root,
        }
    }

    /// Whether the store has sessions of all projects in one directory, so that the `cwd` in a
    /// header decides to which project a session belongs.
    pub fn is_flat(&self) -> bool {
        self.folders.first() == Some(&self.root)
    }
}

/// Locates the stores of both agents, pi's first. Without a home directory, a store is found only
/// if a variable or a setting names it.
pub fn locate_stores(store_env: StoreEnv, disk: &dyn Disk) -> Vec<Store> {
    let flat_root = store_env
        .non_empty_var("PI_CODING_AGENT_SESSION_DIR")
        .map(|path| resolve_user_path(&path, store_env.base_dirs));
    let pi = pi_store(store_env, flat_root.clone(), disk);
    let omp = omp_store(store_env, flat_root, disk);
    pi.into_iter().chain(omp).collect()
}

/// Returns the directory of oh-my-pi's blobs, which are payloads outside of its sessions.
pub fn locate_blob_store(store_env: StoreEnv, disk: &dyn Disk) -> Option<PathBuf> {
    Some(omp_session_dir(store_env, disk)?.with_file_name("blobs"))
}

/// Locates pi's store. If a variable or a setting names its root, it is flat: the root has the
/// sessions of all projects. Otherwise, it is nested: the agent directory has a directory for each
/// project.
///
/// `flat_root` is the root that the variable names. It overrides the settings. `None` if neither a
/// root nor an agent directory is known.
fn pi_store(store_env: StoreEnv, flat_root: Option<PathBuf>, disk: &dyn Disk) -> Option<Store> {
    let base_dirs = store_env.base_dirs;
    let agent_folder = match store_env.non_empty_var("PI_CODING_AGENT_DIR") {
        Some(path) => Some(resolve_user_path(&path, base_dirs)),
        None => base_dirs.home.map(|home| home.join(".pi").join("agent")),
    };
    let named_root = flat_root.or_else(|| pi_session_dir(store_env, agent_folder.as_deref(), disk));

    let Some(agent_folder) = agent_folder else {
        return named_root.map(|root| Store::new_flat(Dialect::Pi, root));
    };
    let root = agent_folder.join("sessions");
    let project = root.join(encode_path(&normalize_path(base_dirs.cwd)));
    // If the named directory is the project's default directory, the store is nested nevertheless.
    if let Some(named_root) = named_root
        && named_root != project
    {
        return Some(Store::new_flat(Dialect::Pi, named_root));
    }
    Some(Store {
        agent: Dialect::Pi,
        root,
        folders: vec![project],
    })
}

/// Returns the directory that `sessionDir` in pi's settings names. The settings of the project
/// override the settings of the user.
fn pi_session_dir(
    store_env: StoreEnv,
    agent_folder: Option<&Path>,
    disk: &dyn Disk,
) -> Option<PathBuf> {
    let mut files = Vec::new();
    if store_env.reads_project {
        let project = store_env.base_dirs.cwd;
        files.push(project.join(".pi").join("settings.json"));
    }
    if let Some(agent_folder) = agent_folder {
        files.push(agent_folder.join("settings.json"));
    }

    let path = files
        .iter()
        .find_map(|file| session_dir_setting(file, disk))?;
    if path.is_empty() {
        // An empty setting of the project overrides the setting of the user.
        return None;
    }
    Some(resolve_user_path(&path, store_env.base_dirs))
}

/// Returns `sessionDir` in a settings file; `None` if it is missing, or if the file is not JSON.
fn session_dir_setting(file: &Path, disk: &dyn Disk) -> Option<String> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

    let bytes = disk.read_small_file(file)?;
    let json = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    let settings = Raw::parse(json).ok()?;
    let folder = settings.get_text("sessionDir")?;
    Some(folder.to_string_lossy().into_owned())
}

/// Locates oh-my-pi's store. With `flat_root`, the root that a variable names, it is flat: the root
/// has the sessions of all projects. Otherwise, it is nested: each project has a directory, under
/// its current name or a name that older versions gave it.
fn omp_store(store_env: StoreEnv, flat_root: Option<PathBuf>, disk: &dyn Disk) -> Option<Store> {
    if let Some(root) = flat_root {
        return Some(Store::new_flat(Dialect::OhMyPi, root));
    }
    let root = omp_session_dir(store_env, disk)?;

    let real_cwd = disk.resolve_links(store_env.base_dirs.cwd);
    let project = omp_project_name(store_env, &real_cwd, disk);
    let hashed_name = hashed_project_name(project.scope, &real_cwd);
    let legacy_name = encode_path(&normalize_path(store_env.base_dirs.cwd));
    // The current name comes first. The name of older versions may be the same.
    let mut names = vec![project.name, legacy_name, hashed_name];
    names.dedup();

    let folders = names.into_iter().map(|name| root.join(name)).collect();
    Some(Store {
        agent: Dialect::OhMyPi,
        root,
        folders,
    })
}

/// Returns the root of oh-my-pi's nested store: `sessions` in the agent directory. As in oh-my-pi,
/// the default agent directory yields to one in `$XDG_DATA_HOME` if that exists, except on Windows.
fn omp_session_dir(store_env: StoreEnv, disk: &dyn Disk) -> Option<PathBuf> {
    // `OMP_PROFILE` applies even if it is empty.
    let profile = (store_env.env)("OMP_PROFILE").or_else(|| (store_env.env)("PI_PROFILE"));
    let profile = parse_profile(profile);

    // A profile overrides the configured directory.
    let configured_folder = match profile {
        Some(_) => None,
        None => omp_configured_agent_folder(store_env),
    };
    let default_folder = omp_default_agent_folder(store_env, profile.as_deref());
    let agent_folder = configured_folder.or_else(|| default_folder.clone())?;

    let is_default = Some(&agent_folder) == default_folder.as_ref();
    if is_default && let Some(data_folder) = omp_data_folder(store_env, profile.as_deref(), disk) {
        return Some(data_folder.join("sessions"));
    }
    Some(agent_folder.join("sessions"))
}

/// Returns oh-my-pi's default agent directory, which is below the home directory.
fn omp_default_agent_folder(store_env: StoreEnv, profile: Option<&str>) -> Option<PathBuf> {
    let home = store_env.base_dirs.home?;
    let name = store_env.non_empty_var("PI_CONFIG_DIR");
    let name = name.as_deref().unwrap_or(".omp");
    let mut folder = home.join(name.trim_start_matches(['/', '\\']));
    if let Some(profile) = profile {
        folder = folder.join("profiles").join(profile);
    }
    Some(folder.join("agent"))
}

/// Returns the directory of oh-my-pi, or of a profile, in `$XDG_DATA_HOME`, if it exists. Always
/// `None` on Windows, where oh-my-pi does not use this variable.
fn omp_data_folder(store_env: StoreEnv, profile: Option<&str>, disk: &dyn Disk) -> Option<PathBuf> {
    if cfg!(windows) {
        return None;
    }
    let data_home = store_env.non_empty_var("XDG_DATA_HOME")?;
    let mut folder = resolve_user_path(&data_home, store_env.base_dirs).join("omp");
    if let Some(profile) = profile {
        folder = folder.join("profiles").join(profile);
    }
    if disk.exists(&folder) {
        Some(folder)
    } else {
        None
    }
}

/// Returns the agent directory that the user has set for oh-my-pi in `$PI_CODING_AGENT_DIR`. Unlike
/// in pi, `~` has no special meaning there.
fn omp_configured_agent_folder(store_env: StoreEnv) -> Option<PathBuf> {
    let path = store_env.non_empty_var("PI_CODING_AGENT_DIR")?;
    let folder = normalize_path(&store_env.base_dirs.cwd.join(path));

    // For child processes, oh-my-pi sets the variable to the directory of its profile. Such a value
    // is ignored.
    if let Some(profile) = parse_profile((store_env.env)("PI_PROFILE"))
        && omp_default_agent_folder(store_env, Some(&profile)).as_ref() == Some(&folder)
    {
        return None;
    }
    Some(folder)
}

/// Trims the name of a profile of oh-my-pi. `None`, for no profile, if the name is `default` or one
/// that oh-my-pi refuses.
fn parse_profile(name: Option<String>) -> Option<String> {
    const MAX_PROFILE_LEN: usize = 64;

    let name = name?.trim().to_owned();
    let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_valid = name.starts_with(is_alphanumeric)
        && name.len() <= MAX_PROFILE_LEN
        && !name.ends_with('.')
        && name
            .chars()
            .all(|c| is_alphanumeric(c) || "._-".contains(c));
    if is_valid && name != "default" {
        Some(name)
    } else {
        None
    }
}

/// The name of a project's directory in oh-my-pi's store.
struct OmpProjectName {
    /// The kind of directory to which the name is relative: `home`, `tmp` or `abs`.
    scope: &'static str,
    name: String,
}

/// Returns the name that oh-my-pi gives to a project's directory in its store. Below the home
/// directory, `/home/me/a/b` becomes `-a-b`, and `/tmp/a` becomes `-tmp-a`; any other path is
/// encoded as a whole. `real_cwd` is the project's path with symbolic links resolved.
fn omp_project_name(store_env: StoreEnv, real_cwd: &Path, disk: &dyn Disk) -> OmpProjectName {
    if let Some(home) = store_env.base_dirs.home
        && let Some(name) = relative_project_name(real_cwd, &disk.resolve_links(home), "-")
    {
        return OmpProjectName {
            scope: "home",
            name,
        };
    }

    let temporary = disk.resolve_links(&temporary_folder(store_env));
    if let Some(name) = relative_project_name(real_cwd, &temporary, "-tmp") {
        return OmpProjectName { scope: "tmp", name };
    }

    OmpProjectName {
        scope: "abs",
        name: encode_path(real_cwd),
    }
}

/// Returns the directory of temporary files: the first that a variable names, else `/tmp`.
fn temporary_folder(store_env: StoreEnv) -> PathBuf {
    let variables: &[&str] = if cfg!(windows) {
        &["TEMP", "TMP"]
    } else {
        &["TMPDIR", "TMP", "TEMP"]
    };
    let configured = variables
        .iter()
        .find_map(|name| store_env.non_empty_var(name));
    PathBuf::from(configured.unwrap_or_else(|| "/tmp".to_owned()))
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
        fn read_small_file(&self, path: &Path) -> Option<Vec<u8>> {
            self.files
                .get(path.to_str()?)
                .map(|text| text.as_bytes().to_vec())
        }

        fn exists(&self, path: &Path) -> bool {
            self.read_small_file(path).is_some()
        }

        fn resolve_links(&self, path: &Path) -> PathBuf {
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

        fn surroundings<T>(&self, see: impl FnOnce(StoreEnv) -> T) -> T {
            let env = |name: &str| self.env.get(name).map(|&value| value.to_owned());
            let home = Some(Path::new("/var/hh"));
            let here = BaseDirs {
                home,
                cwd: Path::new(self.folder),
            };
            see(StoreEnv {
                env: &env,
                base_dirs: here,
                reads_project: true,
            })
        }

        /// Returns the directories of the project in pi's and oh-my-pi's stores; a flat one is
        /// marked with a star.
        fn folders(&self) -> [String; 2] {
            let stores = self.surroundings(|surroundings| locate_stores(surroundings, self));
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
            let decoded = decode_project_name(name, home).unwrap();
            assert_eq!(
                decoded.trim_end_matches('/'),
                cwd.trim_end_matches('/'),
                "{name}"
            );
            assert!(is_name_of_project(name, cwd, home), "{name}");
        }
        assert!(is_name_of_project("--opt-a-b--", "/opt/a:b", home));
        assert!(!is_name_of_project("--opt-a-b--", "/opt/a", home));
        assert!(decode_project_name("sessions", home).is_none());
    }

    #[test]
    fn oh_my_pi_resolves_links_first_and_its_older_folder_is_searched_too() {
        let mut machine = Machine::at("/link");
        machine.links.push(("/link", "/var/hh/proj"));
        let stores = machine.surroundings(|surroundings| locate_stores(surroundings, &machine));
        let omp = Path::new("/var/hh/.omp/agent/sessions");
        let hashed = hashed_project_name("home", Path::new("/var/hh/proj"));
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
        assert_eq!(
            hashed_project_name("home", Path::new("/var/hh/my proj!")),
            of_project
        );
        let of_root =
            "abs-project-8a5edab282632443219e051e4ade2d1d5bbc671c781051bf1437897cbdfea0f1";
        assert_eq!(hashed_project_name("abs", Path::new("/")), of_root);
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
        let here = BaseDirs {
            home: Some(Path::new("/var/hh")),
            cwd: Path::new("/var/hh/p"),
        };
        for cwd in ["/var/hh/p", "/var/hh/p/", "~/p"] {
            assert!(is_cwd(cwd, here), "{cwd}");
        }
        for cwd in ["/var/hh/q", ""] {
            assert!(!is_cwd(cwd, here), "{cwd}");
        }
        // The directory of another system stays as it is.
        for cwd in [r"C:\Users\hh\p", "C:/p", r"\\server\share\p"] {
            assert_eq!(resolve_user_path(cwd, here), Path::new(cwd));
            assert!(!is_cwd(cwd, here));
        }
    }
}
