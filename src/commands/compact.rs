//! `pisess compact`: replaces the older part of the context by a summary.

use super::failure::{Exit, Failure};
use super::hook::{After, Hook, Place, entries};
use super::input::Input;
use super::mint::Mint;
use super::summary::{Source, SummaryArgs, Wanted, extract};
use super::visible::verbatim;
use super::write::{Job, Made, change, print_json};
use crate::cli::{Talk, Write};
use crate::core::agent;
use crate::core::bodies::{Bodies, FileBodies, Message};
use crate::core::entry::{EntryIx, Kind};
use crate::core::json::Raw;
use crate::core::json::write::{Object, array};
use crate::core::load::Options;
use crate::core::ops::Stamp;
use crate::core::ops::summary::{Compaction, Summary, compaction, details};
use crate::core::plan::Change;
use crate::core::prepare::{FirstKept, Preparation};
use crate::core::session::Session;
use crate::core::summary::Kind as SummaryKind;
use crate::core::text::Text;
use crate::guide::{Example, Guide};
use crate::world::World;
use std::io;
use std::path::PathBuf;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "compact",
    examples: &[
        Example::new(
            "With the built-in summary, which needs no model",
            "pisess compact --keep-recent-tokens 100 session.jsonl",
        ),
        Example::new(
            "With a model, and only when there are more than 100,000 tokens",
            "pisess compact --if-over 100000 --summarizer 'llm -m small' session.jsonl",
        ),
        Example::new(
            "With a summary of one's own, keeping the last question and what follows",
            "pisess compact --first-kept '@^{user}' --summary 'We chose the second design.' session.jsonl",
        ),
        Example::new(
            "What a summariser would be told",
            "pisess compact --keep-recent-tokens 100 --prompt session.jsonl",
        ),
    ],
    found: Some("there is nothing to compact, the last entry is a compaction, or a hook said cancel"),
    writes: true,
    refers: true,
};

/// Summarise the older part of the conversation and go on from there.
///
/// A compaction is appended under the leaf: from then on a model sees the summary, the newest
/// entries that are kept, and what follows. Nothing is deleted. Where the kept part begins is
/// chosen as the file's agent chooses it.
///
/// Without a summary option the summary is extracted from the conversation itself, without a model:
/// what was asked for, what was done in which files, what failed, what is open. The id of the new
/// entry is printed.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// How much of the newest conversation to keep as it is
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub keep_recent_tokens: u64,
    /// Keep from this entry on instead; none keeps nothing
    #[arg(long, value_name = "REF", conflicts_with = "keep_recent_tokens")]
    pub first_kept: Option<String>,
    /// Do nothing unless the context has more tokens
    #[arg(long, value_name = "TOKENS")]
    pub if_over: Option<u64>,
    /// Where the summary comes from.
    #[command(flatten)]
    pub summary: SummaryArgs,
    /// How to write.
    #[command(flatten)]
    pub write: Write,
}

/// What both agents leave free for an answer if nobody says otherwise; told to hooks.
const RESERVE_TOKENS: f64 = 16_384.0;

/// A compaction that is ready but for its ids, and the state it was made for.
struct Ready {
    compaction: Compaction,
    summary: Summary,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = Options { workers: world.processors, ..Options::default() };
    let session = input.load_noted(&options, talk, world)?;
    if args.summary.prepare {
        return print_preparation(args, &input, &session, world);
    }
    let mut mint = Mint::new(world)?;
    let job = Job { input: &input, options: &options, write: &args.write, talk, backup: None };
    if let Some(limit) = args.if_over {
        let path = session.path(session.leaf);
        let bodies = FileBodies::new(&session, input.source());
        let tokens =
            session.agent().tokens(&session, &path, &bodies).map_err(|error| input.unreadable(error))?;
        if tokens <= limit as f64 {
            let mut nothing = |_: &Input, _: &Session, _: &mut Stamp| Ok(None);
            return change(&job, &session, &mut mint, world, &mut nothing);
        }
    }
    if args.summary.prompt {
        let (preparation, bodies) =
            (prepare(args, &input, &session)?, FileBodies::new(&session, input.source()));
        let prompts = agent::compaction_prompts(&session, &preparation, &args.summary.prompt_of(), &bodies)
            .map_err(|error| input.unreadable(error))?;
        verbatim(world).write_all(&prompts.concat()).map_err(Failure::output)?;
        return Ok(Exit::Done);
    }
    let given = args.summary.given(input.file().is_none(), world)?;
    // The summary may take minutes, so it is made before the session is locked. Where the session
    // grew meanwhile, what was summarised still lies before the new entries.
    let hook = args.summary.hook.hook(&input, world);
    let ready = ready(args, hook.as_ref(), &input, &session, given)?;
    let leaf = session.leaf.map(|leaf| session.id(leaf).into_owned());
    let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
        if session.leaf.map(|leaf| session.id(leaf).into_owned()) != leaf {
            // Whoever wrote meanwhile may have compacted, or gone to another branch.
            let still_on_path = leaf
                .as_ref()
                .and_then(|leaf| session.find(leaf))
                .is_some_and(|old| session.path(session.leaf).contains(&old));
            if !still_on_path || ends_in_compaction(session) {
                return Err(input.went_elsewhere());
            }
        }
        let change = compaction(session, &ready.compaction, &ready.summary, stamp);
        let id = change.lines.first().and_then(|line| Raw::checked(line).get_text("id"));
        let names = id.iter().map(Text::to_string).collect();
        let place = Place { leaf: id.map(Text::into_owned), ..Place::of(input, session) };
        let after = hook.clone().map(|hook| After { hook, event: told(args, &ready, &change), place });
        Ok(Some((change, Made { names, draft: None, after })))
    };
    change(&job, &session, &mut mint, world, &mut decide)
}

