//! Which agent answers: the one whose file it is.

use super::bodies::{Bodies, Context, Message};
use super::entry::EntryIx;
use super::json::Raw;
use super::json::write::Object;
use super::prepare::{FileLists, FileOps, FirstKept, Preparation};
use super::session::{Dialect, Session};
use super::text::Text;
use super::tree::Tree;
use super::{omp, pi};
use std::collections::HashMap;
use std::io::{self, Write};

/// What the model of the file's agent sees at the end of `path`.
///
/// # Errors
/// Where a line cannot be read.
pub fn context(session: &Session, path: &[EntryIx], bodies: &dyn Bodies) -> io::Result<Context> {
    match session.dialect {
        Dialect::Pi => pi::context::build(session, path, bodies),
        Dialect::OhMyPi => omp::context::build(session, path, bodies),
    }
}

/// Gives each message as a model's API knows it to `emit`.
///
/// # Errors
/// Where a line cannot be read, or `emit` fails.
pub fn for_model(
    session: &Session,
    messages: &[Message],
    bodies: &dyn Bodies,
    emit: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    match session.dialect {
        Dialect::Pi => messages.iter().try_for_each(|message| {
            message.with(bodies, |json| pi::llm::convert(json).map_or(Ok(()), |json| emit(&json)))?
        }),
        Dialect::OhMyPi => omp::llm::convert(messages, bodies, emit),
    }
}

/// Writes the transcript that the agent's summariser reads.
///
/// # Errors
/// Where a line cannot be read, or writing fails.
pub fn transcript(
    session: &Session,
    messages: &[Message],
    bodies: &dyn Bodies,
    out: &mut dyn Write,
) -> io::Result<()> {
    match session.dialect {
        Dialect::Pi => pi::transcript::write(messages, bodies, out),
        Dialect::OhMyPi => omp::transcript::write(session, messages, bodies, out),
    }
}

/// The agent's estimate of the context at the end of `path`, in tokens: its `tokensBefore`.
///
/// # Errors
/// Where a line cannot be read.
pub fn tokens(session: &Session, path: &[EntryIx], bodies: &dyn Bodies) -> io::Result<f64> {
    match session.dialect {
        Dialect::OhMyPi => omp::tokens::context(session, path, bodies),
        Dialect::Pi => {
            let projection = pi::context::projection(session, path, bodies)?;
            pi::tokens::context(session, path, &projection, bodies)
        }
    }
}

/// The same estimate at each of `tips`, in a time that grows with the file and not with their paths;
/// those that would take longer are left out.
///
/// # Errors
/// Where a line cannot be read.
pub fn sizes(
    session: &Session,
    tree: &Tree,
    tips: &[EntryIx],
    bodies: &dyn Bodies,
) -> io::Result<HashMap<EntryIx, f64>> {
    match session.dialect {
        Dialect::Pi => pi::tips::sizes(session, tree, tips, bodies),
        Dialect::OhMyPi => omp::tokens::sizes(session, tree, tips, bodies),
    }
}

/// What a compaction at the end of `path` would summarise; `None` where there is nothing.
///
/// # Errors
/// Where a line cannot be read.
pub fn prepare_compaction(
    session: &Session,
    path: &[EntryIx],
    bodies: &dyn Bodies,
    keep_recent_tokens: u64,
    first_kept: Option<FirstKept>,
) -> io::Result<Option<Preparation>> {
    match session.dialect {
        Dialect::Pi => pi::compaction::prepare(session, path, bodies, keep_recent_tokens, first_kept),
        Dialect::OhMyPi => omp::compaction::prepare(session, path, bodies, keep_recent_tokens, first_kept),
    }
}

/// What a branch summary of `entries` is made from.
///
/// # Errors
/// Where a line cannot be read.
pub fn prepare_branch(
    session: &Session,
    entries: &[EntryIx],
    bodies: &dyn Bodies,
) -> io::Result<(Vec<Message>, FileOps)> {
    match session.dialect {
        Dialect::Pi => {
            let branch = pi::branch::prepare(session, entries, bodies, pi::branch::TOKEN_BUDGET)?;
            Ok((branch.messages, branch.file_ops))
        }
        Dialect::OhMyPi => {
            let branch = omp::branch::prepare(session, entries, bodies, omp::branch::TOKEN_BUDGET)?;
            Ok((branch.messages, branch.file_ops))
        }
    }
}

/// The system message that a compaction at the end of `path` carries, where the agent has one; its
/// time is that of the compaction and still to be set.
///
/// # Errors
/// Where a line cannot be read.
pub fn checkpoint(session: &Session, path: &[EntryIx], bodies: &dyn Bodies) -> io::Result<Option<Vec<u8>>> {
    match session.dialect {
        Dialect::Pi => pi::system::checkpoint(session, path, bodies, 0),
        Dialect::OhMyPi => Ok(None),
    }
}

/// The files that a summary's `details` list.
pub fn files(session: &Session, ops: &FileOps) -> FileLists {
    match session.dialect {
        Dialect::Pi => ops.lists(),
        Dialect::OhMyPi => omp::files::lists(ops),
    }
}

