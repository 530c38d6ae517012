//! Reads a line: checks that it is JSON to its end, and collects the members of the entry and of
//! its message that are needed often.
//!
//! A line is walked over once. Values that a row of the tree may need (role, text blocks, tool
//! calls) are kept as positions in the line. They are decoded later, and only for rows that are
//! drawn.

use crate::session::content::find_members;
use crate::session::entry::{Kind, Role};
use pisess_json::scan::RawString;
use pisess_json::text::Text;
use pisess_json::{KeyCache, Malformed, Raw, Scanner};

/// The members of a record that were collected. If a key repeats, the last value counts, as in the
/// agents.
#[derive(Debug, Default)]
#[allow(missing_docs)] // Each field is named after its member.
pub struct Record<'a> {
    /// The bytes of the value.
    pub bytes: &'a [u8],
    /// Whether the value is an object. If not, no member is set.
    pub is_object: bool,
    pub kind: Option<RawString<'a>>,
    pub id: Option<RawString<'a>>,
    /// Whether the object has an `id`, of whatever type.
    pub has_id: bool,
    pub timestamp: Option<RawString<'a>>,
    pub custom_type: Option<RawString<'a>>,
    pub message: Option<MessageFacts<'a>>,
    pub(crate) values: [Option<Raw<'a>>; KEPT_MEMBERS],
}

/// The members of a message that were collected.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // Each field is named after its member.
pub struct MessageFacts<'a> {
    /// The bytes of the object.
    pub bytes: &'a [u8],
    /// The members it has, of whatever type.
    pub members: MemberSet,
    pub role: Option<RawString<'a>>,
    pub content: Content<'a>,
    pub(crate) values: [Option<Raw<'a>>; KEPT_MEMBERS],
}

impl<'a> Record<'a> {
    /// Returns the value of a member. Only values of the members listed before [`Member::Type`] are
    /// kept. The timestamp is in a field of its own.
    pub fn get(&self, member: Member) -> Option<Raw<'a>> {
        debug_assert!(member != Member::Timestamp && (member as usize) < KEPT_MEMBERS);
        self.values.get(member as usize).copied().flatten()
    }
}

/// The provider and the model that made a reply.
pub struct Respondent<'a> {
    /// The provider; `None` if it is not stored as a string.
    pub provider: Option<Text<'a>>,
    /// The model; `None` if it is not stored as a string.
    pub model: Option<Text<'a>>,
}

impl<'a> Respondent<'a> {
    /// Reads the provider and the model from the message of a reply. The model that responded
    /// counts more than the model that was requested.
    pub fn of_message(message: Raw<'a>) -> Respondent<'a> {
        let [provider, requested, responded] =
            find_members(message, ["provider", "model", "responseModel"]);
        let model = responded.filter(|model| model.is_string()).or(requested);
        Respondent {
            provider: provider.and_then(Raw::text),
            model: model.and_then(Raw::text),
        }
    }
}

impl<'a> MessageFacts<'a> {
    /// Returns the message; `null` if it is not an object.
    pub fn as_raw(&self) -> Raw<'a> {
        if self.bytes.is_empty() {
            return Raw::NULL;
        }
        Raw::from_checked(self.bytes)
    }

    /// Returns the value of a member. Only values of the members listed before [`Member::Type`] are
    /// kept.
    pub fn get(&self, member: Member) -> Option<Raw<'a>> {
        debug_assert!((member as usize) < KEPT_MEMBERS);
        self.values.get(member as usize).copied().flatten()
    }

    /// Returns the provider and the model that responded. The model may not be the one that was
    /// requested.
    pub fn respondent(&self) -> Respondent<'a> {
        let responded = self
            .get(Member::ResponseModel)
            .filter(|model| model.is_string());
        let model = responded.or(self.get(Member::Model));
        Respondent {
            provider: self.get(Member::Provider).and_then(Raw::text),
            model: model.and_then(Raw::text),
        }
    }
}

/// A record, with the type and role of its entry.
#[derive(Clone, Copy, Debug)]
pub struct ParsedEntry<'r> {
    /// The type. An entry of an older format has the type that migration gives it.
    pub kind: Kind,
    /// The role of its message.
    pub role: Role,
    /// The members that were collected.
    pub record: &'r Record<'r>,
    /// The content blocks of its message.
    pub blocks: &'r [Block<'r>],
}

/// `message.content`.
#[derive(Clone, Copy, Debug, Default)]
pub enum Content<'a> {
    /// Missing or `null`.
    #[default]
    None,
    /// A string.
    Text(RawString<'a>),
    /// An array; its blocks are in the list passed to [`scan_record`].
    Blocks,
    /// Anything else.
    Other,
}

