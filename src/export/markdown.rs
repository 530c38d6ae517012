//! The path as Markdown for display on a forge: tools and thinking folded, code in fences.
//!
//! It is written from markup. Every character of the session that has a meaning in Markdown is escaped, and a
//! fence is longer than any in its content, so no content can end the block that it is in.
//!
//! A heading is written when the speaker changes; tools belong to the turn of the model that called them. Settings
//! have no heading. A label is part of the heading of its entry.

use super::entry_view::article;
use super::markup::visible;
use super::source::{Contents, Source};
use super::static_html::{Edits, name_of, time_of};
use crate::session::entry::{EntryIx, Kind};
use crate::session::labels::Labels;
pub use escape::APART;
use escape::escaped;
use std::io::{self, Write};

mod escape;
mod writer;

/// Writes the path to the leaf.
///
/// # Errors
/// If reading or writing fails.
pub fn document(contents: &Contents, title: &str, out: &mut dyn Write) -> io::Result<()> {
    let source = Source::new(contents);
    let path = contents.session.path(contents.leaf);
    let edits = Edits::of(&source, &path)?;
    let labels = Labels::new(contents.session);
    let on_path = crate::session::tree::active(contents.session, contents.leaf);
    let is_here = |number: &str| {
        let entry = number.parse().ok().and_then(|number: usize| contents.entries.get(number));
        entry.is_some_and(|ix| on_path[ix.at()])
    };
    writeln!(out, "# {}", line(title))?;
    let mut headings = Headings::default();
    for &ix in &path {
        // A label is shown in the heading of the entry that it labels.
        if contents.session.entry(ix).kind == Kind::Label {
            continue;
        }
        let article = article(&source, ix)?;
        let text = writer::markdown(article.markup.as_str(), &is_here);
        let label = labels.name(ix).map(|label| label.to_string_lossy().into_owned());
        // A message that contains only tool calls is omitted: each call is shown with its result.
        if text.is_empty() && edits.note(ix).is_none() && label.is_none() {
            continue;
        }
        headings.write(&source, ix, label.as_deref(), article.model.clone(), out)?;
        if let Some(note) = edits.note(ix) {
            write!(out, "\n*{note}*\n")?;
        }
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Returns text of a session as a line of its own.
fn line(text: &str) -> String {
    escaped(&visible(text).replace('\n', " "), true)
}

/// The last speaker, day and model.
#[derive(Default)]
struct Headings {
    voice: Voice,
    day: String,
    model: Option<String>,
}

impl Headings {
    /// Writes the heading of an entry, if it needs one.
    fn write(
        &mut self,
        source: &Source,
        ix: EntryIx,
        label: Option<&str>,
        model: Option<String>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let voice = Voice::of(super::index::letter(source.session.entry(ix)));
        let goes_on = voice == Voice::None || voice != Voice::Other && voice == self.voice;
        if voice != Voice::None {
            self.voice = voice;
        }
        if !goes_on || label.is_some() {
            let mut parts = vec![name_of(source, ix)];
            parts.extend(self.time(source, ix));
            parts.extend(label.map(|label| format!("“{label}”")));
            write!(out, "\n## {}\n", line(&parts.join(" · ")))?;
        }
        if let Some(model) = model.filter(|model| self.model.as_ref() != Some(model)) {
            write!(out, "\n*{}*\n", line(&model))?;
            self.model = Some(model);
        }
        Ok(())
    }

    /// Returns the time of an entry in UTC, with its date if that changed.
    fn time(&mut self, source: &Source, ix: EntryIx) -> Option<String> {
        let (day, time) = time_of(source, ix)?;
        let shown = if self.day == day { format!("{time} UTC") } else { format!("{day} {time} UTC") };
        self.day = day;
        Some(shown)
    }
}

/// The turn that an entry belongs to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Voice {
    /// A setting, which belongs to no turn.
    #[default]
    None,
    User,
    /// A turn of the model, including the tools that it called.
    Assistant,
    /// Any other entry: a turn of its own.
    Other,
}

impl Voice {
    fn of(letter: char) -> Voice {
        match letter {
            'u' => Voice::User,
            'a' | 't' => Voice::Assistant,
            'n' => Voice::None,
            _ => Voice::Other,
        }
    }
}
