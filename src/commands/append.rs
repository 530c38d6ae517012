//! `pisess append`: appends entries under the leaf or another entry.

use crate::cli::given::{self, GivenFile, parse_model, read_text};
use crate::cli::guide::{Example, Guide};
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::transaction::Decision;
use crate::load::LoadOptions;
use crate::ops::append::{Batch, shorthand};
use crate::ops::{IdSource, Refusal};
use crate::session::Session;
use crate::session::entry::{Kind, Role};
use crate::session::reference::Position;
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Name the session",
        "pisess append session.jsonl --name 'Ferry times'",
    ),
    Example::new(
        "Append a user message, for the agent to continue from",
        "pisess append session.jsonl --user 'And by bus?'",
    ),
    Example::new(
        "Ask another model, on a branch",
        "pisess append session.jsonl --at 'cause found' --model anthropic/claude-opus-4-5 --user 'Are you sure?'",
    ),
    Example::new(
        "Append data for other programs, which no model sees",
        "pisess append session.jsonl --custom reviewed --data '{\"by\":\"u\"}'",
    ),
    Example::new(
        "Append the output of another program; ids, parents and times are filled in",
        "echo '{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"And by bus?\"}}' | pisess append session.jsonl",
    ),
]);

/// Append entries: messages, custom data, settings or a session name.
///
/// The entries come from options, or as JSON lines from standard input, in the format of the file's
/// agent (pi or oh-my-pi). A missing `id`, `parentId` or `timestamp` is filled in. The parent of
/// the first entry is the leaf or `--at REF`. The parent of each later entry is the entry before
/// it. Fields that are present are kept byte for byte.
///
/// All entries are validated before any is written. Fields that the agent relies on must be
/// present. Ids must be new. An entry may refer only to entries of the session, or to earlier
/// entries of the input. The ids of the new entries are printed; the last one is the new leaf.
///
/// In a session of oh-my-pi, --name also changes the title line at the beginning of the file, as
/// `/rename` in oh-my-pi does. The whole file is then rewritten.
///
/// Several options can be combined. Each appends an entry; settings precede messages. If the text
/// of a message is `-`, it is read from standard input.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to append under (default: the leaf)
    #[arg(
        long,
        value_name = "REF",
        default_value = "@",
        hide_default_value = true
    )]
    pub at: String,
    /// Read entries as JSON lines from FILE (- for standard input)
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    // Entries given by options, in the order in which they are written.
    /// Set the name of the session (an empty NAME clears it)
    #[arg(long, value_name = "NAME", help_heading = "Entries")]
    pub name: Option<String>,
    /// Use this model (appends a change of the model, which applies to the replies that follow)
    #[arg(long, value_name = "PROVIDER/ID", value_parser = parse_model, help_heading = "Entries")]
    pub model: Option<(String, String)>,
    /// Change the thinking level for the replies that follow
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS, help_heading = "Entries")]
    pub thinking: Option<String>,
    /// Append a custom entry of this type, which no model sees
    #[arg(long, value_name = "TYPE", help_heading = "Entries")]
    pub custom: Option<String>,
    /// The data of the custom entry
    #[arg(
        long,
        value_name = "JSON",
        requires = "custom",
        help_heading = "Entries"
    )]
    pub data: Option<String>,
    /// Append a custom message of this type, which the model sees
    #[arg(long, value_name = "TYPE", requires = "text", help_heading = "Entries")]
    pub custom_message: Option<String>,
    /// The text of the custom message
    #[arg(long, requires = "custom_message", help_heading = "Entries")]
    pub text: Option<String>,
    /// Hide the custom message from the user
    #[arg(long, requires = "custom_message", help_heading = "Entries")]
    pub hidden: bool,
    /// Append a user message
    #[arg(long, value_name = "TEXT", help_heading = "Entries")]
    pub user: Option<String>,
    /// Append an assistant message by the current model; the path must have an earlier reply of the
    /// same provider, from which the message gets its `api`
    #[arg(long, value_name = "TEXT", help_heading = "Entries")]
    pub assistant: Option<String>,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The thinking levels of pi and oh-my-pi.
