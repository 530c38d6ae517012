//! The entries of an export, and the text of their fields.

use crate::session::Session;
use crate::session::entry::{EntryIx, Role};
use crate::session::labels::Labels;
use crate::session::read::entry_reader::{EntryReader as _, FileReader};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io;

/// The contents of an export, shared by the threads that read it.
pub struct Contents<'a> {
    /// The session, loaded with rows.
    pub session: &'a Session,
    /// The bytes of its file.
    pub file: &'a dyn ReadAt,
    /// The exported entries, in file order.
    pub entries: Vec<EntryIx>,
    /// The leaf, if it is exported.
    pub leaf: Option<EntryIx>,
    /// Markdown that renderers made of entries.
    pub rendered: HashMap<EntryIx, String>,
    numbers: Vec<u32>,
    /// Calls and results by the id of the call, then by entry.
    calls: Vec<(EntryIx, &'a [u8])>,
    results: Vec<(EntryIx, &'a [u8])>,
}

impl<'a> Contents<'a> {
    /// Returns the contents of the whole session, or only of the path to `end`.
    pub fn new(
        session: &'a Session,
        file: &'a dyn ReadAt,
        path_only: bool,
        end: Option<EntryIx>,
    ) -> Contents<'a> {
        let entries: Vec<EntryIx> = if path_only {
            let mut path = session.path(end);
            // In a file, a parent may follow its children.
            path.sort_unstable();
            path
        } else {
            session.all().collect()
        };
        let mut numbers = vec![u32::MAX; session.entries.len()];
        for (number, ix) in entries.iter().enumerate() {
            numbers[ix.at()] = number as u32;
        }
        let mut calls: Vec<_> =
            session.collected.tool_calls.iter().map(|call| (call.entry, session.bytes(call.id))).collect();
        let mut results: Vec<_> = session
            .collected
            .tool_results
            .iter()
            .map(|result| (result.entry, session.bytes(result.call)))
            .collect();
        for list in [&mut calls, &mut results] {
            list.retain(|(ix, id)| numbers[ix.at()] != u32::MAX && !id.is_empty());
            list.sort_unstable_by(|(ix, id), (other, other_id)| (id, ix).cmp(&(other_id, other)));
        }
        Contents { session, file, entries, leaf: end, rendered: HashMap::default(), numbers, calls, results }
    }

    /// Returns the title of the page: the session's name, or else its project and day.
    pub fn title(&self, name: Option<&str>) -> String {
        let shown = |text: &Text| text.to_string_lossy().into_owned();
        let project = || {
            let cwd = self.session.header.cwd.as_ref().map(shown)?;
            cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()).map(str::to_owned)
        };
        let day = self
            .session
            .header
            .timestamp
            .as_ref()
            .map(shown)
            .and_then(|time| time.get(..10).map(str::to_owned));
        match name {
            Some(name) => cut(name, 120).into_owned(),
            None => [project(), day].into_iter().flatten().collect::<Vec<_>>().join(", "),
        }
    }

    /// Returns the labels in effect on exported entries.
    pub fn labels(&self) -> Vec<(u32, Cow<'_, str>)> {
        let labels = Labels::new(self.session);
        let named = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(number, &ix)| Some((number as u32, labels.name(ix)?)));
        named.map(|(number, name)| (number, Cow::Owned(name.to_string_lossy().into_owned()))).collect()
    }

    /// Returns the position of an entry among the exported ones.
    pub fn number(&self, ix: EntryIx) -> Option<u32> {
        self.numbers.get(ix.at()).copied().filter(|&number| number != u32::MAX)
    }

    /// Returns the id of an entry, for people.
    pub fn id(&self, ix: EntryIx) -> String {
        self.session.id(ix).to_string_lossy().into_owned()
    }

    /// Returns the entry that made a call: the nearest one before the result.
    fn call(&self, id: &[u8], result: EntryIx) -> Option<EntryIx> {
        let end = self.calls.partition_point(|&(ix, other)| (other, ix) < (id, result));
        let (ix, found) = *self.calls.get(end.checked_sub(1)?)?;
        (found == id).then_some(ix)
    }

    /// Returns the result of a call that answers no later call with the same id.
    pub fn answer(&self, id: &[u8], call: EntryIx) -> Option<EntryIx> {
        self.result(id, call).filter(|&result| self.call(id, result) == Some(call))
    }

    /// Whether a result is the [`Contents::answer`] of a call.
    pub fn is_answer(&self, id: &[u8], result: EntryIx) -> bool {
        self.call(id, result).is_some_and(|call| self.result(id, call) == Some(result))
    }

    /// Returns the entry with the result of a call: the nearest one after it.
    pub fn result(&self, id: &[u8], call: EntryIx) -> Option<EntryIx> {
        let start = self.results.partition_point(|&(ix, other)| (other, ix) <= (id, call));
        let (ix, found) = *self.results.get(start)?;
        (found == id).then_some(ix)
    }
}

/// A reader of [`Contents`], for one thread.
pub struct Source<'a> {
    contents: &'a Contents<'a>,
    /// The lines.
    pub bodies: FileReader<'a>,
    /// A second reader for the calls, which may be far before the entry that `bodies` reads.
    earlier: FileReader<'a>,
    /// The call that was read last, with its line.
    last: RefCell<(Option<EntryIx>, Vec<u8>)>,
}

impl<'a> std::ops::Deref for Source<'a> {
    type Target = Contents<'a>;

    fn deref(&self) -> &Contents<'a> {
        self.contents
    }
}

impl<'a> Source<'a> {
    /// Returns a new reader of these contents.
    pub fn new(contents: &'a Contents<'a>) -> Source<'a> {
        Source {
            contents,
            bodies: FileReader::new(contents.session, contents.file),
            earlier: FileReader::new(contents.session, contents.file),
            last: RefCell::default(),
        }
    }

    /// Returns the Markdown that a renderer made of the entry.
    pub fn rendered(&self, ix: EntryIx) -> Option<&str> {
        self.contents.rendered.get(&ix).map(String::as_str)
    }

    /// Calls `see` with the block of the call that a result answers, or with `null` if there is none.
    ///
    /// # Errors
    /// If the line of the call cannot be read.
    pub fn with_call(&self, id: &[u8], result: EntryIx, see: &mut dyn FnMut(Raw)) -> io::Result<()> {
        let Some(ix) = self.contents.call(id, result) else {
            see(Raw::NULL);
            return Ok(());
        };
        let mut last = self.last.borrow_mut();
        if last.0 != Some(ix) {
            let line = self.earlier.line(ix)?.trim_ascii().to_vec();
            *last = (Some(ix), line);
        }
        let content = Raw::checked(&last.1).get("message").and_then(|message| message.get("content"));
        let call = content.into_iter().flat_map(Raw::items).find(|block| {
            block.get("type").is_some_and(|kind| kind.is("toolCall"))
                && block.get_text("id").is_some_and(|call| call.as_bytes() == id)
        });
        see(call.unwrap_or(Raw::NULL));
        Ok(())
    }

    /// Whether the entry is a message of this role.
    pub fn is(&self, ix: EntryIx, role: Role) -> bool {
        self.session.is_message(ix, role)
    }
}

/// Returns the decoded string; `None` if the value is not one.
pub fn decoded(value: Raw) -> Option<String> {
    value.text().map(|text| text.to_string_lossy().into_owned())
}

/// Returns the decoded string; any other value as JSON.
pub fn shown(value: Raw) -> String {
    decoded(value).unwrap_or_else(|| String::from_utf8_lossy(value.bytes()).into_owned())
}

/// Returns at most `most` characters of a text.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}