/// The text of a branch summary as the agent stores it: its preamble, the summary, the files.
pub fn branch_text(session: &Session, summary: &Text, ops: &FileOps) -> Text<'static> {
    let preamble = match session.dialect {
        Dialect::Pi => pi::files::BRANCH_SUMMARY_PREAMBLE,
        Dialect::OhMyPi => omp::files::BRANCH_PREAMBLE,
    };
    let mut text = Text::from(preamble).into_owned();
    text.push(summary);
    compaction_text(session, text, ops)
}

/// The text of a compaction as the agent stores it: the summary, the files.
pub fn compaction_text(session: &Session, summary: Text<'static>, ops: &FileOps) -> Text<'static> {
    let files = files(session, ops);
    match session.dialect {
        Dialect::Pi => {
            let mut text = summary;
            pi::files::append(&mut text, &files);
            text
        }
        Dialect::OhMyPi => omp::files::append(&summary, &files, &ops.read),
    }
}

/// The text that choosing an entry gives back to be edited again.
///
/// # Errors
/// Where the line cannot be read.
pub fn draft_text(session: &Session, bodies: &dyn Bodies, ix: EntryIx) -> io::Result<Text<'static>> {
    if session.dialect == Dialect::OhMyPi {
        let (line, entry) = (bodies.line(ix)?, session.entry(ix));
        let text = omp::message::editor_text(Raw::checked(line.trim_ascii()), entry.kind, entry.role);
        if let Some(text) = text {
            return Ok(text);
        }
    }
    content_text(bodies, ix)
}

/// The text of a message or custom message: its string, or its text blocks one behind the other.
fn content_text(bodies: &dyn Bodies, ix: EntryIx) -> io::Result<Text<'static>> {
    let line = bodies.line(ix)?;
    let entry = Raw::checked(line.trim_ascii());
    let content = entry.get("message").and_then(|message| message.get("content")).or(entry.get("content"));
    let mut text = Text::default();
    if let Some(content) = content {
        content.text().iter().for_each(|whole| text.push(whole));
        for block in content.items().filter(|block| block.get("type").is_some_and(|kind| kind.is("text"))) {
            block.get_text("text").iter().for_each(|part| text.push(part));
        }
    }
    Ok(text.into_owned())
}

/// What a person adds to the instructions of a prompt.
pub type Prompt<'a> = pi::prompt::Instructions<'a>;

/// The summary that a new one takes up: of the compaction in force, with what its agent keeps of it
/// elsewhere.
///
/// # Errors
/// Where a line cannot be read.
pub fn previous_summary(
    session: &Session,
    preparation: &Preparation,
    bodies: &dyn Bodies,
) -> io::Result<Option<Text<'static>>> {
    match session.dialect {
        Dialect::Pi => Ok(preparation.previous_summary.clone()),
        Dialect::OhMyPi => omp::prompt::previous_summary(preparation, bodies).map(Some),
    }
}

/// The prompts of a compaction, in the order in which they are asked: one, or two for a cut turn.
///
/// # Errors
/// Where a line cannot be read.
pub fn compaction_prompts(
    session: &Session,
    preparation: &Preparation,
    prompt: &Prompt,
    bodies: &dyn Bodies,
) -> io::Result<Vec<Vec<u8>>> {
    let parts = pi::prompt::parts(preparation).iter();
    parts
        .map(|&part| {
            let mut bytes = Vec::new();
            match session.dialect {
                Dialect::Pi => pi::prompt::compaction(preparation, part, prompt, bodies, &mut bytes)?,
                Dialect::OhMyPi => {
                    omp::prompt::compaction(session, preparation, part, prompt, bodies, &mut bytes)?
                }
            }
            Ok(bytes)
        })
        .collect()
}

/// One text of the answers to [`compaction_prompts`].
pub fn merged_summary(preparation: &Preparation, answers: Vec<Text<'static>>) -> Text<'static> {
    let (mut history, mut turn_prefix) = (None, None);
    for (part, answer) in pi::prompt::parts(preparation).iter().zip(answers) {
        match part {
            pi::prompt::Part::History => history = Some(answer),
            pi::prompt::Part::TurnPrefix => turn_prefix = Some(answer),
        }
    }
    pi::prompt::merge(preparation, history, turn_prefix)
}

/// The prompt of a branch summary.
///
/// # Errors
/// Where a line cannot be read.
pub fn branch_prompt(
    session: &Session,
    messages: &[Message],
    prompt: &Prompt,
    bodies: &dyn Bodies,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match session.dialect {
        Dialect::Pi => pi::prompt::branch(messages, prompt, bodies, &mut bytes)?,
        Dialect::OhMyPi => omp::prompt::branch(session, messages, prompt, bodies, &mut bytes)?,
    }
    Ok(bytes)
}

/// File operations as the preparation's JSON has them.
pub fn file_ops_json(ops: &FileOps) -> Vec<u8> {
    use super::json::write::texts;
    Object::new()
        .json("read", &texts(ops.read.iter()))
        .json("written", &texts(ops.written.iter()))
        .json("edited", &texts(ops.edited.iter()))
        .finish()
}
