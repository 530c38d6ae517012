//! Finds missing fields of a stored entry that an agent reads without checking that they exist.
//!
//! The names of a message's members were collected when its line was scanned, so that the text of a
//! message is not scanned again.

use crate::ops::required::{COST, USAGE, block_fields};
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::read::record::{
    Block, Content, Member, MemberSet, MessageFacts, Record, scan_message_facts,
};
use crate::session::schema::{FieldSchema, FieldType, Requirement};
use pisess_json::Raw;

/// The fields whose absence other checks report.
const REPORTED: &[&str] = &["message", "role", "content", "summary", "firstKeptEntryId"];

/// The first of the fields that one agent requires and the entry lacks.
pub(super) struct MissingField {
    pub dialect: Dialect,
    /// The missing field and its place, such as `` assistant message: `usage`: `cost` is missing
    /// ``.
    pub message: String,
}

/// Returns the first missing field of an entry, for each agent that writes such entries. Empty if
/// the entry is complete for one of the agents, because that agent may have written it.
pub(super) fn find_missing_fields(record: &Record, blocks: &[Block]) -> Vec<MissingField> {
    let mut missing = Vec::new();
    for dialect in Dialect::ALL {
        match check_fields_of_agent(dialect, record, blocks) {
            AgentFields::NotWritten => {}
            AgentFields::Complete => return Vec::new(),
            AgentFields::Missing(message) => missing.push(MissingField { dialect, message }),
        }
    }
    missing
}

/// The fields of an entry as one agent would find them.
enum AgentFields {
    /// The agent does not write such entries.
    NotWritten,
    Complete,
    /// The first field that is missing, with the type of the entry or the role of its message.
    Missing(String),
}

/// Checks that an entry has the fields without which one agent would fail. For a message entry,
/// these are fields of its message; for any other entry, its own.
fn check_fields_of_agent(dialect: Dialect, record: &Record, blocks: &[Block]) -> AgentFields {
    let kind = Kind::from_string(record.kind);
    if kind == Kind::Message
        && let Some(message) = &record.message
    {
        return check_message_of_agent(dialect, message, blocks);
    }
    let Some(fields) = kind.schema().fields.for_agent(dialect) else {
        return AgentFields::NotWritten;
    };
    match find_missing_in_entry(dialect, fields, Raw::from_checked(record.bytes)) {
        Some(what) => {
            let kind_name = kind.name().unwrap_or_default();
            AgentFields::Missing(format!("{kind_name}: {what}"))
        }
        None => AgentFields::Complete,
    }
}

/// Checks that the message of an entry has the fields that one agent requires of its role.
fn check_message_of_agent(
    dialect: Dialect,
    message: &MessageFacts,
    blocks: &[Block],
) -> AgentFields {
    let role = Role::from_string(message.role);
    let schema = role.schema();
    // No session file contains such a message: only the context of a model does.
    if !schema.is_stored {
        return AgentFields::NotWritten;
    }
    let Some(fields) = schema.fields.for_agent(dialect) else {
        return AgentFields::NotWritten;
    };
    match find_missing_in_message(dialect, fields, message, blocks) {
        Some(what) => {
            let role_name = role.name().unwrap_or_default();
            AgentFields::Missing(format!("{role_name} message: {what}"))
        }
        None => AgentFields::Complete,
    }
}

/// Returns what a message lacks first, in the order of `fields`: a field, or one inside a field,
/// such as `` `content`: block 2: `text` is missing ``. `message` and `blocks` were collected when
/// the line was scanned.
fn find_missing_in_message(
    dialect: Dialect,
    fields: &[FieldSchema],
    message: &MessageFacts,
    blocks: &[Block],
) -> Option<String> {
    let has_field = |name: &str| has_member(message.members, name);
    // Called only for a field that exists. `None`: nothing is missing inside it.
    let find_inside = |field_type| match field_type {
        FieldType::Usage => find_missing_in_usage(message.get(Member::Usage)?),
        FieldType::Content | FieldType::Blocks => find_missing_in_blocks(dialect, message, blocks),
        _ => None,
    };
    find_first_missing(fields, has_field, find_inside)
}