const LEVELS: [&str; 7] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Appends entries below the entry of `--at`. The entries come from options such as `--user`;
/// without such an option, from lines of JSON.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    // The calls of a session are needed only to append a tool result, which no option gives.
    let options = LoadOptions {
        tool_calls: !args.has_entry_options(),
        ..LoadOptions::default()
    };
    let open = OpenSession::open_to_change(&args.session, options, ui)?;
    // All input is read before the session is locked.
    let source = EntrySource::read(args, &open.input, ui)?;

    // The function below is called again if the session grows before the commit. These are the
    // types of the last call, whose change is committed.
    let mut unknown_types = BTreeSet::new();
    let exit = open.apply_change(&args.write, ui, |locked_open, id_source| {
        let parent = locked_open.resolve_parent(&args.at)?;
        // Fails if new entries cannot name the parent, because it has no id.
        locked_open.new_parent_id(parent)?;
        let mut batch = Batch::with_parent(&locked_open.session, parent);
        source.add_to_batch(&mut batch, locked_open, parent, id_source)?;
        unknown_types = batch.unknown_types;
        Ok(Decision::from(batch.change))
    })?;
    for kind in unknown_types {
        ui.warn(&format!(
            "unknown entry type {kind}: neither agent writes it"
        ));
    }
    Ok(exit)
}

/// Where the new entries come from.
enum EntrySource {
    /// The options. A text of standard input has replaced `-`.
    Options(Box<Args>),
    /// Lines of JSON.
    Lines(GivenFile),
}

impl EntrySource {
    /// Adds the new entries to a batch, which is to be appended below `parent`.
    fn add_to_batch(
        &self,
        batch: &mut Batch,
        locked_open: &OpenSession,
        parent: Position,
        id_source: &mut IdSource,
    ) -> Result<(), Failure> {
        match self {
            EntrySource::Options(args) => args.add_entries(locked_open, parent, batch, id_source),
            EntrySource::Lines(file) => add_lines(&file.name, &file.bytes, batch, id_source),
        }
    }

    /// Reads standard input or the file of lines, as far as the options require it.
    fn read(args: &Args, session: &Input, ui: &mut Ui) -> Result<EntrySource, Failure> {
        if !args.has_entry_options() {
            return Ok(EntrySource::Lines(read_lines(args, session, ui)?));
        }
        args.refuse_input_file()?;
        let mut args = args.clone();
        args.replace_dash_by_stdin(session, ui)?;
        args.require_valid_texts()?;
        Ok(EntrySource::Options(Box::new(args)))
    }
}

/// Reads the lines of JSON to append, from `--input` or standard input. Refuses standard input if
/// it is the session or a terminal.
fn read_lines(args: &Args, session: &Input, ui: &mut Ui) -> Result<GivenFile, Failure> {
    let path = args.input.as_deref().unwrap_or(Path::new("-"));
    if path == Path::new("-") && (session.is_stream() || ui.world.terminals.stdin) {
        let what = if session.is_stream() {
            "already the session"
        } else {
            "a terminal"
        };
        return Err(Failure::invalid(format_args!(
            "no entries to append: standard input is {what}"
        ))
        .with_hint("give them by options such as --user, or in a file with --input"));
    }
    given::read_argument(
        path,
        "a file of JSON lines",
        given::MOST_ENTRY_BYTES,
        Some(session),
        ui,
    )
}

