//! The page's data about all entries: the tree, and a few facts about each entry.
//!
//! The first part precedes the entries, so that the tree can be drawn while the rest is still
//! loading. The facts that require reading the entries follow the entries.

use super::commonmark::Author;
use super::markup::visible;
use super::row_text::readable;
use super::source::Contents;
use super::source::cut;
use super::view_parts::{EditFact, Facts};
use foldhash::HashMap;
use pisess_core::ops::rows::{Row, Tone};
use pisess_core::ops::tree::{Filter, passes};
use pisess_core::session::Session;
use pisess_core::session::entry::{Entry, EntryIx, Flags, Kind};
use pisess_core::session::tree::Tree;
use pisess_core::session::usage::Usage;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_json::{js, string};

/// The modes of the tree's filter, in the order of their bits.
const FILTERS: [Filter; 4] = [
    Filter::Default,
    Filter::NoTools,
    Filter::UserOnly,
    Filter::LabeledOnly,
];

/// The bits of an entry that follow those of the filters: hidden by the agents in every mode unless
/// it is the leaf; failed; aborted by the user.
const FLAGS: [(u32, Flags); 3] = [
    (16, Flags::SILENT),
    (32, Flags::FAILED),
    (64, Flags::ABORTED),
];

/// The bit of an entry that is not part of the conversation.
const NOTE: u32 = 128;

/// The character for an entry has the code of its bits plus this number.
const FIRST: u32 = 48;

/// Returns the part that precedes the entries.
pub fn early(contents: &Contents) -> Vec<u8> {
    let (session, entries) = (contents.session, &contents.entries);
    let labels = pisess_core::session::labels::Labels::new(session);
    let ids = entries
        .iter()
        .map(|&ix| string::encoded(&Text::from(contents.id(ix))));
    let kinds: String = entries
        .iter()
        .map(|&ix| letter(session.entry(ix)))
        .collect();
    let masks: String = entries
        .iter()
        .map(|&ix| {
            let bits = FILTERS.iter().enumerate();
            let passing =
                bits.filter(|&(_, &filter)| passes(session, &labels, Some(ix), filter, ix));
            let flags = FLAGS
                .iter()
                .filter(|(_, flag)| session.entry(ix).flags.has(*flag));
            let note = if session.entry(ix).kind.is_bookkeeping() {
                NOTE
            } else {
                0
            };
            let bits = passing.map(|(bit, _)| 1 << bit).sum::<u32>()
                + flags.map(|(bit, _)| bit).sum::<u32>();
            char::from_u32(FIRST + bits + note).unwrap_or_default()
        })
        .collect();
    let tree = Tree::new(session);
    let up = contents
        .parents(&tree)
        .into_iter()
        .enumerate()
        .map(|(number, parent)| {
            parent.map_or("null".to_owned(), |parent| {
                (number as i64 - i64::from(parent)).to_string()
            })
        });
    let labels = entries.iter().enumerate().filter_map(|(number, &ix)| {
        let name = quoted(&cut(&labels.name(ix)?.to_string_lossy(), 300));
        Some(array([number.to_string().into_bytes(), name]))
    });
    let usage = contents.usage();
    let cwd = session
        .header
        .cwd
        .as_ref()
        .map(|cwd| cwd.to_string_lossy().into_owned());
    let (kind_names, kind_of) = kind_names(contents);
    Object::new()
        .str("tags", &super::markup::Tag::table())
        .number("tokensOfAll", usage.tokens())
        .number("costOfAll", (usage.cost * 1e6).round() / 1e6)
        .json("title", &quoted(&contents.title()))
        .json("name", &or_null(contents.name().as_deref()))
        .json("cwd", &or_null(cwd.as_deref()))
        .str("agent", session.agent().constants().name)
        .str("session", &session.header.id.to_string_lossy())
        .json("left", &or_null(contents.note(None).as_deref()))
        .str("made", concat!("pisess ", env!("CARGO_PKG_VERSION")))
        .number(
            "leaf",
            contents
                .leaf
                .and_then(|leaf| contents.number(leaf))
                .map_or(-1.0, f64::from),
        )
        .json("ids", &array(ids))
        .json("up", &array(up))
        .str("kind", &kinds)
        .str("mask", &masks)
        .json("time", &times(contents))
        .json("labels", &array(labels))
        .json("order", &order(contents, &tree))
        .json("names", &kind_names)
        .json("nameOf", &kind_of)
        .finish()
}

