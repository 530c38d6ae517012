//! `pisess compact`: replaces the older part of the context with a summary.

use crate::agents::prepare::{FirstKept, Preparation};
use crate::agents::prompt;
use crate::cli::guide::{Example, Guide};
use crate::cli::hook::{HookAnswer, HookEvent, entries_json, messages_json};
use crate::cli::open::OpenSession;
use crate::cli::options::{self, WriteArgs};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::process::run::ShellCommand;
use crate::cli::summary_source::{
    SummaryArgs, add_file_lists, extract_summary, resolve_summary, run_summarizer,
    start_compiling_rules, summary_from_text,
};
use crate::cli::transaction::Decision;
use crate::format::format_tokens;
use crate::load::{LoadOptions, load, load_appended};
use crate::ops::IdSource;
use crate::ops::plan::Change;
use crate::ops::summary::{Compaction, Summary, append_compaction, details};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use crate::session::reference::Position;
use crate::summary::{BuiltinSummary, SummaryExtent, SummaryInput, SummarySubject, is_request};
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::{ReadAt, SessionFile};
use std::io;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Compact with the built-in summary, which needs no model",
        "pisess compact --keep-recent-tokens 100 session.jsonl",
    ),
    Example::new(
        "Compact with a model, if the context exceeds 100,000 tokens",
        "pisess compact --if-over 100k --summarizer 'llm -m MODEL' session.jsonl",
    ),
    Example::new(
        "Compact for a model with a context window of 32,000 tokens",
        "pisess compact --if-over 24k --keep-recent-tokens 12k session.jsonl",
    ),
    Example::new(
        "Supply the summary, keeping the last user message and what follows",
        "pisess compact --first-kept '@^{user}' --summary 'We chose the second design.' session.jsonl",
    ),
    Example::new(
        "Print the prompt that a summarizer would receive",
        "pisess compact --keep-recent-tokens 100 --prompt session.jsonl",
    ),
])
.with_found("nothing to compact, the last entry is already a compaction, or a hook cancelled the operation");

/// Replace the older part of the context with a summary.
///
/// Appends a compaction under the leaf. From then on, a model sees the summary, the most recent
/// entries, and whatever follows. Nothing is deleted. pisess chooses the cut between summarized and
/// kept entries by the rule of the agent.
///
/// Without a summary option, pisess extracts the summary from the conversation, without a model.
/// The summary lists the requests, the work done, the files concerned, the failures and what
/// remains to be done. Prints the id of the new entry. The size of the context before and after is
/// reported on standard error, also with -n.
///
/// --keep-recent-tokens sets approximately how much is kept, as the agent estimates the size of
/// messages. oh-my-pi scales its estimate to the provider's count of the context. If the provider
/// counted five times as many tokens as oh-my-pi estimated, 20k keeps text that is estimated at 4k.
///
/// --if-over compares TOKENS with the size that the provider reported, which includes system prompt
/// and tools. If the provider reported none, TOKENS is compared with the agent's estimate. After
/// compacting, the context has the kept entries and a summary of up to about 2,000 tokens.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Number of recent tokens to keep unsummarized, such as 20000, 8k or 1.5M
    #[arg(long, value_name = "TOKENS", default_value = "20k", value_parser = options::parse_amount)]
    pub keep_recent_tokens: u64,
    /// Keep REF and everything after it, regardless of size; `none` keeps nothing
    #[arg(long, value_name = "REF", conflicts_with = "keep_recent_tokens")]
    pub first_kept: Option<String>,
    /// Compact only if the context exceeds TOKENS, such as 100k or 1.5M
    #[arg(long, value_name = "TOKENS", value_parser = options::parse_amount)]
    pub if_over: Option<u64>,
    #[command(flatten)]
    pub summary: SummaryArgs,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Compacts a session. The summary is made before the session is locked, because that may take
