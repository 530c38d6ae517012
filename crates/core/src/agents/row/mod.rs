//! The text of an entry's row, as the agents' trees have it.
//!
//! Rows are built while the file is loaded, from positions in the line. At most [`ROW_UNITS`]
//! UTF-16 units of a text are decoded.

pub mod search;

use crate::session::column::RowShape;
use crate::session::content;
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::envelope::{self, ENVELOPE_UNITS};
use crate::session::forwarded;
use crate::session::read::record::{Block, Content, Member, MessageFacts};
use pisess_json::string::{decode, decode_head};
use pisess_json::text::{Text, concat_texts, leading_space, trim_end};
use pisess_json::{Raw, js};

/// The maximum length of content in a row, in UTF-16 units, as in both agents.
pub const ROW_UNITS: usize = 200;
/// The mark at the end of a row that was cut. Only some rows of oh-my-pi have it.
pub const CUT_MARK: &str = "…";
/// The number of UTF-16 units to read of a message that a chat program forwarded. It is large
/// because the words of the user come last.
const FORWARDED_UNITS: usize = 8_000;

/// The options for rows.
#[derive(Clone, Debug, Default)]
pub struct RowOptions {
    /// The user's home directory, which is written `~` in tool calls.
    pub home: Option<Text<'static>>,
    /// Whether the rows are for people, rather than those of the agent's tree: see
    /// [`readable`](crate::agents::readable).
    pub readable: bool,
}

/// What follows the text of a row that begins with a bracket.
#[derive(Clone, Copy)]
pub(crate) enum BracketEnd {
    /// The closing bracket.
    Closed,
    /// A mark, or nothing if the mark is empty: the text was cut, and the bracket with it.
    Cut(&'static str),
}

/// A row as an agent draws it, and its shape, which shows where the role ends.
#[derive(Debug, Default)]
pub struct RowText<'a> {
    pub(crate) text: Text<'a>,
    shape: RowShape,
}

impl<'a> RowText<'a> {
    /// Returns a row that consists of a role only.
    pub(crate) fn from_role(role: Text<'a>) -> Self {
        RowText {
            shape: RowShape::new(RowShape::Prefixed, role.as_bytes().len()),
            text: role,
        }
    }

    /// Appends the row to a buffer of rows, and returns its shape.
    pub fn append_to(&self, rows: &mut Vec<u8>) -> RowShape {
        rows.extend_from_slice(self.text.as_bytes());
        self.shape
    }
}

impl RowText<'static> {
    /// Returns a row `role: body`.
    pub(crate) fn with_role(role: &str, body: &Text) -> Self {
        RowText {
            text: with_prefix(&[role, ": "], body),
            shape: RowShape::new(RowShape::Prefixed, role.len()),
        }
    }

    /// Returns a row `[role]: body`.
    pub(crate) fn with_bracketed_role(role: &str, body: &Text) -> Self {
        RowText {
            text: with_prefix(&["[", role, "]: "], body),
            shape: RowShape::new(RowShape::Bracketed, 1 + role.len()),
        }
    }

    /// Returns a row `[role: text]` or, without a role, `[text]`. `end` is what follows the text:
    /// the bracket or, if the text was cut, a mark.
    pub(crate) fn bracketed(role: &str, text: &Text, end: BracketEnd) -> Self {
        if role.is_empty() {
            return RowText::bracketed_without_role(text, end);
        }
        let mut row = with_prefix(&["[", role, ": "], text);
        let role_end = "[".len() + role.len();
        let shape = match end {
            BracketEnd::Closed => {
                row.push_str("]");
                RowShape::new(RowShape::Enclosed, role_end)
            }
            BracketEnd::Cut(mark) => {
                row.push_str(mark);
                RowShape::new(RowShape::Truncated, role_end)
            }
        };
        RowText { text: row, shape }
    }

    /// Returns a row `[text]`, in which the text counts as the role. A mark at the end belongs to
    /// the text, unlike the bracket.
    fn bracketed_without_role(text: &Text, end: BracketEnd) -> Self {
        let mut row = with_prefix(&["["], text);
        let shape = match end {
            BracketEnd::Closed => {
                let text_end = row.as_bytes().len();
                row.push_str("]");
                RowShape::new(RowShape::Bracketed, text_end)
            }
            BracketEnd::Cut(mark) => {
                row.push_str(mark);
                RowShape::new(RowShape::Truncated, row.as_bytes().len())
            }
        };
        RowText { text: row, shape }
    }

    /// Appends a body to a row `[role]`. Does nothing if the role was cut.
    pub(crate) fn push_body(&mut self, body: &Text) {
        if self.text.as_bytes().ends_with(b"]") {
            self.text.push_str(": ");
            self.text.push(body);
        }
    }
}

