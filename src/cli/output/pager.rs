//! A pager for long output on a terminal, chosen as git chooses it.

use crate::cli::process::signals::Waiting;
use crate::world::World;
use std::io::{self, BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The variables that name a pager. The first that is set counts, even if it is empty.
const VARIABLES: [&str; 2] = ["PISESS_PAGER", "PAGER"];
/// The pager if no variable names one.
const DEFAULT: &str = "less";
/// The options of pagers, unless they are set: quit if all fits on the screen, show colours, keep
/// the screen.
const OPTIONS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];
/// A command that contains one of these is run by the shell.
const SYNTAX: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', '#', '~', '=',
];

pub(super) struct Pager {
    stdin: BufWriter<ChildStdin>,
    child: Arc<Mutex<Child>>,
    /// Ctrl-C is for the pager, which uses the terminal until it exits.
    waiting: Waiting,
}

impl Pager {
    /// Starts the pager that the environment names, at a line if it is less; `None` for `cat` or an
    /// empty name, or if there is no pager and none was named.
    ///
    /// # Errors
    /// If the pager that was named cannot be started.
    pub fn start(world: &World, first_line: usize) -> Result<Option<Pager>, String> {
        let named = VARIABLES.into_iter().find_map(|name| (world.env)(name));
        let text = named.as_deref().unwrap_or(DEFAULT).trim();
        if matches!(text, "" | "cat") {
            return Ok(None);
        }
        let mut command = command(text);
        command.stdin(Stdio::piped());
        command.envs(
            OPTIONS
                .into_iter()
                .filter(|(name, _)| (world.env)(name).is_none()),
        );
        if first_line > 1 {
            let (less, options) = OPTIONS[0];
            let options = (world.env)(less).unwrap_or_else(|| options.to_owned());
            command.env(less, format!("{options} +{first_line}g"));
        }
        let waiting = Waiting::begin();
        match ((world.spawn)(&mut command), &named) {
            (Ok(child), _) => Ok(Pager::of(child, waiting)),
            (Err(_), None) => Ok(None),
            (Err(error), Some(_)) => Err(format!("cannot run the pager {text}: {error}")),
        }
    }

    fn of(mut child: Child, waiting: Waiting) -> Option<Pager> {
        let stdin = BufWriter::with_capacity(64 * 1024, child.stdin.take()?);
        let child = Arc::new(Mutex::new(child));
        let running = Arc::clone(&child);
        // A signal ends pisess when the pager has exited, even if there is more to print.
        Waiting::begin().then(move || wait(&running));
        Some(Pager {
            stdin,
            child,
            waiting,
        })
    }

    pub fn stdin(&mut self) -> &mut (dyn Write + Send) {
        &mut self.stdin
    }

    /// Waits until the user quits.
    pub fn finish(self) {
        let Pager {
            mut stdin,
            child,
            waiting: _waiting,
        } = self;
        // A failure was reported before, unless the pager has exited.
        let _ = stdin.flush();
        drop(stdin.into_parts().0);
        wait(&child);
    }
}

fn wait(child: &Mutex<Child>) {
    let _: io::Result<_> = child.lock().unwrap_or_else(PoisonError::into_inner).wait();
}

/// Returns the command; without a shell if it needs none, so that a missing program is noticed
/// before anything is written to it.
fn command(text: &str) -> Command {
    if text.contains(SYNTAX) {
        let mut shell = Command::new("sh");
        shell.args(["-c", text]);
        return shell;
    }
    let mut words = text.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}