/// A block of a message's content.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // Each field is named after its member.
pub struct Block<'a> {
    /// The index in the array.
    pub index: u32,
    /// The bytes of the object.
    pub bytes: &'a [u8],
    /// The members it has, of whatever type.
    pub members: MemberSet,
    pub kind: Option<RawString<'a>>,
    /// `text` of a text block.
    pub text: Option<Raw<'a>>,
    /// `thinking` of a thinking block.
    pub thinking: Option<Raw<'a>>,
    /// `id`, `name` and `arguments` of a tool call.
    pub id: Option<Raw<'a>>,
    pub name: Option<Raw<'a>>,
    pub arguments: Option<Raw<'a>>,
}

impl Block<'_> {
    /// Whether the block is of this type.
    pub fn is(&self, kind: &str) -> bool {
        self.kind.is_some_and(|own_kind| own_kind.is(kind))
    }

    /// Whether the block is a tool call.
    pub fn is_call(&self) -> bool {
        self.is("toolCall")
    }
}

macro_rules! members {
    ($($(#[$doc:meta])* $member:ident = $key:literal,)*) => {
        /// A member of a record, a message or a block; `Other` is one that no walk collects.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // Each is named after its key.
        pub enum Member {
            $($(#[$doc])* $member,)*
            Other,
        }

        impl Member {
            /// Returns the member with this key.
            pub fn named(key: &[u8]) -> Self {
                $(if key == $key.as_bytes() { return Member::$member; })*
                Member::Other
            }
        }
    };
}

members! {
    // The values of these members are kept, for records and messages alike.
    ParentId = "parentId",
    /// Of the draft tree.
    Parent = "parent",
    TargetId = "targetId",
    Label = "label",
    /// Of a `session_info`.
    Name = "name",
    Timestamp = "timestamp",
    Provider = "provider",
    Model = "model",
    /// pi: the model that responded, if it is not the requested one.
    ResponseModel = "responseModel",
    /// Of a message, a summary, or a request outside of the conversation.
    Usage = "usage",
    /// Of a tool result: what the tool returned besides its content.
    Details = "details",
    StopReason = "stopReason",
    ErrorMessage = "errorMessage",
    Command = "command",
    ToolCallId = "toolCallId",
    ToolName = "toolName",
    /// oh-my-pi: why the turn ended.
    ErrorId = "errorId",
    /// oh-my-pi: whether the turn was retried.
    RetryRecovery = "retryRecovery",
    /// oh-my-pi: who caused a message, `user` or `agent`.
    Attribution = "attribution",
    /// The calls that a tool made itself.
    NestedCalls = "nestedCalls",
    IsError = "isError",
    ExitCode = "exitCode",
    Cancelled = "cancelled",
    // The values of these members are not kept in lists; some have a field of their own.
    Type = "type",
    Id = "id",
    Message = "message",
    Role = "role",
    Content = "content",
    Text = "text",
    Arguments = "arguments",
    Thinking = "thinking",
    Data = "data",
    MimeType = "mimeType",
    CustomType = "customType",
    Output = "output",
    Code = "code",
    Files = "files",
    Input = "input",
    CacheRead = "cacheRead",
    CacheWrite = "cacheWrite",
    Cost = "cost",
    Total = "total",
}

/// The number of members whose values are kept. They come first in the table.
const KEPT_MEMBERS: usize = Member::Type as usize;

impl Member {
    /// Returns the index of the member in the list of kept values; `None` if its value is not kept
    /// there.
    #[inline]
    fn kept_index(self) -> Option<usize> {
        // The members whose values are kept come first in the enum.
        let index = self as usize;
        if index < KEPT_MEMBERS {
            Some(index)
        } else {
            None
        }
    }
}

/// A set of members.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberSet(u64);

const _: () = assert!((Member::Other as u32) < u64::BITS, "each member has a bit");

impl MemberSet {
    /// Returns the members that an object has.
    pub fn from_object(object: Raw) -> Self {
        let mut members = MemberSet::default();
        for (key, _) in object.members() {
            members.insert(Member::named(key.text().as_bytes()));
        }
        members
    }

    #[inline]
    fn insert(&mut self, member: Member) {
        self.0 |= 1 << member as u32;
    }

    /// Whether a member is in the set.
    pub fn contains(self, member: Member) -> bool {
        self.0 >> member as u32 & 1 == 1
    }
}

/// Returns an empty cache of keys for [`scan_record_into`].
pub fn new_key_cache() -> KeyCache<Member> {
    KeyCache::new(Member::named)
}

/// Walks over the value at the scanner's position, and returns the members to collect. Replaces the
/// content of `blocks` by the content blocks of the message.
pub fn scan_record<'a>(
    scanner: &mut Scanner<'a>,
    blocks: &mut Vec<Block<'a>>,
) -> Result<Record<'a>, Malformed> {
    let mut record = Record::default();
    let mut keys = KeyCache::disabled(Member::named);
    scan_record_into(scanner, &mut keys, &mut record, blocks)?;
    Ok(record)
}

/// Does the same as [`scan_record`], with a cache of keys. `record` must be empty. It is filled in
/// place, because records are large to move.
pub fn scan_record_into<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
    record: &mut Record<'a>,
    blocks: &mut Vec<Block<'a>>,
) -> Result<(), Malformed> {
    blocks.clear();
    keys.restart();
    record.is_object = scanner.peek() == b'{';
    let start = scanner.pos();
    // In a damaged file, the value on a line may be of any type.
    if record.is_object {
        scanner.walk_members(keys, |scanner, keys, key| {
            record.scan_member(key, scanner, keys, blocks)
        })?;
    } else {
        scanner.skip_value_with(keys)?;
    }
    record.bytes = &scanner.bytes()[start..scanner.pos()];
    Ok(())
}

/// Walks over a message that is known to be valid JSON, and returns the members to collect.
/// Replaces the content of `blocks` by its content blocks. A message that is not an object has no
/// members.
pub fn scan_message_facts<'a>(whole: Raw<'a>, blocks: &mut Vec<Block<'a>>) -> MessageFacts<'a> {
    blocks.clear();
    let mut facts = MessageFacts::default();
    if !whole.is_object() {
        return facts;
    }
    let mut scanner = Scanner::document(whole.bytes());
    let mut keys = KeyCache::disabled(Member::named);
    match facts.scan(&mut scanner, &mut keys, blocks) {
        Ok(()) => facts,
        Err(_) => MessageFacts::default(),
    }
}

impl<'a> Record<'a> {
    /// Walks over the value of the member `key`, and stores it if it is one to collect. Of a
    /// repeated key, the last counts. The content blocks of a message are stored in `blocks`.
    fn scan_member(
        &mut self,
        key: Member,
        scanner: &mut Scanner<'a>,
        keys: &mut KeyCache<Member>,
        blocks: &mut Vec<Block<'a>>,
    ) -> Result<(), Malformed> {
        match key {
            Member::Type => self.kind = scan_string(scanner, keys)?,
            Member::Id => {
                self.has_id = true;
                self.id = scan_string(scanner, keys)?;
            }
            Member::Timestamp => self.timestamp = scan_string(scanner, keys)?,
            Member::CustomType => self.custom_type = scan_string(scanner, keys)?,
            Member::Message => self.scan_message(scanner, keys, blocks)?,
            other => match other.kept_index() {
                Some(index) => self.values[index] = Some(scan_value(scanner, keys)?),
                None => scanner.skip_value_with(keys)?,
            },
        }
        Ok(())
    }

    /// Walks over the value of the member `message`, and stores what is collected of it, or `None`
    /// if it is not an object. Of several members `message`, the last counts, so nothing of an
    /// earlier one may remain.
    fn scan_message(
        &mut self,
        scanner: &mut Scanner<'a>,
        keys: &mut KeyCache<Member>,
        blocks: &mut Vec<Block<'a>>,
    ) -> Result<(), Malformed> {
        if scanner.peek() != b'{' {
            self.message = None;
            return scanner.skip_value_with(keys);
        }
        // Filled in place, because the facts are large to move.
        let facts = self.message.insert(MessageFacts::default());
        facts.scan(scanner, keys, blocks)
    }
}

impl<'a> MessageFacts<'a> {
    /// Walks over a message, which must be an object, and stores the members to collect. Its
    /// content blocks replace those in `blocks`. After an error, what is stored is incomplete, and
    /// must not be used.
    fn scan(
        &mut self,
        scanner: &mut Scanner<'a>,
        keys: &mut KeyCache<Member>,
        blocks: &mut Vec<Block<'a>>,
    ) -> Result<(), Malformed> {
        blocks.clear();
        let start = scanner.pos();
        scanner.walk_members(keys, |scanner, keys, key| {
            self.members.insert(key);
            match key {
                Member::Role => self.role = scan_string(scanner, keys)?,
                Member::Content => self.content = scan_content(scanner, keys, blocks)?,
                other => match other.kept_index() {
                    Some(index) => self.values[index] = Some(scan_value(scanner, keys)?),
                    None => scanner.skip_value_with(keys)?,
                },
            }
            Ok(())
        })?;
        self.bytes = &scanner.bytes()[start..scanner.pos()];
        Ok(())
    }
}

/// Walks over the content of a message, and returns its form. The objects in an array are stored in
/// `blocks`, in place of what was there. Any other content has no blocks.
fn scan_content<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
    blocks: &mut Vec<Block<'a>>,
) -> Result<Content<'a>, Malformed> {
    blocks.clear();
    match scanner.peek() {
        b'"' => scanner.read_string().map(Content::Text),
        b'[' => {
            scan_blocks(scanner, keys, blocks)?;
            Ok(Content::Blocks)
        }
        // `null`: no other value begins with this letter.
        b'n' => scanner.skip_value_with(keys).map(|()| Content::None),
        _ => scanner.skip_value_with(keys).map(|()| Content::Other),
    }
}

