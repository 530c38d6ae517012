//! The rows of oh-my-pi's tree (its `tree-selector`: `#getEntryDisplayText`, `#getSearchableText`,
//! `#applyFilter`).

use super::message::is_user_interrupt;
use super::row_note;
use crate::agents::row::{
    BracketEnd, CUT_MARK, NamedValue, ROW_UNITS, RowText, message_head, named_value,
    normalize_spaces, push_text_row, role_name, round_to_thousands, string_head,
};
use crate::session::column::RowShape;
use crate::session::content;
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::read::record::{Block, Member, MessageFacts, ParsedEntry, Record};
use pisess_json::string::decode;
use pisess_json::text::{Text, concat_texts, join_with};
use pisess_json::{Raw, js};

/// The bit of `errorId` that marks an abort which the agent does not report.
const SILENT_ABORT_BIT: u32 = 0x0200_0000;
/// The bit of `errorId` that marks an abort whose error message is not shown.
const ABORT_BIT: u32 = 0x0800_0000;
/// The maximum length of an error that is shown in place of a turn's text, in UTF-16 units.
const ERROR_UNITS: usize = 80;
/// The maximum width of the note on a turn that was retried, in terminal columns.
const NOTE_COLUMNS: usize = 80;

/// Returns the row of an entry in the agent's tree, if the entry is not a message. For most types,
/// it is `[name: value]`.
pub fn entry_row(kind: Kind, record: &Record) -> RowText<'static> {
    let entry = Raw::from_checked(record.bytes);
    match kind {
        Kind::CustomMessage => custom_message_row(entry),
        Kind::Compaction => compaction_row(entry),
        Kind::BranchSummary => {
            let summary = entry.get_text("summary").unwrap_or_default();
            RowText::with_bracketed_role(
                "branch summary",
                &normalize_spaces(summary).head(ROW_UNITS),
            )
        }
        Kind::ModelUsage => model_usage_row(entry),
        Kind::ServiceTierChange => bracketed_row("service tier", &format_service_tier(entry)),
        Kind::TitleChange => {
            // The whole title is normalized before it is cut, because white space at the cut would
            // hide that there is a cut.
            let title = normalize_spaces(js::interpolate(entry.get("title")));
            bracketed_row("title", &title)
        }
        Kind::Missing => bracketed_text(&Text::from("no type")),
        _ => {
            let Some(named) = named_value(Dialect::OhMyPi, kind, entry) else {
                return unnamed_row(record);
            };
            let value = match named.value {
                Some(value) => display_value(Some(value)),
                None => Text::from(named.placeholder),
            };
            bracketed_row(named.name, &value)
        }
    }
}

/// Returns the row of a compaction: the size of the context before it, in thousands of tokens.
fn compaction_row(entry: Raw) -> RowText<'static> {
    let thousands = round_to_thousands(js::to_operand(entry.get("tokensBefore")));
    let thousands = if thousands.is_finite() {
        js::number_to_string(thousands)
    } else {
        "NaN".to_owned()
    };
    bracketed_row("compaction", &Text::from(format!("{thousands}k tokens")))
}

/// Returns the row of an entry whose type has no row of its own: its type in brackets, with spaces
/// in place of `_`.
fn unnamed_row(record: &Record) -> RowText<'static> {
    let name = record
        .kind
        .map(|kind| decode(kind.bytes))
        .unwrap_or_default();
    let mut spaced = name.as_bytes().to_vec();
    for byte in &mut spaced {
        if *byte == b'_' {
            *byte = b' ';
        }
    }
    bracketed_text(&Text::from_wtf8(spaced))
}

/// Appends the row of a message to a buffer of rows. Returns its shape: where its role ends, and
/// how it is separated from the text.
///
/// A tool result gets a row with the name of its tool. When a tree is drawn, this row is shown only
/// if the call of the result is not found. Otherwise, the row of the call is shown in its place.
pub fn push_message_row(
    role: Role,
    message: &MessageFacts,
    blocks: &[Block],
    rows: &mut Vec<u8>,
) -> RowShape {
    match role {
        Role::User => push_text_row("user", message, blocks, rows).shape,
        Role::Developer => push_text_row("developer", message, blocks, rows).shape,
        Role::Assistant => push_assistant(message, blocks, rows),
        Role::ToolResult => {
            let name = match message.get(Member::ToolName) {
                Some(name) if !name.is_null() => display_value(Some(name)),
                _ => Text::from("tool"),
            };
            bracketed_text(&name).append_to(rows)
        }
        Role::BashExecution => {
            let command = match message.get(Member::Command) {
                Some(command) if command.is_string() => display_value(Some(command)),
                _ => Text::default(),
            };
            let command = normalize_spaces(command).head(ROW_UNITS);
            RowText::with_bracketed_role("bash", &command).append_to(rows)
        }
        _ => bracketed_text(&role_name(role, message)).append_to(rows),
    }
}

