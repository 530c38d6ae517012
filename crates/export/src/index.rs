//! The page's data about all entries: the tree, and a few facts about each entry.
//!
//! The first part precedes the entries, so that the tree can be drawn while the rest is still
//! loading. The facts that require reading the entries follow the entries.

use super::commonmark::Author;
use super::markup::make_visible;
use super::row_text::readable_row;
use super::source::Contents;
use super::source::cut;
use super::view_parts::{EditFact, EntryFacts};
use foldhash::HashMap;
use pisess_core::ops::rows::{Row, Tone};
use pisess_core::ops::tree::{Filter, filter_shows};
use pisess_core::session::Session;
use pisess_core::session::entry::{Entry, EntryIx, Flags, Kind};
use pisess_core::session::labels::Labels;
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
const FLAG_BITS: [(u32, Flags); 3] = [
    (16, Flags::SILENT),
    (32, Flags::FAILED),
    (64, Flags::ABORTED),
];

/// The bit of an entry that is not part of the conversation.
const NOTE_BIT: u32 = 128;

/// The character for an entry has the code of its bits plus this number: that of `0`.
const MASK_BASE: u32 = 48;

/// The part that precedes the entries, as JSON. Lists have an item per exported entry, in order.
pub fn early_facts_json(contents: &Contents) -> Vec<u8> {
    let session = contents.session;
    let entries = &contents.entries;
    let labels = Labels::new(session);
    let tree = Tree::new(session);

    let ids = entries
        .iter()
        .map(|&ix| string::encode_to_vec(&Text::from(contents.entry_id(ix))));
    let kinds: String = entries
        .iter()
        .map(|&ix| kind_letter(session.entry(ix)))
        .collect();
    let masks: String = entries
        .iter()
        .map(|&ix| mask_char(session, &labels, ix))
        .collect();
    let usage = contents.usage();
    let cwd = session
        .header
        .cwd
        .as_ref()
        .map(|cwd| cwd.to_string_lossy().into_owned());
    let leaf = contents.leaf.and_then(|leaf| contents.entry_number(leaf));
    let kind_names = KindNames::new(contents);

    Object::new()
        .str("tags", &super::markup::Tag::table())
        .number("tokensOfAll", usage.total_tokens())
        .number("costOfAll", micro_rounded(usage.cost))
        .json("title", &quote_json(&contents.title()))
        .json(
            "name",
            &quote_json_or_null(contents.session_name().as_deref()),
        )
        .json("cwd", &quote_json_or_null(cwd.as_deref()))
        .str("agent", session.agent().constants().name)
        .str("session", &session.header.id.to_string_lossy())
        .json(
            "left",
            &quote_json_or_null(contents.omission_note(None).as_deref()),
        )
        .str("made", concat!("pisess ", env!("CARGO_PKG_VERSION")))
        .number("leaf", leaf.map_or(-1.0, f64::from))
        .json("ids", &array(ids))
        .json("up", &parent_distances(contents, &tree))
        .str("kind", &kinds)
        .str("mask", &masks)
        .json("time", &time_differences(contents))
        .json("labels", &label_pairs(contents, &labels))
        .json("order", &unsorted_children(contents, &tree))
        .json("names", &kind_names.names)
        .json("nameOf", &kind_names.entries)
        .finish()
}

/// The bits of an entry as a character: the filters that show it, its [`FLAG_BITS`] and
/// [`NOTE_BIT`].
fn mask_char(session: &Session, labels: &Labels, ix: EntryIx) -> char {
    let entry = session.entry(ix);
    let mut mask = 0;
    for (bit, filter) in FILTERS.into_iter().enumerate() {
        if filter_shows(session, labels, Some(ix), filter, ix) {
            mask |= 1 << bit;
        }
    }
    for (bit, flag) in FLAG_BITS {
        if entry.flags.contains(flag) {
            mask |= bit;
        }
    }
    if entry.kind.is_bookkeeping() {
        mask |= NOTE_BIT;
    }
    char::from_u32(MASK_BASE + mask).unwrap_or_default()
}

/// For each entry, how many entries above it in the list its parent is; `null` without a parent.
fn parent_distances(contents: &Contents, tree: &Tree) -> Vec<u8> {
    let mut column = Vec::new();
    for (number, parent) in contents.exported_parents(tree).into_iter().enumerate() {
        match parent {
            Some(parent) => {
                let distance = number as i64 - i64::from(parent);
                push_list_item(distance.to_string().as_bytes(), &mut column);
            }
            None => push_list_item(b"null", &mut column),
        }
    }
    array([column])
}

