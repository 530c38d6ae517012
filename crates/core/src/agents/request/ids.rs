//! The ids of tool calls and the names of tools, in a form that an API accepts, and which models of
//! Gemini take ids.

use super::blocks::Source;
use super::sink::whole_text;
use super::{Api, Target};
use foldhash::HashMap;
use pisess_json::text::{Text, concat};

/// An id in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireId {
    /// The id that connects a call with its result.
    pub call: Text<'static>,
    /// The id of the item, in the Responses API.
    pub item: Option<Text<'static>>,
}

/// Returns the id in the body for a call with the id `own` in the session. `used` are the ids
/// assigned so far, each only once, with the number to try next if the same is wanted again.
pub fn assign(
    used: &mut HashMap<Text<'static>, usize>,
    own: &Text,
    source: Source,
    target: &Target,
) -> WireId {
    let mut wire = wire_id(own, source, target);
    if wire.call.is_empty() {
        wire.call = Text::from("call");
    }
    if let Some(mut number) = used.get(&wire.call).copied() {
        let taken = wire.call;
        let numbered = |number: usize| {
            let suffix = format!("_{number}");
            let mut id = taken
                .head_whole(max_len(target) - suffix.len())
                .into_owned();
            id.push_str(&suffix);
            id
        };
        wire = WireId {
            call: numbered(number),
            item: None,
        };
        while used.contains_key(&wire.call) {
            number += 1;
            wire.call = numbered(number);
        }
        used.insert(taken, number + 1);
    }
    used.insert(wire.call.clone(), 2);
    wire
}

/// Returns the maximum length of an id, in UTF-16 units.
fn max_len(target: &Target) -> usize {
    match target.api {
        Api::OpenAi if target.model.provider == "openai" => 40,
        Api::OpenAi => usize::MAX,
        Api::Anthropic | Api::Responses | Api::Google => 64,
    }
}

fn wire_id(own: &Text, source: Source, target: &Target) -> WireId {
    let call = match target.api {
        Api::Anthropic => mapped(own).head(64),
        Api::Google if takes_ids(&target.model.id) => mapped(own).head(64),
        Api::Google => own.clone().into_owned(),
        Api::OpenAi => completions_id(own, source, target),
        Api::Responses => return responses_id(own, source, target),
    };
    WireId {
        call: call.into_owned(),
        item: None,
    }
}

/// Returns an id for Chat Completions. Joins the two halves of an id from the Responses API.
fn completions_id(own: &Text, source: Source, target: &Target) -> Text<'static> {
    let own = whole_text(own.borrowed(), "").into_owned();
    let Some((call, item)) = halves(&own).filter(|_| !source.is_same_model()) else {
        return own.head_whole(max_len(target));
    };
    let (call, item) = (mapped(&call), mapped(&item));
    let gap = if item.is_empty() { "" } else { "_" };
    let id = concat(&[&call, &gap, &item]);
    if id.utf16_len() <= 40 {
        return id;
    }
    let hash = Text::from(short_hash(&own)).head(8).into_owned();
    concat(&[&call.head(40 - 1 - hash.utf16_len()), &"_", &hash])
}

/// Returns an id for the Responses API, which has one for the call and one for the item.
fn responses_id(own: &Text, source: Source, target: &Target) -> WireId {
    let provider = target.model.provider.to_string_lossy();
    let splits = matches!(&*provider, "openai" | "openai-codex" | "opencode");
    let (call, item) = match halves(own) {
        Some((call, item)) if source.is_same_model() => (mapped(&call).head(64), Some(item)),
        None if source.is_same_model() => (mapped(own).head(64), None),
        Some((call, item)) if splits => (part(&call), Some(foreign_item(&item, source))),
        _ => (part(own), None),
    };
    let is_other_model = source.provider && source.api && !source.id;
    let is_accepted = |item: &Text| {
        let is_plain = mapped(item) == *item;
        item.as_bytes().starts_with(b"fc_") && !is_other_model && is_plain && item.utf16_len() <= 64
    };
    WireId {
        call,
        item: item.filter(|item| is_accepted(item)),
    }
}

