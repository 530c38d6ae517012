//! Reads the facts of one line in a single walk. Texts are skipped, not decoded.

use crate::session::read::record::{Member, string, value};
use pisess_json::scan::RawString;
use pisess_json::{KeyCache, Malformed, Raw, Scanner};

/// The result of the walk over one line. Of duplicate keys the last counts, as in the agents.
#[derive(Debug, Default)]
pub struct Line<'a> {
    /// The bytes of the value.
    pub bytes: &'a [u8],
    pub is_object: bool,
    pub kind: Option<RawString<'a>>,
    pub id: Option<RawString<'a>>,
    pub parent_id: Option<Raw<'a>>,
    pub timestamp: Option<RawString<'a>>,
    pub usage: Option<Raw<'a>>,
    pub provider: Option<Raw<'a>>,
    pub model: Option<Raw<'a>>,
    pub message: Option<Message<'a>>,
}

/// The facts of a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message<'a> {
    /// The bytes of the object.
    pub bytes: &'a [u8],
    pub timestamp: Option<Raw<'a>>,
    pub role: Option<RawString<'a>>,
    pub provider: Option<Raw<'a>>,
    pub model: Option<Raw<'a>>,
    /// pi: the model that responded, if it is not the requested one.
    pub response_model: Option<Raw<'a>>,
    pub usage: Option<Raw<'a>>,
    pub tool_name: Option<Raw<'a>>,
    pub is_error: Option<Raw<'a>>,
    /// Of a task's result: what its sub-agents used, and where their sessions are.
    pub details: Option<Raw<'a>>,
}

/// A tool call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallFacts<'a> {
    is_call: bool,
    pub name: Option<Raw<'a>>,
    pub arguments: Option<Raw<'a>>,
}

/// Walks over the value at the scanner's position. Adds the tool calls of its message to `calls`.
pub fn scan<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
    calls: &mut Vec<CallFacts<'a>>,
) -> Result<Line<'a>, Malformed> {
    calls.clear();
    keys.restart();
    let mut line = Line { is_object: scanner.peek() == b'{', ..Line::default() };
    if !line.is_object {
        scanner.skip_value_with(keys)?;
        return Ok(line);
    }
    let start = scanner.pos();
    scanner.members(keys, |scanner, keys, key| {
        match key {
            Member::Type => line.kind = string(scanner, keys)?,
            Member::Id => line.id = string(scanner, keys)?,
            Member::ParentId => line.parent_id = Some(value(scanner, keys)?),
            Member::Timestamp => line.timestamp = string(scanner, keys)?,
            Member::Message => line.message = message(scanner, keys, calls)?,
            Member::Usage => line.usage = Some(value(scanner, keys)?),
            Member::Provider => line.provider = Some(value(scanner, keys)?),
            Member::Model => line.model = Some(value(scanner, keys)?),
            _ => scanner.skip_value_with(keys)?,
        }
        Ok(())
    })?;
    line.bytes = &scanner.bytes()[start..scanner.pos()];
    Ok(line)
}

fn message<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
    calls: &mut Vec<CallFacts<'a>>,
) -> Result<Option<Message<'a>>, Malformed> {
    if scanner.peek() != b'{' {
        scanner.skip_value_with(keys)?;
        return Ok(None);
    }
    calls.clear();
    let mut message = Message::default();
    let start = scanner.pos();
    scanner.members(keys, |scanner, keys, key| {
        match key {
            Member::Timestamp => message.timestamp = Some(value(scanner, keys)?),
            Member::Role => message.role = string(scanner, keys)?,
            Member::Content => content(scanner, keys, calls)?,
            Member::Provider => message.provider = Some(value(scanner, keys)?),
            Member::Model => message.model = Some(value(scanner, keys)?),
            Member::ResponseModel => message.response_model = Some(value(scanner, keys)?),
            Member::Usage => message.usage = Some(value(scanner, keys)?),
            Member::ToolName => message.tool_name = Some(value(scanner, keys)?),
            Member::IsError => message.is_error = Some(value(scanner, keys)?),
            Member::Details => message.details = Some(value(scanner, keys)?),
            _ => scanner.skip_value_with(keys)?,
        }
        Ok(())
    })?;
    message.bytes = &scanner.bytes()[start..scanner.pos()];
    Ok(Some(message))
}

fn content<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
    calls: &mut Vec<CallFacts<'a>>,
) -> Result<(), Malformed> {
    calls.clear();
    if scanner.peek() != b'[' {
        return scanner.skip_value_with(keys);
    }
    scanner.array(|scanner| {
        if scanner.peek() != b'{' {
            return scanner.skip_value_with(keys);
        }
        let mut call = CallFacts::default();
        scanner.members(keys, |scanner, keys, key| {
            match key {
                Member::Type => call.is_call = string(scanner, keys)?.is_some_and(|kind| kind.is("toolCall")),
                Member::Name => call.name = Some(value(scanner, keys)?),
                Member::Arguments => call.arguments = Some(value(scanner, keys)?),
                _ => scanner.skip_value_with(keys)?,
            }
            Ok(())
        })?;
        calls.extend(Some(call).filter(|call| call.is_call));
        Ok(())
    })
}
