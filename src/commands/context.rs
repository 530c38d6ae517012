//! `pisess context`: prints the context of a model.

mod parts;

use crate::agents::request::{self, Api, Model, Request, SkippedResults, WrittenBody};
use crate::cli::given::parse_model;
use crate::cli::guide::{Example, Guide};
use crate::cli::hook::{self, HookArgs};
use crate::cli::locate::SessionStores;
use crate::cli::open::{Input, OpenSession, failure_with_hint};
use crate::cli::options::{LastArgs, parse_positive_amount};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::process::run::ShellCommand;
use crate::cli::pruned::load_pruned;
use crate::cli::transaction::copy_failure;
use crate::format::{format_count, format_estimate};
use crate::ops::append::check_message;
use crate::ops::context_estimate::{
    PrunedPayloads, estimate_if_wrong, estimate_messages, estimate_unrecorded_part,
};
use crate::ops::context_parts::PartKey;
use crate::session::blobs::BlobStore;
use crate::session::entry::EntryIx;
use crate::session::range::EntryRange;
use crate::session::read::entry_reader::{Body, Context, ContextMessage, EntryReader};
use crate::session::{Format, Session};
use clap::ValueEnum;
use pisess_json::text::Text;
use pisess_json::write::{Object, write_valid};
use pisess_json::{Raw, js};
use pisess_store::Piece;
use std::io::{self, Write};
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Print the model's current context as JSON",
        "pisess context session.jsonl",
    ),
    Example::new(
        "Print its size in tokens",
        "pisess context --tokens session.jsonl",
    ),
    Example::new(
        "Print its size, and how much of a window of 200,000 tokens that is",
        "pisess context --tokens --window 200k session.jsonl",
    ),
    Example::new(
        "Print the context at the last user message, with the roles of a model API",
        "pisess context --as llm session.jsonl '@^{user}'",
    ),
    Example::new(
        "Print the size of the last ten entries alone",
        "pisess context --tokens --last 10 session.jsonl",
    ),
    Example::new(
        "Print the context as text, for a pager or another program",
        "pisess context --as text session.jsonl",
    ),
    Example::new(
        "Print what fills the context, by tool",
        "pisess context --tokens --by tool session.jsonl",
    ),
    Example::new(
        "Print a request to Anthropic's API with the context, for curl -d @-",
        "pisess context --as anthropic --max-tokens 4096 session.jsonl",
    ),
    Example::new(
        "Print a request in the form of OpenAI's API, for a model of your own",
        "pisess context --as openai --model local/small session.jsonl",
    ),
])
.with_found("a request would contain no message, or a hook cancelled the operation");

/// Print what the model would see at an entry.
///
/// The context is what the session's agent builds from the entries up to REF: the settings, and the
/// messages that the model would receive. Summaries replace the entries that were compacted.
///
/// --tokens --by prints the tokens of each role, tool, file or entry, and their share of the
/// context. These tokens are estimates of the agent, because no provider counts them. With --by
/// entry, rows show ids, which `edit` accepts. The last row is the size of the context minus the
/// sum of the other rows. This rest includes a system prompt and tools that the session does not
/// record; with --json, it may be negative.
///
/// After an `edit` or a compaction of a session of pi, and until the next reply, --tokens counts
/// only messages. A note on standard error then gives the size with the system prompt and tools,
/// estimated from the provider's last count. In the table of --by, the last row is then the system
/// prompt and tools; --json omits this row.
///
/// With --window, the shares are of a context window of that size.
///
/// Given a range, prints only the messages in the range. --tokens then prints the sum of the
/// estimates of these messages.
///
/// With `--as` and the name of an API, prints the body of a request to that API: the system prompt,
/// messages, tools, model and maximum reply length. Parts that the API would reject, such as a
/// result without a call, are repaired. Sessions from before pi 0.86 contain no tool definitions.
/// For such a session, a request to Anthropic declares each called tool by its name, with a schema
/// that allows any arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// The last entry of the context, or a range of entries (default: the leaf)
    #[arg(value_name = "REF", conflicts_with = "entry_count")]
    pub at: Option<String>,
    #[command(flatten)]
    pub last: LastArgs,
    /// Output format
    #[arg(
        long = "as",
        value_name = "FORMAT",
        default_value = "messages",
        conflicts_with = "tokens"
    )]
    pub form: ContextFormat,
    /// Use this model (in the request; default: the model of the last reply if it used the same
    /// API, else anthropic/claude-sonnet-4-5, openai/gpt-5.1 or google/gemini-3.1-pro-preview)
    #[arg(long, value_name = "PROVIDER/ID", value_parser = parse_model)]
    pub model: Option<(String, String)>,
    /// The maximum length of the reply to a request, in tokens, such as 2000 or 8k
    #[arg(long, value_name = "TOKENS", value_parser = parse_positive_amount)]
    pub max_tokens: Option<u64>,
    /// Print the size of the context in tokens: the provider's last count, plus the agent's
    /// estimate of what followed
    #[arg(long)]
    pub tokens: bool,
    /// Print a row for each KEY (role, tool, file or entry, the largest first)
    #[arg(
        long,
        value_name = "KEY",
        requires = "tokens",
        hide_possible_values = true
    )]
    pub by: Option<PartKey>,
    /// With --tokens, also print the share of a context window of this size, such as 200k
    #[arg(long, value_name = "TOKENS", requires = "tokens", value_parser = parse_positive_amount)]
    pub window: Option<u64>,
    #[command(flatten)]
    pub hook: HookArgs,
    /// Print the result as JSON (with --tokens --by: an object per row; the context itself is JSON
    /// anyway, except with --as text)
    #[arg(long)]
    pub json: bool,
}