/// minutes. If the session grows in the meantime, the summarized entries are still ancestors of the
/// new ones.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let options = load_options();
    start_compiling_rules();
    let open = OpenSession::open_to_change(&args.session, options, ui)?;
    let mut compactor = Compactor {
        args: args.clone(),
        open: &open,
        reader: open.entry_reader(),
    };
    if args.summary.prepare {
        return compactor.print_preparation(ui);
    }
    // Within --if-over, nothing is appended. An empty change is applied all the same, because it
    // reports that, and writes the output of -o.
    if !compactor.exceeds_limit()? {
        return open.apply_change(&args.write, ui, |_, _| Ok(Decision::default()));
    }
    if args.summary.prompt {
        return compactor.print_prompts(ui);
    }

    // With --json, no sizes are reported.
    let tokens_before = if args.write.change.json {
        None
    } else {
        Some(compactor.context_tokens()?)
    };
    let hook = args.summary.hook.hook_command(&open.input, ui);
    let compaction = compactor.make_compaction(hook.as_ref(), ui)?;
    let ready = ReadyCompaction {
        args,
        compaction,
        leaf_before: open.session.leaf.map(|leaf| open.session.id(leaf)),
        hook,
    };

    // The change that was decided last: it is decided again if the session grows before the commit.
    let mut planned_change = None;
    let exit = open.apply_change(&args.write, ui, |locked_open, id_source| {
        let decision = ready.decide_change(locked_open, id_source)?;
        planned_change = Some(decision.change.clone());
        Ok(decision)
    })?;
    if let Some(tokens_before) = tokens_before {
        report_context_sizes(args, open, tokens_before, planned_change.as_ref(), ui);
    }
    Ok(exit)
}

/// A compaction whose summary was made before the session was locked.
struct ReadyCompaction<'a> {
    args: &'a Args,
    compaction: Compaction,
    /// The id of the leaf when the summary was made; `None` for a session without entries.
    leaf_before: Option<Text<'a>>,
    /// The hook to notify of the compaction.
    hook: Option<ShellCommand>,
}

impl ReadyCompaction<'_> {
    /// Returns the change that appends the compaction to the session as it is now. Fails if the
    /// summary is no longer one of what precedes the leaf.
    fn decide_change(
        &self,
        locked_open: &OpenSession,
        id_source: &mut IdSource,
    ) -> Result<Decision, Failure> {
        if !can_still_append(&locked_open.session, self.leaf_before.as_ref()) {
            let why = "another process compacted it or moved to another branch meanwhile";
            return Err(locked_open.input.busy_failure(why));
        }
        let change = append_compaction(&locked_open.session, &self.compaction, id_source);
        let notification = self.hook.clone().map(|hook| {
            let event_json = hook_event_after(self.args, &self.compaction, &change);
            let mut event = HookEvent::from_session(hook, event_json, locked_open);
            // The new entry is the leaf when the hook is notified.
            event.leaf_id = change.entries.last().map(|entry| entry.id.clone());
            event
        });
        Ok(Decision {
            change,
            reported_count: 1,
            editor_text: None,
            notification,
        })
    }
}

/// Returns the options for loading a session: with what estimates and summaries need.
fn load_options() -> LoadOptions {
    LoadOptions {
        message_spans: true,
        file_calls: true,
        ..LoadOptions::default()
    }
}

/// Reports the size of the context before and after the compaction, in tokens. Reports nothing if
/// the session cannot be read again.
fn report_context_sizes(
    args: &Args,
    mut open: OpenSession,
    tokens_before: f64,
    planned_change: Option<&Change>,
    ui: &mut Ui,
) {
    let is_dry_run = args.write.change.dry_run;
    let tokens_after = if is_dry_run {
        planned_change.and_then(|change| planned_context_tokens(&mut open, change))
    } else {
        written_context_tokens(&mut open, args.write.output.as_deref())
    };
    let Some(tokens_after) = tokens_after else {
        return;
    };

    let before = format_tokens(tokens_before);
    let after = format_tokens(tokens_after);
    let message = if is_dry_run {
        format!("the context has {before} tokens; its messages would have {after}")
    } else {
        format!("the context had {before} tokens; its messages now have {after}")
    };
    ui.print_status(&message);
}

/// Returns the size of the context that a change would leave, in tokens. `None` if the change would
/// write nothing.
fn planned_context_tokens(open: &mut OpenSession, change: &Change) -> Option<f64> {
    let source = open.input.source();
    let file_after = change.file_after(&open.session, source)?;
    context_tokens_after(&mut open.session, &file_after.with_source(source))
}

/// Returns the size of the context in the written file, in tokens. That file is `output`, or
/// without it the session itself. `None` if the file cannot be read.
fn written_context_tokens(open: &mut OpenSession, output: Option<&Path>) -> Option<f64> {
    let session_path = open.input.file().map(SessionFile::path);
    let file = SessionFile::open(output.or(session_path)?).ok()?;
    context_tokens_after(&mut open.session, &file)
}

