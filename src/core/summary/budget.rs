//! The weights of the summary, in one table.
//!
//! Lengths are in UTF-16 units, of which about four make a token: 1,000 tokens for the running request
//! and 2,000 for the rest. What the other sections leave goes to Done and to the words on the way, so
//! a long run fills the summary even if there is little to report elsewhere.

/// The running request, word for word. A longer one keeps the lines at its start and its end.
pub(super) const WHOLE_REQUEST: usize = 4_000;
/// Everything else, headings included.
pub(super) const REST: usize = 8_000;
/// The headings, and `(none)` under each.
pub(super) const HEADINGS: usize = 320;
/// A request up to this length is shown with the request and the answer before it.
pub(super) const SHORT: usize = 160;
/// A message up to this many columns is a nod: "yes", "go on". It continues the running request.
pub(super) const NOD: usize = 14;
/// The request before a short one, and likewise the answer.
pub(super) const REFERRED: usize = 350;
/// What the user added while it was being worked on, each time.
pub(super) const ADDITION: usize = 800;
/// The goals listed in a model's previous summary.
pub(super) const OLD_GOAL: usize = 700;
/// The assistant's last words. Longer ones keep the lines at their start and their end.
pub(super) const WORDS: usize = 1_800;
/// Open points carried over from a previous summary, for each section.
pub(super) const OLD_STEPS: usize = 300;
/// One point of a previous summary.
pub(super) const POINT: usize = 300;
/// All unresolved failures, and the quoted output of a call.
pub(super) const BLOCKED: usize = 900;
pub(super) const OUTPUT: usize = 240;
/// The last tool calls: how many, a series of like calls counting as one, and their length.
pub(super) const LAST_CALLS: usize = 5;
pub(super) const LAST: usize = 700;
/// The todo list, as its tool last reported it.
pub(super) const TODO: usize = 600;
/// What the assistant said on the way, and one such remark.
pub(super) const ON_THE_WAY: usize = 2_000;
pub(super) const REMARK: usize = 180;
/// Binding sentences of earlier requests, and one of them.
pub(super) const CONSTRAINTS: usize = 500;
pub(super) const CONSTRAINT: usize = 220;
/// Questions and answers.
pub(super) const DECISIONS: usize = 1_200;
/// Messages of extensions, other branches, and one of these.
pub(super) const CONTEXT: usize = 500;
pub(super) const NOTE: usize = 240;
/// The list of changed files, that of commands, and one command.
pub(super) const FILES: usize = 500;
pub(super) const COMMANDS: usize = 900;
pub(super) const COMMAND: usize = 120;
/// An earlier request and its answer: the newest; each older one less, down to the second figure.
pub(super) const NEWEST: usize = 500;
pub(super) const OLDEST: usize = 110;

/// Tool calls, and requests, after which a failure is history.
pub(super) const STALE_CALLS: usize = 120;
pub(super) const STALE_TURNS: usize = 2;

/// The newest messages, which are read in full. Of older ones only requests and final answers are.
pub(super) const RECENT: usize = 1_000;
/// Bounds of what is held in memory: turns, the units of an old one's request and answer, tool calls,
/// remarks and additions of a turn, notes.
pub(super) const TURNS: usize = 64;
pub(super) const OLD_TURN: usize = 1_400;
pub(super) const DEEDS: usize = 1_000;
pub(super) const REMARKS: usize = 24;
pub(super) const ADDITIONS: usize = 6;
pub(super) const NOTES: usize = 24;
/// Units of a call's argument, bytes of the end of a result, and points of a previous summary.
pub(super) const ARGUMENT: usize = 400;
pub(super) const RESULT: usize = 2_000;
pub(super) const POINTS: usize = 300;
/// Bodies of attached files and skills longer than this are left out of a request.
pub(super) const ATTACHED: usize = 400;