/// Output formats of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ContextFormat {
    /// The agent's messages and settings, as JSON
    Messages,
    /// The messages as the agent hands them to a model API, with only the roles of that API, as
    /// JSON
    Llm,
    /// The transcript that the agent's summarizer receives, with long tool results truncated
    Text,
    /// The body of a request to Anthropic's Messages API
    Anthropic,
    /// The body of a request to OpenAI's Chat Completions API, or a compatible one
    Openai,
    /// The body of a request to OpenAI's Responses API
    OpenaiResponses,
    /// The body of a request to Google's generateContent
    #[value(alias = "gemini")]
    Google,
}

impl ContextFormat {
    /// Returns the API whose request format this is; `None` for the other formats.
    fn api(self) -> Option<Api> {
        match self {
            ContextFormat::Messages | ContextFormat::Llm | ContextFormat::Text => None,
            ContextFormat::Anthropic => Some(Api::Anthropic),
            ContextFormat::Openai => Some(Api::OpenAi),
            ContextFormat::OpenaiResponses => Some(Api::Responses),
            ContextFormat::Google => Some(Api::Google),
        }
    }
}

/// Prints the context at an entry: its size in tokens, or its messages in the format of `--as`. A
/// hook may replace the messages. It is not called for the size.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let request = args.build_request()?;
    let options = parts::load_options(args, ui);
    let open = OpenSession::open_to_read(&args.session, options, ui)?;
    let range = open.resolve_range(args.at.as_deref(), args.last.entry_count)?;
    let path = open.session.path(range.end.entry());
    if args.tokens && range.is_whole_path() {
        return print_size(args, &open, &path, ui);
    }

    // A model gets the images that oh-my-pi keeps outside of the session. The agents' own formats
    // refer to them, as the session does.
    let is_for_model = request.is_some() || args.form == ContextFormat::Llm;
    let blobs = if is_for_model {
        SessionStores::locate(ui).blobs
    } else {
        BlobStore::default()
    };
    let reader = open.entry_reader().with_blobs(&blobs);
    let mut context = build_context(&reader, &path, &range, &open.input)?;
    if args.tokens {
        let tokens = estimate_messages(&context.messages, &reader)
            .map_err(|error| copy_failure(&open.input, error))?;
        return print_tokens(args, tokens, ui);
    }
    if let Some(hook) = args.hook.hook_command(&open.input, ui) {
        apply_hook(&hook, &mut context, &path, &open, ui)?;
    }
    if let Some(request) = request {
        return print_request(&context, &request, &reader, &open, ui);
    }
    let print_result = match args.form {
        ContextFormat::Messages => print_messages(&context, &open, ui),
        ContextFormat::Llm => print_for_model(&context, &reader, &mut ui.verbatim_stdout()),
        // The other formats are requests, which were printed above.
        _ => print_transcript(&context, &open, &mut ui.verbatim_stdout()),
    };
    print_result.map_err(|error| copy_failure(&open.input, error))?;
    Ok(Exit::Done)
}