fn quoted(text: &str) -> Vec<u8> {
    string::encoded(&Text::from(visible(text)))
}

fn or_null(text: Option<&str>) -> Vec<u8> {
    text.map_or(b"null".to_vec(), quoted)
}

/// Returns the letter for the kind of an entry.
pub(super) fn letter(entry: &Entry) -> char {
    match entry.kind {
        Kind::Message => entry.role.schema().letter,
        kind => kind.schema().letter,
    }
}

/// Returns the name of an entry's type or role if the letter does not imply it; for what an
/// extension made, the name that the extension gives it.
pub(super) fn name_of(session: &Session, ix: EntryIx) -> Option<String> {
    let (role, body) = session.row_parts(ix);
    let name = match letter(session.entry(ix)) {
        'x' if !body.is_empty() => body.to_string_lossy().into_owned(),
        'm' | 'x' => role.to_string_lossy().into_owned(),
        'n' | 'o' | 's' | 'b' => match session.role_name(ix) {
            Some(role) => role.to_string(),
            // Readers of a page know no leaf.
            None if session.entry(ix).kind == Kind::Leaf => "switch".to_owned(),
            None => session.kind_name(ix).to_string(),
        },
        _ => return None,
    };
    Some(cut(&name, 60))
}

/// Returns the names of types that have no letter of their own, and the entries that have them:
/// `[number, name, …]`.
fn kind_names(contents: &Contents) -> (Vec<u8>, Vec<u8>) {
    let mut names: Vec<String> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::default();
    let mut of = Vec::new();
    for (number, &ix) in contents.entries.iter().enumerate() {
        let Some(name) = name_of(contents.session, ix) else {
            continue;
        };
        let at = index_of(name, &mut names, &mut known);
        of.extend([number.to_string(), at.to_string()]);
    }
    (array(names.iter().map(|name| quoted(name))), array(of))
}

/// Returns the index of a name among `names`, to which it is added if it is not `known`.
fn index_of(name: String, names: &mut Vec<String>, known: &mut HashMap<String, usize>) -> usize {
    let at = *known.entry(name.clone()).or_insert(names.len());
    if at == names.len() {
        names.push(name);
    }
    at
}

/// Returns the milliseconds since the previous entry; `null` without a time.
fn times(contents: &Contents) -> Vec<u8> {
    let mut before = 0;
    array(
        contents
            .entries
            .iter()
            .map(|&ix| match contents.session.entry(ix).time_ms {
                Entry::NO_TIME => "null".to_owned(),
                time => {
                    let since = time - before;
                    before = time;
                    since.to_string()
                }
            }),
    )
}

/// Returns the children of entries whose children are not in file order: `[parent, [children]]`.
fn order(contents: &Contents, tree: &Tree) -> Vec<u8> {
    let siblings = contents.entries.iter().filter_map(|&ix| {
        let children = tree.children(ix);
        if children.is_sorted() {
            return None;
        }
        // Where an entry is left out, those below it take its place, in file order.
        let children: Option<Vec<u32>> = children
            .iter()
            .map(|&child| contents.number(child))
            .collect();
        let children = array(children?.iter().map(u32::to_string));
        Some(array([
            contents.number(ix)?.to_string().into_bytes(),
            children,
        ]))
    });
    array(siblings)
}

