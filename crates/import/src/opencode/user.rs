//! Messages of the user, with what OpenCode adds to them for the model.

use super::parts::{
    OpenCodeMessage, convert_image, is_part, unconverted_message, unconverted_part,
};
use super::{ModelName, OpenCodeReader};
use crate::Origin;
use crate::parts::{hidden_message_members, non_empty_text};
use pisess_core::session::content::text_block;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

/// The thinking levels of pi. OpenCode names variants of a model after them.
const THINKING_LEVELS: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];

/// The parts of a message of the user, by what becomes of them.
#[derive(Default)]
struct UserParts {
    /// The blocks of what the user wrote and attached.
    blocks: Vec<Vec<u8>>,
    /// The blocks of what OpenCode added, such as the content of a file that the user named.
    added_blocks: Vec<Vec<u8>>,
    /// What has no counterpart.
    unconverted: Vec<Vec<u8>>,
}

impl OpenCodeReader<'_> {
    /// Adds a message of the user. What OpenCode added to the message becomes a custom message
    /// after it. A message that only asks for a compaction is kept as a custom entry.
    pub(super) fn add_user_message(&mut self, message: &OpenCodeMessage) -> io::Result<()> {
        self.add_model_change(message)?;
        self.add_thinking_level_change(message)?;
        let mut parts = message.parts.items();
        if let Some(request) = parts.find(|part| is_part(*part, "compaction")) {
            return self.add_compaction_request(message, request);
        }

        let parts = UserParts::read(message.parts);
        if parts.blocks.is_empty() && parts.added_blocks.is_empty() {
            return self.add_kept(message.offset, "message", message.line.bytes());
        }

        // These members are kept in the first of the two entries.
        let unconverted = unconverted_message(message.info, &["role"], &parts.unconverted);
        if parts.blocks.is_empty() {
            let added = parts.added_members().json("opencode", &unconverted);
            return self.add_entry(message.offset, "custom_message", added);
        }

        let converted = Object::new()
            .str("role", "user")
            .json("content", &array(&parts.blocks))
            .number("timestamp", self.time_ms as f64);
        let members = Object::new()
            .object("message", &converted)
            .json("opencode", &unconverted);
        self.add_entry(message.offset, "message", members)?;
        if !parts.added_blocks.is_empty() {
            self.add_entry(message.offset, "custom_message", parts.added_members())?;
        }
        Ok(())
    }

    /// Keeps a message that asks for a compaction, and remembers the `request`, its part, until the
    /// summary is read. The summary names this message as its parent.
    fn add_compaction_request(
        &mut self,
        message: &OpenCodeMessage,
        request: Raw,
    ) -> io::Result<()> {
        if let Some(id) = message.id() {
            let first_kept = non_empty_text(request, "tail_start_id").map(Text::into_owned);
            self.compaction_requests.insert(id.into_owned(), first_kept);
        }
        self.add_kept(message.offset, "compaction", message.line.bytes())
    }

    /// Adds an entry for the model of a turn, if it is another one than before.
    fn add_model_change(&mut self, message: &OpenCodeMessage) -> io::Result<()> {
        let Some(model) = ModelName::read(message.info) else {
            return Ok(());
        };
        if self.model.as_ref() == Some(&model) {
            return Ok(());
        }

        let members = Object::new()
            .text("provider", &model.provider)
            .text("modelId", &model.model);
        self.model = Some(model);
        self.add_entry(message.offset, "model_change", members)
    }

    /// Adds an entry for the thinking level of a turn, if it is another one than before. OpenCode
    /// has no levels, but variants of a model. A variant without the name of a level is left out.
    fn add_thinking_level_change(&mut self, message: &OpenCodeMessage) -> io::Result<()> {
        // Depending on the version, the variant is in the object of the model, or beside it.
        let model = message.info.get("model").unwrap_or(Raw::NULL);
        let variant =
            non_empty_text(model, "variant").or_else(|| non_empty_text(message.info, "variant"));
        let Some(variant) = variant else {
            return Ok(());
        };
        let is_level = THINKING_LEVELS.iter().any(|level| variant == **level);
        if !is_level || self.thinking_level.as_ref() == Some(&variant) {
            return Ok(());
        }

        let members = Object::new().text("thinkingLevel", &variant);
        self.thinking_level = Some(variant.into_owned());
        self.add_entry(message.offset, "thinking_level_change", members)
    }
}

impl ModelName {
    /// Reads the model of a message of the user:
    /// `{"model":{"providerID":"anthropic","modelID":"claude-opus-4"}}`. `None` if a name is
    /// missing.
    fn read(info: Raw) -> Option<ModelName> {
        let model = info.get("model")?;
        Some(ModelName {
            provider: non_empty_text(model, "providerID")?.into_owned(),
            model: non_empty_text(model, "modelID")?.into_owned(),
        })
    }
}

impl UserParts {
    fn read(parts: Raw) -> UserParts {
        let mut read = UserParts::default();
        for part in parts.items() {
            read.add(part);
        }
        read
    }

    /// Returns the members of a custom message with the blocks that OpenCode added.
    fn added_members(&self) -> Object {
        let content = array(&self.added_blocks);
        hidden_message_members(Origin::OpenCode.name(), "added", &content)
    }

    /// Adds a part. If it is a text or an image that the model sees, it becomes a block. The rest
    /// of the part, or the whole of any other part, is kept as unconverted.
    fn add(&mut self, part: Raw) {
        let converted_keys: &[&str] = if is_part(part, "text") {
            self.add_text(part)
        } else if is_part(part, "file") {
            self.add_image(part)
        } else {
            &[]
        };
        self.unconverted
            .extend(unconverted_part(part, converted_keys));
    }

    /// Adds the block of a text part: to the blocks that OpenCode added if it is `synthetic`.
    /// Returns the keys of the members that are in the block, or none if there is no block.
    fn add_text(&mut self, part: Raw) -> &'static [&'static str] {
        let is_flag_set = |key: &str| part.get(key).and_then(Raw::bool) == Some(true);
        let Some(text) = non_empty_text(part, "text") else {
            return &[];
        };
        // OpenCode does not send such a text to the model.
        if is_flag_set("ignored") {
            return &[];
        }
        let block = text_block(&text);
        if is_flag_set("synthetic") {
            self.added_blocks.push(block);
        } else {
            self.blocks.push(block);
        }
        &["text"]
    }

    /// Adds the block of an image. Returns the keys of the members that are in the block, or none
    /// for another file: a text part of the same message has what OpenCode read of that.
    fn add_image(&mut self, part: Raw) -> &'static [&'static str] {
        let Some(image) = convert_image(part) else {
            return &[];
        };
        self.blocks.push(image);
        &["mime", "url"]
    }
}