/// Adds an entry for each line of JSON in `text`; blank lines are skipped. Stops at the first line
/// that is refused, with a failure that names the source (`name`) and the line number.
///
/// If the very first entry does not begin with `{`, the input is probably plain text. Then the hint
/// is `--user -`, which appends plain text.
fn add_lines(
    name: &str,
    text: &[u8],
    batch: &mut Batch,
    id_source: &mut IdSource,
) -> Result<(), Failure> {
    let first_number: u32 = 1;
    for (line, number) in text.split(|&byte| byte == b'\n').zip(first_number..) {
        let entry = line.trim_ascii();
        if entry.is_empty() {
            continue;
        }
        let is_first_entry = batch.change.is_empty();
        let Err(refusal) = batch.add_line(entry, id_source) else {
            continue;
        };

        let is_plain_text = is_first_entry && !entry.starts_with(b"{");
        let hint = if is_plain_text {
            "--user - appends plain text as a user message"
        } else {
            hint_for_refused_line(&refusal)
        };
        let what = format_args!("{name}:{number}: {refusal}; nothing was written");
        let failure = Failure::invalid(what).with_path(name).with_line(number);
        return Err(failure.with_hint(hint));
    }
    Ok(())
}

/// Returns the hint for a line that is refused as an entry.
fn hint_for_refused_line(refusal: &Refusal) -> &str {
    match refusal {
        Refusal::Impossible {
            hint: Some(hint), ..
        } => hint,
        _ => "`pisess path --json` prints entries of the session as examples",
    }
}

impl Args {
    /// Whether entries are given by options, and not as JSON. Each option from which
    /// [`Args::entry_lines`] makes an entry must be here.
    fn has_entry_options(&self) -> bool {
        let texts = [
            &self.name,
            &self.thinking,
            &self.custom,
            &self.custom_message,
            &self.user,
            &self.assistant,
        ];
        self.model.is_some() || texts.into_iter().any(Option::is_some)
    }

    /// Refuses `--input`: its entries would have no defined place among the entries of other
    /// options.
    fn refuse_input_file(&self) -> Result<(), Failure> {
        if self.input.is_none() {
            return Ok(());
        }
        Err(
            Failure::invalid("--input: entries are already given by options")
                .with_hint("run append twice, or give all entries as JSON"),
        )
    }

    /// Replaces the text `-` of an option by the text of standard input. Only one option may have
    /// this value, because standard input can be read once.
    fn replace_dash_by_stdin(&mut self, session: &Input, ui: &mut Ui) -> Result<(), Failure> {
        let mut is_stdin_read = false;
        let texts = [&mut self.text, &mut self.user, &mut self.assistant];
        for text in texts.into_iter().flatten() {
            if text != "-" {
                continue;
            }
            if is_stdin_read {
                return Err(Failure::invalid("two options read from standard input")
                    .with_hint("give one of the texts on the command line"));
            }
            is_stdin_read = true;
            *text = read_text(Path::new("-"), session, ui)?;
        }
        Ok(())
    }

    /// Refuses blank texts and types, and data that is not JSON. What depends on the session is
    /// checked when the entries are made.
    fn require_valid_texts(&self) -> Result<(), Failure> {
        if is_blank(&self.text) || is_blank(&self.user) || is_blank(&self.assistant) {
            return Err(Failure::invalid("the text of the message is empty")
                .with_hint("give a text, or omit the option"));
        }
        if is_blank(&self.custom) || is_blank(&self.custom_message) {
            return Err(Failure::invalid("the custom type is empty")
                .with_hint("give a name by which programs can find the entry"));
        }
        if let Some(data) = &self.data
            && Raw::parse(data.as_bytes()).is_err()
        {
            return Err(Failure::invalid("--data: not JSON")
                .with_hint("quote it for the shell, as in --data '{\"n\":1}'"));
        }
        Ok(())
    }

    /// Adds the entries given by options.
    ///
    /// oh-my-pi stores the name of a session twice: as an entry, and in the title line. So `--name`
    /// also sets the title line in a session of that agent.
    fn add_entries(
        &self,
        open: &OpenSession,
        parent: Position,
        batch: &mut Batch,
        id_source: &mut IdSource,
    ) -> Result<(), Failure> {
        for line in self.entry_lines(open, parent)? {
            batch
                .add_line(&line, id_source)
                .map_err(|refusal| open.input.failure(refusal))?;
        }
        if let Some(name) = &self.name {
            let agent = open.session.agent();
            let name = agent.normalize_name(name);
            batch.change.title_line = agent.title_line(&name, &id_source.timestamp());
        }
        Ok(())
    }

