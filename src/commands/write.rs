//! Carrying out plans: into the session, into another file, to standard output, or only on paper.

use super::failure::{Exit, Failure, note};
use super::hook::After;
use super::input::Input;
use super::mint::Mint;
use super::visible::{verbatim, visible};
use crate::cli::{Talk, Write};
use crate::core::json::write::{Object, array};
use crate::core::load::Options;
use crate::core::ops::Stamp;
use crate::core::plan::{Change, NewSession};
use crate::core::session::{Dialect, Session};
use crate::core::store::{self, Agent, Committed, Found, WriteOptions};
use crate::core::text::Text;
use crate::world::World;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the result goes.
#[derive(Debug)]
enum Target {
    /// Into the session itself.
    Session,
    /// To standard output.
    Stdout,
    /// Into another file.
    File(PathBuf),
}

/// What a command made, to be told.
#[derive(Debug, Default)]
pub struct Made {
    /// The ids of new entries, or the path of a new file.
    pub names: Vec<String>,
    /// Text to be edited again.
    pub draft: Option<Text<'static>>,
    /// What a hook is told of it.
    pub after: Option<After>,
}

/// Decides on a change of a session, and what to tell of it, on what is in the file at the time of the
/// commit; `None`, or a change without a line, where it is so already.
pub type Decide<'a> = dyn FnMut(&Input, &Session, &mut Stamp) -> Result<Option<(Change, Made)>, Failure> + 'a;

/// Everything that writing needs to know of a command.
pub struct Job<'a> {
    /// The session.
    pub input: &'a Input,
    /// How it was loaded, to load it again where it grew.
    pub options: &'a Options,
    /// The command's options.
    pub write: &'a Write,
    /// How to talk.
    pub talk: &'a Talk,
    /// Where a rewrite leaves the old file.
    pub backup: Option<PathBuf>,
}

/// Changes a session as `decide` says.
pub fn change(
    job: &Job,
    session: &Session,
    mint: &mut Mint,
    world: &mut World,
    decide: &mut Decide,
) -> Result<Exit, Failure> {
    let target = target(job.write, job.input);
    if job.write.json && matches!(target, Target::Stdout) && !job.write.dry_run {
        return Err(Failure::cannot("--json: standard output carries the session")
            .hint("give a path with -o, or leave --json out"));
    }
    if let (Target::Session, false, Some(file)) = (&target, job.write.dry_run, job.input.file()) {
        let options = store_options(job.write, session);
        let mut locked = store::lock(file, &options)?;
        if locked.found() == Found::Grown {
            let input = job.input.reopened(locked.reopen()?);
            let session = input.load(job.options)?;
            let decided = mint.stamp(world, |stamp| decide(&input, &session, stamp))?;
            return commit(job, &input, &session, decided, locked, world);
        }
        let decided = mint.stamp(world, |stamp| decide(job.input, session, stamp))?;
        return commit(job, job.input, session, decided, locked, world);
    }
    let decided = mint.stamp(world, |stamp| decide(job.input, session, stamp))?;
    if job.write.dry_run {
        let change = decided.as_ref().map(|(change, _)| change).filter(|change| !change.lines.is_empty());
        return dry_run(job, &target, session, change, world);
    }
    let (change, made) = happened(decided);
    // Nothing to do still passes the session on, so that pipes go on; as it was, byte for byte.
    let mut fill = |out: &mut dyn io::Write| match change.lines.is_empty() {
        true => crate::core::plan::copy_all(job.input.source(), out),
        false => change.write(session, job.input.source(), out),
    };
    match &target {
        Target::File(path) => {
            let committed = store::create(path, job.input.file(), job.write.force, &mut fill)?;
            troubles(&committed, job.talk, world);
            tell(job, path, &change, made, world, true)
        }
        Target::Stdout | Target::Session => {
            fill(&mut *verbatim(world)).map_err(|error| output_or_input(job.input, error))?;
            world.stdout.flush().map_err(Failure::output)?;
            tell(job, Path::new("-"), &change, made, world, false)
        }
    }
}

