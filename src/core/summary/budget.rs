//! The weights of the summary, in one table.
//!
//! Lengths are in UTF-16 units, of which about four make a token: 1,000 tokens for the running request
//! and 2,000 for the rest. What the other sections leave goes to Done and to the words on the way, so
//! a long run fills the summary even if there is little to report elsewhere.

macro_rules! weights {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub(super) const $name: usize = $value;)*
    };
}

weights! {
    /// The running request, word for word. A longer one keeps the lines at its start and its end.
    REQUEST = 4_000;
    /// Everything else, headings included.
    REST = 8_000;
    /// The headings, and `(none)` under each.
    HEADINGS = 320;
    /// A request up to this length is shown with the request and the answer before it.
    SHORT = 160;
    /// A message up to this many columns is a nod: "yes", "go on". It continues the running request.
    NOD = 14;
    /// The request before a short one, and likewise the answer.
    BEFORE = 350;
    /// The goals listed in a model's previous summary.
    OLD_GOAL = 700;
    /// The assistant's last words. Longer ones keep the lines at their start and their end.
    LAST_WORDS = 1_800;
    /// Open points carried over from a previous summary, for each section.
    OLD_STEPS = 300;
    /// One point of a previous summary.
    POINT = 300;
    /// All unresolved failures, and the quoted output of one.
    BLOCKED = 900;
    OUTPUT = 240;
    /// The last tool calls: how many, a series of like calls counting as one, and their length.
    LAST_CALLS = 5;
    LAST = 700;
    /// The todo list, as its tool last reported it.
    TODO = 600;
    /// What the assistant said on the way, and one such remark.
    ON_THE_WAY = 2_000;
    REMARK = 180;
    /// Binding sentences of earlier requests, and one of them.
    CONSTRAINTS = 500;
    CONSTRAINT = 220;
    /// Questions and answers.
    DECISIONS = 1_200;
    /// Messages of extensions, other branches, and one of these.
    CONTEXT = 500;
    NOTE = 240;
    /// The list of changed files, that of commands, and one command.
    FILES = 500;
    COMMANDS = 900;
    COMMAND = 120;
    /// An earlier request and its answer: the newest; each older one less, down to the second figure.
    EARLIER = 500;
    EARLIEST = 110;

    /// Tool calls, and requests, after which a failure is history.
    STALE_CALLS = 120;
    STALE_TURNS = 2;

    /// The newest messages, which are read in full. Of older ones only requests and final answers are.
    RECENT = 1_000;
    /// Bounds of what is held in memory: turns, tool calls, remarks and additions of a turn, notes.
    TURNS = 64;
    DEEDS = 1_000;
    REMARKS = 24;
    ADDITIONS = 6;
    NOTES = 24;
    /// Units of a call's argument, bytes of the end of a result, and points of a previous summary.
    ARGUMENT = 400;
    RESULT = 2_000;
    POINTS = 300;
    /// Bodies of attached files and skills longer than this are left out of a request.
    ATTACHED = 400;
}
