//! `pisess export`: a session as a page or a text for people.

use super::failure::{Exit, Failure};
use super::input::Input;
use super::tree::row_options;
use crate::cli::Talk;
use crate::core::export::document::document;
use crate::core::export::page::page;
use crate::core::export::paper::paper;
use crate::core::export::source::Contents;
use crate::core::json::write::Object;
use crate::core::store;
use crate::guide::{Example, Guide};
use crate::world::World;
use clap::ValueEnum;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "export",
    examples: &[
        Example::new("A page beside you, to open or to send", "pisess export session.jsonl"),
        Example::new("The conversation as Markdown", "pisess export --as markdown -o - session.jsonl"),
        Example::new("For mail and wikis, without scripts", "pisess export --static session.jsonl"),
        Example::new("Only what leads to an entry", "pisess export -o answer.html session.jsonl '@~3'"),
    ],
    found: None,
    writes: false,
    refers: true,
};

/// Export a session as a page or a document.
///
/// Writes one HTML file that needs no network: the tree at the left, the path to the chosen entry at
/// the right. The file is named after the session and put into the current folder; its path is printed.
///
/// --as markdown and --static write the path to the leaf, or to REF, as a document.
///
/// With REF, only the path to REF goes in; the other branches do not.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// Export only the path to this entry
    #[arg(value_name = "REF")]
    pub at: Option<String>,
    /// Format of the output
    #[arg(long = "as", value_name = "FORMAT", default_value = "html")]
    pub format: Format,
    /// Write HTML of one path, without scripts
    #[arg(long = "static")]
    pub is_static: bool,
    /// Write to PATH (- is standard output)
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Override refusals, such as overwriting an existing output
    #[arg(long)]
    pub force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A page with the tree, the path to each entry, and search
    Html,
    /// The path as a document
    Markdown,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    if args.is_static && args.format == Format::Markdown {
        return Err(Failure::cannot("--static is a form of HTML").hint("leave out --static or --as markdown"));
    }
    let input = Input::open(&args.session, world)?;
    let session = input.load_noted(&row_options(world, false, false), talk, world)?;
    let end = match &args.at {
        Some(reference) => input.resolve(&session, reference)?,
        None => session.leaf,
    };
    let contents = Contents::new(&session, input.source(), args.at.is_some(), end, &as_it_is);
    let output = args.output.clone().unwrap_or_else(|| default_output(args, &input));
    let name = contents.name().map_err(|error| input.unreadable(error))?;
    let title = contents.title(name.as_deref());
    let workers = world.processors;
    let mut fill = |out: &mut dyn io::Write| {
        let mut out = io::BufWriter::with_capacity(1 << 18, out);
        match args.format {
            Format::Markdown => document(&contents, &title, &mut out)?,
            Format::Html if args.is_static => paper(&contents, &title, &mut out)?,
            Format::Html => page(&contents, name.as_deref(), &title, workers, &mut out)?,
        }
        io::Write::flush(&mut out)
    };
    if output == Path::new("-") {
        fill(world.stdout).map_err(Failure::output)?;
        return Ok(Exit::Done);
    }
    store::create(&world.folder.join(&output), input.file(), args.force, &mut fill)?;
    let path = output.to_string_lossy();
    let said = match args.json {
        true => {
            let row = Object::new().str("path", &path).number("entries", contents.entries.len() as f64);
            String::from_utf8_lossy(&row.finish()).into_owned()
        }
        false => super::visible::visible(&path),
    };
    writeln!(world.stdout, "{said}").map_err(Failure::output)?;
    Ok(Exit::Done)
}

fn as_it_is(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// Named after the session; what comes by a pipe goes on by one.
fn default_output(args: &Args, input: &Input) -> PathBuf {
    let extension = if args.format == Format::Markdown { "md" } else { "html" };
    let Some(mut name) = input.file().and_then(|file| file.path().file_stem()).map(OsString::from) else {
        return PathBuf::from("-");
    };
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}