/// The value by which a tree shows an entry, and by which a search finds it.
pub(crate) struct NamedValue<'a> {
    /// The name in front of the value.
    pub name: &'static str,
    pub value: Option<Raw<'a>>,
    /// What a row shows if there is no value.
    pub placeholder: &'static str,
}

impl<'a> NamedValue<'a> {
    /// Returns a value that rows show as `undefined` if it is missing, as JavaScript does.
    fn new(name: &'static str, value: Option<Raw<'a>>) -> Self {
        NamedValue {
            name,
            value,
            placeholder: "undefined",
        }
    }
}

/// Returns the value by which an agent's tree shows an entry, such as the model of a
/// `model_change`. `None` if the agent shows this type in another way, or not at all. For most
/// types, their schema names the value.
pub(crate) fn named_value(agent: Dialect, kind: Kind, entry: Raw<'_>) -> Option<NamedValue<'_>> {
    use Dialect::{OhMyPi, Pi};
    match (kind, agent) {
        (Kind::ModelChange, Pi) => Some(NamedValue::new("model", entry.get("modelId"))),
        (Kind::ModelChange, OhMyPi) => Some(NamedValue::new("model", entry.get("model"))),
        (Kind::ThinkingLevelChange, OhMyPi) => Some(NamedValue {
            name: "thinking",
            value: entry.get_some("thinkingLevel"),
            placeholder: "off",
        }),
        // Migration makes a label or a custom entry of a `head`, which has its value elsewhere.
        (Kind::Custom, _) => {
            let custom_type = match entry.get("customType") {
                None if is_draft_head(entry) => entry.get("type"),
                custom_type => custom_type,
            };
            Some(NamedValue::new("custom", custom_type))
        }
        (Kind::Label, _) => {
            let key = if is_draft_head(entry) {
                "name"
            } else {
                "label"
            };
            Some(NamedValue {
                name: "label",
                value: entry.get_some(key),
                placeholder: "(cleared)",
            })
        }
        (Kind::SessionInfo, Pi) => Some(NamedValue {
            name: "title",
            value: entry.get("name").filter(|name| name.is_truthy()),
            placeholder: "empty",
        }),
        _ => {
            let schema = kind.schema();
            // `None` if the agent does not write this type.
            schema.fields.for_agent(agent)?;
            let (name, key) = schema.named?;
            Some(NamedValue::new(name, entry.get(key)))
        }
    }
}

/// Rounds a number of tokens to thousands as JavaScript's `Math.round` does, halves up.
pub(crate) fn round_to_thousands(tokens: f64) -> f64 {
    (tokens / 1000.0 + 0.5).floor()
}

/// Whether an entry is a `head` of the draft tree format, given its line. Migration makes it a
/// label if it is named, and a custom entry otherwise.
fn is_draft_head(entry: Raw) -> bool {
    content::member_is(entry, "type", "head")
}

/// Returns the text of a row as the agents normalize it: newlines and tabs become spaces, and both
/// ends are trimmed.
pub fn normalize_spaces(text: Text) -> Text<'static> {
    let mut bytes = text.into_bytes();
    normalize_spaces_from(&mut bytes, 0);
    Text::from_wtf8(bytes)
}

/// Normalizes the text from the byte `start` of a buffer to its end, as [`normalize_spaces`] does.
///
/// Unlike the agents, it trims before it replaces newlines and tabs, so that fewer bytes are left
/// to replace. The result is the same, because newlines and tabs at the ends are trimmed like
/// spaces.
fn normalize_spaces_from(rows: &mut Vec<u8>, start: usize) {
    rows.truncate(start + trim_end(&rows[start..]).len());
    rows.drain(start..start + leading_space(&rows[start..]));
    for byte in &mut rows[start..] {
        // Every byte is written, also one that stays the same: without a branch, the compiler can
        // vectorize the loop.
        *byte = if matches!(byte, b'\n' | b'\t') {
            b' '
        } else {
            *byte
        };
    }
}