fn ends_in_compaction(session: &Session) -> bool {
    session.leaf.is_some_and(|leaf| session.entry(leaf).kind == Kind::Compaction)
}

fn first_kept(
    reference: Option<&str>,
    input: &Input,
    session: &Session,
) -> Result<Option<FirstKept>, Failure> {
    let Some(reference) = reference else { return Ok(None) };
    if reference == "none" {
        return Ok(Some(FirstKept::Nothing));
    }
    let kept = input.resolve(session, reference)?.filter(|ix| session.path(session.leaf).contains(ix));
    kept.map(|ix| Some(FirstKept::Entry(ix))).ok_or_else(|| {
        Failure::cannot(format_args!("{}: {reference} is not on the path to the leaf", input.name))
            .hint("list the path with `pisess path`")
    })
}

fn prepared(args: &Args, input: &Input, session: &Session) -> Result<Option<Preparation>, Failure> {
    let kept = first_kept(args.first_kept.as_deref(), input, session)?;
    prepared_from(args, kept, input, session)
}

fn prepared_from(
    args: &Args,
    kept: Option<FirstKept>,
    input: &Input,
    session: &Session,
) -> Result<Option<Preparation>, Failure> {
    let bodies = FileBodies::new(session, input.source());
    session
        .agent()
        .prepare_compaction(session, &session.path(session.leaf), &bodies, args.keep_recent_tokens, kept)
        .map_err(|error| input.unreadable(error))
}

fn prepare(args: &Args, input: &Input, session: &Session) -> Result<Preparation, Failure> {
    prepared(args, input, session)?.ok_or_else(|| nothing_to_compact(input, session))
}

fn nothing_to_compact(input: &Input, session: &Session) -> Failure {
    match ends_in_compaction(session) {
        true => Failure::no(format_args!("{}: the last entry is a compaction already", input.name)),
        false => Failure::no(format_args!("{}: nothing to compact", input.name))
            .hint("keep less with --keep-recent-tokens, or choose the cut with --first-kept"),
    }
}

fn ready(
    args: &Args,
    hook: Option<&Hook>,
    input: &Input,
    session: &Session,
    given: Option<String>,
) -> Result<Ready, Failure> {
    let mut args = args.clone();
    let mut preparation = prepare(&args, input, session)?;
    let bodies = FileBodies::new(session, input.source());
    let unreadable = |error: io::Error| input.unreadable(error);
    // A summary that is given stands before a hook's, which may still say no, or where to cut.
    let mut source = given.map(|given| Source::Given(Text::from(given)));
    if let Some(hook) = hook {
        let event = event(&args, session, &preparation, &bodies).map_err(unreadable)?;
        let answer = hook.ask(event, &Place::of(input, session))?;
        args.summary.follow(&answer);
        if let Some(id) = &answer.first_kept {
            let kept = on_path(session, id).ok_or_else(|| {
                hook.failed(&format!("its `firstKeptEntryId` is not on the path to the leaf: {id}"))
            })?;
            preparation = prepared_from(&args, Some(FirstKept::Entry(kept)), input, session)?
                .ok_or_else(|| nothing_to_compact(input, session))?;
        }
        preparation.tokens_before = answer.tokens_before.unwrap_or(preparation.tokens_before);
        source = source.or(answer.summary.map(Source::Hooked));
    }
    let source = match source {
        Some(source) => source,
        None => Source::Made(made(&args, input, session, &preparation, &bodies)?),
    };
    let files = details(&session.agent().files(&preparation.file_ops));
    let around = |text| session.agent().compaction_text(text, &preparation.file_ops);
    let path = session.path(session.leaf);
    Ok(Ready {
        summary: source.stored(files, around),
        compaction: Compaction {
            first_kept: preparation.first_kept,
            tokens_before: preparation.tokens_before,
            system_message: session.agent().checkpoint(session, &path, &bodies).map_err(unreadable)?,
        },
    })
}

