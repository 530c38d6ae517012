//! Reads assistant messages in the form in which the agent sends them: which are left out, and what
//! becomes of their thinking and signatures.

use super::blocks::{Authorship, TurnBlock};
use super::sink::replace_lone_surrogates;
use super::{Api, RequestTarget};
use crate::session::content;
use pisess_json::Raw;
use pisess_json::text::{Text, concat_texts};

/// Whether the agent leaves out an assistant message. Depending on its constants, an agent leaves
/// out turns that failed (`drops_failed_turns`), or turns that were cut short and contain only
/// thinking (`drops_interrupted_thinking`).
pub fn is_turn_left_out(stop_reason: Raw, content: Raw, target: &RequestTarget) -> bool {
    let constants = target.constants();
    let has_failed = stop_reason.is("error") || stop_reason.is("aborted");
    if has_failed && constants.drops_failed_turns {
        return true;
    }
    let is_cut_short = has_failed || stop_reason.is("length");
    is_cut_short && constants.drops_interrupted_thinking && !content.items().any(is_text_or_call)
}

fn is_text_or_call(block: Raw) -> bool {
    content::is_block(block, "text") || content::is_block(block, "toolCall")
}

/// Reads a block of an assistant message other than a call. `authorship` is whether the model that
/// receives it also wrote it. `None` if the block is not sent:
///
/// - text that is not a string;
/// - thinking that the agent leaves out (see [`read_thinking`]);
/// - redacted thinking that has no data, or is of another model;
/// - a block of an unknown type.
pub fn read_block<'a>(
    block: Raw<'a>,
    authorship: Authorship,
    target: &RequestTarget,
) -> Option<TurnBlock<'a>> {
    let kind = block.get_text("type")?;
    match kind.as_bytes() {
        b"text" => {
            let text = block.get_text("text")?;
            Some(TurnBlock::Text {
                text: replace_lone_surrogates(text, target.constants().surrogate_replacement),
                signature: own_signature(block, "textSignature", authorship),
            })
        }
        b"thinking" => read_thinking(block, authorship, target),
        // Its data is the encrypted thinking, which only the same model accepts.
        b"redactedThinking" if authorship.is_same_model() => {
            let data = block.get_text("data")?;
            if data.is_blank() {
                return None;
            }
            Some(TurnBlock::Thinking {
                text: Text::default(),
                signature: Some(data),
                is_redacted: true,
            })
        }
        _ => None,
    }
}

/// Compares the model that wrote an assistant message with the model of the target.
pub fn compare_author(message: Raw, target: &RequestTarget) -> Authorship {
    let [provider, api, id] = content::find_members(message, ["provider", "api", "model"]);
    Authorship {
        is_same_provider: equals_text(provider, &target.model.provider),
        is_same_api: api.is_some_and(|api| api.is(target.api.name())),
        is_same_id: equals_text(id, &target.model.id),
    }
}

fn equals_text(value: Option<Raw>, text: &Text) -> bool {
    value
        .and_then(Raw::text)
        .is_some_and(|value| value == *text)
}

/// Returns the signature of a block; `None` for a block of another model, because only the model
/// that wrote a signature accepts it.
pub fn own_signature<'a>(block: Raw<'a>, key: &str, authorship: Authorship) -> Option<Text<'a>> {
    if !authorship.is_same_model() {
        return None;
    }
    block.get_text(key).filter(|text| !text.is_empty())
}

/// Reads a block of thinking in the form in which the agent sends it; `None` if it leaves it out.
///
/// A signature is only valid for the model that wrote it. So thinking of another model becomes text
/// or is left out, unless the two models share signatures.
fn read_thinking<'a>(
    block: Raw<'a>,
    authorship: Authorship,
    target: &RequestTarget,
) -> Option<TurnBlock<'a>> {
    let constants = target.constants();
    let text = block.get_text("thinking").unwrap_or_default();
    let text = replace_lone_surrogates(text, constants.surrogate_replacement);
    let signature = block
        .get_text("thinkingSignature")
        .filter(|signature| !signature.is_empty());

    let has_shared_signature = signature.is_some() && shares_signatures(authorship, target);
    if !authorship.is_same_model() && !has_shared_signature {
        return foreign_thinking(&text, target);
    }

    let is_redacted = content::has_truthy(block, "redacted");
    let is_unsigned = signature.as_ref().is_none_or(Text::is_blank);
    if is_redacted && is_unsigned {
        // The signature of redacted thinking is the thinking itself, encrypted. It is lost.
        return None;
    }
    if signature.is_none() && text.is_blank() {
        // Nothing was recorded of the thinking.
        return None;
    }
    if is_unsigned && target.api == Api::Anthropic && constants.drops_unsigned_thinking {
        // Anthropic refuses thinking without a signature. Of the agents, oh-my-pi leaves it out.
        return None;
    }
    Some(TurnBlock::Thinking {
        text,
        signature,
        is_redacted,
    })
}

/// Whether the agent assumes that a model accepts the signatures of the author of a message. In
/// Anthropic's API, the models of one provider may do so.
fn shares_signatures(authorship: Authorship, target: &RequestTarget) -> bool {
    target.constants().shares_thinking_signatures
        && target.api == Api::Anthropic
        && authorship.is_same_provider
        && authorship.is_same_api
}

/// Returns the thinking of another model as text; `None` if it is blank, or the agent leaves out
/// such thinking.
fn foreign_thinking(text: &Text, target: &RequestTarget) -> Option<TurnBlock<'static>> {
    if target.constants().drops_foreign_thinking || text.is_blank() {
        return None;
    }
    Some(TurnBlock::Text {
        text: mark_as_thinking(text, target),
        signature: None,
    })
}

/// Returns thinking as text, with marks around it. For Claude, it has no marks.
fn mark_as_thinking(text: &Text, target: &RequestTarget) -> Text<'static> {
    let id = target.model.id.to_string_lossy().to_ascii_lowercase();
    if id.contains("claude") {
        text.clone().into_owned()
    } else if id.contains("gemini") {
        concat_texts(&[&"```thinking\n", text, &"\n```"])
    } else {
        concat_texts(&[&"<think>\n", text, &"\n</think>"])
    }
}