    /// Returns the entries given by options, each as a line of JSON, in the order in which they are
    /// appended below `parent`.
    fn entry_lines(&self, open: &OpenSession, parent: Position) -> Result<Vec<Vec<u8>>, Failure> {
        let mut entries = self.build_name_and_settings(&open.session);
        entries.extend(self.build_custom_entries(&open.session));
        entries.extend(self.build_messages(open, parent)?);
        Ok(entries.into_iter().map(Object::finish).collect())
    }

    /// Returns the entries of `--name`, `--model` and `--thinking`.
    fn build_name_and_settings(&self, session: &Session) -> Vec<Object> {
        let agent = session.agent();
        let mut entries = Vec::new();
        if let Some(name) = &self.name {
            let name = agent.normalize_name(name);
            entries.push(agent.new_name_entry(&name, session.name().as_ref()));
        }
        if let Some(model) = self.model_name() {
            entries.push(agent.new_model_entry(&model.provider, &model.id));
        }
        if let Some(level) = &self.thinking {
            entries.push(agent.new_thinking_entry(&Text::from(level.as_str())));
        }
        entries
    }

    /// Returns the model of `--model`.
    fn model_name(&self) -> Option<ModelName> {
        let (provider, id) = self.model.as_ref()?;
        Some(ModelName {
            provider: Text::from(provider.clone()),
            id: Text::from(id.clone()),
        })
    }

    /// Returns the entries of `--custom` and `--custom-message`.
    fn build_custom_entries(&self, session: &Session) -> Vec<Object> {
        let mut entries = Vec::new();
        if let Some(custom_type) = &self.custom {
            // `require_valid_texts` has checked that it is JSON.
            let data = self.data.as_ref();
            let data = data.map(|data| Raw::from_checked(data.trim().as_bytes()));
            let custom_type = Text::from(custom_type.as_str());
            entries.push(shorthand::custom_entry(&custom_type, data));
        }
        // clap requires both or neither.
        if let (Some(custom_type), Some(content)) = (&self.custom_message, &self.text) {
            let is_shown = !self.hidden;
            entries.push(shorthand::custom_message_entry(
                session.agent(),
                &Text::from(custom_type.as_str()),
                &Text::from(content.as_str()),
                is_shown,
            ));
        }
        entries
    }

    /// Returns the messages of `--user` and `--assistant`. The assistant message copies API,
    /// provider and model from an earlier reply, the nearest above `parent` ([`build_reply`]).
    fn build_messages(&self, open: &OpenSession, parent: Position) -> Result<Vec<Object>, Failure> {
        let mut messages = Vec::new();
        if let Some(content) = &self.user {
            messages.push(shorthand::user_message(&Text::from(content.as_str())));
        }
        if let Some(content) = &self.assistant {
            let reply = build_reply(open, parent, self.model_name())?;
            messages.push(shorthand::assistant_message(
                &Text::from(content.as_str()),
                Raw::from_checked(&reply),
            ));
        }
        Ok(messages)
    }
}

/// A model, and the provider that serves it.
struct ModelName {
    provider: Text<'static>,
    id: Text<'static>,
}