/// What was decided; of a change that changes nothing no hook is told.
fn happened(decided: Option<(Change, Made)>) -> (Change, Made) {
    let (change, made) = decided.unwrap_or_default();
    let after = made.after.filter(|_| !change.lines.is_empty());
    (change, Made { after, ..made })
}

fn commit(
    job: &Job,
    input: &Input,
    session: &Session,
    decided: Option<(Change, Made)>,
    locked: store::Locked,
    world: &mut World,
) -> Result<Exit, Failure> {
    let (change, made) = happened(decided);
    if change.lines.is_empty() {
        return tell(job, &input_path(input), &change, made, world, true);
    }
    let committed = match change.rewrites(session) {
        true => locked
            .rewrite(job.backup.as_deref(), &mut |out| change.write(session, input.source(), out))?
            .done()?,
        false => locked.append(&change.appended())?.done()?,
    };
    troubles(&committed, job.talk, world);
    tell(job, &input_path(input), &change, made, world, true)
}

/// Makes a new session file.
pub fn create(
    job: &Job,
    session: &Session,
    new: &NewSession,
    path: &Path,
    made: Made,
    world: &mut World,
) -> Result<Exit, Failure> {
    let to_stdout = path == Path::new("-");
    if job.write.json && to_stdout && !job.write.dry_run {
        return Err(Failure::cannot("--json: standard output carries the session")
            .hint("give a path with -o, or leave --json out"));
    }
    if job.write.dry_run {
        return dry_run_new(job, session, new, path, world);
    }
    let mut fill = |out: &mut dyn io::Write| new.write(session, job.input.source(), out);
    if to_stdout {
        fill(&mut *verbatim(world)).map_err(|error| output_or_input(job.input, error))?;
        world.stdout.flush().map_err(Failure::output)?;
        let unnamed = Made { names: Vec::new(), ..made };
        return tell(job, path, &Change::default(), unnamed, world, false);
    }
    let committed = store::create(path, job.input.file(), job.write.force, &mut fill)?;
    troubles(&committed, job.talk, world);
    let head = Change { lines: new.head.clone() };
    tell(job, path, &head, made, world, true)
}

/// The options of the store for a session.
pub fn store_options(write: &Write, session: &Session) -> WriteOptions {
    WriteOptions {
        force: write.force,
        wait: Duration::from_secs_f64(write.wait),
        agent: match session.dialect {
            Dialect::Pi => Agent::Pi,
            Dialect::OhMyPi => Agent::OhMyPi,
        },
    }
}

fn target(write: &Write, input: &Input) -> Target {
    match (&write.output, input.file()) {
        (Some(path), _) if path == Path::new("-") => Target::Stdout,
        (Some(path), _) => Target::File(path.clone()),
        (None, Some(_)) => Target::Session,
        (None, None) => Target::Stdout,
    }
}

fn input_path(input: &Input) -> PathBuf {
    input.file().map_or_else(|| PathBuf::from("-"), |file| file.path().to_owned())
}

/// What went wrong behind a commit is worth a note; the commit stands.
pub fn troubles(committed: &Committed, talk: &Talk, world: &mut World) {
    for trouble in &committed.troubles {
        note(&trouble.to_string(), talk, world);
    }
}

fn output_or_input(input: &Input, error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => input.unreadable(error),
        _ => Failure::output(error),
    }
}

/// Tells what was made: the person, then the hook. The one need not listen for the other to be told.
fn tell(
    job: &Job,
    path: &Path,
    change: &Change,
    mut made: Made,
    world: &mut World,
    on_stdout: bool,
) -> Result<Exit, Failure> {
    let after = made.after.take();
    let told = tell_person(job, path, change, &made, world, on_stdout)
        .and_then(|exit| world.stdout.flush().map(|()| exit).map_err(Failure::output));
    if let Some(after) = after {
        after.tell((path != Path::new("-")).then(|| absolute(world, path)))?;
    }
    told
}