/// Builds the context at the end of a path, and returns it with the messages of a range. The
/// entries outside of the range also shape the context, so it is always built of the whole path.
fn build_context(
    reader: &EntryReader,
    path: &[EntryIx],
    range: &EntryRange,
    input: &Input,
) -> Result<Context, Failure> {
    let session = reader.session();
    let built = session.agent().build_context(path, reader);
    let mut context = built.map_err(|error| copy_failure(input, error))?;
    if !range.is_whole_path() {
        let is_in_range = range.mask(session);
        context
            .messages
            .retain(|message| is_in_range[message.entry.index()]);
    }
    Ok(context)
}

/// Prints the size of the context at the end of a path, as the session itself reports it. With
/// `--by`, prints its parts. Warns if that count is wrong or incomplete.
fn print_size(
    args: &Args,
    open: &OpenSession,
    path: &[EntryIx],
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let read_failure = |error: io::Error| copy_failure(&open.input, error);
    // If the pruned parts cannot be read, the count is printed without a check against them.
    let pruned = load_pruned(&open.input).ok().flatten();
    let payloads = PrunedPayloads::new(pruned.as_ref(), &open.session);
    let payloads = payloads.as_ref();
    let count = ReportedCount::read(open, path, payloads).map_err(read_failure)?;
    if let Some(by) = args.by {
        parts::print_parts(args, by, open, path, count, ui)?;
        return Ok(Exit::Done);
    }

    let estimate = estimate_if_wrong(count.tokens, path, payloads, &open.entry_reader());
    count.warn_of_differences(estimate.map_err(read_failure)?, ui);
    print_tokens(args, count.tokens, ui)
}

/// The size of the context that the session itself reports.
#[derive(Clone, Copy)]
struct ReportedCount {
    tokens: f64,
    /// Whether the size includes payloads that were pruned later.
    is_before_prune: bool,
    /// The tokens of the system prompt and the tools, if the size does not include them.
    unrecorded: Option<f64>,
}

impl ReportedCount {
    /// Reads the size of the context at the end of a path. `payloads` are the payloads that were
    /// pruned from the session.
    fn read(
        open: &OpenSession,
        path: &[EntryIx],
        payloads: Option<&PrunedPayloads>,
    ) -> io::Result<ReportedCount> {
        let session = &open.session;
        let reader = open.entry_reader();
        let is_before_prune =
            payloads.is_some_and(|payloads| payloads.are_newer_than_count(path, session));
        Ok(ReportedCount {
            tokens: session.agent().estimate_context(path, &reader)?,
            is_before_prune,
            unrecorded: estimate_unrecorded_part(path, payloads, &reader)?,
        })
    }

    /// Warns if the reported size is wrong, with the estimate of the messages, or if it lacks the
    /// system prompt and the tools.
    fn warn_of_differences(&self, estimate: Option<f64>, ui: &mut Ui) {
        if let Some(estimate) = estimate {
            let estimate = format_estimate(estimate);
            let when = if self.is_before_prune {
                " from before payloads were pruned"
            } else {
                ""
            };
            ui.warn(&format!(
                "the session reports this count{when}, but its messages are {estimate} tokens"
            ));
        }
        if let Some(unrecorded) = self.unrecorded {
            let prompt_and_tools = format_estimate(unrecorded);
            let total = format_estimate(self.tokens + unrecorded);
            ui.warn(&format!(
                "the messages alone; with system prompt and tools ({prompt_and_tools}): {total}"
            ));
        }
    }
}

/// Prints a size in tokens, and with `--window` its share of the window.
fn print_tokens(args: &Args, tokens: f64, ui: &mut Ui) -> Result<Exit, Failure> {
    let Some(window) = args.window else {
        ui.print(&format!("{}\n", js::number_to_string(tokens)))?;
        return Ok(Exit::Done);
    };

    let share = tokens / window as f64;
    if args.json {
        let row = Object::new()
            .number("tokens", tokens)
            .number("window", window as f64)
            .number("share", share);
        ui.print_json(&row.finish())?;
        return Ok(Exit::Done);
    }
    ui.print(&format!(
        "{} ({:.1} % of {window})\n",
        js::number_to_string(tokens),
        share * 100.0
    ))?;
    Ok(Exit::Done)
}

