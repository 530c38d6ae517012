//! Reads the messages of a session one by one, and keeps what its summary may show.

use super::budget::{NEWEST, SHORT_REPLY};
use super::call::SummaryCall;
use super::called_commands::describe_prompt;
use super::causes::Causes;
use super::choices::is_correction;
use super::decisions::Decisions;
use super::failures::OpenFailures;
use super::message::{ReplyEnd, SummaryMessage, is_agent_command};
use super::one_line::one_line;
use super::own_choices::OwnChoices;
use super::purpose::Purpose;
use super::questions::is_question;
use super::quote::{is_narrower, quote_line};
use super::secrets::redact_page;
use super::sections::*;
use super::sequel::Sequel;
use super::shell::changes_files;
use super::skills::InvokedSkill;
use super::todo_lists::TodoList;
use super::tool_answers::{is_refusal, words_of_refusal};
use super::tool_calls::{ToolHistory, describe_call};
use super::turns::Turn;
use super::{BuiltinSummary, Removals, SummaryExtent, SummarySubject};
use crate::agents::readable::strip_preamble;
use crate::redact::Redactor;
use crate::session::outcome::Outcome;

/// A summary being made.
#[derive(Default)]
pub(super) struct SummaryBuilder {
    /// What the previous summary and the user say beyond the requests.
    pub points: Sections,
    /// What the user decided.
    pub decisions: Decisions,
    /// What the assistant decided in long runs.
    pub own_choices: OwnChoices,
    /// What the assistant found to be the cause of something.
    pub causes: Causes,
    pub purpose: Purpose,
    /// The command that the user called, until the first reply to it; else empty.
    pub called_command: String,
    /// The skill that was called last.
    pub skill: Option<InvokedSkill>,
    /// Whether there was a summary before, so that no request is the first.
    pub is_continued: bool,
    /// The current turn. What precedes the first request is a turn, too.
    pub turn: Turn,
    /// The turns before, oldest first.
    pub earlier_turns: Vec<Turn>,
    pub tool_history: ToolHistory,
    /// The last call that was to change a file, if the user refused it without a word; else empty.
    pub refused_edit: String,
    /// The failures that are still open, found when all messages are read.
    pub failures: OpenFailures,
    /// What the kept messages show of the failures.
    pub sequel: Sequel,
    /// The paths that were removed, found when all messages are read.
    pub removals: Removals,
    /// The directory of the session.
    pub cwd: String,
    pub redactor: Redactor,
    pub subject: SummarySubject,
    pub extent: SummaryExtent,
    /// Whether the last turn continues after the summary.
    pub is_split: bool,
    /// Whether the user last gave a command to the agent itself, so that what follows is no reply
    /// to the request.
    pub is_aside: bool,
}

impl SummaryBuilder {
    /// Adds the next message, in which no secrets are left, with the id of its entry.
    pub fn add(&mut self, entry: &str, message: &SummaryMessage) {
        match message {
            SummaryMessage::User(text) => self.add_user_message(entry, text),
            SummaryMessage::KeptRequest(text) => self.add_kept_request(entry, text),
            SummaryMessage::Command(command) => {
                // The user calls `/chart` alone, too, which otherwise is for the agent itself.
                self.is_aside = false;
                self.add_request(entry, command);
                self.called_command.clone_from(command);
            }
            SummaryMessage::CommandPrompt(prompt) => self.add_command_prompt(prompt),
            SummaryMessage::Skill {
                request,
                place,
                instructions,
            } => {
                // The request begins the turn in which the skill is called.
                self.add_user_message(entry, request);
                let command = std::mem::take(&mut self.called_command);
                self.describe_command(&command, instructions);
                self.skill = Some(InvokedSkill::read(place, instructions, self.turn.number));
            }
            SummaryMessage::Reply {
                text,
                stop,
                call_count,
                calls,
            } => {
                self.called_command.clear();
                if !self.is_aside {
                    self.turn.add_reply(text, stop);
                    self.turn.call_count += call_count;
                }
                self.tool_history.pending.clone_from(calls);
            }
            SummaryMessage::Result {
                call,
                outcome,
                output,
            } => self.add_result(entry, call, outcome, output),
            SummaryMessage::Extension { kind, text } => {
                self.add_note(&format!("Message of {kind}"), text);
            }
            SummaryMessage::CompactionSummary(text) => self.continue_from(text),
            SummaryMessage::BranchSummary(text) => {
                let summary = Sections::parse(strip_preamble(text));
                for branch in summary.into_branch_points() {
                    self.points.add(Section::Context, branch);
                }
            }
            SummaryMessage::Interruption => self.turn.interrupt_wordless_reply(),
            SummaryMessage::Other => {}
        }
    }