/// Appends the row of an assistant message to a buffer of rows, and returns its shape. The row
/// shows the first of these: the note on a retry that recovered the turn, the turn's text, the
/// reason why it failed, `(aborted)`, `(no content)`.
fn push_assistant(message: &MessageFacts, blocks: &[Block], rows: &mut Vec<u8>) -> RowShape {
    const ROLE: &str = "assistant";

    let recovery = message.get(Member::RetryRecovery).unwrap_or(Raw::NULL);
    if content::member_is(recovery, "status", "recovered") {
        let stored_note = recovery.get_text("note").unwrap_or_default();
        let note = row_note::format_retry_note(&stored_note, NOTE_COLUMNS);
        return RowText::with_role(ROLE, &note).append_to(rows);
    }

    let row = push_text_row(ROLE, message, blocks, rows);
    if !row.has_text {
        rows.extend_from_slice(ending_text(message, recovery).as_bytes());
    }
    row.shape
}

/// Returns what the row of a turn without text shows: the reason why it failed, `(aborted)` or
/// `(no content)`. `recovery` is the member `retryRecovery` of the turn.
fn ending_text(turn: &MessageFacts, recovery: Raw) -> Text<'static> {
    // The error of a superseded turn is not shown.
    let is_superseded = content::member_is(recovery, "status", "superseded");
    if !is_superseded && let Some(text) = failure_text(turn) {
        return normalize_spaces(text).head(ERROR_UNITS);
    }

    let stop_reason = turn.get(Member::StopReason);
    if stop_reason.is_some_and(|reason| reason.is("aborted")) {
        Text::from("(aborted)")
    } else {
        Text::from("(no content)")
    }
}

/// Returns the text that the agent shows for a turn that failed or was aborted
/// (`resolveAssistantErrorPresentation`); `None` if it shows none. The first of these rules that
/// applies decides:
///
/// 1. A turn that ended in an error: its error message, or "Error" without one.
/// 2. An abort that was silent, or by the user, by its error id or error message: no text.
/// 3. A turn that was aborted without an error message, or whose id or message marks a plain abort:
///    "Operation aborted".
/// 4. Any other: its error message, if it has one.
fn failure_text(message: &MessageFacts) -> Option<Text<'static>> {
    let error_id = message.get(Member::ErrorId);
    let stop_reason = message.get(Member::StopReason);
    let error = message
        .get(Member::ErrorMessage)
        .filter(|error| error.is_truthy());

    if stop_reason.is_some_and(|reason| reason.is("error")) {
        return match error {
            Some(error) => Some(display_value(Some(error))),
            None => Some(Text::from("Error")),
        };
    }

    let is_silent_abort = js::has_bit(error_id, SILENT_ABORT_BIT)
        || error.is_some_and(|error| error.is("__omp.silent_abort__"));
    if is_silent_abort || is_user_interrupt(error_id, error) {
        return None;
    }

    if stop_reason.is_some_and(|reason| reason.is("aborted")) {
        let is_plain_abort = match error {
            Some(error) => js::has_bit(error_id, ABORT_BIT) || error.is("Request was aborted"),
            None => true,
        };
        if is_plain_abort {
            return Some(Text::from("Operation aborted"));
        }
    }
    error.map(|error| display_value(Some(error)))
}