/// On standard output, or on standard error where that carries the session.
fn tell_person(
    job: &Job,
    path: &Path,
    change: &Change,
    made: &Made,
    world: &mut World,
    on_stdout: bool,
) -> Result<Exit, Failure> {
    if job.write.json && on_stdout {
        let answer = Object::new()
            .str("path", &path.to_string_lossy())
            .json("written", &array(&change.lines))
            .text_or_null("editorText", made.draft.as_ref())
            .finish();
        print_json(world, &answer)?;
        return Ok(Exit::Done);
    }
    let draft = made.draft.iter().map(|draft| draft.to_string());
    let mut lines = String::new();
    for (at, text) in made.names.iter().cloned().chain(draft).enumerate() {
        let raw_draft = at >= made.names.len() && on_stdout && !world.terminals.stdout;
        lines += &if raw_draft { text } else { super::visible::visible_lines(&text).into_owned() };
        lines.push('\n');
    }
    if on_stdout {
        world.stdout.write_all(lines.as_bytes()).map_err(Failure::output)?;
    } else if !job.talk.quiet {
        let _ = world.stderr.write_all(lines.as_bytes());
    }
    Ok(Exit::Done)
}

/// The path without symbolic links, as far as that can be told.
fn absolute(world: &World, path: &Path) -> PathBuf {
    let path = world.folder.join(path);
    path.canonicalize().unwrap_or(path)
}

/// One JSON document on standard output.
pub fn print_json(world: &mut World, json: &[u8]) -> Result<(), Failure> {
    let shown = match world.terminals.stdout {
        true => super::visible::visible_lines(&String::from_utf8_lossy(json)).into_owned().into_bytes(),
        false => json.to_vec(),
    };
    world.stdout.write_all(&shown).and_then(|()| world.stdout.write_all(b"\n")).map_err(Failure::output)
}

fn dry_run(
    job: &Job,
    target: &Target,
    session: &Session,
    change: Option<&Change>,
    world: &mut World,
) -> Result<Exit, Failure> {
    let path = match target {
        Target::Session => input_path(job.input),
        Target::Stdout => PathBuf::from("-"),
        Target::File(path) => path.clone(),
    };
    let none = Change::default();
    let action = match (target, change) {
        (_, None) => "nothing",
        (Target::Session, Some(change)) if !change.rewrites(session) => "append",
        (Target::Session, Some(_)) => "rewrite",
        (Target::Stdout | Target::File(_), Some(_)) => "create",
    };
    let mut lines = change.unwrap_or(&none).lines.clone();
    if action != "append" && change.is_some() {
        lines = session.upgrade_tail().into_iter().chain(lines).collect();
    }
    show_plan(job, action, &path, &lines, world)
}

fn dry_run_new(
    job: &Job,
    session: &Session,
    new: &NewSession,
    path: &Path,
    world: &mut World,
) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    new.write(session, job.input.source(), &mut bytes).map_err(|error| job.input.unreadable(error))?;
    let lines: Vec<_> = bytes
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    show_plan(job, "create", path, &lines, world)
}

fn show_plan(
    job: &Job,
    action: &str,
    path: &Path,
    lines: &[Vec<u8>],
    world: &mut World,
) -> Result<Exit, Failure> {
    if job.write.json {
        let values = lines.iter().filter(|line| crate::core::json::Raw::parse(line).is_ok());
        let plan = Object::new()
            .str("action", action)
            .str("path", &path.to_string_lossy())
            .json("lines", &array(values))
            .finish();
        print_json(world, &plan)?;
        return Ok(Exit::Done);
    }
    let path = visible(&path.to_string_lossy());
    let mut text = match (action, lines.len()) {
        ("nothing", _) => format!("nothing to do in {path}\n"),
        ("rewrite", 0) => format!("rewrite {path} as version 3\n"),
        ("rewrite", n) => format!("rewrite {path} as version 3 and append {}\n", counted(n)),
        ("create", n) => format!("create {path} with {}\n", counted(n)),
        (action, n) => format!("{action} {} to {path}\n", counted(n)),
    };
    for line in lines {
        text += &visible(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    world.stdout.write_all(text.as_bytes()).map_err(Failure::output)?;
    Ok(Exit::Done)
}

fn counted(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}