/// The facts that require reading the entries.
#[derive(Debug, Default)]
pub struct Late {
    models: Vec<String>,
    known: HashMap<String, usize>,
    count: usize,
    // The numbers of all entries, as they are written: those of a long session are many.
    model: Vec<u8>,
    lines: Vec<u8>,
    hidden: Vec<String>,
    edits: Vec<Vec<u8>>,
}

/// Adds a number to those of a column.
fn add(number: &[u8], column: &mut Vec<u8>) {
    column.extend_from_slice(if column.is_empty() { b"" } else { b"," });
    column.extend_from_slice(number);
}

impl Late {
    /// Adds the facts of the next entry, and about how many lines it takes.
    pub fn push(&mut self, facts: Facts, lines: u32) {
        let number = self.count;
        self.count += 1;
        let model = facts.model.map_or(0, |model| {
            index_of(model, &mut self.models, &mut self.known) + 1
        });
        add(model.to_string().as_bytes(), &mut self.model);
        if facts.is_hidden {
            self.hidden.push(number.to_string());
        }
        add(lines.to_string().as_bytes(), &mut self.lines);
        if let Some(EditFact { target, omits }) = facts.edit {
            let omits = if omits { 1 } else { 0 };
            self.edits
                .push(format!("[{number},{target},{omits}]").into_bytes());
        }
    }

    /// Returns the part that follows the entries.
    pub fn finish(self, contents: &Contents) -> Vec<u8> {
        let used = |&ix: &EntryIx| contents.session.usage_of(ix).copied().unwrap_or_default();
        let used = || contents.entries.iter().map(used);
        let cost = |usage: Usage| js::number((usage.cost.unwrap_or(0.0) * 1e6).round() / 1e6);
        let parts = |usage: Usage| {
            let parts = [
                usage.input,
                usage.output,
                usage.cache_read,
                usage.cache_write,
            ];
            if usage.tokens() > 0.0 {
                array(parts.map(js::number))
            } else {
                b"0".to_vec()
            }
        };
        let models = self.models.iter().map(|model| quoted(&cut(model, 120)));
        Object::new()
            .json("models", &array(models))
            .json("model", &array([self.model]))
            .json("cost", &array(used().map(cost)))
            .json("usage", &array(used().map(parts)))
            .json("hidden", &array(self.hidden))
            .json("lines", &array([self.lines]))
            .json("edits", &array(self.edits))
            .finish()
    }
}

/// The characters of a body in a row: the width of the side bar.
const BODY: usize = 160;

/// Returns the row of an entry in the tree: its role and its body, separated by a tab. If the body
/// contains a path, its directory is enclosed in further tabs, so that a narrow row can keep the
/// file's name.
pub fn row(row: &Row) -> String {
    let role = row.role.to_string_lossy();
    let role = if role == "leaf" {
        "switch".into()
    } else {
        role
    };
    let body = row.body.to_string_lossy();
    let body = if row.path.is_empty() && row.tone != Tone::Tool {
        let author = if row.tone == Tone::User {
            Author::User
        } else {
            Author::Program
        };
        readable(&body, author)
    } else {
        body
    };
    let path = body.get(row.path.clone()).filter(|path| !path.is_empty());
    let mut parts = vec![&*role];
    match path {
        Some(path) => {
            let name = path
                .trim_end_matches(['/', '\\'])
                .rfind(['/', '\\'])
                .map_or(0, |at| at + 1);
            let name = row.path.start + name;
            parts.extend([
                &body[..row.path.start],
                &body[row.path.start..name],
                &body[name..],
            ]);
        }
        None => parts.push(&body),
    }
    let mut markup = super::markup::Markup::default();
    for (at, part) in parts.into_iter().enumerate() {
        // Tabs of the session become spaces.
        markup.text(if at == 0 { "" } else { "\t" });
        markup.text(&cut(part, BODY).replace(['\n', '\t', '\r'], " "));
    }
    markup.finish()
}