    /// Adds a request that Codex sent again after a compaction, unless the original was read, with
    /// its reply.
    fn add_kept_request(&mut self, entry: &str, text: &str) {
        let is_current = self.turn.has_request(text);
        if is_current || self.earlier_turns.iter().any(|turn| turn.has_request(text)) {
            return;
        }
        self.add_user_message(entry, text);
        // Its reply is unknown. Without one, the request would seem to be passed over, and the next
        // one to be added to it.
        self.turn.add_reply("", &ReplyEnd::Missing);
    }

    /// Adds what the user sent: a request, or a command to the agent itself such as `/model`, after
    /// which the next messages are no reply to the request.
    fn add_user_message(&mut self, entry: &str, text: &str) {
        if is_agent_command(text) {
            // Before the first request, no reply could be taken for one to a request.
            let has_request = !self.turn.request.is_empty();
            self.is_aside = has_request;
            // The next message is no answer to a refusal either.
            self.refused_edit.clear();
            return;
        }
        let words = text.trim();
        if !words.is_empty() {
            self.is_aside = false;
            self.add_request(entry, words);
        }
    }

    /// Adds the prompt of the command that the user just called. Without one, it is another text of
    /// the agent.
    fn add_command_prompt(&mut self, prompt: &str) {
        let command = std::mem::take(&mut self.called_command);
        let Some(name) = command.split_whitespace().next() else {
            return;
        };
        self.describe_command(&command, prompt);
        self.skill = Some(InvokedSkill::read(name, prompt, self.turn.number));
    }

    /// Adds to the current request, if it ends with a command, what that does.
    fn describe_command(&mut self, command: &str, prompt: &str) {
        if command.is_empty() || !self.turn.request.ends_with(command) {
            return;
        }
        if let Some(description) = describe_prompt(prompt, command) {
            self.turn.request.push_str(&format!("\n\n{description}"));
        }
    }

    /// Adds the result of a call. The user may have answered a question in it, or refused the call
    /// with words that request something. `named_call` is the call as far as the result names it.
    fn add_result(
        &mut self,
        entry: &str,
        named_call: &SummaryCall,
        outcome: &Outcome,
        output: &str,
    ) {
        let call = self.tool_history.take_pending(named_call.clone());
        if *outcome == Outcome::Passed && !call.question.is_empty() {
            self.add_answers_of_tool(&call.question, output);
        }
        self.decisions
            .add_approved_plan(&call, output, self.turn.number);
        self.refused_edit.clear();
        // The outcome is tested as well, because a file that was read may begin like a refusal.
        if *outcome == Outcome::Stopped {
            if let Some(words) = words_of_refusal(output) {
                self.add_request(entry, words);
                self.turn.refusals.push(words.to_owned());
            } else if is_refusal(output) && changes_files(&call.tool) {
                self.refused_edit = describe_call(&call);
            }
        }
        self.tool_history.record_run(call, outcome.clone(), output);
    }

    /// Writes the summary, once all messages were added: only then it is known which failures are
    /// still open, and which paths are gone.
    pub fn finish(mut self) -> BuiltinSummary {
        self.drop_expired_wishes();
        self.own_choices.add_turn(&self.turn);
        self.causes.add_turn(&self.turn);
        self.drop_void_tables();
        self.fold_similar_turn();
        // The fold may have made an earlier turn the current one. The age of failures is counted
        // from this number.
        self.tool_history.turn_number = self.turn.number;
        self.find_removals();
        self.find_failures();

        let mut text = match self.extent {
            SummaryExtent::Whole => self.write_page(),
            SummaryExtent::Facts => {
                // The current request is not quoted, so its wishes are listed.
                self.add_wishes_and_choices();
                self.describe_facts()
            }
        };
        // A secret that was cut in a quotation is only recognized in the written text.
        redact_page(&mut self.redactor, &mut text);
        BuiltinSummary {
            text,
            removals: self.removals,
        }
    }

    /// Finds the paths that were removed, and judges the decisions that name them.
    fn find_removals(&mut self) {
        self.removals = self.tool_history.removals(&self.cwd);
        if !self.removals.is_empty() {
            self.decisions
                .judge_removed_paths(&self.tool_history, &self.removals);
        }
    }

