//! Determines the fields that a stored entry lacks although an agent reads them without checking
//! that they exist.
//!
//! The walk over a line collects the members of its message, so that the text of a message is not
//! walked again.

use crate::ops::required::{COST, USAGE, block_fields};
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::read::record::{
    Block, Content, Member, Members, MessageFacts, Record, message_facts,
};
use crate::session::schema::{FieldSchema, Needed, Want};
use pisess_json::Raw;

/// The fields whose absence is reported as a defect of its own.
const REPORTED: &[&str] = &["message", "role", "content", "summary", "firstKeptEntryId"];

/// Returns what an entry lacks, for each agent that writes such entries. An entry that is complete
/// for one of them is complete: it may be in a session that both agents wrote.
pub(super) fn missing(record: &Record, blocks: &[Block]) -> Vec<(Dialect, String)> {
    let kind = Kind::of_string(record.kind);
    let message = record.message.as_ref().filter(|_| kind == Kind::Message);
    let role = message.map_or(Role::Missing, |message| Role::of_string(message.role));
    let mut lacking = Vec::new();
    for dialect in Dialect::ALL {
        let fields = match message {
            Some(_) => role
                .schema()
                .fields
                .of(dialect)
                .filter(|_| role.schema().is_stored),
            None => kind.schema().fields.of(dialect),
        };
        let Some(fields) = fields else { continue };
        let what = match message {
            Some(message) => in_message(dialect, fields, message, blocks)
                .map(|what| format!("{} message: {what}", role.name().unwrap_or_default())),
            None => in_entry(dialect, fields, Raw::checked(record.bytes))
                .map(|what| format!("{}: {what}", kind.name().unwrap_or_default())),
        };
        match what {
            None => return Vec::new(),
            Some(what) => lacking.push((dialect, what)),
        }
    }
    lacking
}

fn in_message(
    dialect: Dialect,
    fields: &[FieldSchema],
    message: &MessageFacts,
    blocks: &[Block],
) -> Option<String> {
    first_lacking(fields, among(message.members), |want| match want {
        Want::Usage => in_usage(message.get(Member::Usage)?),
        Want::Content | Want::Blocks => in_content(dialect, message, blocks),
        _ => None,
    })
}

/// Returns what an entry other than a message lacks.
fn in_entry(dialect: Dialect, fields: &[FieldSchema], entry: Raw) -> Option<String> {
    let content = |object| {
        let mut blocks = Vec::new();
        let facts = message_facts(object, &mut blocks);
        in_content(dialect, &facts, &blocks)
    };
    first_lacking(
        fields,
        |name| entry.get(name).is_some(),
        |want| match want {
            Want::Usage => in_usage(entry.get("usage")?),
            Want::Content => content(entry),
            Want::Replacement => Some(format!(
                "`content`: {}",
                content(entry.get("replacement")?)?
            )),
            _ => None,
        },
    )
}

fn in_content(dialect: Dialect, message: &MessageFacts, blocks: &[Block]) -> Option<String> {
    let blocks = if let Content::Blocks = message.content {
        blocks
    } else {
        &[]
    };
    blocks.iter().find_map(|block| {
        let has = among(block.members);
        let what = if has("type") {
            first_lacking(
                block_fields(dialect, |name| block.kind.is_some_and(|kind| kind.is(name))),
                has,
                |_| None,
            )
        } else {
            Some("`type` is missing".to_owned())
        };
        Some(format!("block {}: {}", block.at + 1, what?))
    })
}

fn in_usage(usage: Raw) -> Option<String> {
    let in_cost = |want| match want {
        Want::Object => first_lacking(COST, among(Members::of(usage.get("cost")?)), |_| None),
        _ => None,
    };
    usage
        .is_object()
        .then(|| first_lacking(USAGE, among(Members::of(usage)), in_cost))
        .flatten()
}

/// Returns a function that returns whether an object with these members has one of this name.
fn among(members: Members) -> impl Fn(&str) -> bool {
    move |name| members.has(Member::named(name.as_bytes()))
}

/// Returns the first field of a table that an object lacks, or what is lacking inside it.
fn first_lacking(
    fields: &[FieldSchema],
    has: impl Fn(&str) -> bool,
    inside: impl Fn(Want) -> Option<String>,
) -> Option<String> {
    fields.iter().find_map(|&(name, want, needed)| {
        if has(name) {
            return inside(want).map(|what| format!("`{name}`: {what}"));
        }
        let is_reported = REPORTED.contains(&name);
        (needed == Needed::Always && !is_reported).then(|| format!("`{name}` is missing"))
    })
}
