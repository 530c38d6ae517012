//! `pisess context`: what the model would see.

use super::failure::{Exit, Failure};
use super::input::Input;
use super::visible::verbatim;
use crate::cli::Talk;
use crate::core::agent;
use crate::core::bodies::{Bodies, Context, FileBodies};
use crate::core::json::write::push_valid;
use crate::core::load::Options;
use crate::core::session::Session;
use crate::world::World;
use clap::ValueEnum;
use std::io::{self, Write};
use std::path::PathBuf;

/// Print what the model would see.
///
/// The messages and settings that the file's own agent builds for its model at the leaf, or at REF.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// Where the conversation stands
    #[arg(value_name = "REF", default_value = "@")]
    pub at: String,
    /// In which form
    #[arg(long = "as", value_name = "FORM", default_value = "messages", conflicts_with = "tokens")]
    pub form: Form,
    /// Print only the agent's estimate of its tokens
    #[arg(long)]
    pub tokens: bool,
    /// Print JSON (which the context is in any case)
    #[arg(long, hide = true)]
    pub json: bool,
}

/// Forms of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// The agent's messages and settings, as JSON
    Messages,
    /// The messages as a model's API knows them, as JSON
    Llm,
    /// The transcript that the agent's summariser reads
    Text,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = Options { workers: world.processors, ..Options::default() };
    let session = input.load_noted(&options, talk, world)?;
    let path = session.path(input.resolve(&session, &args.at)?);
    let bodies = FileBodies::new(&session, input.source());
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => input.unreadable(error),
        _ => Failure::output(error),
    };
    if args.tokens {
        let tokens = agent::tokens(&session, &path, &bodies).map_err(unreadable)?;
        writeln!(world.stdout, "{}", crate::core::json::js::number(tokens)).map_err(Failure::output)?;
        return Ok(Exit::Done);
    }
    let context = agent::context(&session, &path, &bodies).map_err(unreadable)?;
    let mut out = verbatim(world);
    match args.form {
        Form::Messages => messages(&context, &bodies, &mut out),
        Form::Llm => for_model(&session, &context, &bodies, &mut out),
        Form::Text => agent::transcript(&session, &context.messages, &bodies, &mut out)
            .and_then(|()| out.write_all(b"\n")),
    }
    .and_then(|()| out.flush())
    .map_err(unreadable)?;
    Ok(Exit::Done)
}

fn messages(context: &Context, bodies: &dyn Bodies, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"messages\":[")?;
    let mut valid = Vec::new();
    for (at, message) in context.messages.iter().enumerate() {
        out.write_all(if at == 0 { b"" } else { b"," })?;
        message.with(bodies, |json| {
            valid.clear();
            push_valid(&mut valid, json.bytes());
            out.write_all(&valid)
        })??;
    }
    out.write_all(b"]")?;
    for (name, value) in &context.settings {
        write!(out, ",\"{name}\":")?;
        out.write_all(value)?;
    }
    out.write_all(b"}\n")
}

fn for_model(
    session: &Session,
    context: &Context,
    bodies: &dyn Bodies,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut first = true;
    let mut valid = Vec::new();
    agent::for_model(session, &context.messages, bodies, &mut |json| {
        out.write_all(if first { b"" } else { b"," })?;
        first = false;
        valid.clear();
        push_valid(&mut valid, json);
        out.write_all(&valid)
    })?;
    out.write_all(b"]\n")
}
