//! `pisess export`: a session as a page or a text for people.

use super::entry_rows::row_options;
use super::input::{Input, OpenSession};
use super::renderer::RendererArgs;
use crate::core::export::document::document;
use crate::core::export::page::page;
use crate::core::export::paper::paper;
use crate::core::export::source::Contents;
use crate::core::json::write::Object;
use crate::core::row::Form;
use crate::core::store;
use crate::guide::{Example, Guide};
use crate::ui::{Exit, Failure, Ui, visible};
use clap::ValueEnum;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "export",
    examples: &[
        Example::new("Write a page to the current directory", "pisess export session.jsonl"),
        Example::new("Print the conversation as Markdown", "pisess export --as markdown -o - session.jsonl"),
        Example::new(
            "Write HTML without scripts, for mail and wikis",
            "pisess export --static session.jsonl",
        ),
        Example::new("Export only the path to an entry", "pisess export -o answer.html session.jsonl '@~3'"),
    ],
    found: None,
    writes: false,
    refers: true,
};

/// Export a session as a page or a document.
///
/// Writes one HTML file that needs no network, with the tree on the left and the path to the selected entry on
/// the right. The file is named after the session and written to the current directory; its path is printed.
///
/// With --as markdown or --static, the path to the leaf, or to REF, is written as a document.
///
/// With REF, only the path to REF is exported, without the other branches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
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
    /// Write to PATH (- for standard output)
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// What turns custom entries into Markdown.
    #[command(flatten)]
    pub renderers: RendererArgs,
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
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.is_static && args.format == Format::Markdown {
        return Err(Failure::usage("--static is a form of HTML").hint("omit --static or --as markdown"));
    }
    let open = OpenSession::open(&args.session, row_options(ui, Form::Readable), ui)?;
    let end = match &args.at {
        Some(reference) => open.resolve(reference)?,
        None => open.session.leaf,
    };
    let mut contents = Contents::new(&open.session, open.input.source(), args.at.is_some(), end, &as_it_is);
    contents.rendered = args.renderers.render(&open, &contents.entries, ui)?;
    let unreadable = |error| open.input.unreadable(error);
    let name = contents.name().map_err(unreadable)?;
    let export = Export { title: contents.title(name.as_deref()), name, contents, workers: ui.processors() };
    let output = args.output.clone().unwrap_or_else(|| default_output(args, &open.input));
    if output == Path::new("-") {
        export.write(args, ui.stdout()).map_err(Failure::output)?;
        return Ok(Exit::Done);
    }
    let committed = {
        let _waiting = ui.spinner("exporting");
        store::create(&ui.absolute(&output), open.input.file(), args.force, &mut |out| {
            export.write(args, out)
        })?
    };
    ui.warn_of(&committed);
    let path = output.to_string_lossy();
    match args.json {
        true => {
            let row =
                Object::new().str("path", &path).number("entries", export.contents.entries.len() as f64);
            ui.print_json(&row.finish())?;
        }
        false => ui.print(&format!("{}\n", visible(&path)))?,
    }
    Ok(Exit::Done)
}

/// What is written, and how.
struct Export<'a> {
    contents: Contents<'a>,
    name: Option<String>,
    title: String,
    workers: usize,
}

impl Export<'_> {
    fn write(&self, args: &Args, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 18, out);
        match args.format {
            Format::Markdown => document(&self.contents, &self.title, &mut out)?,
            Format::Html if args.is_static => paper(&self.contents, &self.title, &mut out)?,
            Format::Html => page(&self.contents, self.name.as_deref(), &self.title, self.workers, &mut out)?,
        }
        io::Write::flush(&mut out)
    }
}

/// Text goes out as it is.
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