/// Walks over an array, and stores its objects in `blocks`, each with its index in the array. Other
/// items are skipped.
fn scan_blocks<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
    blocks: &mut Vec<Block<'a>>,
) -> Result<(), Malformed> {
    let mut next_index = 0;
    scanner.walk_array(|scanner| {
        let index = next_index;
        next_index += 1;
        if scanner.peek() != b'{' {
            return scanner.skip_value_with(keys);
        }
        blocks.push(Block {
            index,
            ..scan_block(scanner, keys)?
        });
        Ok(())
    })
}

/// Walks over a content block, and returns the members to collect. Of a repeated key, the last
/// counts.
fn scan_block<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
) -> Result<Block<'a>, Malformed> {
    let mut block = Block::default();
    let start = scanner.pos();
    scanner.walk_members(keys, |scanner, keys, key| {
        block.members.insert(key);
        match key {
            Member::Type => block.kind = scan_string(scanner, keys)?,
            Member::Text => block.text = Some(scan_value(scanner, keys)?),
            Member::Thinking => block.thinking = Some(scan_value(scanner, keys)?),
            Member::Id => block.id = Some(scan_value(scanner, keys)?),
            Member::Name => block.name = Some(scan_value(scanner, keys)?),
            Member::Arguments => block.arguments = Some(scan_value(scanner, keys)?),
            _ => scanner.skip_value_with(keys)?,
        }
        Ok(())
    })?;
    block.bytes = &scanner.bytes()[start..scanner.pos()];
    Ok(block)
}