/// Calls the hook with the context, and replaces the messages by those in its answer. Fails if the
/// session's agent would not accept one of them; the failure has the number of that message.
fn apply_hook(
    hook: &ShellCommand,
    context: &mut Context,
    path: &[EntryIx],
    open: &OpenSession,
    ui: &Ui,
) -> Result<(), Failure> {
    let event = hook_event(context, path, &open.entry_reader())
        .map_err(|error| copy_failure(&open.input, error))?;
    let Some(hook_messages) = hook.ask_hook(event, open, ui)?.messages else {
        return Ok(());
    };
    let messages = Raw::from_checked(&hook_messages);
    for (index, message) in messages.items().enumerate() {
        check_message(open.session.dialect, message).map_err(|refusal| {
            let number = index + 1;
            failure_with_hint(&refusal, |what| {
                hook.failure(&format!("message {number} of its `messages`: {what}"))
            })
        })?;
    }
    context.messages = messages_of_hook(&context.messages, messages);
    Ok(())
}

impl Args {
    /// Returns the request to print; `None` if `--as` is not the format of an API. Refuses
    /// `--model` and `--max-tokens` without such a format.
    fn build_request(&self) -> Result<Option<Request>, Failure> {
        if let Some(api) = self.form.api() {
            let model = self.model.as_ref().map(|(provider, id)| Model {
                provider: Text::from(provider.clone()),
                id: Text::from(id.clone()),
            });
            return Ok(Some(Request {
                api,
                model,
                max_tokens: self.max_tokens,
            }));
        }

        let unused_option = match (&self.model, self.max_tokens) {
            (None, None) => return Ok(None),
            (Some(_), _) => "--model",
            (None, Some(_)) => "--max-tokens",
        };
        let what = format!("{unused_option} applies only to requests");
        Err(Failure::usage_error(what)
            .with_hint("add --as anthropic, openai, openai-responses or google"))
    }
}

/// Prints the context as the body of a request to an API. Fails if the context has no message to
/// send.
fn print_request(
    context: &Context,
    request: &Request,
    reader: &EntryReader,
    open: &OpenSession,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let written = write_request(context, request, reader, &mut ui.verbatim_stdout());
    let written = written.map_err(|error| copy_failure(&open.input, error))?;
    let Some(written) = written else {
        return Err(Failure::negative("the context has no message to send"));
    };
    // Every finished session ends with a reply. A program that sends the request need not be
    // warned.
    if written.ends_with_answer && ui.stdout_is_terminal() {
        ui.warn(
            "the context ends with a reply of the model; if the API refuses that, append a user message first",
        );
    }
    warn_of_skipped_results(written.skipped_results, open.session.format, ui);
    Ok(Exit::Done)
}

/// Writes the body of a request as a line. `None` if the context has no message to send: then
/// nothing is written.
fn write_request(
    context: &Context,
    request: &Request,
    reader: &EntryReader,
    out: &mut dyn Write,
) -> io::Result<Option<WrittenBody>> {
    let written = request::write_body(&context.messages, request, reader, out)?;
    if written.is_some() {
        out.write_all(b"\n")?;
        // The warnings about the request follow on standard error.
        out.flush()?;
    }
    Ok(written)
}

/// Warns of tool results that a request leaves out, because the API would refuse them.
fn warn_of_skipped_results(skipped: SkippedResults, format: Format, ui: &mut Ui) {
    if skipped.separated > 0 {
        let results = format_count(skipped.separated, "tool result is", "tool results are");
        let why = "because a message is between the call and its result";
        // The repair moves a result by changing its `parentId`, which older formats do not have.
        let hint = match format {
            Format::V1 | Format::Draft => "pisess migrate, then pisess check --repair",
            Format::V2 | Format::V3 => "pisess check --repair",
        };
        ui.warn(&format!("{results} left out, {why} (hint: {hint})"));
    }
    if skipped.stray > 0 {
        let results = format_count(skipped.stray, "tool result is", "tool results are");
        let why = "because the call is not in the context or has another result";
        ui.warn(&format!("{results} left out, {why}"));
    }
}

/// Returns the event for a hook: the agents' `context` event, extended by the entries from which
/// the context is built. A hook may need data that only the entries contain.
fn hook_event(context: &Context, path: &[EntryIx], reader: &EntryReader) -> io::Result<Object> {
    let event = Object::new().str("type", "context");
    let with_messages = event.json("messages", &hook::messages_json(&context.messages, reader)?);
    Ok(with_messages.json("branchEntries", &hook::entries_json(path, reader)?))
}