/// A row `role: text` at the end of a buffer of rows.
pub struct TextRow {
    /// Where the role ends.
    pub shape: RowShape,
    /// Whether the message has a text. Otherwise, the row ends after `role: `, and the caller may
    /// append something else.
    pub has_text: bool,
}

/// Appends a row `role: text` to a buffer of rows. The text is the start of the message's text, on
/// one line.
pub fn push_text_row(
    role: &str,
    message: &MessageFacts,
    blocks: &[Block],
    rows: &mut Vec<u8>,
) -> TextRow {
    rows.extend_from_slice(role.as_bytes());
    rows.extend_from_slice(b": ");
    let text_start = rows.len();
    push_message_head(message, blocks, ROW_UNITS, rows);
    normalize_spaces_from(rows, text_start);
    TextRow {
        shape: RowShape::new(RowShape::Prefixed, role.len()),
        has_text: rows.len() > text_start,
    }
}

/// Whether the agent's tree would show a text of a message, which `is_visible` decides. It gets
/// each text as it is stored between its quotes.
pub fn has_visible_text(
    message: &MessageFacts,
    blocks: &[Block],
    is_visible: impl Fn(&[u8]) -> bool,
) -> bool {
    match message.content {
        Content::Text(text) => is_visible(text.bytes),
        Content::Blocks => blocks
            .iter()
            .filter_map(block_text)
            .filter_map(Raw::raw_string)
            .any(is_visible),
        Content::None | Content::Other => false,
    }
}

/// Whether an assistant message ended neither in an error nor early. Without text, it is silent
/// then.
pub fn is_silent_ending(message: &MessageFacts) -> bool {
    message
        .get(Member::StopReason)
        .is_none_or(|reason| !reason.is_truthy() || reason.is("stop") || reason.is("toolUse"))
}

/// Returns the name of a message's role, as the agents have it after migrating older files.
pub fn role_name<'a>(role: Role, message: &MessageFacts<'a>) -> Text<'a> {
    if let Some(name) = role.name() {
        return Text::from(name);
    }
    match message.role {
        Some(stored) => decode(stored.bytes),
        None => Text::from("undefined"),
    }
}

/// Returns the first `units` UTF-16 units of a message's text.
pub fn message_head(message: &MessageFacts, blocks: &[Block], units: usize) -> Text<'static> {
    let mut head = Vec::new();
    push_message_head(message, blocks, units, &mut head);
    Text::from_wtf8(head)
}

/// Returns the first `units` UTF-16 units of a message's text, with a space between the texts of
/// different blocks: for example, a placeholder that `prune` put in place of an image has no space
/// around it.
pub fn spaced_message_head(
    message: &MessageFacts,
    blocks: &[Block],
    units: usize,
) -> Text<'static> {
    if !matches!(message.content, Content::Blocks) {
        return message_head(message, blocks, units);
    }
    let mut head = Vec::new();
    let mut units_left = units;
    for text in blocks.iter().filter_map(block_text) {
        let Some(text) = text.raw_string() else {
            continue;
        };
        if units_left == 0 {
            break;
        }
        if !head.is_empty() {
            // The space counts, too. At least one unit is left for it.
            head.push(b' ');
            units_left -= 1;
        }
        units_left = decode_head(text, units_left, &mut head);
    }
    Text::from_wtf8(head)
}

/// Whether a message has more text than a row contains.
pub fn exceeds_row(message: &MessageFacts, blocks: &[Block]) -> bool {
    message_head(message, blocks, ROW_UNITS + 1).utf16_len() > ROW_UNITS
}

/// Returns what the user typed, as the text of a row, if an agent or a chat program put other text
/// around it; `None` for any other message.
///
/// The first [`ROW_UNITS`] show whether the message may be of this kind. Only then is more of it
/// read, because the user's words may come late.
pub fn typed_row(message: &MessageFacts, blocks: &[Block]) -> Option<Text<'static>> {
    let head = message_head(message, blocks, ROW_UNITS);
    if forwarded::may_be_forwarded(head.as_bytes()) {
        return forwarded_row(message, blocks);
    }
    if envelope::begins_with_editor_note(head.as_bytes()) {
        let start = message_head(message, blocks, ENVELOPE_UNITS).into_string_lossy();
        let words = Text::from(envelope::skip_elements(&start)).into_owned();
        return Some(normalize_spaces(words).head(ROW_UNITS));
    }
    if !envelope::may_be_command(head.as_bytes()) {
        return None;
    }
    let start = message_head(message, blocks, ENVELOPE_UNITS);
    let command = envelope::typed_command_of_start(&start.to_string_lossy())?;
    Some(normalize_spaces(Text::from(command)).head(ROW_UNITS))
}

