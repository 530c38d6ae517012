//! The weights of the summary, in one table.
//!
//! Lengths are in UTF-16 units, of which about four make a token: 1,000 tokens for the running request
//! and 2,000 for the rest. What the other sections leave goes to Done and to the words on the way, so
//! a long run fills the summary even if there is little to report elsewhere.

/// The running request, word for word. A longer one keeps the lines at its start and its end.
pub(super) const WHOLE_REQUEST: usize = 4_000;
/// Everything else, without the headings.
pub(super) const REST: usize = 7_700;
/// A request up to this length is shown with the request and the answer before it.
pub(super) const SHORT: usize = 160;
/// A message up to this many columns is a nod: "yes", "go on". It continues the running request.
pub(super) const NOD: usize = 14;
/// The assistant's last words. Longer ones keep the lines at their start and their end.
pub(super) const WORDS: usize = 1_800;
/// The points of a section, and one of them: a remark, an output, a message.
pub(super) const SECTION: usize = 900;
pub(super) const POINT: usize = 240;
/// What a section takes over from a previous summary, unless its points have a room of their own.
pub(super) const OLD: usize = 500;
/// The last tool calls: how many, a series of like calls counting as one, and their length.
pub(super) const LAST_CALLS: usize = 5;
pub(super) const LAST: usize = 700;
/// What the assistant said on the way.
pub(super) const ON_THE_WAY: usize = 2_000;
/// One command.
pub(super) const COMMAND: usize = 120;
/// An earlier request and its answer: the newest, also where a short request refers to it; each older one
/// less, down to the second figure.
pub(super) const NEWEST: usize = 500;
pub(super) const OLDEST: usize = 110;

/// Requests after which a failure is history.
pub(super) const STALE_TURNS: usize = 2;

/// The newest messages, which are read in full, and as many tool calls are held. Of older messages only
/// requests and final answers are read.
pub(super) const RECENT: usize = 1_000;
/// Bounds of what is held in memory: turns, the units of an old one's request and answer, remarks of a turn
/// and notes of a kind, points of a previous summary.
pub(super) const TURNS: usize = 64;
pub(super) const OLD_TURN: usize = 1_400;
pub(super) const NOTES: usize = 64;
pub(super) const POINTS: usize = 300;
/// Units of a call's argument and of the body of an attached file or a skill; bytes of the end of a result.
pub(super) const ARGUMENT: usize = 400;
pub(super) const RESULT: usize = 2_000;
