//! Converts ids of tool calls and names of tools to a form that an API accepts. Also decides which
//! models take ids in Google's API.

use super::blocks::Authorship;
use super::sink::replace_lone_surrogates;
use super::{Api, RequestTarget};
use foldhash::HashMap;
use pisess_json::js::to_base_36;
use pisess_json::text::{Text, concat_texts};

/// The maximum length of an id in most APIs, in UTF-16 units.
pub const MAX_ID_UNITS: usize = 64;
/// The maximum length of an id in OpenAI's Chat Completions, in UTF-16 units.
const MAX_COMPLETIONS_ID_UNITS: usize = 40;
/// The first number to append to an id that is taken.
const FIRST_SUFFIX: usize = 2;

/// The ids of a call in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireId {
    /// The id that connects a call with its result.
    pub call_id: Text<'static>,
    /// In the Responses API: the id of the item that contains the call.
    pub item_id: Option<Text<'static>>,
}

/// The ids of the calls in a body, of which no two are the same.
#[derive(Debug, Default)]
pub struct UsedIds {
    /// The keys are the ids that are taken. The value is the number to append first if the id is
    /// wanted again.
    next_numbers: HashMap<Text<'static>, usize>,
}

impl UsedIds {
    /// Reserves an id that no call has, and returns it: `wanted` or, if that is reserved, the first
    /// that is free of `wanted_2`, `wanted_3` and so on. To fit into `max_units` UTF-16 units with
    /// its number, `wanted` is cut.
    fn reserve_id(&mut self, wanted: &Text<'static>, max_units: usize) -> Text<'static> {
        let Some(&next_number) = self.next_numbers.get(wanted) else {
            self.next_numbers.insert(wanted.clone(), FIRST_SUFFIX);
            return wanted.clone();
        };

        // The loop ends: different numbers give different ids, even if `wanted` is cut.
        let mut number = next_number;
        let mut id = append_number(wanted, number, max_units);
        while self.next_numbers.contains_key(&id) {
            number += 1;
            id = append_number(wanted, number, max_units);
        }
        self.next_numbers.insert(wanted.clone(), number + 1);
        // A later call may want the numbered id itself.
        self.next_numbers.insert(id.clone(), FIRST_SUFFIX);
        id
    }

    /// Whether an id is taken both here and in `other`.
    pub fn overlap(&self, other: &UsedIds) -> bool {
        self.next_numbers
            .keys()
            .any(|id| other.next_numbers.contains_key(id))
    }

    /// Adds the ids that are taken in `other`.
    pub fn merge(&mut self, other: UsedIds) {
        self.next_numbers.extend(other.next_numbers);
    }
}

/// Returns an id for a call in the body, and adds it to `used_ids`, so that each call has another
/// one. `session_id` is the id of the call in the session.
pub fn assign_id(
    used_ids: &mut UsedIds,
    session_id: &Text,
    authorship: Authorship,
    target: &RequestTarget,
) -> WireId {
    let mut wanted = derive_wire_id(session_id, authorship, target);
    if wanted.call_id.is_empty() {
        wanted.call_id = Text::from("call");
    }
    let call_id = used_ids.reserve_id(&wanted.call_id, max_id_units(target));
    let item_id = if call_id == wanted.call_id {
        wanted.item_id
    } else {
        // The provider knows the item under the unnumbered id only, so the item is sent without an
        // id.
        None
    };
    WireId { call_id, item_id }
}

/// Appends a number to an id, which is cut so that both fit into `max_units` UTF-16 units.
fn append_number(id: &Text, number: usize, max_units: usize) -> Text<'static> {
    let suffix = format!("_{number}");
    let mut numbered = id.head_whole(max_units - suffix.len()).into_owned();
    numbered.push_str(&suffix);
    numbered
}

/// Returns the maximum length of an id in the body, in UTF-16 units.
fn max_id_units(target: &RequestTarget) -> usize {
    match target.api {
        Api::OpenAi if target.model.provider == "openai" => MAX_COMPLETIONS_ID_UNITS,
        Api::OpenAi => usize::MAX,
        Api::Anthropic | Api::Responses | Api::Google => MAX_ID_UNITS,
    }
}