/// Returns the text for the row of a message that a chat program forwarded: a mark, then the user's
/// words. `None` for any other message.
///
/// More of the message is read than for other rows, because the words come last, after blocks of
/// the program.
pub fn forwarded_row(message: &MessageFacts, blocks: &[Block]) -> Option<Text<'static>> {
    if !forwarded::may_be_forwarded(message_head(message, blocks, ROW_UNITS).as_bytes()) {
        return None;
    }
    let head = message_head(message, blocks, FORWARDED_UNITS);
    let words = Text::from_wtf8(forwarded::user_words(head.as_bytes())?);
    let mut row = Text::from(forwarded::BLOCKS_MARK).into_owned();
    row.push(&normalize_spaces(words).head_whole(ROW_UNITS));
    Some(row)
}

/// Appends the first `units` UTF-16 units of a message's text, which is a string, or text blocks
/// joined.
fn push_message_head(message: &MessageFacts, blocks: &[Block], units: usize, out: &mut Vec<u8>) {
    match message.content {
        Content::Text(text) => {
            decode_head(text.bytes, units, out);
        }
        Content::Blocks => push_text_heads(blocks.iter().filter_map(block_text), units, out),
        Content::None | Content::Other => {}
    }
}

/// Returns the first `units` UTF-16 units of a string; `None` for any other value.
pub fn string_head(value: Raw, units: usize) -> Option<Text<'static>> {
    let mut head = Vec::new();
    decode_head(value.raw_string()?, units, &mut head);
    Some(Text::from_wtf8(head))
}

/// Appends several texts, up to `units` UTF-16 units in all. Values that are not strings are left
/// out.
pub fn push_text_heads<'a>(texts: impl Iterator<Item = Raw<'a>>, units: usize, out: &mut Vec<u8>) {
    let mut units_left = units;
    for raw in texts.filter_map(Raw::raw_string) {
        if units_left == 0 {
            return;
        }
        units_left = decode_head(raw, units_left, out);
    }
}

/// Returns the text of a text block; `None` for a block of another type.
fn block_text<'a>(block: &Block<'a>) -> Option<Raw<'a>> {
    let is_text = block.is("text");
    if is_text { block.text } else { None }
}

/// The maximum length of a command in a row of both agents, in UTF-16 units.
const COMMAND_UNITS: usize = 50;
/// The maximum length of the arguments of an unknown tool in a row of both agents, in UTF-16 units.
const ARGUMENTS_UNITS: usize = 40;

/// Returns the text in the brackets of the row of a command: its first `COMMAND_UNITS`.
pub fn bash_call_text(command: &Text) -> Text<'static> {
    let shown = normalize_spaces(command.as_borrowed()).head(COMMAND_UNITS);
    let mut row = with_prefix(&["bash: "], &shown);
    // As in the agents, the length before trimming counts.
    if command.utf16_len() > COMMAND_UNITS {
        row.push_str("...");
    }
    row
}

/// Returns the text in the brackets of the row of an unknown tool: its name, and the first
/// `ARGUMENTS_UNITS` of its arguments.
pub fn unknown_call_text(name: &Text, arguments: Raw) -> Text<'static> {
    let arguments = js::stringify(arguments);
    let mut row = concat_texts(&[name, &": ", &arguments.head(ARGUMENTS_UNITS)]);
    if arguments.utf16_len() > ARGUMENTS_UNITS {
        row.push_str("...");
    }
    row
}

/// Returns the strings in `prefix`, followed by a text: `["[", "title", ": "]` and `Fix the parser`
/// become `[title: Fix the parser`.
pub fn with_prefix(prefix: &[&str], text: &Text) -> Text<'static> {
    /// The length of the `]` that [`RowText::bracketed`] appends. With room for it, the row need
    /// not be allocated again.
    const BRACKET_LEN: usize = 1;

    let prefix_len: usize = prefix.iter().map(|part| part.len()).sum();
    let mut row_bytes = Vec::with_capacity(prefix_len + text.as_bytes().len() + BRACKET_LEN);
    for part in prefix {
        row_bytes.extend_from_slice(part.as_bytes());
    }
    let mut row = Text::from_wtf8(row_bytes);
    row.push(text);
    row
}
