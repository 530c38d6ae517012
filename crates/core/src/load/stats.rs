//! What statistics need of entries and tool calls.

use super::fragment::Fragment;
use crate::session::collected::{Attribution, CountedCall};
use crate::session::entry::{EntryIx, Kind, Role, Slice};
use crate::session::file_calls::{FileAct, FileCall, file_of};
use crate::session::paths::{is_absolute, is_windows};
use crate::session::read::record::{Member, Typed};
use pisess_json::Raw;
use pisess_json::text::Text;

impl Fragment {
    /// Stores the models and tools of an entry, and its calls, whose files are relative to `cwd`.
    /// The paths of files that are only read are stored if `with_reads`.
    pub fn keep_stats(
        &mut self,
        entry: EntryIx,
        typed: &Typed,
        cwd: Option<&Text>,
        with_reads: bool,
    ) {
        let (mut by, record) = (Attribution::none(entry), typed.record);
        match (typed.kind, typed.role, &record.message) {
            (Kind::Message, Role::Assistant, Some(message)) => {
                let (provider, model) = message.model_parts();
                (by.provider, by.model) = (self.name(provider), self.name(model));
                by.has_usage = message.get(Member::Usage).is_some_and(Raw::is_object);
                by.began_ms = message
                    .get(Member::Timestamp)
                    .and_then(Raw::number)
                    .map(|time| time as i64);
                for call in typed.blocks.iter().filter(|block| block.is_call()) {
                    let file = file_of(call.name, call.arguments).map(|(tool, path)| {
                        let is_kept = with_reads || tool.act != FileAct::Read;
                        let kept =
                            is_kept.then(|| Slice::append(&absolute(&path, cwd), &mut self.arena));
                        FileCall {
                            entry,
                            tool,
                            path: kept.unwrap_or_default(),
                        }
                    });
                    let tool = self.name(call.name.and_then(Raw::text));
                    self.collected
                        .counted_calls
                        .push(CountedCall { entry, tool, file });
                }
            }
            (Kind::Message, Role::ToolResult, Some(message)) => {
                by.tool = self.name(message.get(Member::ToolName).and_then(Raw::text));
            }
            (Kind::Usage | Kind::ModelUsage, ..) => {
                by.provider = self.name(record.get(Member::Provider).and_then(Raw::text));
                by.model = self.name(record.get(Member::Model).and_then(Raw::text));
            }
            // oh-my-pi: a request of the user in another form, as that for a skill.
            (Kind::CustomMessage, ..)
                if Raw::checked(record.bytes)
                    .get("attribution")
                    .is_some_and(|by| by.is("user")) => {}
            _ => return,
        }
        self.collected.attributions.push(by);
    }

    /// Stores a name, unless it was one of the previous entry.
    fn name(&mut self, name: Option<Text>) -> Slice {
        let Some(name) = name else {
            return Slice::default();
        };
        let last = self.collected.attributions.last();
        let mut names = last
            .into_iter()
            .flat_map(|last| [last.provider, last.model, last.tool]);
        let known = names.find(|known| self.arena[known.range()] == *name.as_bytes());
        known.unwrap_or_else(|| self.keep(&name))
    }
}

/// Returns the path of a file, with `/` between its parts.
fn absolute(path: &Text, cwd: Option<&Text>) -> Vec<u8> {
    let given = path.as_bytes();
    let is_relative = !given.starts_with(b"~") && !is_absolute(given);
    let mut whole = cwd
        .filter(|_| is_relative)
        .map(|cwd| [cwd.as_bytes(), b"/"].concat())
        .unwrap_or_default();
    whole.extend_from_slice(given.strip_prefix(b"./").unwrap_or(given));
    if is_windows(&whole) {
        whole
            .iter_mut()
            .filter(|byte| **byte == b'\\')
            .for_each(|byte| *byte = b'/');
    }
    whole
}
