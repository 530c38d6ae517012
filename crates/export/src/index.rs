//! The page's data about all entries: the tree, and a few facts about each entry.
//!
//! The first part precedes the entries, so that the tree can be drawn while the rest is still
//! loading. The facts that require reading the entries follow the entries.

use super::commits::Commit;
use super::markup::{Markup, make_visible};
use super::row_text::readable_row;
use super::source::Contents;
use super::source::cut;
use super::typed::Author;
use super::view_parts::{ChangedLines, EditFact, EntryFacts};
use super::work::file_changes;
use foldhash::HashMap;
use pisess_core::ops::branches::find_branches;
use pisess_core::ops::rows::{EntryRow, Tone};
use pisess_core::ops::stats::Totals;
use pisess_core::ops::tree::{Filter, filter_shows};
use pisess_core::session::Session;
use pisess_core::session::entry::{Entry, EntryIx, Flags, Kind};
use pisess_core::session::labels::Labels;
use pisess_core::session::tree::Tree;
use pisess_core::session::usage::{Usage, built_in_prices_date};
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_json::{js, string};
use std::borrow::Cow;
use std::ops::Range;

/// The filters that the page's tree offers. The index of a filter is the number of its bit.
const FILTERS: [Filter; 4] = [
    Filter::Default,
    Filter::NoTools,
    Filter::UserOnly,
    Filter::LabeledOnly,
];

/// The bits of an entry that follow the bits of the filters. A silent entry is one that the agents
/// hide whatever the filter, unless it is the leaf.
const FLAG_BITS: [(u32, Flags); 3] = [
    (16, Flags::SILENT),
    (32, Flags::FAILED),
    (64, Flags::ABORTED),
];

/// The bit of an entry that is not part of the conversation.
const NOTE_BIT: u32 = 128;

/// Added to the bits of an entry, so that they become a visible character: the code of `0`.
const MASK_BASE: u32 = 48;

/// Returns the part that precedes the entries, as JSON, for `page/data.js`: the facts that are
/// known without reading the entries.
///
/// The arrays `ids`, `up` and `time` have an item per exported entry, in file order. The strings
/// `kind` and `mask` have a character per exported entry.
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
    // The page takes -1 for an empty path.
    let leaf_number = match contents.leaf.and_then(|leaf| contents.entry_number(leaf)) {
        Some(number) => f64::from(number),
        None => -1.0,
    };
    let kind_names = KindNames::new(contents);
    let prices_date = usage.has_estimate().then(built_in_prices_date);

    Object::new()
        .str("tags", &super::markup::Tag::table())
        .number("tokensOfAll", usage.total_tokens())
        .number("costOfAll", micro_rounded(usage.cost))
        .with(prices_date, |index, date| index.str("pricesOf", date))
        .json("work", &totals_json(&contents.work.totals))
        .json("file", &quote_json_or_null(contents.file_name.as_deref()))
        .json("title", &quote_json(&contents.title()))
        .json(
            "name",
            &quote_json_or_null(contents.session_name().as_deref()),
        )
        .json("cwd", &quote_json_or_null(cwd.as_deref()))
        .str("agent", session.agent().constants().name)
        .str("program", session.agent().constants().program)
        .number("branches", find_branches(session, &tree).len() as f64)
        .str("session", &session.header.id.to_string_lossy())
        .json(
            "left",
            &quote_json_or_null(contents.omission_note(None).as_deref()),
        )
        .str("made", concat!("pisess ", env!("CARGO_PKG_VERSION")))
        .number("leaf", leaf_number)
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

/// Returns the sums of the whole export as JSON, as `stats` computes them. `took` is the time of
/// all turns and `span` the time from the first entry to the last, both in milliseconds.
fn totals_json(totals: &Totals) -> Vec<u8> {
    let span_ms = match (totals.first_ms, totals.last_ms) {
        (Some(first_ms), Some(last_ms)) => last_ms - first_ms,
        _ => 0,
    };
    Object::new()
        .number("prompts", totals.user_messages as f64)
        .number("calls", totals.tool_calls as f64)
        .number("took", totals.took_ms as f64)
        .number("span", span_ms as f64)
        .finish()
}

