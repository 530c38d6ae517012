//! The size limits of the parts of a summary, in one table.
//!
//! Lengths are in UTF-16 units, of which about four make a token: 1,000 tokens for the current
//! request and 800 to 1,000 for the rest. Space that the other sections leave goes to Done and to
//! the assistant's remarks, so a long run fills the summary even if there is little to report
//! elsewhere.

/// The current request, word for word. Of a longer one, the lines at the start and the end are
/// kept.
pub(super) const WHOLE_REQUEST: usize = 4_000;
/// Everything else, without the headings.
pub(super) const OTHER_SECTIONS: usize = 3_900;
/// Everything else beside a long request.
pub(super) const LEAST_OTHER_SECTIONS: usize = 2_800;
/// A message of fewer columns is a nod: "yes", "go on". It continues the current request, if that
/// is unanswered.
pub(super) const SHORT_REPLY: usize = 14;
/// A request of at least this many columns says what the work is for, wherever it is in a session.
pub(super) const LONG_REQUEST: usize = 60;
/// A request of at least this many lines is a brief, which describes a whole task.
pub(super) const BRIEF_LINES: usize = 20;
/// A request of fewer columns, such as "another one, longer", refers to what was said before; as
/// the first of a session, it says little.
pub(super) const SHORT_REQUEST: usize = 30;
/// What the session is for, and the request to which a short one refers.
pub(super) const PURPOSE: usize = 420;
/// The same if that request specifies the work: a plan, a brief, rules.
pub(super) const SPECIFICATION: usize = 1_000;
/// The bytes of a request that are read to condense it, half of them at its end.
pub(super) const MAX_CONDENSED_LEN: usize = 24_000;
/// The assistant's last words. Of longer ones, the lines at the start and the end are kept.
pub(super) const WORDS: usize = 1_400;
/// The last words of an unanswered request. They are a remark on the way.
pub(super) const UNANSWERED_WORDS: usize = 700;
/// All points of a section.
pub(super) const SECTION: usize = 800;
/// The goals of a previous summary get this much more if there is no current request, whose place
/// they take.
pub(super) const GOALS_WITHOUT_REQUEST: usize = 400;
/// The assistant's remarks in a turn that read much and changed no file: what it found.
pub(super) const FINDINGS: usize = 1_500;
/// What a previous summary says of the context.
pub(super) const CONTEXT: usize = 400;
/// The causes that the assistant found.
pub(super) const CAUSES: usize = 500;
/// The user's own words in the earlier requests, those under Goal included. They say what binds and
/// what was decided, so they are quoted before anything is inferred from them.
pub(super) const USER_WORDS: usize = 2_000;
/// A single earlier request: most briefs are shorter.
pub(super) const EARLIER_REQUEST: usize = 1_700;
/// The answers to the earlier requests that are not under Goal. If there are several, the other
/// sections leave them this much.
pub(super) const EARLIER_ANSWERS: usize = 400;
/// All decisions.
pub(super) const DECISIONS: usize = 2_000;
/// The least that decisions get beside findings and earlier requests.
pub(super) const LEAST_DECISIONS: usize = 600;
/// The choices that the assistant made itself in long runs.
pub(super) const OWN_CHOICES: usize = 1_100;
/// A list of rules, and one of them.
pub(super) const RULES: usize = 800;
pub(super) const RULE: usize = 170;
/// The rules of a skill.
pub(super) const SKILL_RULES: usize = 800;
/// All lists of decisions in replies.
pub(super) const DECISION_LISTS: usize = 900;
/// A list of decisions in a reply, and one of them.
pub(super) const DECISION_LIST: usize = 520;
pub(super) const LISTED_DECISION: usize = 130;
/// A numbered list that the request refers to.
pub(super) const NUMBERED_LIST: usize = 700;
/// A single point: a remark, an output, a message.
pub(super) const POINT: usize = 220;
/// What a decision or a wish refers to: words of the assistant.
pub(super) const REFERENT: usize = 110;
/// A decision of a previous summary, before it is shortened.
pub(super) const WHOLE_DECISION: usize = 1_000;
/// The number of failures that are listed of those that the user put off: the newest.
pub(super) const MOST_PUT_OFF: usize = 5;
/// The question of a decision: its answer matters more.
pub(super) const QUESTION: usize = 180;
/// The same once the decision is old.
pub(super) const OLD_QUESTION: usize = 150;
/// The request before such a question, if only the request names what the question is about.
pub(super) const TOPIC: usize = 90;
/// What the user answered or chose. Few messages are longer.
pub(super) const ANSWER: usize = 260;
/// The plan that the user approved.
pub(super) const APPROVED_PLAN: usize = 450;
/// What the user said in place of letting a call run: often all that a plan lacks.
pub(super) const REFUSAL: usize = 600;
/// The commands that passed.
pub(super) const COMMANDS: usize = 150;
/// Lists of files and names, and of the points of a previous summary.
pub(super) const LIST: usize = 400;
/// The todo list of the agent, and the part of it for the tasks that are done. What is open is
/// next.
pub(super) const TASKS: usize = 1_200;
pub(super) const DONE_TASKS: usize = 250;
/// What the calls of an unfinished request found that only looked.
pub(super) const FOUND: usize = 1_400;
/// The part of it that other sections cannot take.
pub(super) const OWN_ROOM_OF_FOUND: usize = 450;
/// The output of one of these calls, and the outline of a document.
pub(super) const FOUND_OUTPUT: usize = 180;
pub(super) const FOUND_DOCUMENT: usize = 300;
/// The number of last tool calls that are listed. A series of similar calls counts as one.
pub(super) const LAST_CALLS: usize = 3;
/// The number of last commands that only look, among these.
pub(super) const SEARCHES: usize = 2;
/// One command, or the path of a call.
pub(super) const COMMAND: usize = 110;
/// A remark of fewer columns only leads over to the next call.
pub(super) const REMARK: usize = 40;
/// The newest of the earlier requests, and its answer. Older ones get less.
pub(super) const NEWEST: usize = 400;
/// The least that the oldest of the earlier requests gets, and its answer.
pub(super) const OLDEST: usize = 90;
/// The least that the answer to an earlier request gets that weighs something: a value with its
/// sentence.
pub(super) const FINDING: usize = 150;
/// The start of a request that is quoted in full elsewhere.
pub(super) const REMINDER: usize = 50;
/// The message that takes back a decision or a wish.
pub(super) const MARK: usize = 80;
/// The files that were changed: the newest. All of them are below the summary.
pub(super) const FILES: usize = 160;
/// The line of a command's output that is quoted as its result.
pub(super) const RESULT: usize = 60;
/// The number of ends that are reported of a request that was repeated, besides the last.
pub(super) const EARLIER_ENDS: usize = 3;
/// A failure is reported in full for this many turns after its own, then in short.
pub(super) const STALE_TURNS: usize = 10;
/// A decision is reported in full for this many turns after it was made or quoted last.
pub(super) const DECISION_TURNS: usize = 20;
/// A summary of a branch that takes fewer units is short: its empty sections are left out, if most
/// are empty.
pub(super) const SHORT_SUMMARY: usize = 2_000;

/// The number of newest messages whose tool results are read, and of newest tool calls that are
/// held in memory.
pub(super) const RECENT: usize = 1_000;
/// The number of turns, of remarks of a turn, and of points of a section that are held in memory.
pub(super) const MAX_HELD: usize = 64;
/// The number of units of a call's argument that are read.
pub(super) const MAX_READ_UNITS: usize = 2_000;
/// The bytes of a message's text that are read: half of them at its start, half at its end. No
/// section quotes a text of which more could matter.
pub(super) const MAX_TEXT_LEN: usize = 1 << 20;
