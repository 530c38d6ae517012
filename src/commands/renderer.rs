//! `--renderer TYPE=CMD`: commands that turn the custom entries of an extension into Markdown.
//!
//! A command is started once. It gets the entries as JSON lines on standard input and answers with
//! lines `{"id": …, "markdown": …}`. An entry without an answer, or a command that fails, falls back to
//! what is shown without a renderer.

use super::input::OpenSession;
use super::shell::Shell;
use crate::core::bodies::Bodies;
use crate::core::entry::{EntryIx, Kind, Role};
use crate::core::json::Raw;
use crate::core::json::write::push_valid;
use crate::core::session::Session;
use crate::ui::{Failure, Ui};
use std::collections::HashMap;
use std::time::Duration;

/// How long a renderer may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The renderers of a command.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RendererArgs {
    /// Command that turns custom entries of TYPE into Markdown
    ///
    /// It receives the entries as JSON lines on stdin and replies with lines {"id": …, "markdown": …}.
    #[arg(long = "renderer", value_name = "TYPE=CMD", value_parser = parse)]
    pub renderers: Vec<Renderer>,
}

/// A command, and the type of entries that it renders.
#[derive(Clone, Debug)]
pub struct Renderer {
    custom_type: String,
    command: String,
}

fn parse(text: &str) -> Result<Renderer, String> {
    match text.split_once('=') {
        Some((custom_type, command)) if !custom_type.is_empty() && !command.trim().is_empty() => {
            Ok(Renderer { custom_type: custom_type.to_owned(), command: command.to_owned() })
        }
        _ => Err("give a custom type and a command, as in todo='jq …'".to_owned()),
    }
}

impl RendererArgs {
    /// Returns the Markdown of those entries that have a renderer and got an answer.
    ///
    /// # Errors
    /// Where a line cannot be read.
    pub fn render(
        &self,
        open: &OpenSession,
        entries: &[EntryIx],
        ui: &mut Ui,
    ) -> Result<HashMap<EntryIx, String>, Failure> {
        let mut rendered = HashMap::new();
        if self.renderers.is_empty() {
            return Ok(rendered);
        }
        for (renderer, input) in self.renderers.iter().zip(self.inputs(open, entries)?) {
            if input.is_empty() {
                continue;
            }
            let shell = Shell {
                session: &open.input.name,
                option: "--renderer",
                command: &renderer.command,
                timeout: TIMEOUT,
                outcome: "its entries are shown without it",
                hint: "--renderer TYPE='cat >&2' prints what it receives",
            };
            let answer = {
                let _waiting = ui.spinner("waiting for the renderer");
                shell
                    .run(input)
                    .and_then(|output| answers(&output, &open.session).map_err(|what| shell.failed(&what)))
            };
            match answer {
                Ok(answers) => rendered.extend(answers),
                Err(failure) => ui.warn(&failure.line()),
            }
        }
        Ok(rendered)
    }

    /// The lines that each renderer gets.
    fn inputs(&self, open: &OpenSession, entries: &[EntryIx]) -> Result<Vec<Vec<u8>>, Failure> {
        let mut inputs = vec![Vec::new(); self.renderers.len()];
        let bodies = open.bodies();
        for &ix in entries.iter().filter(|&&ix| is_custom(&open.session, ix)) {
            let mut add = |line: &[u8]| {
                let entry = Raw::checked(line.trim_ascii());
                let message = entry.get("message").and_then(|message| message.get("customType"));
                let Some(kind) = entry.get("customType").or(message) else { return };
                for (renderer, input) in self.renderers.iter().zip(&mut inputs) {
                    if kind.is(&renderer.custom_type) {
                        push_valid(input, entry.bytes());
                        input.push(b'\n');
                    }
                }
            };
            bodies.with_line(ix, &mut add).map_err(|error| open.input.unreadable(error))?;
        }
        Ok(inputs)
    }
}

fn is_custom(session: &Session, ix: EntryIx) -> bool {
    let entry = session.entry(ix);
    match entry.kind {
        Kind::Custom | Kind::CustomMessage => true,
        Kind::Message => matches!(entry.role, Role::Custom | Role::HookMessage),
        _ => false,
    }
}

/// Reads the answers, one per line.
fn answers(output: &[u8], session: &Session) -> Result<Vec<(EntryIx, String)>, String> {
    let lines = output.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let answer = Raw::parse(line).map_err(|_| "its answer is not JSON lines")?;
            let (id, markdown) = (answer.get_text("id"), answer.get_text("markdown"));
            let (Some(id), Some(markdown)) = (id, markdown) else {
                return Err("a line of its answer has no id or no markdown".to_owned());
            };
            let entry = session
                .find(&id)
                .ok_or_else(|| format!("its reply refers to {id}, which is not an entry"))?;
            Ok((entry, markdown.to_string_lossy().into_owned()))
        })
        .collect()
}
