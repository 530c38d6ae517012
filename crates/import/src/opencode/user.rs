//! Messages of the user, with what OpenCode adds to them for the model.

use super::parts::{
    OpenCodeMessage, convert_image, is_part, unconverted_message, unconverted_part,
};
use super::{ModelName, OpenCodeReader};
use crate::Origin;
use crate::parts::{custom_message_members, non_empty_text};
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
        self.add_settings(message)?;
        if let Some(request) = message
            .parts
            .items()
            .find(|part| is_part(*part, "compaction"))
        {
            let first_kept = non_empty_text(request, "tail_start_id").map(Text::into_owned);
            if let Some(id) = message.id() {
                self.compaction_requests.insert(id.into_owned(), first_kept);
            }
            return self.add_kept(message.offset, "compaction", message.line.bytes());
        }

        let parts = UserParts::read(message.parts);
        let unconverted = unconverted_message(message.info, &["role"], &parts.unconverted);
        if parts.blocks.is_empty() && parts.added_blocks.is_empty() {
            return self.add_kept(message.offset, "message", message.line.bytes());
        }
        if !parts.blocks.is_empty() {
            let converted = Object::new()
                .str("role", "user")
                .json("content", &array(&parts.blocks))
                .number("timestamp", self.time_ms as f64)
                .finish();
            let members = Object::new()
                .json("message", &converted)
                .json("opencode", &unconverted);
            self.add_entry(message.offset, "message", members)?;
        }
        if !parts.added_blocks.is_empty() {
            let content = array(&parts.added_blocks);
            let mut members =
                custom_message_members(Origin::OpenCode.name(), "added", &content, false);
            if parts.blocks.is_empty() {
                members = members.json("opencode", &unconverted);
            }
            self.add_entry(message.offset, "custom_message", members)?;
        }
        Ok(())
    }

    /// Adds an entry for the model of a turn, and one for its thinking level, if they have changed.
    fn add_settings(&mut self, message: &OpenCodeMessage) -> io::Result<()> {
        let model = message.info.get("model").unwrap_or(Raw::NULL);
        if let Some(provider) = non_empty_text(model, "providerID")
            && let Some(name) = non_empty_text(model, "modelID")
        {
            let model = ModelName {
                provider: provider.into_owned(),
                model: name.into_owned(),
            };
            if self.model.as_ref() != Some(&model) {
                let members = Object::new()
                    .text("provider", &model.provider)
                    .text("modelId", &model.model);
                self.model = Some(model);
                self.add_entry(message.offset, "model_change", members)?;
            }
        }

        let variant =
            non_empty_text(model, "variant").or_else(|| non_empty_text(message.info, "variant"));
        if let Some(level) = variant
            && THINKING_LEVELS.iter().any(|known| level == **known)
            && self.thinking_level.as_ref() != Some(&level)
        {
            let members = Object::new().text("thinkingLevel", &level);
            self.thinking_level = Some(level.into_owned());
            self.add_entry(message.offset, "thinking_level_change", members)?;
        }
        Ok(())
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

    /// Adds a part. A text that the model does not see has no counterpart. Nor has a file other
    /// than an image: OpenCode adds what it read of the file as a text.
    fn add(&mut self, part: Raw) {
        let is_flag_set = |key: &str| part.get(key).and_then(Raw::bool) == Some(true);
        let text = non_empty_text(part, "text");
        if is_part(part, "text")
            && let Some(text) = text
            && !is_flag_set("ignored")
        {
            let block = text_block(&text);
            if is_flag_set("synthetic") {
                self.added_blocks.push(block);
            } else {
                self.blocks.push(block);
            }
            self.unconverted.extend(unconverted_part(part, &["text"]));
            return;
        }
        if is_part(part, "file")
            && let Some(image) = convert_image(part)
        {
            self.blocks.push(image);
            let converted_keys = ["mime", "url"];
            self.unconverted
                .extend(unconverted_part(part, &converted_keys));
            return;
        }
        self.unconverted.extend(unconverted_part(part, &[]));
    }
}