/// Returns the number of tokens in the context at the leaf, as `context --tokens` prints it.
fn estimate_context(reader: &EntryReader) -> io::Result<f64> {
    let session = reader.session();
    session
        .agent()
        .estimate_context(&session.path(session.leaf), reader)
}

/// Returns the size of the context in `source`, the file with the compaction. `None` if it cannot
/// be read. `session` is the state before the compaction: if `source` only appends to that, only
/// the appended entries are read.
fn context_tokens_after(session: &mut Session, source: &dyn ReadAt) -> Option<f64> {
    let options = load_options();
    let is_appended = load_appended(session, source, &options).ok()?;
    if !is_appended {
        *session = load(source, &options).ok()?;
    }
    estimate_context(&EntryReader::new(session, source)).ok()
}

/// Whether a compaction that was made at the leaf `leaf_before` may still be appended. It may if
/// that entry is still the leaf or an ancestor of the leaf, and no compaction follows it.
fn can_still_append(session: &Session, leaf_before: Option<&Text>) -> bool {
    let leaf_before = leaf_before.and_then(|leaf| session.find_entry(leaf));
    for ix in session.ancestors(session.leaf) {
        if Some(ix) == leaf_before {
            return true;
        }
        if session.entry(ix).kind == Kind::Compaction {
            return false;
        }
    }
    false
}

/// The number of tokens that both agents reserve for a reply by default. Hooks receive it.
const RESERVE_TOKENS: f64 = 16_384.0;

/// The reason why a session cannot be cut above an entry, and what to try instead.
struct CutRefusal {
    reason: &'static str,
    hint: &'static str,
}

/// The agent's estimate of the size of some messages.
struct MessageEstimate {
    /// The number of tokens of their text.
    text_tokens: f64,
    /// The factor by which the agent multiplies `text_tokens`, to come nearer to the provider's
    /// count.
    scale: f64,
}

impl MessageEstimate {
    fn scaled_tokens(&self) -> f64 {
        self.text_tokens * self.scale
    }
}

/// What a compaction is made of.
struct PreparedCompaction {
    /// The messages to summarize and those to keep.
    preparation: Preparation,
    /// The summary that the hook gave.
    hook_summary: Option<Summary>,
}

/// Makes the compaction of one session.
struct Compactor<'a> {
    /// The options of the command. A hook may replace the instructions in them.
    args: Args,
    open: &'a OpenSession,
    reader: EntryReader<'a>,
}