fn on_path(session: &Session, id: &Text) -> Option<EntryIx> {
    session.find(id).filter(|ix| session.path(session.leaf).contains(ix))
}

/// What a hook is told before a compaction (`session_before_compact`).
fn event(
    args: &Args,
    session: &Session,
    preparation: &Preparation,
    bodies: &dyn Bodies,
) -> io::Result<Object> {
    let path = session.path(session.leaf);
    let settings = session.agent().context(session, &path, bodies)?.settings;
    let model = settings.iter().find(|(name, _)| *name == "model");
    let event = Object::new()
        .str("type", "session_before_compact")
        .json("preparation", &preparation_json(args, session, preparation, bodies)?)
        .json("branchEntries", &entries(&path, bodies)?)
        .json("previousCompactions", &entries(&preparation.previous_compactions, bodies)?)
        .text_or_null("customInstructions", args.summary.instructions.as_deref().map(Text::from).as_ref())
        .json("model", model.map_or(b"null", |(_, model)| model));
    Ok(occasion(args, event))
}

/// What it is told once the compaction is written (`session_compact`).
fn told(args: &Args, ready: &Ready, change: &Change) -> Object {
    let event = Object::new()
        .str("type", "session_compact")
        .json("compactionEntry", change.lines.first().map_or(b"null", |line| line))
        .bool("fromExtension", ready.summary.from_hook)
        .bool("fromHook", ready.summary.from_hook);
    occasion(args, event)
}

/// Why the compaction is made, in pi's words.
fn occasion(args: &Args, event: Object) -> Object {
    let reason = if args.if_over.is_some() { "threshold" } else { "manual" };
    event.str("reason", reason).bool("willRetry", false)
}

/// The text of a summarizer, or the built-in extract.
fn made(
    args: &Args,
    input: &Input,
    session: &Session,
    preparation: &Preparation,
    bodies: &dyn Bodies,
) -> Result<Text<'static>, Failure> {
    let unreadable = |error: io::Error| input.unreadable(error);
    if let Some(shell) = args.summary.shell(input) {
        let prompts = agent::compaction_prompts(session, preparation, &args.summary.prompt_of(), bodies)
            .map_err(unreadable)?;
        let answers = prompts
            .into_iter()
            .map(|prompt| args.summary.ask(&shell, prompt))
            .collect::<Result<Vec<_>, _>>()?;
        return Ok(agent::merged_summary(preparation, answers));
    }
    let previous = session.agent().previous_summary(preparation, bodies).map_err(unreadable)?;
    let wanted = Wanted {
        kind: SummaryKind::Compaction,
        messages: &preparation.messages_to_summarize,
        turn_prefix: &preparation.turn_prefix_messages,
        previous: previous.as_ref().filter(|previous| !previous.is_empty()),
    };
    extract(&wanted, args.summary.instructions.as_deref(), bodies).map_err(unreadable)
}

fn print_preparation(
    args: &Args,
    input: &Input,
    session: &Session,
    world: &mut World,
) -> Result<Exit, Failure> {
    let Some(preparation) = prepared(args, input, session)? else {
        print_json(world, b"null")?;
        return Ok(Exit::Found);
    };
    let bodies = FileBodies::new(session, input.source());
    let json =
        preparation_json(args, session, &preparation, &bodies).map_err(|error| input.unreadable(error))?;
    print_json(world, &json)?;
    Ok(Exit::Done)
}

fn preparation_json(
    args: &Args,
    session: &Session,
    preparation: &Preparation,
    bodies: &dyn Bodies,
) -> io::Result<Vec<u8>> {
    let settings = Object::new()
        .bool("enabled", true)
        .number("reserveTokens", RESERVE_TOKENS)
        .number("keepRecentTokens", args.keep_recent_tokens as f64)
        .finish();
    let kept = preparation.first_kept.map(|ix| session.id(ix));
    Ok(Object::new()
        .text_or_null("firstKeptEntryId", kept.as_ref())
        .bool("isSplitTurn", preparation.is_split_turn)
        .number("tokensBefore", preparation.tokens_before)
        .text_or_null("previousSummary", preparation.previous_summary.as_ref())
        .json("messagesToSummarize", &messages_json(&preparation.messages_to_summarize, bodies)?)
        .json("turnPrefixMessages", &messages_json(&preparation.turn_prefix_messages, bodies)?)
        .json("fileOps", &agent::file_ops_json(&preparation.file_ops))
        .json("settings", &settings)
        .json("previousCompactions", &entries(&preparation.previous_compactions, bodies)?)
        .text_or_null("customInstructions", args.summary.instructions.as_deref().map(Text::from).as_ref())
        .finish())
}

fn messages_json(messages: &[Message], bodies: &dyn Bodies) -> io::Result<Vec<u8>> {
    let json = messages.iter().map(|message| message.with(bodies, |json| json.bytes().to_vec()));
    Ok(array(json.collect::<io::Result<Vec<_>>>()?))
}