/// Returns the row of a `custom_message` entry: for one of an advisor, which comments on the
/// agent's work, its notes; for any other, its type and its content.
fn custom_message_row(entry: Raw) -> RowText<'static> {
    if content::member_is(entry, "customType", "advisor") {
        let notes = row_note::advisor_notes(entry);
        let advisors = row_note::advisor_summary(&notes);
        let role = if advisors.is_empty() {
            "advisor".to_owned()
        } else {
            format!("advisor ({advisors})")
        };
        let text = normalize_spaces(row_note::join_advice(&notes)).head(ROW_UNITS);
        return RowText::with_role(&role, &text);
    }

    let content = content::join_text(entry.get("content"), "");
    let mut row = bracketed_text(&display_value(entry.get("customType")));
    row.push_body(&normalize_spaces(row_note::unwrap_system_tag(&content)).head(ROW_UNITS));
    row
}

fn model_usage_row(entry: Raw) -> RowText<'static> {
    let [purpose, role, provider, model] = used_model_fields(entry);
    let gap = if role.is_empty() { "" } else { " " };
    let used = concat_texts(&[&purpose, &" ", &role, &gap, &provider, &"/", &model]);
    RowText::bracketed("model usage", &used, BracketEnd::Closed)
}

/// Returns four fields of a `model_usage` entry, cleaned for a row: the purpose, the role, the
/// provider, and the id of the model.
fn used_model_fields(entry: Raw) -> [Text<'static>; 4] {
    let names = ["purpose", "role", "provider", "model"];
    names.map(|key| row_note::sanitize_field(&entry.get_text(key).unwrap_or_default()))
}

/// Returns `family:tier` for each family of providers, or `(default)` if no tier is set.
fn format_service_tier(entry: Raw) -> Text<'static> {
    let Some(tier) = entry.get("serviceTier").filter(|tier| tier.is_truthy()) else {
        return Text::from("(default)");
    };
    let pairs = tiers_by_family(tier)
        .into_iter()
        .map(|FamilyTier { family, tier }| concat_texts(&[&family, &":", &tier]));
    join_with(pairs, " ")
}

/// The service tier that is set for a family of providers, such as OpenAI's.
struct FamilyTier {
    family: Text<'static>,
    tier: Text<'static>,
}

/// Returns the service tier of each family of providers, as oh-my-pi's tree shows them.
///
/// Older entries store one word for all families. oh-my-pi treats the word as an object, and so
/// shows each letter with its index, as if the index were a family: `0:p 1:r 2:i …`. So does this
/// function.
fn tiers_by_family(tier: Raw) -> Vec<FamilyTier> {
    let mut tiers = Vec::new();
    if let Some(word) = tier.text() {
        for (index, letter) in word.to_string_lossy().chars().enumerate() {
            tiers.push(FamilyTier {
                family: Text::from(index.to_string()),
                tier: Text::from(letter.to_string()),
            });
        }
    } else {
        for (family, tier) in js::object_entries(tier) {
            tiers.push(FamilyTier {
                family: family.into_owned(),
                tier: js::to_js_string(tier).into_owned(),
            });
        }
    }
    tiers
}

/// Returns the text of an entry in which oh-my-pi's search looks, without the label. It consists of
/// parts that depend on the type, joined by spaces. An empty part adds a space, too, as in the
/// agent.
pub fn search_text(parsed: &ParsedEntry) -> Text<'static> {
    let entry = Raw::from_checked(parsed.record.bytes);
    let parts: Vec<Text> = match parsed.kind {
        Kind::Message => message_search_parts(parsed),
        Kind::CustomMessage => custom_search_parts(entry),
        Kind::Compaction => vec![Text::from("compaction")],
        Kind::BranchSummary => {
            vec![
                Text::from("branch summary"),
                entry.get_text("summary").unwrap_or_default(),
            ]
        }
        Kind::ModelUsage => {
            let mut parts = vec![Text::from("model usage")];
            parts.extend(used_model_fields(entry));
            parts
        }
        Kind::ThinkingLevelChange => {
            // As in the agent, a missing level is found as `off`, as the row shows it.
            let level = entry
                .get_some("thinkingLevel")
                .map(|level| js::to_js_string(level));
            vec![Text::from("thinking"), level.unwrap_or(Text::from("off"))]
        }
        Kind::ServiceTierChange => service_tier_search_parts(entry),
        Kind::TtsrInjection => {
            let mut parts = vec![Text::from("ttsr injection")];
            let rules = entry.get("injectedRules").unwrap_or(Raw::NULL);
            parts.extend(rules.items().map(|rule| js::to_js_string(rule)));
            parts
        }
        Kind::ResetBoundary => vec![Text::from("reset boundary")],
        Kind::SessionInit => vec![Text::from("session init")],
        kind => match named_value(Dialect::OhMyPi, kind, entry) {
            Some(NamedValue { name, value, .. }) => {
                let text = match value {
                    Some(value) if !value.is_null() => js::to_js_string(value),
                    _ => Text::default(),
                };
                vec![Text::from(name), text]
            }
            None => Vec::new(),
        },
    };
    join_with(parts, " ")
}