/// Converts the id of a call in the session to a form that the API accepts. Two calls may get the
/// same id: see [`assign_id`]. An id that is not sent, as for some models of Google, stays the
/// same.
fn derive_wire_id(own_id: &Text, authorship: Authorship, target: &RequestTarget) -> WireId {
    let call_id = match target.api {
        Api::Anthropic => sanitize_id(own_id).head(MAX_ID_UNITS),
        Api::Google if takes_ids(&target.model.id) => sanitize_id(own_id).head(MAX_ID_UNITS),
        Api::Google => own_id.clone().into_owned(),
        Api::OpenAi => completions_id(own_id, authorship, target),
        Api::Responses => return responses_id(own_id, authorship, target),
    };
    WireId {
        call_id,
        item_id: None,
    }
}

/// Converts an id for the Chat Completions API.
///
/// If another model wrote the call, and its id is from the Responses API, the halves of `CALL|ITEM`
/// become `CALL_ITEM`. If that is too long, `CALL` is cut, and a hash of the whole id replaces
/// `ITEM`. OpenAI gets any other id cut to its limit; other providers get it without lone
/// surrogates.
fn completions_id(own_id: &Text, authorship: Authorship, target: &RequestTarget) -> Text<'static> {
    let whole_id = replace_lone_surrogates(own_id.as_borrowed(), "").into_owned();
    let halves = if authorship.is_same_model() {
        None
    } else {
        split_responses_id(&whole_id)
    };
    let Some(ResponsesId { call, item }) = halves else {
        return whole_id.head_whole(max_id_units(target));
    };

    let call = sanitize_id(&call);
    let item = sanitize_id(&item);
    let gap = if item.is_empty() { "" } else { "_" };
    let joined = concat_texts(&[&call, &gap, &item]);
    if joined.utf16_len() <= MAX_COMPLETIONS_ID_UNITS {
        joined
    } else {
        shorten_completions_id(&call, &whole_id)
    }
}

/// Returns the start of the id of a call, and a hash of the whole id, as in `call_1_x3k9`.
/// Together, they have the maximum length of the Chat Completions API.
fn shorten_completions_id(call: &Text, whole_id: &Text) -> Text<'static> {
    /// The maximum length of the hash, in UTF-16 units.
    const HASH_UNITS: usize = 8;

    let whole_hash = Text::from(short_hash(whole_id));
    let suffix = concat_texts(&[&"_", &whole_hash.head(HASH_UNITS)]);
    // This cannot underflow: the suffix has at most 9 units, `_` and the hash.
    let call_units = MAX_COMPLETIONS_ID_UNITS - suffix.utf16_len();
    concat_texts(&[&call.head(call_units), &suffix])
}

/// Converts an id for the Responses API, in which a call and the item that contains it have an id
/// each. The agents store both as `CALL|ITEM`.
///
/// If the same model wrote the call, both are sent, if the API accepts them. If another model did,
/// OpenAI gets a new id for the item (see [`foreign_item_id`]), and other providers get one id for
/// the call, made from the whole id.
fn responses_id(own_id: &Text, authorship: Authorship, target: &RequestTarget) -> WireId {
    if authorship.is_same_model() {
        return own_responses_id(own_id);
    }

    let halves = split_responses_id(own_id);
    let provider = target.model.provider.to_string_lossy();
    let takes_item_ids = matches!(&*provider, "openai" | "openai-codex" | "opencode");
    match halves {
        Some(halves) if takes_item_ids => WireId {
            call_id: truncate_id(&halves.call),
            item_id: foreign_item_id(&halves.item, authorship),
        },
        _ => WireId {
            call_id: truncate_id(own_id),
            item_id: None,
        },
    }
}

/// Converts an id for the Responses API if the model that receives it also wrote the call.
fn own_responses_id(own_id: &Text) -> WireId {
    let Some(halves) = split_responses_id(own_id) else {
        return WireId {
            call_id: sanitize_id(own_id).head(MAX_ID_UNITS),
            item_id: None,
        };
    };
    let item = halves.item;
    WireId {
        call_id: sanitize_id(&halves.call).head(MAX_ID_UNITS),
        item_id: if is_item_id(&item) { Some(item) } else { None },
    }
}

/// Whether the Responses API accepts this as the id of an item.
fn is_item_id(id: &Text) -> bool {
    id.as_bytes().starts_with(b"fc_") && sanitize_id(id) == *id && id.utf16_len() <= MAX_ID_UNITS
}

/// Returns a new id for an item that another model wrote. `None` if only the model is another, but
/// not the provider and the API: then the item has no id.
fn foreign_item_id(item: &Text, authorship: Authorship) -> Option<Text<'static>> {
    if authorship.is_same_provider && authorship.is_same_api {
        return None;
    }
    Some(Text::from(format!("fc_{}", short_hash(item))))
}