/// Returns what an entry that is not a message lacks first, in the order of `fields`, which are
/// those of its type: a field, or one inside a field.
fn find_missing_in_entry(dialect: Dialect, fields: &[FieldSchema], entry: Raw) -> Option<String> {
    let has_field = |name: &str| entry.get(name).is_some();
    // Called only for a field that exists. `None`: nothing is missing inside it.
    let find_inside = |field_type| match field_type {
        FieldType::Usage => find_missing_in_usage(entry.get("usage")?),
        FieldType::Content => find_missing_in_blocks_of(dialect, entry),
        FieldType::Replacement => {
            let replacement = entry.get("replacement")?;
            let what = find_missing_in_blocks_of(dialect, replacement)?;
            Some(format!("`content`: {what}"))
        }
        _ => None,
    };
    find_first_missing(fields, has_field, find_inside)
}

/// Returns the first missing field in the blocks of an object's `content`. The scan of the line
/// collected only the blocks of the message, so this object is scanned again.
fn find_missing_in_blocks_of(dialect: Dialect, object: Raw) -> Option<String> {
    let mut blocks = Vec::new();
    let facts = scan_message_facts(object, &mut blocks);
    find_missing_in_blocks(dialect, &facts, &blocks)
}

/// Returns the first missing field in the blocks of a message, such as "block 2: `text` is
/// missing". Blocks are counted from 1.
fn find_missing_in_blocks(
    dialect: Dialect,
    message: &MessageFacts,
    blocks: &[Block],
) -> Option<String> {
    let Content::Blocks = message.content else {
        return None;
    };
    for block in blocks {
        if let Some(what) = find_missing_in_block(dialect, block) {
            return Some(format!("block {}: {what}", block.index + 1));
        }
    }
    None
}

/// Returns the first missing field of a block. Which fields it must have depends on its type.
fn find_missing_in_block(dialect: Dialect, block: &Block) -> Option<String> {
    if !has_member(block.members, "type") {
        return Some("`type` is missing".to_owned());
    }
    find_first_missing(
        block_fields(dialect, |name| block.is(name)),
        |name| has_member(block.members, name),
        |_| None,
    )
}

/// Returns the first missing field of the usage of a reply (its numbers of tokens), or of the cost
/// in it. `None` if the usage is not an object.
fn find_missing_in_usage(usage: Raw) -> Option<String> {
    if !usage.is_object() {
        return None;
    }
    let members = MemberSet::from_object(usage);
    let has_field = |name: &str| has_member(members, name);
    // Called only for a field that exists. `None`: nothing is missing inside it.
    let find_inside = |field_type| match field_type {
        // The only object in the table of a usage is the cost.
        FieldType::Object => find_missing_in_cost(usage.get("cost")?),
        _ => None,
    };
    find_first_missing(USAGE, has_field, find_inside)
}

/// Returns the first missing field of the cost in a usage.
fn find_missing_in_cost(cost: Raw) -> Option<String> {
    let members = MemberSet::from_object(cost);
    find_first_missing(COST, |name| has_member(members, name), |_| None)
}

fn has_member(members: MemberSet, name: &str) -> bool {
    members.contains(Member::named(name.as_bytes()))
}

/// Returns the first required field that an object lacks, or what one of its fields lacks, as a
/// text such as `` `usage`: `cost` is missing ``. Fields in [`REPORTED`] are left to other checks.
///
/// `fields` is the table for the object. `has_field` returns whether the object has a field.
/// `find_inside` returns what is missing inside an existing field of this type.
fn find_first_missing(
    fields: &[FieldSchema],
    has_field: impl Fn(&str) -> bool,
    find_inside: impl Fn(FieldType) -> Option<String>,
) -> Option<String> {
    for &FieldSchema {
        name,
        field_type,
        requirement,
    } in fields
    {
        if has_field(name) {
            if let Some(what) = find_inside(field_type) {
                return Some(format!("`{name}`: {what}"));
            }
        } else if requirement == Requirement::Always && !REPORTED.contains(&name) {
            return Some(format!("`{name}` is missing"));
        }
    }
    None
}