/// Returns the message whose API, provider and model a new reply below `position` copies: that is
/// the nearest assistant message at or above `position`.
///
/// `requested_model`, or a model change between that message and `position`, replaces the model.
/// Then the nearest reply of the same provider is copied, because the API depends on the provider.
fn build_reply(
    open: &OpenSession,
    position: Position,
    requested_model: Option<ModelName>,
) -> Result<Vec<u8>, Failure> {
    let model = match requested_model {
        Some(model) => Some(model),
        None => find_model_change(open, position)?,
    };
    let session = &open.session;
    let reader = open.entry_reader();
    let mut has_reply_of_other_provider = false;
    for ix in session.ancestors(position.entry()) {
        if !session.is_message(ix, Role::Assistant) {
            continue;
        }
        let line = open.input.map_read_error(reader.read_line(ix))?;
        let entry = Raw::from_checked(line.trim_ascii());
        let message = entry.get("message").unwrap_or(Raw::NULL);
        if !names_model(message) {
            let what = "the earlier reply names no API or model to copy";
            return Err(cannot_copy_reply(open, what));
        }
        let Some(model) = &model else {
            return Ok(message.bytes().to_vec());
        };
        if message.get_text("provider") == Some(model.provider.as_borrowed()) {
            return Ok(replace_model(message, &model.id));
        }
        // A reply further up may be by this provider.
        has_reply_of_other_provider = true;
    }

    let what = match model {
        Some(model) if has_reply_of_other_provider => format!(
            "there is no earlier reply from the provider {}, whose API could be copied",
            model.provider
        ),
        _ => "there is no earlier reply with an API and model to copy".to_owned(),
    };
    Err(cannot_copy_reply(open, &what))
}

/// Returns the model of the last model change at or above `position`, if it is not older than the
/// last reply there: a reply names its own model.
fn find_model_change(open: &OpenSession, position: Position) -> Result<Option<ModelName>, Failure> {
    let session = &open.session;
    let reader = open.entry_reader();
    for ix in session.ancestors(position.entry()) {
        if session.is_message(ix, Role::Assistant) {
            return Ok(None);
        }
        if session.entry(ix).kind != Kind::ModelChange {
            continue;
        }
        let line = open.input.map_read_error(reader.read_line(ix))?;
        let model = model_changed_to(Raw::from_checked(line.trim_ascii()));
        // A change that names no model does not count.
        if model.is_some() {
            return Ok(model);
        }
    }
    Ok(None)
}

/// Whether a message has everything that a new reply copies from it.
fn names_model(message: Raw) -> bool {
    ["api", "provider", "model"]
        .iter()
        .all(|key| message.get_text(key).is_some())
}

/// Returns a message with another model.
fn replace_model(message: Raw, model_id: &Text) -> Vec<u8> {
    let mut edit = Edit::new(message.bytes()).expect("a message with a model is an object");
    edit.set("model", &encode_to_vec(model_id));
    edit.finish()
}

/// Returns the failure if `--assistant` finds no reply to copy.
fn cannot_copy_reply(open: &OpenSession, what: &str) -> Failure {
    open.input
        .failure(format_args!("--assistant: {what}"))
        .with_hint(
            "give the whole entry as JSON on standard input; `pisess show --json` prints examples",
        )
}

/// Whether an option was given, but its text is empty or only white space.
fn is_blank(text: &Option<String>) -> bool {
    text.as_ref().is_some_and(|text| text.trim().is_empty())
}

/// Returns the model that an entry changes to. pi writes two members, `provider` and `modelId`;
/// oh-my-pi writes one, `model`, as `PROVIDER/MODEL`. `None` for oh-my-pi's changes of a model with
/// another role than the conversation's, such as the one for small tasks.
fn model_changed_to(entry: Raw) -> Option<ModelName> {
    if let Some(provider) = entry.get_text("provider") {
        let id = entry.get_text("modelId")?;
        return Some(ModelName {
            provider: provider.into_owned(),
            id: id.into_owned(),
        });
    }
    // Without a role, the change is for the conversation.
    let is_default = entry.get("role").is_none_or(|role| role.is("default"));
    if !is_default {
        return None;
    }
    let provider_and_id = entry.get_text("model")?.to_string();
    let (provider, id) = provider_and_id.split_once('/')?;
    Some(ModelName {
        provider: Text::from(provider.to_owned()),
        id: Text::from(id.to_owned()),
    })
}