    /// Finds the failures that are still open, also after what the kept messages removed.
    fn find_failures(&mut self) {
        self.sequel.collect_removals(&self.cwd);
        let turns = self.earlier_turns.iter().chain([&self.turn]);
        self.failures = self
            .tool_history
            .describe_failures(turns, &self.sequel, &self.removals);
    }

    /// Continues from the summary of an earlier compaction. Its points replace those read so far,
    /// because it covers the messages before it. The request that it quotes word for word becomes
    /// the current one again, if there is such a request.
    pub fn continue_from(&mut self, summary: &str) {
        let previous = Sections::parse(summary);
        self.skill = None;
        self.tool_history.todo_list = TodoList::from_previous(&previous);
        self.purpose.take_over(&previous);
        self.is_continued = true;
        if let Some(turn) = Turn::from_previous(&previous) {
            self.turn = turn;
            let lists_request_before = previous.rests_with_lead(BEFORE_LEAD).next().is_some();
            let is_first = !lists_request_before;
            self.purpose.keep_request(&self.turn.request, is_first);
        }
        self.points = previous.into_earlier();
        self.add_wishes_of_goals();
        // Decisions are kept apart from the other points, because later messages change them.
        let decisions = std::mem::take(self.points.items_mut(Section::Decisions));
        self.decisions = Decisions::from_previous(decisions);
    }

    /// Adds a user message: to the current request, if the agent is at work on it or the message is
    /// only a nod to it; otherwise as the next request.
    fn add_request(&mut self, entry: &str, text: &str) {
        let is_running = self.is_request_running();
        if !is_running {
            self.drop_expired_wishes();
            // What the request decides comes before what this message decides.
            self.add_wishes_and_choices();
        }
        self.decisions.renew_quoted(text, self.turn.number);
        self.add_refused_edit(text);
        // A decision is of the turn that called for it, even if the message begins the next one.
        self.add_decision_on_turn(text);

        let has_request = !self.turn.request.is_empty();
        if has_request && (is_running || self.is_nod_to_turn(text)) {
            self.turn.add_to_request(text);
        } else {
            self.begin_turn(entry, text);
        }
    }

    /// Whether the agent is at work on the current request.
    fn is_request_running(&self) -> bool {
        match self.turn.reply_end {
            ReplyEnd::ToolUse => true,
            // A message that was added during the work, and has no reply yet.
            ReplyEnd::NoReply => self.turn.has_new_calls(),
            ReplyEnd::Done
            | ReplyEnd::Missing
            | ReplyEnd::Interrupted
            | ReplyEnd::TokenLimit
            | ReplyEnd::Failed(_) => false,
        }
    }

    /// Whether a message only nods to the current turn ("yes", "go on"), which is unanswered or
    /// ends with a question.
    fn is_nod_to_turn(&self, message: &str) -> bool {
        if !is_narrower(message, SHORT_REPLY) || is_question(message) {
            return false;
        }
        !self.turn.is_answered() || self.turn.proposal().is_some_and(|proposal| proposal.asks())
    }

    /// Ends the current turn, and begins the next one with a request.
    fn begin_turn(&mut self, entry: &str, request: &str) {
        const MOST_ID_UNITS: usize = 60;

        self.end_turn();
        let turn_before = self.tool_history.turn_number;
        self.own_choices.drop_those_in(request, turn_before);
        self.decisions.drop_own_choices_in(request);
        if is_correction(request) {
            self.causes.drop_of_turn(turn_before);
        }

        let number = self.tool_history.turn_number + 1;
        self.tool_history.turn_number = number;
        self.turn = Turn::from_message(number, one_line(entry, MOST_ID_UNITS), request);
        let is_first = number == 1 && !self.is_continued;
        self.purpose.keep_request(&self.turn.request, is_first);
    }

    /// Adds a quotation to the context, replacing an older one from the same source.
    pub fn add_note(&mut self, source: &str, text: &str) {
        const MOST_SOURCE_UNITS: usize = 80;

        let start = format!("{}: ", one_line(source, MOST_SOURCE_UNITS));
        self.points
            .items_mut(Section::Context)
            .retain(|known| !known.starts_with(&start));
        if !text.trim().is_empty() {
            let note = format!("{start}{}", quote_line(text, NEWEST));
            self.points.add(Section::Context, note);
        }
    }
}