fn foreign_item(item: &Text, source: Source) -> Text<'static> {
    let prefixed = |rest: &str| Text::from(format!("fc_{rest}"));
    if !source.provider || !source.api {
        return prefixed(&short_hash(item));
    }
    let item = part(item);
    if item.as_bytes().starts_with(b"fc_") {
        item
    } else {
        part(&prefixed(&item.to_string_lossy()))
    }
}

/// Splits an id at `|`, and returns the first two parts.
fn halves(id: &Text) -> Option<(Text<'static>, Text<'static>)> {
    let mut parts = id.as_bytes().split(|&byte| byte == b'|');
    let text = |bytes: &[u8]| Text::from_wtf8(bytes.to_vec());
    let (first, second) = (parts.next()?, parts.next()?);
    Some((text(first), text(second)))
}

/// Returns half of an id as [`mapped`] does, truncated to 64 units, without trailing `_`.
fn part(id: &Text) -> Text<'static> {
    let bytes = mapped(id).head(64).into_bytes();
    let end = bytes
        .iter()
        .rposition(|&byte| byte != b'_')
        .map_or(0, |last| last + 1);
    Text::from_wtf8(bytes[..end].to_vec())
}

fn is_word(code_point: u32) -> bool {
    u8::try_from(code_point).is_ok_and(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Returns an id with `_` in place of each UTF-16 unit that is not an ASCII letter, digit, `_` or
/// `-`.
fn mapped(id: &Text) -> Text<'static> {
    let mut out = String::with_capacity(id.as_bytes().len());
    for code_point in id.code_points() {
        match char::from_u32(code_point).filter(|_| is_word(code_point)) {
            Some(character) => out.push(character),
            None => out.push_str(if code_point >= 0x1_0000 { "__" } else { "_" }),
        }
    }
    Text::from(out)
}

/// Returns the name of a tool in a form that the API accepts; `None` if it is empty.
pub fn tool_name(name: &Text, api: Api) -> Option<Text<'static>> {
    let max = if api == Api::Anthropic { 128 } else { 64 };
    let takes =
        |c: u32| is_word(c) || api == Api::Google && (c == u32::from(b'.') || c == u32::from(b':'));
    if name.is_empty() {
        return None;
    }
    let letter = |c: u32| char::from_u32(c).filter(|_| takes(c)).unwrap_or('_');
    Some(Text::from(
        name.code_points().map(letter).take(max).collect::<String>(),
    ))
}

/// Returns the major version in the id of a Gemini model.
pub fn gemini_version(id: &Text) -> Option<u32> {
    let name = id.to_string_lossy().to_ascii_lowercase();
    let rest = name.strip_prefix("gemini-")?;
    let version = rest.strip_prefix("live-").unwrap_or(rest);
    let digits = version.bytes().take_while(u8::is_ascii_digit).count();
    version[..digits].parse().ok()
}

/// Whether calls and results for the model with this id are sent with ids.
pub fn takes_ids(id: &Text) -> bool {
    let name = id.to_string_lossy();
    name.starts_with("claude-")
        || name.starts_with("gpt-oss-")
        || gemini_version(id).is_some_and(|version| version >= 3)
}

/// Returns pi's short hash of a text: two numbers in base 36, not padded.
pub fn short_hash(text: &Text) -> String {
    let (mut a, mut b) = (0xdead_beef_u32, 0x41c6_ce57_u32);
    for unit in text.units() {
        a = (a ^ unit).wrapping_mul(2_654_435_761);
        b = (b ^ unit).wrapping_mul(1_597_334_677);
    }
    let mix = |x: u32, y: u32| {
        (x ^ x >> 16).wrapping_mul(2_246_822_507) ^ (y ^ y >> 13).wrapping_mul(3_266_489_909)
    };
    a = mix(a, b);
    b = mix(b, a);
    base36(b) + &base36(a)
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}
