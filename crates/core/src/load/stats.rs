//! What statistics need of entries and tool calls.

use super::fragment::Fragment;
use crate::session::collected::{Attribution, CountedCall};
use crate::session::entry::{EntryIx, Kind, Role, Slice};
use crate::session::file_calls::{FileAction, FileCall, called_file};
use crate::session::paths::{is_absolute, is_windows_absolute};
use crate::session::read::record::{Block, Member, TypedRecord};
use pisess_json::Raw;
use pisess_json::text::Text;

impl Fragment {
    /// Stores the models and tools of an entry, and its calls, whose files are relative to `cwd`.
    /// The paths of files that are only read are stored if `with_reads`.
    pub fn keep_stats(
        &mut self,
        entry: EntryIx,
        typed: &TypedRecord,
        cwd: Option<&Text>,
        with_read_paths: bool,
    ) {
        let record = typed.record;
        let mut entry_attribution = Attribution::empty(entry);
        match (typed.kind, typed.role, &record.message) {
            (Kind::Message, Role::Assistant, Some(message)) => {
                let (provider, model) = message.model_parts();
                entry_attribution.provider = self.keep_name(provider);
                entry_attribution.model = self.keep_name(model);
                entry_attribution.has_usage =
                    message.get(Member::Usage).is_some_and(Raw::is_object);
                let began = message.get(Member::Timestamp).and_then(Raw::number);
                entry_attribution.began_ms = began.map(|time| time as i64);
                for block in typed.blocks.iter().filter(|block| block.is_call()) {
                    self.keep_counted_call(entry, block, cwd, with_read_paths);
                }
            }
            (Kind::Message, Role::ToolResult, Some(message)) => {
                entry_attribution.tool =
                    self.keep_name(message.get(Member::ToolName).and_then(Raw::text));
            }
            (Kind::Usage | Kind::ModelUsage, ..) => {
                entry_attribution.provider =
                    self.keep_name(record.get(Member::Provider).and_then(Raw::text));
                entry_attribution.model =
                    self.keep_name(record.get(Member::Model).and_then(Raw::text));
            }
            // oh-my-pi: a request of the user in another form, as that for a skill.
            (Kind::CustomMessage, ..) => {
                let attribution = Raw::from_checked(record.bytes).get("attribution");
                if !attribution.is_some_and(|by| by.is("user")) {
                    return;
                }
            }
            _ => return,
        }
        self.collected.attributions.push(entry_attribution);
    }

    /// Stores a tool call, with the file that it reads or changes.
    fn keep_counted_call(
        &mut self,
        entry: EntryIx,
        call: &Block,
        cwd: Option<&Text>,
        with_reads: bool,
    ) {
        let file = called_file(call.name, call.arguments).map(|(tool, path)| {
            let is_kept = with_reads || tool.action != FileAction::Read;
            let path = if is_kept {
                Slice::append(&absolute_path(&path, cwd), &mut self.arena)
            } else {
                Slice::default()
            };
            FileCall { entry, tool, path }
        });
        let tool = self.keep_name(call.name.and_then(Raw::text));
        let calls = &mut self.collected.counted_calls;
        calls.push(CountedCall { entry, tool, file });
    }

    /// Stores a name, unless it was one of the previous entry.
    fn keep_name(&mut self, name: Option<Text>) -> Slice {
        let Some(name) = name else {
            return Slice::default();
        };
        let last = self.collected.attributions.last();
        let mut names = last
            .into_iter()
            .flat_map(|last| [last.provider, last.model, last.tool]);
        let known = names.find(|known| self.arena[known.range()] == *name.as_bytes());
        known.unwrap_or_else(|| self.keep_text(&name))
    }
}

/// Returns the path of a file, with `/` between its parts.
fn absolute_path(path: &Text, cwd: Option<&Text>) -> Vec<u8> {
    let given = path.as_bytes();
    let is_relative = !given.starts_with(b"~") && !is_absolute(given);
    let mut whole = Vec::new();
    if is_relative && let Some(cwd) = cwd {
        whole.extend_from_slice(cwd.as_bytes());
        whole.push(b'/');
    }
    whole.extend_from_slice(given.strip_prefix(b"./").unwrap_or(given));
    if is_windows_absolute(&whole) {
        for byte in &mut whole {
            if *byte == b'\\' {
                *byte = b'/';
            }
        }
    }
    whole
}