/// Returns the messages that a hook has answered, as messages of the context. A message of the
/// context belongs to an entry, but the hook names none. So each message gets the entry of the
/// original message with the same index, and a message beyond these the entry of the last one.
fn messages_of_hook(originals: &[ContextMessage], messages: Raw) -> Vec<ContextMessage> {
    let mut messages_from_hook = Vec::new();
    for (index, json) in messages.items().enumerate() {
        let entry = match originals.get(index).or(originals.last()) {
            Some(original) => original.entry,
            // The context was empty. Any entry will do.
            None => EntryIx::new(0),
        };
        messages_from_hook.push(ContextMessage {
            entry,
            body: Body::from_json(json.bytes().to_vec()),
        });
    }
    messages_from_hook
}

/// Prints the agent's messages and settings as a JSON object. Messages that are stored in the file
/// are copied unchanged, by several threads if possible.
fn print_messages(context: &Context, open: &OpenSession, ui: &mut Ui) -> io::Result<()> {
    ui.verbatim_stdout().write_all(b"{\"messages\":[")?;
    let is_printed = try_print_in_parallel(&context.messages, open, ui)?;
    if !is_printed {
        print_one_by_one(&context.messages, open, &mut ui.verbatim_stdout())?;
    }
    let mut out = ui.verbatim_stdout();
    out.write_all(b"]")?;
    for (name, value) in &context.settings {
        write!(out, ",\"{name}\":")?;
        out.write_all(value)?;
    }
    out.write_all(b"}\n")
}

/// Prints messages separated by commas, each as it is read from the session.
fn print_one_by_one(
    messages: &[ContextMessage],
    open: &OpenSession,
    out: &mut dyn Write,
) -> io::Result<()> {
    let reader = open.entry_reader();
    let is_utf8 = open.session.is_utf8();
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        // The outer result is of reading the message, the inner one of writing it.
        message.with_json(&reader, |json| write_valid(out, json.bytes(), is_utf8))??;
    }
    Ok(())
}

/// Prints messages separated by commas, while several threads read them from the file. Returns
/// `false` without printing anything in two cases: a stored message cannot be copied unchanged, or
/// standard output is neither a file nor a pipe.
fn try_print_in_parallel(
    messages: &[ContextMessage],
    open: &OpenSession,
    ui: &mut Ui,
) -> io::Result<bool> {
    let session = &open.session;
    if !session.is_utf8() {
        return Ok(false);
    }
    // All messages are located before the first is printed, because printing cannot be undone.
    let are_all_located = messages
        .iter()
        .all(|message| message_piece(session, message).is_some());
    if !are_all_located {
        return Ok(false);
    }
    // The pieces are located a second time, in batches, while other threads read. This is faster
    // than keeping a list of all pieces.
    let pieces = messages
        .iter()
        .filter_map(|message| message_piece(session, message));
    ui.try_print_pieces(open.input.source(), pieces)
}

/// Returns the bytes of a message: either the bytes that were built, or their range in the file.
/// `None` if the file has the message only in an older format.
fn message_piece<'m>(session: &Session, message: &'m ContextMessage) -> Option<Piece<'m>> {
    match &message.body {
        Body::Built(json) => Some(Piece::Built(json)),
        Body::Stored if session.needs_migration(message.entry) => None,
        Body::Stored => session
            .message_span(message.entry)
            .map(|span| Piece::Stored(span.range())),
    }
}

/// Prints the messages as a JSON array, with the roles of a model's API (`--as llm`).
fn print_for_model(context: &Context, reader: &EntryReader, out: &mut dyn Write) -> io::Result<()> {
    let session = reader.session();
    out.write_all(b"[")?;
    let mut is_first = true;
    let mut write_message = |json: &[u8]| {
        if !is_first {
            out.write_all(b",")?;
        }
        is_first = false;
        write_valid(out, json, session.is_utf8())
    };
    let agent = session.agent();
    agent.convert_for_model(&context.messages, reader, &mut write_message)?;
    out.write_all(b"]\n")
}

/// Prints the messages as the transcript that the agent's summarizer receives (`--as text`).
fn print_transcript(context: &Context, open: &OpenSession, out: &mut dyn Write) -> io::Result<()> {
    let reader = open.entry_reader();
    let agent = open.session.agent();
    agent.write_transcript(&context.messages, &reader, out)?;
    out.write_all(b"\n")
}
