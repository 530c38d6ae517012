//! How much of a summary each part may take.
//!
//! All in UTF-16 units, of which about four make a token: 2,000 tokens beside the running request.
//! What the other sections leave of them goes to Done and to the words on the way, which say the more
//! of a long run the less there is to say elsewhere.

/// The running request, word for word. A longer one keeps its head and its tail.
pub(super) const REQUEST: usize = 4_000;
/// Everything beside the running request, headings included.
pub(super) const REST: usize = 8_000;
/// Headings, and `(none)` below each.
pub(super) const HEADINGS: usize = 320;
/// What a short request refers to: the assistant's words before it, and the request before.
pub(super) const BEFORE: usize = 700;
/// The goals that a model's previous summary lists.
pub(super) const OLD_GOAL: usize = 700;
/// The assistant's last words. A longer text keeps its head and its tail.
pub(super) const LAST_WORDS: usize = 1_800;
/// Open points carried over from a previous summary.
pub(super) const OLD_STEPS: usize = 300;
/// Failures that nothing has resolved, and the quoted output of one.
pub(super) const BLOCKED: usize = 700;
pub(super) const OUTPUT: usize = 240;
/// The last tool calls.
pub(super) const LAST: usize = 700;
/// A todo list, as its tool reported it.
pub(super) const TODO: usize = 600;
/// The assistant's words on the way, and one of them.
pub(super) const ON_THE_WAY: usize = 2_000;
pub(super) const REMARK: usize = 180;
/// Sentences of earlier requests that bind, and one of them.
pub(super) const CONSTRAINTS: usize = 400;
pub(super) const CONSTRAINT: usize = 220;
/// Questions to the user and their answers.
pub(super) const DECISIONS: usize = 500;

/// Messages of extensions, other branches, addresses, what has no section of its own.
pub(super) const CONTEXT: usize = 500;
pub(super) const NOTE: usize = 240;
/// The lists of files and of commands under Done where other sections are long, and one command.
pub(super) const FILES: usize = 500;
pub(super) const COMMANDS: usize = 700;
pub(super) const COMMAND: usize = 100;
/// An earlier request and its answer under Done: the newest first of these, divided by its age, but
/// never below the second.
pub(super) const EARLIER: (usize, usize) = (500, 110);
/// A point of a previous summary.
pub(super) const POINT: usize = 300;

/// The longest request that needs what was said before it to be understood.
pub(super) const SHORT: usize = 160;
/// Tool calls after which a failure is history, and those listed as the last ones.
pub(super) const STALE_CALLS: u32 = 120;
pub(super) const LAST_CALLS: usize = 8;
/// Requests after which a failure is history.
pub(super) const STALE_TURNS: u32 = 2;