/// The two halves of an id from the Responses API, which the agents store as `CALL|ITEM`.
struct ResponsesId {
    call: Text<'static>,
    item: Text<'static>,
}

/// Splits an id at each `|`, and returns the first two parts; `None` if there is no `|`.
fn split_responses_id(id: &Text) -> Option<ResponsesId> {
    let mut parts = id.as_bytes().split(|&byte| byte == b'|');
    let call = parts.next()?;
    let item = parts.next()?;
    Some(ResponsesId {
        call: Text::from_wtf8(call.to_vec()),
        item: Text::from_wtf8(item.to_vec()),
    })
}

/// Returns an id with only accepted characters, cut to [`MAX_ID_UNITS`], without `_` at its end.
fn truncate_id(id: &Text) -> Text<'static> {
    let mut bytes = sanitize_id(id).head(MAX_ID_UNITS).into_bytes();
    while bytes.last() == Some(&b'_') {
        bytes.pop();
    }
    Text::from_wtf8(bytes)
}

/// Whether the APIs accept a character in an id: an ASCII letter or digit, `_` or `-`.
fn is_id_char(code_point: u32) -> bool {
    u8::try_from(code_point).is_ok_and(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Returns an id with `_` in place of each UTF-16 unit that the APIs do not accept.
fn sanitize_id(id: &Text) -> Text<'static> {
    let mut out = String::with_capacity(id.as_bytes().len());
    for code_point in id.code_points() {
        match char::from_u32(code_point) {
            Some(character) if is_id_char(code_point) => out.push(character),
            // This character has two UTF-16 units.
            _ if code_point >= 0x1_0000 => out.push_str("__"),
            _ => out.push('_'),
        }
    }
    Text::from(out)
}

/// Converts the name of a tool to a form that the API accepts: cut to its maximum length, with `_`
/// in place of each character that it refuses, as in `my_tool` for `my tool`. `None` if the name is
/// empty.
pub fn sanitize_tool_name(name: &Text, api: Api) -> Option<Text<'static>> {
    if name.is_empty() {
        return None;
    }
    let max_chars = if api == Api::Anthropic { 128 } else { 64 };
    let mut out = String::new();
    for code_point in name.code_points().take(max_chars) {
        // A lone surrogate is no `char`.
        let character = char::from_u32(code_point).unwrap_or('_');
        let is_mark_of_google = api == Api::Google && matches!(character, '.' | ':');
        if is_id_char(code_point) || is_mark_of_google {
            out.push(character);
        } else {
            out.push('_');
        }
    }
    Some(Text::from(out))
}

/// Returns the major version in the id of a Gemini model; `None` for any other model.
pub fn gemini_version(id: &Text) -> Option<u32> {
    let name = id.to_string_lossy().to_ascii_lowercase();
    let rest = name.strip_prefix("gemini-")?;
    let version = rest.strip_prefix("live-").unwrap_or(rest);
    let digits = version.bytes().take_while(u8::is_ascii_digit).count();
    version[..digits].parse().ok()
}

/// Whether calls and results for a model have ids in Google's API.
pub fn takes_ids(id: &Text) -> bool {
    let name = id.to_string_lossy();
    name.starts_with("claude-")
        || name.starts_with("gpt-oss-")
        || gemini_version(id).is_some_and(|version| version >= 3)
}

/// Returns pi's short hash of a text: two numbers in base 36, not padded. Its steps and constants
/// are pi's, because ids that contain the hash must be those that pi sends.
pub fn short_hash(text: &Text) -> String {
    let mut low: u32 = 0xdead_beef;
    let mut high: u32 = 0x41c6_ce57;
    for unit in text.utf16_units() {
        low = (low ^ unit).wrapping_mul(2_654_435_761);
        high = (high ^ unit).wrapping_mul(1_597_334_677);
    }
    low = mix_bits(low, high);
    // The second number is mixed with the result for the first.
    high = mix_bits(high, low);
    to_base_36(high) + &to_base_36(low)
}

/// Returns a number in which the bits of both numbers are spread.
fn mix_bits(one: u32, other: u32) -> u32 {
    let one = (one ^ one >> 16).wrapping_mul(2_246_822_507);
    let other = (other ^ other >> 13).wrapping_mul(3_266_489_909);
    one ^ other
}