/// Returns the bits of an entry as one visible character, whose code is [`MASK_BASE`] plus the
/// bits:
///
/// - bit N if the filter at index N of [`FILTERS`] shows the entry
/// - the [`FLAG_BITS`] of its flags
/// - [`NOTE_BIT`] if it is bookkeeping
fn mask_char(session: &Session, labels: &Labels, ix: EntryIx) -> char {
    let entry = session.entry(ix);
    let mut mask = 0;
    for (bit, filter) in FILTERS.into_iter().enumerate() {
        // As if the entry were the leaf, which is shown even if it is silent.
        let leaf = Some(ix);
        if filter_shows(session, labels, leaf, filter, ix) {
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
    // The bits are few, so the sum is far below the surrogates, which are no characters.
    char::from_u32(MASK_BASE + mask).unwrap_or_default()
}

/// Returns, for each exported entry, its number minus the number of its nearest exported ancestor;
/// `null` if it has none. The difference is negative if the ancestor is further down in the file.
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
    column_to_list(column)
}

/// Returns the numbers of the entries with a label, and their labels: `[[number, label], …]`.
fn label_pairs(contents: &Contents, labels: &Labels) -> Vec<u8> {
    let mut pairs = Vec::new();
    for (number, &ix) in contents.entries.iter().enumerate() {
        if let Some(label) = labels.get(ix) {
            let label = quote_json(&cut(&label.to_string_lossy(), 300));
            pairs.push(array([json_number(number), label]));
        }
    }
    array(pairs)
}

/// Rounds a cost to millionths of a dollar: a sum such as `0.30000000000000004` becomes `0.3`.
fn micro_rounded(cost: f64) -> f64 {
    (cost * 1e6).round() / 1e6
}

/// Returns a number as JSON, as an item for [`array`].
fn json_number(number: usize) -> Vec<u8> {
    number.to_string().into_bytes()
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

/// Returns the letter by which the page knows the kind of an entry, or the role of a message.
pub(super) fn kind_letter(entry: &Entry) -> char {
    match entry.kind {
        Kind::Message => entry.role.schema().letter,
        kind => kind.schema().letter,
    }
}

/// The maximum number of characters of the name of a type.
const LONGEST_TYPE_NAME: usize = 60;

/// Returns the name of an entry's type or role. `None` if the letter of [`kind_letter`] implies the
/// name. An entry of an extension has the name that the extension gave it.
pub(super) fn type_name(session: &Session, ix: EntryIx) -> Option<String> {
    let row = session.row_parts(ix);
    let name = match kind_letter(session.entry(ix)) {
        // An entry of an extension. Its row has the name, as the body or as the role.
        'x' => {
            let name = if row.body.is_empty() {
                row.role
            } else {
                row.body
            };
            name.to_string_lossy().into_owned()
        }
        // A message of an extension.
        'm' => row.role.to_string_lossy().into_owned(),
        // A setting, a system message, a command that the user ran, or another entry: several types
        // or roles share each of these letters.
        'n' | 's' | 'b' | 'o' => role_or_type(session, ix),
        _ => return None,
    };
    Some(cut(&name, LONGEST_TYPE_NAME))
}

/// Returns the role of a message, or the type of any other entry.
fn role_or_type(session: &Session, ix: EntryIx) -> String {
    if let Some(role) = session.role_name(ix) {
        return role.to_string();
    }
    // Readers of a page do not know what a leaf is.
    if session.entry(ix).kind == Kind::Leaf {
        return "switch".to_owned();
    }
    session.kind_name(ix).to_string()
}

/// The names that [`type_name`] returns for the exported entries, as JSON for the page. With the
/// names `b` of the entry 2 and `a` of the entries 5 and 7:
///
/// ```text
/// names       ["b","a"]
/// entries     [2,0,5,1,7,1]
/// ```
struct KindNames {
    /// The list of the names, each once.
    names: Vec<u8>,
    /// For each entry that has a name, two items of the list: its number, and the index of its name
    /// in `names`.
    entries: Vec<u8>,
}

impl KindNames {
    /// Collects the [`type_name`] of each exported entry that has one.
    fn new(contents: &Contents) -> KindNames {
        let mut names = NameTable::default();
        let mut entry_items = Vec::new();
        for (number, &ix) in contents.entries.iter().enumerate() {
            if let Some(name) = type_name(contents.session, ix) {
                let name_index = names.find_or_add(name);
                entry_items.push(number.to_string());
                entry_items.push(name_index.to_string());
            }
        }
        KindNames {
            names: array(names.names.iter().map(|name| quote_json(name))),
            entries: array(entry_items),
        }
    }
}

/// Names that many entries share, each stored once and referred to by its index.
#[derive(Debug, Default)]
struct NameTable {
    /// The names, in the order in which they were added.
    names: Vec<String>,
    /// The index of each name in `names`.
    indexes: HashMap<String, usize>,
}

impl NameTable {
    /// Returns the index of a name, which is added if the table does not have it.
    fn find_or_add(&mut self, name: String) -> usize {
        if let Some(index) = self.indexes.get(&name) {
            return *index;
        }
        let index = self.names.len();
        self.indexes.insert(name.clone(), index);
        self.names.push(name);
        index
    }
}

/// Returns, for each exported entry, the milliseconds since the previous entry that has a time. The
/// first difference is since 1970. An entry without a time has `null`.
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
    column_to_list(column)
}

/// Returns, for the page, the order of children where it is not the order of the file, which the
/// page assumes elsewhere. For each such parent, the list has the numbers of the parent and of its
/// children in the order of the tree: `[[parent, [child, …]], …]`.
fn unsorted_children(contents: &Contents, tree: &Tree) -> Vec<u8> {
    let mut families = Vec::new();
    for &ix in &contents.entries {
        let children = tree.children(ix);
        // Indexes of entries ascend in file order.
        if children.is_sorted() {
            continue;
        }
        let mut child_numbers = Vec::new();
        for &child in children {
            child_numbers.extend(contents.entry_number(child));
        }
        // On the page, the descendants of a child that is not exported have this parent instead, so
        // the order of the tree says too little: file order is used.
        let are_all_exported = child_numbers.len() == children.len();
        if are_all_exported && let Some(parent_number) = contents.entry_number(ix) {
            let children_json = array(child_numbers.iter().map(u32::to_string));
            let parent_json = parent_number.to_string().into_bytes();
            families.push(array([parent_json, children_json]));
        }
    }
    array(families)
}

/// The maximum number of characters of the name of a model.
const LONGEST_MODEL_NAME: usize = 120;

/// The maximum number of characters of an exit code.
const LONGEST_EXIT_CODE: usize = 12;

/// The facts that require reading the entries.
#[derive(Debug, Default)]
pub struct LateFacts {
    /// The names of models.
    models: NameTable,
    /// The number of entries that were added.
    entry_count: usize,
    /// For each entry, the index of its model in `models` plus 1, or 0 if it has no model. A
    /// column: see [`push_list_item`].
    model_column: Vec<u8>,
    /// For each entry, its estimated number of lines. A column: see [`push_list_item`].
    lines_column: Vec<u8>,
    /// The numbers of the entries that the agent does not show, as JSON.
    hidden: Vec<Vec<u8>>,
    /// The changes of what the model sees, as JSON. For this list and those below, see
    /// [`LateFacts::add_rare_facts`].
    edits: Vec<Vec<u8>>,
    /// The numbers of lines in changes to files, as JSON.
    changed_lines: Vec<Vec<u8>>,
    /// The exit codes of commands that failed, as JSON.
    exit_codes: Vec<Vec<u8>>,
    /// The commits, as JSON.
    commits: Vec<Vec<u8>>,
}

/// Appends an item to a column: the JSON of a list with an item per entry, without the brackets. It
/// is kept as bytes, because a string per item would take much memory in a long session.
fn push_list_item(item: &[u8], column: &mut Vec<u8>) {
    if !column.is_empty() {
        column.push(b',');
    }
    column.extend_from_slice(item);
}

/// Returns the list with the items of a column: adds the brackets.
fn column_to_list(column: Vec<u8>) -> Vec<u8> {
    // Its items have commas between them already, so they count as one.
    array([column])
}

impl LateFacts {
    /// Adds the facts of the next exported entry, and the estimate of its number of lines. Must be
    /// called for each exported entry, in their order: this numbers the entries.
    pub fn add_entry(&mut self, mut facts: EntryFacts, estimated_lines: u32) {
        let number = self.entry_count;
        self.entry_count += 1;
        // 0 is for an entry without a model.
        let model_item = match facts.model.take() {
            Some(model) => self.models.find_or_add(model) + 1,
            None => 0,
        };
        push_list_item(model_item.to_string().as_bytes(), &mut self.model_column);
        let estimated_lines = estimated_lines.to_string();
        push_list_item(estimated_lines.as_bytes(), &mut self.lines_column);
        self.add_rare_facts(number, facts);
    }

    /// Adds the facts that few entries have. Each becomes an array in the list of its kind, for
    /// `page/data.js`, which reads the items by their positions. The first one is the number of the
    /// entry:
    ///
    /// ```text
    /// edits           [number, number of the other entry, 1 if it is omitted, else 0]
    /// changed_lines   [number, added lines, removed lines]
    /// exit_codes      [number, "exit code"]
    /// commits         [number, "hash", "subject"]
    /// ```
    ///
    /// Hidden entries are listed by their numbers alone.
    fn add_rare_facts(&mut self, number: usize, facts: EntryFacts) {
        let entry = json_number(number);
        if facts.is_hidden {
            self.hidden.push(entry.clone());
        }
        if let Some(EditFact { target, omits }) = facts.edit {
            let omits = json_number(usize::from(omits));
            let target = json_number(target as usize);
            self.edits.push(array([entry.clone(), target, omits]));
        }
        let ChangedLines { added, removed } = facts.changed_lines;
        if added > 0 || removed > 0 {
            let counts = [entry.clone(), json_number(added), json_number(removed)];
            self.changed_lines.push(array(counts));
        }
        if let Some(code) = facts.exit_code {
            let code = quote_json(&cut(&code, LONGEST_EXIT_CODE));
            self.exit_codes.push(array([entry.clone(), code]));
        }
        for Commit { hash, subject } in facts.commits {
            let commit = [entry.clone(), quote_json(&hash), quote_json(&subject)];
            self.commits.push(array(commit));
        }
    }

    /// Returns the part that follows the entries, as JSON. Every exported entry must have been
    /// added. `page/data.js` reads the members by these names.
    ///
    /// A member is a column, with an item for each exported entry in their order, or a list of
    /// those entries that have the fact, by their numbers.
    pub fn finish(self, contents: &Contents) -> Vec<u8> {
        let mut models = Vec::new();
        for name in &self.models.names {
            models.push(quote_json(&cut(name, LONGEST_MODEL_NAME)));
        }

        let costs = CostColumns::new(contents);
        Object::new()
            .json("models", &array(models))
            .json("model", &column_to_list(self.model_column))
            .json("cost", &column_to_list(costs.cost))
            .json("estimated", &array(costs.estimated))
            .json("usage", &column_to_list(costs.usage))
            .json("hidden", &array(self.hidden))
            .json("lines", &column_to_list(self.lines_column))
            .json("edits", &array(self.edits))
            .json("took", &column_to_list(costs.duration))
            .json("calls", &column_to_list(costs.call_count))
            .json("files", &array(changed_file_pairs(contents)))
            .json("changedLines", &array(self.changed_lines))
            .json("exitCodes", &array(self.exit_codes))
            .json("commits", &array(self.commits))
            .finish()
    }
}

/// What each exported entry has cost in money, tokens and time. These are columns (see
/// [`push_list_item`]), which make the page shorter than an object for each entry would.
#[derive(Default)]
struct CostColumns {
    cost: Vec<u8>,
    usage: Vec<u8>,
    duration: Vec<u8>,
    call_count: Vec<u8>,
    /// The numbers of the entries whose cost is estimated; not a column.
    estimated: Vec<String>,
}

impl CostColumns {
    fn new(contents: &Contents) -> CostColumns {
        let mut columns = CostColumns::default();
        for (number, &ix) in contents.entries.iter().enumerate() {
            let work = contents.work.entry_work(ix);
            push_list_item(work.took_ms.to_string().as_bytes(), &mut columns.duration);
            let call_count = work.call_count.to_string();
            push_list_item(call_count.as_bytes(), &mut columns.call_count);

            let usage = contents.session.usage_of(ix).copied().unwrap_or_default();
            let cost = js::number_to_string(micro_rounded(usage.cost.unwrap_or(0.0)));
            push_list_item(cost.as_bytes(), &mut columns.cost);
            push_list_item(&usage_json(&usage), &mut columns.usage);
            if usage.is_estimated {
                columns.estimated.push(number.to_string());
            }
        }
        columns
    }
}

/// Returns pairs `[number of an entry, number of a file that it wrote or edited]`, as JSON.
fn changed_file_pairs(contents: &Contents) -> Vec<Vec<u8>> {
    let mut pairs = Vec::new();
    for change in file_changes(contents) {
        let entry = json_number(change.entry_number as usize);
        let file = json_number(change.file_number as usize);
        pairs.push(array([entry, file]));
    }
    pairs
}

/// Returns the tokens of an entry as JSON: `[input, output, cache read, cache write]`, or `0` if
/// there are none.
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

/// The maximum number of characters of a part of a row. The side bar shows no more.
const LONGEST_ROW_PART: usize = 160;

/// Returns the markup of an entry's row in the tree: its role and its body, separated by a tab.
///
/// If the body contains a path, two more tabs enclose the directory in the path. A narrow row
/// leaves the directory out, and keeps the name of the file.
pub fn row_markup(row: &EntryRow) -> String {
    let role = row.role.to_string_lossy();
    // Readers of a page do not know what a leaf is.
    let role = if role == "leaf" { "switch" } else { &*role };
    let stored_body = row.body.to_string_lossy();
    let body = readable_body(&stored_body, row);
    let mut columns = vec![role];
    push_split_at_directory(&body, &row.path, &mut columns);

    let mut markup = Markup::default();
    for (index, column) in columns.into_iter().enumerate() {
        if index > 0 {
            markup.push_text("\t");
        }
        // Tabs of the session become spaces, so that only those between columns remain.
        markup.push_text(&cut(column, LONGEST_ROW_PART).replace(['\n', '\t', '\r'], " "));
    }
    markup.finish()
}

/// Returns the body of a row for readers: prose without the signs of Markdown. A body that contains
/// a path is returned as stored, so that the range of the path (`row.path`) still applies.
fn readable_body<'b>(stored_body: &'b str, row: &EntryRow) -> Cow<'b, str> {
    // The subject of a tool call, such as a path or a command, is not Markdown.
    let is_prose = row.path.is_empty() && row.tone != Tone::Tool;
    if !is_prose {
        return Cow::Borrowed(stored_body);
    }
    let author = if row.tone == Tone::User {
        Author::User
    } else {
        Author::Program
    };
    readable_row(stored_body, author)
}

/// Appends a text to `columns`, divided before and after the directory of the path in it: the text
/// `read src/a.rs:7` as `read `, `src/` and `a.rs:7`. A text without a path is not divided.
fn push_split_at_directory<'t>(
    text: &'t str,
    path_range: &Range<usize>,
    columns: &mut Vec<&'t str>,
) {
    match text.get(path_range.clone()) {
        Some(path) if !path.is_empty() => {
            let directory_end = path_range.start + file_name_start(path);
            columns.push(&text[..path_range.start]);
            columns.push(&text[path_range.start..directory_end]);
            columns.push(&text[directory_end..]);
        }
        _ => columns.push(text),
    }
}

/// Returns the offset of the last name in a path: 4 in `src/a.rs` and in `src/lib/`. Separators at
/// the end do not count.
fn file_name_start(path: &str) -> usize {
    let path = path.trim_end_matches(['/', '\\']);
    match path.rfind(['/', '\\']) {
        Some(separator) => separator + 1,
        None => 0,
    }
}