/// Returns the texts of a message in which the agent's search looks, in its order: the role, the
/// start of the text, and the command if the message is a `bashExecution`.
///
/// For any other role, the third text is empty, but is there: the parts are joined with spaces, so
/// that the agent's text ends in a space then. A message that is missing has no parts.
fn message_search_parts<'r>(parsed: &ParsedEntry<'r>) -> Vec<Text<'r>> {
    let Some(message) = parsed.record.message else {
        return Vec::new();
    };
    let head = message_head(&message, parsed.blocks, ROW_UNITS);
    let mut command = Text::default();
    if parsed.role == Role::BashExecution {
        command = message
            .get(Member::Command)
            .and_then(Raw::text)
            .unwrap_or_default();
    }
    vec![role_name(parsed.role, &message), head, command]
}

/// Returns the texts of a custom message in which the agent's search looks. For an advisor's
/// message, these are the word `advisor`, the names in its row, and all notes. For any other, these
/// are the type and the start of the content, at most a row of it.
fn custom_search_parts(entry: Raw<'_>) -> Vec<Text<'_>> {
    if content::member_is(entry, "customType", "advisor") {
        let notes = row_note::advisor_notes(entry);
        return vec![
            Text::from("advisor"),
            row_note::advisor_summary(&notes),
            row_note::join_advice(&notes),
        ];
    }

    let custom_type = match entry.get_some("customType") {
        Some(custom_type) => js::to_js_string(custom_type),
        None => Text::default(),
    };
    let content = content::join_text(entry.get("content"), "");
    let content = row_note::unwrap_system_tag(&content).head(ROW_UNITS);
    vec![custom_type, content]
}

/// Returns the parts of a change of the service tier in which the search looks: the name of the
/// type, then each family of providers that has a tier, followed by the tier.
fn service_tier_search_parts(entry: Raw) -> Vec<Text<'static>> {
    let mut parts = vec![Text::from("service tier")];
    let tiers = entry.get("serviceTier").map(tiers_by_family);
    for FamilyTier { family, tier } in tiers.unwrap_or_default() {
        if !tier.is_empty() {
            parts.push(family);
            parts.push(tier);
        }
    }
    parts
}

/// Returns the start of `String(value)`. It may be one UTF-16 unit longer than a row, so that
/// [`bracketed_row`] can detect that the text is too long.
pub(super) fn display_value(value: Option<Raw>) -> Text<'static> {
    let given = value.and_then(|value| string_head(value, ROW_UNITS + 1));
    given.unwrap_or_else(|| js::interpolate(value).head(ROW_UNITS + 1).into_owned())
}

/// Returns a row `[text]`, which may be cut like that of [`bracketed_row`].
pub(super) fn bracketed_text(text: &Text) -> RowText<'static> {
    bracketed_row("", text)
}

/// Returns a row `[role: text]`, or `[text]` if `role` is empty. A text that is longer than a row
/// is cut, with [`CUT_MARK`] in place of the closing bracket.
pub(super) fn bracketed_row(role: &str, text: &Text) -> RowText<'static> {
    let is_cut = text.utf16_len() > ROW_UNITS;
    let end = if is_cut {
        BracketEnd::Cut(CUT_MARK)
    } else {
        BracketEnd::Closed
    };
    RowText::bracketed(role, &text.head(ROW_UNITS), end)
}

#[cfg(test)]
mod tests {
    use crate::agents::row::RowOptions;
    use crate::load::{LoadOptions, load};
    use crate::session::entry::Flags;
    use crate::session::search::SearchWords;