impl Compactor<'_> {
    /// Whether the context has more tokens than `--if-over` allows.
    fn exceeds_limit(&self) -> Result<bool, Failure> {
        let Some(limit) = self.args.if_over else {
            return Ok(true);
        };
        Ok(self.context_tokens()? > limit as f64)
    }

    fn context_tokens(&self) -> Result<f64, Failure> {
        self.open
            .input
            .map_read_error(estimate_context(&self.reader))
    }

    /// Returns where the options cut the path: the first entry to keep, or how much to keep.
    /// Without `--first-kept`, the agent chooses a cut that keeps about `--keep-recent-tokens`.
    fn resolve_first_kept(&self) -> Result<FirstKept, Failure> {
        let Some(reference) = self.args.first_kept.as_deref() else {
            return Ok(FirstKept::RecentTokens(self.args.keep_recent_tokens));
        };
        if reference == "none" {
            return Ok(FirstKept::Nothing);
        }
        let position = self.open.resolve_position(reference)?;
        self.cut_above(position).map_err(|refusal| {
            let failure = format_args!("{reference} {}", refusal.reason);
            self.open.input.failure(failure).with_hint(refusal.hint)
        })
    }

    /// Returns the cut that keeps the entry at `position` and what follows it, or the reason why
    /// the session cannot be cut there.
    fn cut_above(&self, position: Position) -> Result<FirstKept, CutRefusal> {
        let session = &self.open.session;
        let path = session.path(session.leaf);
        let Some(first_kept) = position.entry().filter(|ix| path.contains(ix)) else {
            return Err(CutRefusal {
                reason: "is not on the path to the leaf",
                hint: "list the path with `pisess path`",
            });
        };
        if session.is_message(first_kept, Role::ToolResult) {
            return Err(CutRefusal {
                reason: "is a tool result, and its call would not be kept",
                hint: "give the entry with the call, which is above it",
            });
        }
        Ok(FirstKept::Entry(first_kept))
    }

    /// Returns what a compaction with the cut `from` would summarize; `None` if that is nothing.
    fn prepare_from(&self, from: FirstKept) -> Result<Option<Preparation>, Failure> {
        let session = &self.open.session;
        let path = session.path(session.leaf);
        let agent = session.agent();
        self.open
            .input
            .map_read_error(agent.prepare_compaction(&path, &self.reader, from))
    }

    /// Returns the messages to summarize and those to keep. Fails if there is nothing to summarize.
    fn require_preparation(&self) -> Result<Preparation, Failure> {
        let first_kept = self.resolve_first_kept()?;
        match self.prepare_from(first_kept)? {
            Some(preparation) => Ok(preparation),
            None => Err(self.explain_nothing_to_compact()?),
        }
    }

    /// Returns the failure if there is nothing to summarize. It has one of three reasons: the last
    /// entry is already a compaction; no message precedes the kept ones; or all messages are within
    /// `--keep-recent-tokens`.
    ///
    /// # Errors
    /// If the session cannot be read.
    fn explain_nothing_to_compact(&self) -> Result<Failure, Failure> {
        let session = &self.open.session;
        let input = &self.open.input;
        let is_compacted = session
            .leaf
            .is_some_and(|leaf| session.entry(leaf).kind == Kind::Compaction);
        if is_compacted {
            let failure = input.negative_answer("the last entry is already a compaction");
            let hint = "to compact in another way, undo it first with `pisess undo`";
            return Ok(failure.with_hint(hint));
        }

        let messages = self.estimate_messages()?;
        let tokens_to_keep = self.args.keep_recent_tokens as f64;
        let is_cut_at_start =
            self.args.first_kept.is_some() || messages.scaled_tokens() > tokens_to_keep;
        if is_cut_at_start {
            let what = "nothing to compact: no message precedes the kept ones";
            let failure = input.negative_answer(what);
            return Ok(failure.with_hint("choose another cut with --first-kept"));
        }
        Ok(self.all_kept_failure(&messages, self.context_tokens()?))
    }

    /// Returns the failure for messages that are all within the tokens to keep. The failure has
    /// each size by which the user may have judged: the text of the messages, its scaled size, and
    /// the context.
    fn all_kept_failure(&self, messages: &MessageEstimate, context_tokens: f64) -> Failure {
        let scaled_tokens = messages.scaled_tokens();
        let mut why = format!(
            "nothing to compact: the messages are estimated at {} tokens",
            format_tokens(scaled_tokens)
        );
        if messages.scale > 1.0 {
            why += &format!(
                " ({} of text, scaled to the provider's count)",
                format_tokens(messages.text_tokens)
            );
        }
        why += &format!(
            ", all within the {} to keep",
            format_tokens(self.args.keep_recent_tokens as f64)
        );
        if context_tokens != scaled_tokens {
            why += &format!(
                "; the context has {}, as the last reply reported",
                format_tokens(context_tokens)
            );
        }
        let hint = "keep less with --keep-recent-tokens, or choose the cut with --first-kept";
        self.open.input.negative_answer(why).with_hint(hint)
    }

    /// Returns the agent's estimate of all messages that a compaction could summarize, that is, if
    /// it kept nothing. The estimate is 0 if there are none.
    ///
    /// The sum is not scaled here: [`MessageEstimate::scaled_tokens`] multiplies it by the agent's
    /// factor, as the agent does when it decides what to keep.
    fn estimate_messages(&self) -> Result<MessageEstimate, Failure> {
        let Some(preparation) = self.prepare_from(FirstKept::Nothing)? else {
            return Ok(MessageEstimate {
                text_tokens: 0.0,
                scale: 1.0,
            });
        };

        let agent = self.open.session.agent();
        let messages = preparation
            .messages_to_summarize
            .iter()
            .chain(&preparation.turn_prefix_messages);
        let mut text_tokens = 0_u64;
        for message in messages {
            let estimated = message.with_json(&self.reader, |json| agent.estimate_message(json));
            text_tokens += self.open.input.map_read_error(estimated)?;
        }
        Ok(MessageEstimate {
            text_tokens: text_tokens as f64,
            scale: preparation.token_ratio,
        })
    }

    /// Prints the prompts that the summarizer would receive.
    fn print_prompts(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let prompts = self.build_prompts(&self.require_preparation()?)?;
        ui.verbatim_stdout()
            .write_all(&prompts.concat())
            .map_err(Failure::from_stdout_error)?;
        Ok(Exit::Done)
    }

    /// Returns the prompts for the summarizer: one for the history, and one for the prefix of a
    /// split turn. Custom instructions that replace the default ones get no facts.
    fn build_prompts(&self, preparation: &Preparation) -> Result<Vec<Vec<u8>>, Failure> {
        let options = self.args.summary.prompt_instructions();
        let facts = if options.replaces_default {
            String::new()
        } else {
            self.extract_facts(preparation)?
        };
        let prompts = prompt::compaction_prompts(preparation, &options, &facts, &self.reader);
        self.open.input.map_read_error(prompts)
    }

    /// Returns what pisess itself extracts from the messages to summarize, such as the files that
    /// were changed. The prompt for the summarizer contains these facts. A turn that the cut splits
    /// is left out: the summary of its beginning has a prompt of its own.
    fn extract_facts(&self, preparation: &Preparation) -> Result<String, Failure> {
        let previous_summary = preparation.previous_summary.as_ref();
        let previous_text = previous_summary.map(Text::to_string_lossy);
        let input = SummaryInput {
            messages: &preparation.messages_to_summarize,
            turn_prefix: &[],
            kept: &self.kept_messages(preparation),
            // The previous summary says what the session is for, and that it began before these
            // messages.
            previous_summary: previous_text.as_deref(),
            instructions: None,
            subject: SummarySubject::default(),
            extent: SummaryExtent::Facts,
        };
        Ok(extract_summary(self.open, &input)?.text)
    }

    /// Makes the compaction. Its summary comes from an option, else from the hook, else it is a new
    /// one.
    fn make_compaction(
        &mut self,
        hook: Option<&ShellCommand>,
        ui: &mut Ui,
    ) -> Result<Compaction, Failure> {
        let given_summary = self.args.summary.read_given_summary(&self.open.input, ui)?;
        let mut prepared = PreparedCompaction {
            preparation: self.require_preparation()?,
            hook_summary: None,
        };
        // The hook is called even if the summary is given, because it may also move the cut. It is
        // called first, because its answer may change what a new summary is made of.
        if let Some(hook) = hook {
            prepared = self.consult_hook(hook, prepared.preparation, ui)?;
        }

        let preparation = &prepared.preparation;
        let session = &self.open.session;
        let file_details = details(&preparation.file_ops.file_lists(session));
        let make = || self.make_new_summary(preparation, ui);
        let summary = resolve_summary(given_summary, prepared.hook_summary, file_details, make)?;

        let path = session.path(session.leaf);
        let system_message = session.agent().system_checkpoint(&path, &self.reader);
        Ok(Compaction {
            summary,
            first_kept: preparation.first_kept,
            tokens_before: preparation.tokens_before,
            system_message: self.open.input.map_read_error(system_message)?,
        })
    }

    /// Calls the hook with a preparation, and returns what it makes of it. The hook may move the
    /// cut, give the summary, or replace the instructions for a new one, which are in `self.args`.
    fn consult_hook(
        &mut self,
        hook: &ShellCommand,
        preparation: Preparation,
        ui: &mut Ui,
    ) -> Result<PreparedCompaction, Failure> {
        let answer = self.ask_hook(hook, &preparation, ui)?;
        self.args.summary.apply_answer(&answer);
        Ok(PreparedCompaction {
            preparation: self.apply_answer(preparation, &answer, hook)?,
            hook_summary: answer.summary,
        })
    }

    /// Makes a new summary, with the summarizer if there is one. Its text ends with the lists of
    /// files that the summarized part read and changed; see [`add_file_lists`].
    fn make_new_summary(&self, preparation: &Preparation, ui: &Ui) -> Result<Summary, Failure> {
        let session = &self.open.session;
        let file_ops = preparation.file_ops.clone();
        if let Some(summarizer) = self.args.summary.summarizer_command(&self.open.input, ui) {
            let text = self.run_summarizer_on(preparation, &summarizer, ui)?;
            return Ok(summary_from_text(file_ops.append_to_summary(text, session)));
        }
        let BuiltinSummary { text, removals } = self.summarize_without_model(preparation)?;
        Ok(add_file_lists(
            Text::from(text),
            &removals,
            file_ops,
            session,
        ))
    }

    /// Makes the text of a new summary with the summarizer, which runs once for each prompt.
    fn run_summarizer_on(
        &self,
        preparation: &Preparation,
        summarizer: &ShellCommand,
        ui: &Ui,
    ) -> Result<Text<'static>, Failure> {
        let mut answers = Vec::new();
        for prompt in self.build_prompts(preparation)? {
            answers.push(run_summarizer(summarizer, prompt, ui)?);
        }
        Ok(prompt::merge_summaries(preparation, answers))
    }

    /// Runs the hook before the compaction, and returns its answer.
    fn ask_hook(
        &self,
        hook: &ShellCommand,
        preparation: &Preparation,
        ui: &Ui,
    ) -> Result<HookAnswer, Failure> {
        let event = self.hook_event_before(preparation);
        let event = self.open.input.map_read_error(event)?;
        hook.ask_hook(event, self.open, ui)
    }

    /// Returns the preparation with the cut and the size of the context that the hook answered.
    fn apply_answer(
        &self,
        mut preparation: Preparation,
        answer: &HookAnswer,
        hook: &ShellCommand,
    ) -> Result<Preparation, Failure> {
        if let Some(id) = &answer.first_kept {
            let has_summary = answer.summary.is_some();
            preparation = self.move_cut(preparation, id, has_summary, hook)?;
        }
        // After the cut: moving it computes the size again, which the answer overrides.
        if let Some(tokens_before) = answer.tokens_before {
            preparation.tokens_before = tokens_before;
        }
        Ok(preparation)
    }

    /// Returns the preparation for a cut at the entry that a hook named. Any entry on the path is
    /// accepted, because pi stores the id unchecked. If no message precedes the cut, there is
    /// nothing to summarize: then the hook must give the summary itself (`has_summary`).
    fn move_cut(
        &self,
        preparation: Preparation,
        id: &Text,
        has_summary: bool,
        hook: &ShellCommand,
    ) -> Result<Preparation, Failure> {
        let session = &self.open.session;
        let path = session.path(session.leaf);
        let Some(first_kept) = session.find_entry(id).filter(|kept| path.contains(kept)) else {
            let why = format!("its `firstKeptEntryId` is not on the path to the leaf: {id}");
            return Err(hook.failure(&why));
        };

        if let Some(moved) = self.prepare_from(FirstKept::Entry(first_kept))? {
            return Ok(moved);
        }
        if !has_summary {
            let why = format!("no message precedes its `firstKeptEntryId`: {id}");
            return Err(hook.failure(&why));
        }
        // The other fields belong to the old cut. They are needed only to make a summary, which the
        // hook has given.
        Ok(Preparation {
            first_kept: Some(first_kept),
            ..preparation
        })
    }

    /// Returns the event for a hook before a compaction: `session_before_compact`. It has
    /// everything from which a hook could make a summary: the preparation, the entries on the path,
    /// the previous compactions, the instructions and the current model.
    fn hook_event_before(&self, preparation: &Preparation) -> io::Result<Object> {
        let session = &self.open.session;
        let path = session.path(session.leaf);
        let settings = session.agent().build_context(&path, &self.reader)?.settings;
        let model = match settings.iter().find(|(name, _)| *name == "model") {
            Some((_name, model)) => &model[..],
            None => b"null",
        };
        let event = Object::new()
            .str("type", "session_before_compact")
            .json("preparation", &self.preparation_json(preparation)?)
            .json("branchEntries", &entries_json(&path, &self.reader)?)
            .json(
                "previousCompactions",
                &entries_json(&preparation.previous_compactions, &self.reader)?,
            )
            .str_or_null(
                "customInstructions",
                self.args.summary.instructions.as_deref(),
            )
            .json("model", model);
        Ok(add_reason(&self.args, event))
    }

    /// Makes a summary without a model, from the messages and from the summary of the last
    /// compaction, which the new one replaces.
    ///
    /// The archive of oh-my-pi's last compaction is included, because it is in the context only
    /// until the next compaction.
    fn summarize_without_model(
        &self,
        preparation: &Preparation,
    ) -> Result<BuiltinSummary, Failure> {
        let read_summary = preparation.summary_with_archive(&self.reader);
        let last_summary = self.open.input.map_read_error(read_summary)?;
        let last_summary_text = match &last_summary {
            Some(summary) if !summary.is_empty() => Some(summary.to_string_lossy()),
            _ => None,
        };
        let later_requests = self.count_kept_requests(preparation);
        let later_requests = self.open.input.map_read_error(later_requests)?;
        let input = SummaryInput {
            messages: &preparation.messages_to_summarize,
            turn_prefix: &preparation.turn_prefix_messages,
            kept: &self.kept_messages(preparation),
            previous_summary: last_summary_text.as_deref(),
            instructions: self.args.summary.instructions.as_deref(),
            // The summary refers to these requests, which the model still sees after it.
            subject: SummarySubject::Conversation { later_requests },
            extent: SummaryExtent::Whole,
        };
        extract_summary(self.open, &input)
    }

    /// Returns the entries on the path from the first kept one on.
    fn kept_entries(&self, preparation: &Preparation) -> Vec<EntryIx> {
        let session = &self.open.session;
        let mut path = session.path(session.leaf);
        let kept_start = path
            .iter()
            .position(|&ix| Some(ix) == preparation.first_kept);
        path.split_off(kept_start.unwrap_or(path.len()))
    }

    /// Returns the stored messages that are kept.
    fn kept_messages(&self, preparation: &Preparation) -> Vec<ContextMessage> {
        let mut messages = Vec::new();
        for entry in self.kept_entries(preparation) {
            if self.open.session.entry(entry).kind == Kind::Message {
                let body = Body::Stored;
                messages.push(ContextMessage { entry, body });
            }
        }
        messages
    }

    /// Returns the number of user requests among the kept entries.
    fn count_kept_requests(&self, preparation: &Preparation) -> io::Result<usize> {
        let session = &self.open.session;
        let mut count = 0;
        for ix in self.kept_entries(preparation) {
            if session.is_message(ix, Role::User) && self.reader.with_message(ix, is_request)? {
                count += 1;
            }
        }
        Ok(count)
    }

    /// Prints what the compaction would summarize, as JSON. If that is nothing, prints `null`, and
    /// the exit code is [`Exit::Found`].
    fn print_preparation(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let Some(preparation) = self.prepare_from(self.resolve_first_kept()?)? else {
            ui.print_json(b"null")?;
            return Ok(Exit::Found);
        };
        let json = self.preparation_json(&preparation);
        ui.print_json(&self.open.input.map_read_error(json)?)?;
        Ok(Exit::Done)
    }

    /// Returns a preparation as JSON: `--prepare` prints it, and a hook receives it. `settings` has
    /// those of pi's settings that apply.
    fn preparation_json(&self, preparation: &Preparation) -> io::Result<Vec<u8>> {
        let settings = Object::new()
            .bool("enabled", true)
            .number("reserveTokens", RESERVE_TOKENS)
            .number("keepRecentTokens", self.args.keep_recent_tokens as f64)
            .finish();
        let first_kept_id = preparation.first_kept.map(|ix| self.open.session.id(ix));
        Ok(Object::new()
            .text_or_null("firstKeptEntryId", first_kept_id.as_ref())
            .bool("isSplitTurn", preparation.is_split_turn)
            .number("tokensBefore", preparation.tokens_before)
            .text_or_null("previousSummary", preparation.previous_summary.as_ref())
            .json(
                "messagesToSummarize",
                &messages_json(&preparation.messages_to_summarize, &self.reader)?,
            )
            .json(
                "turnPrefixMessages",
                &messages_json(&preparation.turn_prefix_messages, &self.reader)?,
            )
            .json("fileOps", &preparation.file_ops.to_json())
            .json("settings", &settings)
            .json(
                "previousCompactions",
                &entries_json(&preparation.previous_compactions, &self.reader)?,
            )
            .str_or_null(
                "customInstructions",
                self.args.summary.instructions.as_deref(),
            )
            .finish())
    }
}

/// Returns the event for a hook after the compaction is written: `session_compact`.
fn hook_event_after(args: &Args, compaction: &Compaction, change: &Change) -> Object {
    let event = Object::new()
        .str("type", "session_compact")
        .json(
            "compactionEntry",
            change.entries.first().map_or(b"null", |entry| &entry.line),
        )
        .bool("fromExtension", compaction.summary.from_hook)
        .bool("fromHook", compaction.summary.from_hook);
    add_reason(args, event)
}

/// Adds the reason for the compaction, under pi's names: `threshold` with `--if-over`, else
/// `manual`.
fn add_reason(args: &Args, event: Object) -> Object {
    let reason = if args.if_over.is_some() {
        "threshold"
    } else {
        "manual"
    };
    event.str("reason", reason).bool("willRetry", false)
}
