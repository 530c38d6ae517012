//! The rows of a search.

use crate::cli::output::{Clock, Styles, Ui, columns, fitted, fitted_end, styled, visible};
use crate::cli::sessions::PathsArgs;
use crate::format::{ID, id_end};
use crate::load::Options;
use crate::ops::grep::{Match, Turn, around};
use crate::ops::tree::{Drawing, rows};
use crate::session::entry::EntryIx;
use crate::session::paths::below_home;
use crate::session::search::Hit;
use crate::session::{Header, Session};
use owo_colors::Style;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::path::Path;

/// The format of the output.
pub struct Painter {
    /// Whether a session has one row: the number of entries that match, after its path if that is
    /// printed.
    pub counts: bool,
    /// If these are set, and entries are not counted, a session has one row with its path.
    pub only: PathsArgs,
    pub json: bool,
    /// Whether a single session is searched.
    pub is_of_one: bool,
    /// Whether each session has a heading above its rows.
    pub headings: bool,
    /// Whether headings name sessions by the end of their ids, because no paths were given.
    pub by_id: bool,
    /// Whether rows begin with the path of their session.
    pub paths: bool,
    /// The number of entries to print above each match, and below it.
    pub most_above: usize,
    pub most_below: usize,
    /// The options for loading a session whose entries are printed around matches.
    pub options: Options,
    pub width: usize,
    pub styles: Styles,
}

impl Painter {
    /// Whether there is a row for each entry that matches.
    pub fn has_rows(&self) -> bool {
        !self.counts && !self.only.is_set()
    }

    pub fn has_context(&self) -> bool {
        self.most_above > 0 || self.most_below > 0
    }

    /// Returns what precedes the rows of a session: its path or id, its start time and its
    /// directory, after an empty line unless it is the first.
    pub fn heading(&self, path: &Path, header: &Header, is_first: bool, ui: &Ui) -> String {
        if !self.headings {
            let is_apart = !is_first && self.has_context() && self.has_rows() && !self.json;
            return if is_apart { self.gap() } else { String::new() };
        }
        let id = header.id.to_string_lossy();
        let home = ui.home();
        let name = if self.by_id {
            visible(id_end(&id, ID))
        } else {
            shown(path)
        };
        let name = styled(&name, self.styles.summary);
        let time = header.started_ms().map(|time| Clock::new(ui).text(time));
        let cwd = header
            .cwd
            .as_ref()
            .map(|cwd| visible(&below_home(&cwd.to_string_lossy(), home.as_deref())));
        let about: String = time
            .into_iter()
            .chain(cwd)
            .map(|part| format!("  {part}"))
            .collect();
        format!(
            "{}{name}{}\n",
            if is_first { "" } else { "\n" },
            styled(&about, self.styles.dim)
        )
    }

    /// Returns the row between entries that do not follow each other.
    fn gap(&self) -> String {
        styled("--", self.styles.dim) + "\n"
    }

    /// Appends the row of a match, or (`is_context`) of an entry near one: path, id, role and snippet,
    /// between which there is a `:` for a match, a `-` otherwise. The snippet gets the width that the
    /// others leave.
    pub fn row(
        &self,
        path: &Path,
        header: &Header,
        hit: &Match,
        is_context: bool,
        out: &mut Vec<u8>,
    ) {
        if self.json {
            out.extend_from_slice(&hit_json(path, header, hit, is_context));
            out.push(b'\n');
            return;
        }

        let mark = if is_context { '-' } else { ':' };
        let path = if self.paths {
            format!("{}{mark}", shown(path))
        } else {
            String::new()
        };
        let id = if hit.id.is_empty() {
            format!(":{}", hit.line.0)
        } else {
            visible(&hit.id.to_string_lossy())
        };
        let role = format!("{mark}{}{mark} ", visible(&hit.role.to_string_lossy()));
        let turn = turn_note(hit);
        let width_of_others = columns(&path) + columns(&id) + columns(&role) + columns(&turn);
        let snippet_width = self.width.saturating_sub(width_of_others);

        let styles = &self.styles;
        let snippet_style = if is_context { styles.dim } else { Style::new() };
        let mut line = styled(&path, styles.summary);
        line += &styled(&id, styles.label);
        line += &styled(&role, styles.dim);
        line += &self.snippet(&hit.hit, snippet_width, snippet_style);
        line += &styled(&turn, styles.active);
        out.extend_from_slice(line.trim_end().as_bytes());
        out.push(b'\n');
    }