/// Reads the value at the scanner's position, and moves past it.
fn scan_value<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
) -> Result<Raw<'a>, Malformed> {
    scanner.read_value_with(keys).map(Raw::from_checked)
}

/// Reads the value at the scanner's position, and moves past it. `None` if the value is not a
/// string.
fn scan_string<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
) -> Result<Option<RawString<'a>>, Malformed> {
    if scanner.peek() == b'"' {
        return scanner.read_string().map(Some);
    }
    scanner.skip_value_with(keys).map(|()| None)
}

/// Returns the name of a head of the draft tree format; `None` for the head `main`, for a head
/// without a name, and for any other entry.
pub fn draft_head_name(entry: Raw<'_>) -> Option<Text<'_>> {
    let is_head = entry.get("type").is_some_and(|kind| kind.is("head"));
    let name = entry.get_text("name")?;
    if is_head && !name.is_empty() && name != "main" {
        Some(name)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(line: &str, see: impl FnOnce(Record, &[Block])) {
        let mut blocks = Vec::new();
        let record = scan_record(&mut Scanner::new(line.as_bytes()), &mut blocks).unwrap();
        see(record, &blocks);
    }

    #[test]
    fn the_last_of_duplicate_keys_counts() {
        let line = r#"{"id":"a","message":{"content":[{"type":"text"}]},"message":{"role":"user","content":[]},"\u0069d":"b"}"#;
        scanned(line, |record, blocks| {
            assert_eq!(record.id.unwrap().bytes, b"b");
            assert!(record.message.unwrap().role.unwrap().is("user"));
            assert!(blocks.is_empty());
        });
    }

    #[test]
    fn blocks_are_found_where_the_content_is_an_array() {
        let line = r#"{"message":{"content":[{"type":"text","text":"a"},5,{"type":"toolCall","id":"c","arguments":{"type":"x"}}],"role":"assistant"}}"#;
        scanned(line, |record, blocks| {
            assert!(matches!(record.message.unwrap().content, Content::Blocks));
            assert_eq!(blocks.len(), 2);
            assert!(blocks[1].kind.unwrap().is("toolCall"));
        });
    }

    #[test]
    fn other_values_pass_too() {
        scanned("5", |record, _| {
            assert!(!record.is_object && record.bytes == b"5")
        });
        scanned(r#"{"type":3,"id":null,"message":[]}"#, |record, _| {
            assert!(record.kind.is_none() && record.id.is_none() && record.message.is_none());
        });
    }
}
