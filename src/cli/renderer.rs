//! `--renderer TYPE=CMD`: commands that convert the custom entries of an extension into Markdown.
//!
//! Each command runs once. It gets the entries as JSON lines on standard input, and replies with
//! lines `{"id": …, "markdown": …}`. An entry without a reply is shown as if it had no renderer. If
//! the command fails, there is a warning, and all of its entries are shown in that way.

use super::open::OpenSession;
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::process::run::{MOST_OUTPUT_BYTES, ShellCommand};
use crate::export::commonmark::to_plain_line;
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind, Role};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::push_valid;
use std::time::Duration;

const RENDERER_TIMEOUT: Duration = Duration::from_secs(300);

/// The renderers of a command.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RendererArgs {
    /// Command that turns custom entries of TYPE into Markdown
    ///
    /// It receives the entries as JSON lines on stdin and replies with lines {"id": …, "markdown":
    /// …}.
    #[arg(long = "renderer", value_name = "TYPE=CMD", value_parser = parse_renderer)]
    pub renderers: Vec<Renderer>,
}

/// A renderer, and the type of the custom entries that it renders.
#[derive(Clone, Debug)]
pub struct Renderer {
    custom_type: String,
    command: String,
}

/// Parses `TYPE=COMMAND`, the value of `--renderer`. The command itself may contain `=`.
fn parse_renderer(text: &str) -> Result<Renderer, String> {
    let usage = "give a custom type and a command, as in todo='jq …'";
    let (custom_type, command) = text.split_once('=').ok_or(usage)?;
    if custom_type.is_empty() || command.trim().is_empty() {
        return Err(usage.to_owned());
    }
    Ok(Renderer {
        custom_type: custom_type.to_owned(),
        command: command.to_owned(),
    })
}

impl RendererArgs {
    /// Runs the renderers, and returns their Markdown for each entry that has a reply. A renderer
    /// without entries of its type is not run. If a renderer fails, there is a warning, and its
    /// entries are left out.
    pub fn render(
        &self,
        open: &OpenSession,
        entries: impl Iterator<Item = EntryIx>,
        ui: &mut Ui,
    ) -> Result<HashMap<EntryIx, String>, Failure> {
        let mut rendered = HashMap::default();
        if self.renderers.is_empty() {
            return Ok(rendered);
        }
        let custom: Vec<_> = entries
            .filter(|&ix| is_custom_entry(&open.session, ix))
            .collect();
        for renderer in &self.renderers {
            let input = renderer.build_input(open, &custom)?;
            if input.requested.is_empty() {
                continue;
            }
            match renderer.run(open, input, ui) {
                Ok(answers) => rendered.extend(answers),
                Err(failure) => ui.warn(&failure.to_line()),
            }
        }
        Ok(rendered)
    }

    /// Renders entries as [`RendererArgs::render`] does, and joins the lines of each text, for
    /// rows.
    pub fn render_rows(
        &self,
        open: &OpenSession,
        entries: impl Iterator<Item = EntryIx>,
        ui: &mut Ui,
    ) -> Result<HashMap<EntryIx, Text<'static>>, Failure> {
        let rendered = self.render(open, entries, ui)?.into_iter();
        Ok(rendered
            .map(|(ix, markdown)| (ix, Text::from(to_plain_line(&markdown))))
            .collect())
    }
}

/// The input of a renderer.
#[derive(Default)]
struct RendererInput {
    /// The lines of the entries to render, for standard input.
    lines: Vec<u8>,
    /// The same entries. A reply for any other entry is refused.
    requested: HashSet<EntryIx>,
}

impl Renderer {
    /// Runs the command, and returns its Markdown for each entry with a reply.
    fn run(
        &self,
        open: &OpenSession,
        input: RendererInput,
        ui: &mut Ui,
    ) -> Result<Vec<(EntryIx, String)>, Failure> {
        let shell = ShellCommand {
            session: open.input.name.clone(),
            option: "--renderer",
            command: self.command.clone(),
            timeout: RENDERER_TIMEOUT,
            failure_outcome: "its entries are shown without it",
            hint: "--renderer TYPE='cat >&2' prints what it receives",
            most_output_bytes: MOST_OUTPUT_BYTES,
        };
        let _spinner = ui.start_spinner("waiting for the renderer");
        let output = shell.run(input.lines)?;
        parse_answers(&output, &open.session, &input.requested).map_err(|what| shell.failure(&what))
    }

    /// Returns the input of the command: the entries among `custom` whose type it renders.
    fn build_input(
        &self,
        open: &OpenSession,
        custom: &[EntryIx],
    ) -> Result<RendererInput, Failure> {
        let reader = open.entry_reader();
        let mut input = RendererInput::default();
        for &ix in custom {
            let line = reader.with_line(ix, |line| self.input_line(line));
            if let Some(line) = open.input.map_read_error(line)? {
                input.lines.extend(line);
                input.requested.insert(ix);
            }
        }
        Ok(input)
    }

    /// Returns the line of an entry for the input, in valid UTF-8; `None` if the entry has another
    /// type than this renders. The type is a member of the entry, or of its message.
    fn input_line(&self, line: &[u8]) -> Option<Vec<u8>> {
        let entry = Raw::from_checked(line.trim_ascii());
        let message = entry.get("message").unwrap_or(Raw::NULL);
        let custom_type = entry
            .get("customType")
            .or_else(|| message.get("customType"))?;
        if !custom_type.is(&self.custom_type) {
            return None;
        }
        let mut input_line = Vec::new();
        push_valid(&mut input_line, entry.bytes());
        input_line.push(b'\n');
        Some(input_line)
    }
}

fn is_custom_entry(session: &Session, ix: EntryIx) -> bool {
    let entry = session.entry(ix);
    let is_message =
        entry.kind == Kind::Message && matches!(entry.role, Role::Custom | Role::HookMessage);
    is_message || matches!(entry.kind, Kind::Custom | Kind::CustomMessage)
}

/// Parses the output of a renderer: JSON lines, each with the id of an entry and its Markdown. The
/// entry must be one that the renderer received.
///
/// # Errors
/// A description of the problem, for [`ShellCommand::failure`].
fn parse_answers(
    output: &[u8],
    session: &Session,
    requested: &HashSet<EntryIx>,
) -> Result<Vec<(EntryIx, String)>, String> {
    let mut answers = Vec::new();
    for line in output.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let answer = Raw::parse(line).map_err(|_| "its output is not JSON lines")?;
        let id = answer.get_text("id");
        let markdown = answer.get_text("markdown");
        let (Some(id), Some(markdown)) = (id, markdown) else {
            return Err("a line of its output has no id or no markdown".to_owned());
        };
        let entry = session.find_entry(&id);
        let Some(entry) = entry.filter(|entry| requested.contains(entry)) else {
            let id = to_visible(&id.to_string());
            return Err(format!(
                "its reply has the id {id:?}, which it did not receive"
            ));
        };
        answers.push((entry, markdown.to_string_lossy().into_owned()));
    }
    Ok(answers)
}