/// The entries with a label: `[[number, label], …]`.
fn label_pairs(contents: &Contents, labels: &Labels) -> Vec<u8> {
    let mut pairs = Vec::new();
    for (number, &ix) in contents.entries.iter().enumerate() {
        if let Some(label) = labels.get(ix) {
            let label = quote_json(&cut(&label.to_string_lossy(), 300));
            pairs.push(array([number.to_string().into_bytes(), label]));
        }
    }
    array(pairs)
}

/// Rounds a cost to millionths, so that sums have no tail of digits.
fn micro_rounded(cost: f64) -> f64 {
    (cost * 1e6).round() / 1e6
}

fn quote_json(text: &str) -> Vec<u8> {
    string::encode_to_vec(&Text::from(make_visible(text)))
}

fn quote_json_or_null(text: Option<&str>) -> Vec<u8> {
    match text {
        Some(text) => quote_json(text),
        None => b"null".to_vec(),
    }
}

/// The letter for the kind of an entry.
pub(super) fn kind_letter(entry: &Entry) -> char {
    match entry.kind {
        Kind::Message => entry.role.schema().letter,
        kind => kind.schema().letter,
    }
}

/// The name of an entry's type or role if the letter does not imply it; for what an extension made,
/// the name that the extension gives it.
pub(super) fn type_name(session: &Session, ix: EntryIx) -> Option<String> {
    let (role, body) = session.row_parts(ix);
    let name = match kind_letter(session.entry(ix)) {
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

/// The names of types that have no letter of their own, and the entries that have them.
struct KindNames {
    /// A list of the names, as JSON.
    names: Vec<u8>,
    /// `[number of an entry, index of its name, …]`.
    entries: Vec<u8>,
}

impl KindNames {
    fn new(contents: &Contents) -> KindNames {
        let mut names: Vec<String> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::default();
        let mut entries = Vec::new();
        for (number, &ix) in contents.entries.iter().enumerate() {
            if let Some(name) = type_name(contents.session, ix) {
                let index = intern_name(name, &mut names, &mut known);
                entries.push(number.to_string());
                entries.push(index.to_string());
            }
        }
        KindNames {
            names: array(names.iter().map(|name| quote_json(name))),
            entries: array(entries),
        }
    }
}

/// Finds the index of a name among `names`, to which it is added if it is not `known`.
fn intern_name(name: String, names: &mut Vec<String>, known: &mut HashMap<String, usize>) -> usize {
    if let Some(index) = known.get(&name) {
        return *index;
    }
    let index = names.len();
    known.insert(name.clone(), index);
    names.push(name);
    index
}

/// For each entry, the milliseconds since the previous one that has a time; `null` without a time.
fn time_differences(contents: &Contents) -> Vec<u8> {
    let mut column = Vec::new();
    let mut previous_ms = 0;
    for &ix in &contents.entries {
        let time_ms = contents.session.entry(ix).time_ms;
        if time_ms == Entry::NO_TIME {
            push_list_item(b"null", &mut column);
        } else {
            let difference = time_ms - previous_ms;
            push_list_item(difference.to_string().as_bytes(), &mut column);
            previous_ms = time_ms;
        }
    }
    array([column])
}

/// The children of entries whose children are not in file order: `[[parent, [children]], …]`.
fn unsorted_children(contents: &Contents, tree: &Tree) -> Vec<u8> {
    let mut families = Vec::new();
    for &ix in &contents.entries {
        let children = tree.children(ix);
        if children.is_sorted() {
            continue;
        }
        // Where a child is left out, those below it take its place, in file order.
        let numbers: Option<Vec<u32>> = children
            .iter()
            .map(|&child| contents.entry_number(child))
            .collect();
        if let Some(numbers) = numbers
            && let Some(parent) = contents.entry_number(ix)
        {
            let children = array(numbers.iter().map(u32::to_string));
            families.push(array([parent.to_string().into_bytes(), children]));
        }
    }
    array(families)
}

/// The facts that require reading the entries.
#[derive(Debug, Default)]
pub struct LateFacts {
    /// The names of models, and the index of each.
    models: Vec<String>,
    known: HashMap<String, usize>,
    /// The number of entries that were added.
    entry_count: usize,
    /// For each entry the index of its model plus one, 0 without one; see [`push_list_item`].
    model: Vec<u8>,
    /// For each entry its lines; see [`push_list_item`].
    lines: Vec<u8>,
    /// The numbers of the entries that the agent does not show.
    hidden: Vec<String>,
    /// `[number, target, 1 if the target is omitted]`, as JSON.
    edits: Vec<Vec<u8>>,
}

/// Appends the JSON of an item to those of a list. A list with an item per entry is not kept as
/// values: those of a long session are many.
fn push_list_item(item: &[u8], column: &mut Vec<u8>) {
    if !column.is_empty() {
        column.push(b',');
    }
    column.extend_from_slice(item);
}

impl LateFacts {
    /// Adds the facts of the next entry, and about how many lines it takes.
    pub fn add_entry(&mut self, facts: EntryFacts, lines: u32) {
        let number = self.entry_count;
        self.entry_count += 1;
        let model = match facts.model {
            Some(model) => intern_name(model, &mut self.models, &mut self.known) + 1,
            None => 0,
        };
        push_list_item(model.to_string().as_bytes(), &mut self.model);
        push_list_item(lines.to_string().as_bytes(), &mut self.lines);
        if facts.is_hidden {
            self.hidden.push(number.to_string());
        }
        if let Some(EditFact { target, omits }) = facts.edit {
            let omits = if omits { 1 } else { 0 };
            self.edits
                .push(format!("[{number},{target},{omits}]").into_bytes());
        }
    }

    /// The part that follows the entries, as JSON.
    pub fn finish(self, contents: &Contents) -> Vec<u8> {
        let models = self.models.iter().map(|model| quote_json(&cut(model, 120)));
        let mut costs = Vec::new();
        let mut usages = Vec::new();
        for &ix in &contents.entries {
            let usage = contents.session.usage_of(ix).copied().unwrap_or_default();
            let cost = js::number_to_string(micro_rounded(usage.cost.unwrap_or(0.0)));
            push_list_item(cost.as_bytes(), &mut costs);
            push_list_item(&usage_json(&usage), &mut usages);
        }
        Object::new()
            .json("models", &array(models))
            .json("model", &array([self.model]))
            .json("cost", &array([costs]))
            .json("usage", &array([usages]))
            .json("hidden", &array(self.hidden))
            .json("lines", &array([self.lines]))
            .json("edits", &array(self.edits))
            .finish()
    }
}

/// The tokens of an entry, `[input, output, cache read, cache write]`; 0 if there are none.
fn usage_json(usage: &Usage) -> Vec<u8> {
    if usage.total_tokens() > 0.0 {
        let tokens = [
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
        ];
        array(tokens.map(js::number_to_string))
    } else {
        b"0".to_vec()
    }
}

/// The characters of a body in a row: the width of the side bar.
const LONGEST_BODY: usize = 160;

/// The row of an entry in the tree: its role and its body, separated by a tab. If the body contains
/// a path, its directory is enclosed in further tabs, so that a narrow row can keep the file's
/// name.
pub fn row_markup(row: &Row) -> String {
    let role = row.role.to_string_lossy();
    // Readers of a page know no leaf.
    let role = if role == "leaf" { "switch" } else { &*role };

    let body = row.body.to_string_lossy();
    let is_prose = row.path.is_empty() && row.tone != Tone::Tool;
    let author = if row.tone == Tone::User {
        Author::User
    } else {
        Author::Program
    };
    let body = if is_prose {
        readable_row(&body, author)
    } else {
        body
    };

    let mut columns = vec![role];
    match body.get(row.path.clone()) {
        Some(path) if !path.is_empty() => {
            let before = &body[..row.path.start];
            let (directory, _) = path.split_at(file_name_start(path));
            let name_and_rest = &body[row.path.start + directory.len()..];
            columns.extend([before, directory, name_and_rest]);
        }
        _ => columns.push(&body),
    }

    let mut markup = super::markup::Markup::default();
    for (number, column) in columns.into_iter().enumerate() {
        if number > 0 {
            markup.push_text("\t");
        }
        // Tabs of the session become spaces.
        markup.push_text(&cut(column, LONGEST_BODY).replace(['\n', '\t', '\r'], " "));
    }
    markup.finish()
}

/// The offset of the last name in a path, after which separators may follow.
fn file_name_start(path: &str) -> usize {
    let path = path.trim_end_matches(['/', '\\']);
    match path.rfind(['/', '\\']) {
        Some(separator) => separator + 1,
        None => 0,
    }
}