    /// Returns the row of an entry with these members, whether it is silent, and its text for
    /// searching.
    fn row(members: &str) -> (String, bool, String) {
        let title = r#"{"type":"title","v":1,"title":"","updatedAt":"","pad":""}"#;
        let header = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}"#;
        let file = format!("{title}\n{header}\n{{\"id\":\"a\",\"parentId\":null,{members}}}\n")
            .into_bytes();
        let session = load(
            &file,
            &LoadOptions {
                rows: Some(RowOptions::default()),
                search: SearchWords::new("a-word-in-no-text"),
                ..LoadOptions::default()
            },
        )
        .unwrap();
        let entry = crate::session::entry::EntryIx::new(0);
        let silent = session.entry(entry).flags.contains(Flags::SILENT);
        (
            session.row(entry).to_string(),
            silent,
            session.fuzzy_text(entry).to_string(),
        )
    }

    fn turn(members: &str) -> (String, bool) {
        let (row, silent, _) = row(&format!(
            r#""type":"message","message":{{"role":"assistant",{members}}}"#
        ));
        (row, silent)
    }

    #[test]
    fn turns_tell_how_they_ended() {
        let cases = [
            (
                r#""content":[{"type":"text","text":" a\nb "}]"#,
                "a b",
                false,
            ),
            (
                r#""content":[{"type":"text","text":"…"}],"stopReason":"stop""#,
                "…",
                true,
            ),
            (
                r#""content":[],"stopReason":"aborted""#,
                "Operation aborted",
                false,
            ),
            (
                r#""content":[],"stopReason":"aborted","errorMessage":"why""#,
                "why",
                false,
            ),
            (
                r#""content":[],"stopReason":"aborted","errorId":67108864"#,
                "(aborted)",
                false,
            ),
            (r#""content":[],"stopReason":"error""#, "Error", false),
            (
                r#""content":[],"retryRecovery":{"status":"recovered","note":"a\n b"}"#,
                "a b",
                true,
            ),
            (
                r#""content":[],"stopReason":"toolUse""#,
                "(no content)",
                true,
            ),
        ];
        for (members, text, silent) in cases {
            assert_eq!(
                turn(members),
                (format!("assistant: {text}"), silent),
                "{members}"
            );
        }
    }

    #[test]
    fn bookkeeping_is_named() {
        let cases = [
            (
                r#""type":"model_change","model":"a/b""#,
                "[model: a/b]",
                "model a/b",
            ),
            (
                r#""type":"thinking_level_change","thinkingLevel":null"#,
                "[thinking: off]",
                "thinking off",
            ),
            (
                r#""type":"service_tier_change","serviceTier":{"openai":"flex"}"#,
                "[service tier: openai:flex]",
                "service tier openai flex",
            ),
            (
                r#""type":"service_tier_change","serviceTier":null"#,
                "[service tier: (default)]",
                "service tier",
            ),
            (
                r#""type":"label","targetId":"x""#,
                "[label: (cleared)]",
                "label ",
            ),
            (
                r#""type":"compaction","tokensBefore":1500"#,
                "[compaction: 2k tokens]",
                "compaction",
            ),
            (
                r#""type":"reset_boundary""#,
                "[reset boundary]",
                "reset boundary",
            ),
            (r#""type":"brand_new_type""#, "[brand new type]", ""),
            (
                r#""type":"model_usage","purpose":"p","provider":"o","model":"m""#,
                "[model usage: p o/m]",
                "model usage p  o m",
            ),
        ];
        for (members, text, searchable) in cases {
            let (row, _, search) = row(members);
            assert_eq!(
                (row.as_str(), search.as_str()),
                (text, searchable),
                "{members}"
            );
        }
    }

    #[test]
    fn extensions_and_advisors_speak_plainly() {
        let notes = r#"{"notes":[{"note":"n","advisor":"sec","severity":"blocker"},{"note":"o","advisor":"default"}]}"#;
        let advisor = format!(
            r#""type":"custom_message","customType":"advisor","content":"x","details":{notes}"#
        );
        assert_eq!(row(&advisor).0, "advisor (sec, blocker): n o");
        let wrapped = r#""type":"custom_message","customType":"t","content":"<system-notice>hi</system-notice>""#;
        assert_eq!(row(wrapped).0, "[t]: hi");
    }

    #[test]
    fn long_names_are_cut() {
        let (row, ..) = row(&format!(
            r#""type":"custom","customType":"{}""#,
            "x".repeat(300)
        ));
        assert_eq!(row, format!("[custom: {}…", "x".repeat(200)));
    }
}