    /// Returns a snippet: its match, highlighted, and as much of the text around it as fits into
    /// `width` columns; if space is scarce, a third of it is for the text before the match.
    fn snippet(&self, hit: &Hit, width: usize, style: Style) -> String {
        let text = &hit.snippet;
        let before = visible(&text[..hit.shown.start]);
        let found = visible(&text[hit.shown.clone()]);
        let after = visible(&text[hit.shown.end..]);

        let found = fitted(&found, width, "…");
        let room = width.saturating_sub(columns(&found));
        let room_before = room.saturating_sub(columns(&after)).max(room / 3);
        let before = fitted_end(&before, room_before, "…");
        let room_after = room.saturating_sub(columns(&before));
        let after = fitted(&after, room_after, "…");
        styled(&before, style) + &styled(&found, self.styles.hit) + &styled(&after, style)
    }

    /// Appends the rows of matches and of the entries around them.
    pub fn rows_around(
        &self,
        path: &Path,
        matches: &[Match],
        session: &Session,
        out: &mut Vec<u8>,
    ) {
        let header = &session.header;
        // The title is not an entry.
        for hit in matches {
            if session.entry_on(hit.line).is_none() {
                self.row(path, header, hit, false, out);
            }
        }

        let lines: Vec<_> = matches.iter().map(|hit| hit.line).collect();
        let drawing = rows(session, session.leaf);
        for nearby in around(session, &lines, self.most_above, self.most_below) {
            if !nearby.continues && !out.is_empty() && !self.json {
                out.extend_from_slice(self.gap().as_bytes());
            }
            match nearby.match_index {
                Some(index) => self.row(path, header, &matches[index], false, out),
                None => {
                    let context = self.near(&drawing, nearby.entry);
                    self.row(path, header, &context, true, out);
                }
            }
        }
    }

    /// Returns the row of an entry near a match, which has no match itself.
    fn near(&self, drawing: &Drawing, ix: EntryIx) -> Match {
        let session = drawing.session;
        let row = drawing.row(ix);
        let role = session
            .role_name(ix)
            .unwrap_or_else(|| session.kind_name(ix));
        Match {
            line: session.entry(ix).line,
            id: session.id(ix).into_owned(),
            role: if self.json { role } else { row.role }.into_owned(),
            timestamp: session.timestamp(ix).map(Text::into_owned),
            hit: Hit {
                snippet: row.body.to_string_lossy().into_owned(),
                ..Hit::default()
            },
            turn: None,
        }
    }

    /// Appends the single row of a session, for -l and -c.
    pub fn summary(&self, path: &Path, header: &Header, count: u64, out: &mut Vec<u8>) {
        if self.has_rows() {
            return;
        }
        if self.json {
            let count = self.counts.then_some(count as f64);
            let row = path_json(path, header).with(count, |row, count| row.number("count", count));
            out.extend_from_slice(&row.finish());
            out.push(b'\n');
            return;
        }
        // With -0, the path ends in a NUL byte in place of the colon.
        if !self.counts || self.paths && self.only.null {
            self.only.push(path, self.styles.summary, out);
        } else if self.paths {
            out.extend_from_slice((styled(&shown(path), self.styles.summary) + ":").as_bytes());
        }
        if self.counts {
            out.extend_from_slice(format!("{count}\n").as_bytes());
        }
    }
}

/// Returns the note on a match that is on another branch: the entry that it comes after. Empty for
/// other matches.
fn turn_note(hit: &Match) -> String {
    match &hit.turn {
        Some(Turn::Branches {
            after: Some(parent),
        }) => {
            format!("  (after {})", visible(&parent.to_string_lossy()))
        }
        Some(Turn::Branches { after: None }) => "  (after root)".to_owned(),
        _ => String::new(),
    }
}

fn path_json(path: &Path, header: &Header) -> Object {
    Object::new()
        .str("path", &path.to_string_lossy())
        .text("sessionId", &header.id)
}

fn hit_json(path: &Path, header: &Header, hit: &Match, is_context: bool) -> Vec<u8> {
    let id = Some(&hit.id).filter(|id| !id.is_empty());
    let field = Text::from(&*hit.hit.field);
    path_json(path, header)
        .text_or_null("id", id)
        .number("line", f64::from(hit.line.0))
        .text("role", &hit.role)
        .text_or_null("field", Some(&field).filter(|field| !field.is_empty()))
        .number("start", hit.hit.range.start as f64)
        .number("end", hit.hit.range.end as f64)
        .text("snippet", &Text::from(&*hit.hit.snippet))
        .text_or_null("timestamp", hit.timestamp.as_ref())
        .bool("context", is_context)
        .with(hit.turn.as_ref(), |row, turn| match turn {
            Turn::Continues => row.bool("branched", false),
            Turn::Branches { after } => row
                .bool("branched", true)
                .text_or_null("after", after.as_ref()),
        })
        .finish()
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy())
}
