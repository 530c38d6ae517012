//! Converts lines of older formats to version 3 by splicing, without serializing them again.
//!
//! The changes are those of the migrations of pi and oh-my-pi (their code is the same). Neither
//! agent supports the draft tree; its rules are in `docs/format.md`.

use super::entry::{Entry, EntryIx, Flags, Kind, Role};
use crate::session::{Format, Session};
use pisess_json::edit::Edit;
use pisess_json::string::{encode, encode_to_vec};
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Malformed, Raw};
use std::borrow::Cow;

impl Session {
    /// Whether migration would change the line of an entry. If not, the line keeps its bytes.
    pub fn needs_migration(&self, ix: EntryIx) -> bool {
        let entry = self.entry(ix);
        match self.format {
            Format::V1 | Format::Draft => true,
            Format::V2 => entry.kind == Kind::Message && entry.role == Role::Custom,
            Format::V3 => false,
        }
    }

    /// Converts the line of an entry, as it is in the file, to version 3 of the format. Version 1
    /// lacks ids and parents, and version 2 has another name for a role.
    pub fn migrate_line<'a>(
        &self,
        ix: EntryIx,
        line: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, Malformed> {
        if !self.needs_migration(ix) {
            return Ok(Cow::Borrowed(line));
        }
        // Most lines of version 1 need no parsing. None of them has the role that is renamed below.
        if let Some(migrated) = self.append_tree_keys(ix, line) {
            return Ok(Cow::Owned(migrated));
        }

        let mut edit = Edit::new(line)?;
        match self.format {
            Format::V1 => self.set_tree_keys(ix, &mut edit),
            Format::Draft => self.convert_draft(ix, &mut edit),
            // Entries of version 2 have ids and parents already. Only the role may have to be
            // renamed, which is done below. Lines of version 3 need no migration.
            Format::V2 | Format::V3 => {}
        }
        rename_hook_role(&mut edit);
        Ok(Cow::Owned(edit.finish()))
    }

    /// Converts the line of an entry that has the form of version 1, in a file of a later version.
    /// Such an entry has neither `id` nor `parentId`: the caller sets these. The other two changes
    /// of migration are made here: the number of a first kept entry becomes its id, and an old role
    /// gets its new name. `id_of` returns the id of an entry as JSON.
    pub(crate) fn modernize_line(
        &self,
        ix: EntryIx,
        line: &[u8],
        id_of: &dyn Fn(EntryIx) -> Vec<u8>,
    ) -> Result<Vec<u8>, Malformed> {
        let mut edit = Edit::new(line)?;
        self.set_kept_id(ix, &mut edit, id_of);
        rename_hook_role(&mut edit);
        Ok(edit.finish())
    }

    /// Appends `id` and `parentId` to the line of an ordinary message of version 1; `None` for any
    /// other entry. Nothing else in such a line changes, so it is not parsed: `migrate` takes 8 %
    /// less time.
    fn append_tree_keys(&self, ix: EntryIx, line: &[u8]) -> Option<Vec<u8>> {
        let entry = self.entry(ix);
        let is_ordinary = self.format == Format::V1
            && entry.kind == Kind::Message
            && entry.role != Role::Custom
            && entry.flags.contains(Flags::NO_ID_KEY)
            && entry.flags.contains(Flags::NO_PARENT_KEY);
        if !is_ordinary {
            return None;
        }

        let members = line.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
        let mut out = Vec::with_capacity(line.len() + 64);
        out.extend_from_slice(members);
        // `members` ends with a member: a message has at least its `type`. The new ones come where
        // an `Edit` would add them.
        out.push(b',');
        self.push_tree_keys(ix, &mut out);
        out.extend_from_slice(&line[members.len()..]);
        Some(out)
    }

    /// Returns the header as version 3 stores it.
    pub fn migrate_header(&self) -> Cow<'_, [u8]> {
        if self.format == Format::V3 {
            return Cow::Borrowed(&self.header.bytes);
        }
        let Ok(mut edit) = Edit::new(&self.header.bytes) else {
            return Cow::Borrowed(&self.header.bytes);
        };
        edit.set("version", b"3");
        Cow::Owned(edit.finish())
    }

    /// Sets `id` and `parentId` and, in a compaction, replaces the number of the first kept entry
    /// by its id. This is the migration from version 1 to 2.
    fn set_tree_keys(&self, ix: EntryIx, edit: &mut Edit) {
        edit.set("id", &encode_to_vec(&self.id(ix)));
        edit.set("parentId", &self.parent_json(ix));
        self.set_kept_id(ix, edit, &|kept| encode_to_vec(&self.id(kept)));
    }

    /// In a compaction, replaces the number of the first kept entry by the entry's id, which
    /// `id_of` returns as JSON. The number must name the compaction itself or an entry before it.
    /// Any other number is removed, and no id is set.
    fn set_kept_id(&self, ix: EntryIx, edit: &mut Edit, id_of: &dyn Fn(EntryIx) -> Vec<u8>) {
        let index = edit.get("firstKeptEntryIndex");
        let is_compaction = self.entry(ix).kind == Kind::Compaction;
        if !is_compaction || !index.is_some_and(Raw::is_number) {
            return;
        }
        edit.remove("firstKeptEntryIndex");
        if let Some(kept) = self.first_kept_record(ix, index) {
            edit.set("firstKeptEntryId", &id_of(kept));
        }
    }

    /// Returns the first entry that a compaction of version 1 keeps, given the line of the
    /// compaction.
    pub(crate) fn first_kept_entry(&self, ix: EntryIx, line: Raw) -> Option<EntryIx> {
        self.first_kept_record(ix, line.get("firstKeptEntryIndex"))
    }

    /// Returns the entry with the record number `index`, unless it is after the compaction `ix`.
    /// The agents assign ids in one pass, in which an entry after the compaction has no id yet.
    fn first_kept_record(&self, ix: EntryIx, index: Option<Raw>) -> Option<EntryIx> {
        let kept = self.entry_of_record(index?.number()?)?;
        if kept <= ix { Some(kept) } else { None }
    }

    /// Appends the members `id` and `parentId` of an entry as JSON.
    fn push_tree_keys(&self, ix: EntryIx, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"id\":");
        encode(&self.id(ix), out);
        out.extend_from_slice(b",\"parentId\":");
        out.extend_from_slice(&self.parent_json(ix));
    }

    /// Returns the id of the parent as JSON; `null` for a root.
    fn parent_json(&self, ix: EntryIx) -> Vec<u8> {
        match self.entry(ix).parent {
            Some(parent) => encode_to_vec(&self.id(parent)),
            None => b"null".to_vec(),
        }
    }

    /// Returns the id of an entry as JSON; `"root"` if there is no entry.
    fn id_or_root_json(&self, entry: Option<EntryIx>) -> Vec<u8> {
        match entry {
            Some(ix) => encode_to_vec(&self.id(ix)),
            None => b"\"root\"".to_vec(),
        }
    }

    /// Converts an entry of the draft tree format to version 3. In that format, entries refer to
    /// each other by their numbers in the file rather than by ids.
    fn convert_draft(&self, ix: EntryIx, edit: &mut Edit) {
        // `id` and `parentId` take the place of `parent`. Members with these keys that the entry
        // has already are removed first, because each key may occur only once.
        let mut tree_keys = Vec::new();
        self.push_tree_keys(ix, &mut tree_keys);
        edit.remove("id");
        edit.remove("parentId");
        edit.replace_member("parent", &tree_keys);

        let has_timestamp = edit.get("timestamp").is_some_and(Raw::is_string);
        if !has_timestamp {
            edit.set("timestamp", &encode_to_vec(&self.draft_timestamp(ix)));
        }

        // These members of some types refer to entries by number, too.
        for key in ["targetId", "fromId"] {
            if let Some(number) = edit.get(key).and_then(Raw::number) {
                edit.set(key, &self.id_or_root_json(self.entry_of_record(number)));
            }
        }
        match Kind::from_member(edit.get("type")) {
            Kind::Compaction => self.convert_draft_compaction(ix, edit),
            Kind::BranchSummary | Kind::StackSummary => self.convert_draft_summary(ix, edit),
            Kind::StackPop => self.convert_draft_pop(ix, edit),
            Kind::Head => self.convert_draft_head(ix, edit),
            _ => {}
        }
    }

    /// Converts a compaction of the draft tree format. One with a `summarizedPath` keeps nothing;
    /// this is written as a first kept entry that is the compaction itself. A missing
    /// `tokensBefore` becomes 0.
    fn convert_draft_compaction(&self, ix: EntryIx, edit: &mut Edit) {
        self.set_kept_id(ix, edit, &|kept| encode_to_vec(&self.id(kept)));
        let keeps_nothing = edit.get("summarizedPath").is_some();
        if keeps_nothing {
            // Replaces an id that was just set.
            edit.set("firstKeptEntryId", &encode_to_vec(&self.id(ix)));
        }
        if edit.get("tokensBefore").is_none() {
            edit.set("tokensBefore", b"0");
        }
    }

    /// Converts a summary of a branch or of a stack into a branch summary. A missing `fromId`, the
    /// leaf that was left, is added.
    fn convert_draft_summary(&self, ix: EntryIx, edit: &mut Edit) {
        edit.set("type", b"\"branch_summary\"");
        if edit.get("fromId").is_none() {
            // The leaf before the summary is the previous entry in the file.
            edit.set("fromId", &self.id_or_root_json(ix.previous()));
        }
    }

    /// Converts a pop of the stack, which is a summary, too. The summary from before the pop
    /// becomes a detail.
    fn convert_draft_pop(&self, ix: EntryIx, edit: &mut Edit) {
        self.convert_draft_summary(ix, edit);
        edit.remove("backToIndex");
        if let Some(summary) = edit.get("prePopSummary") {
            let details = Object::new().raw("prePopSummary", summary).finish();
            edit.remove("prePopSummary");
            edit.set("details", &details);
        }
    }

    /// Converts a head of the draft tree format, which names an entry as git's heads name a commit.
    /// A head with a name other than `main` becomes a label of that entry. Any other head becomes a
    /// custom entry, with its name in `data`.
    ///
    /// Loading has decided which: a head that becomes a label has the kind of a label, and the
    /// entry to which it points is its parent.
    fn convert_draft_head(&self, ix: EntryIx, edit: &mut Edit) {
        // The name moves to another member in either case.
        let name = edit.get("name");
        edit.remove("name");

        let becomes_label = self.entry(ix).kind == Kind::Label;
        match name {
            Some(name) if becomes_label => self.set_draft_label(ix, name, edit),
            _ => set_custom_head(name, edit),
        }
    }

    /// Makes a label of a head: the label `name` of the entry to which the head `ix` points.
    fn set_draft_label(&self, ix: EntryIx, name: Raw, edit: &mut Edit) {
        let target = match self.entry(ix).parent {
            Some(pointed_to) => self.id(pointed_to),
            None => Text::default(),
        };
        edit.set("type", b"\"label\"");
        edit.set("targetId", &encode_to_vec(&target));
        edit.set("label", &encode_to_vec(&name.text().unwrap_or_default()));
    }

    /// Returns the timestamp of an entry of the draft tree format, formatted from its time. Loading
    /// gives an entry without a time that of the previous entry.
    pub(crate) fn draft_timestamp(&self, ix: EntryIx) -> Text<'static> {
        match self.entry(ix).time_ms {
            Entry::NO_TIME => Text::from("1970-01-01T00:00:00.000Z"),
            time => Text::from(pisess_json::time::iso_string(time)),
        }
    }
}

/// Makes a custom entry of a head that names no entry, with its `name` in `data`.
fn set_custom_head(name: Option<Raw>, edit: &mut Edit) {
    let data = Object::new()
        .with(name, |data, name| data.raw("name", name))
        .finish();
    edit.set("type", b"\"custom\"");
    edit.set("customType", b"\"head\"");
    edit.set("data", &data);
}

/// Renames the role `hookMessage`, which version 2 and older have, to `custom`.
fn rename_hook_role(edit: &mut Edit) {
    let role = edit.get("message").and_then(|message| message.get("role"));
    if let Some(role) = role
        && role.is("hookMessage")
    {
        edit.replace(role, b"\"custom\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadOptions, load};

    #[test]
    fn an_ordinary_line_is_spliced_as_an_edit_would() {
        for line in [
            r#"{"type":"message","message":{"role":"user"}}"#,
            "{\"message\":{\"role\":\"user\"} , \"type\" : \"message\" \t} \r",
            r#"{"type":"message","message":{"role":"hookMessage"}}"#,
            r#"{"type":"message","id":null,"message":{}}"#,
            r#"{"type":"message","message":{},"parentId":"x"}"#,
        ] {
            let text = format!("{{\"type\":\"session\",\"id\":\"s\"}}\n{line}\n{line}\n");
            let session = load(&text.clone().into_bytes(), &LoadOptions::default()).unwrap();
            for ix in session.entry_indexes() {
                let mut edit = Edit::new(line.as_bytes()).unwrap();
                session.set_tree_keys(ix, &mut edit);
                let edited = String::from_utf8(edit.finish())
                    .unwrap()
                    .replace("hookMessage", "custom");
                let migrated = session.migrate_line(ix, line.as_bytes()).unwrap();
                assert_eq!(String::from_utf8_lossy(&migrated), edited);
            }
        }
    }

    #[test]
    fn an_entry_of_the_draft_tree_loses_its_own_id_and_parent() {
        for line in [
            r#"{"type":"message","parent":0,"message":{},"id":"x","parentId":"y"}"#,
            r#"{"id":"x","parentId":"y","type":"message","parent":0,"message":{}}"#,
            r#"{"type":"message","parentId":"y","parent":0,"message":{},"id":"x"}"#,
        ] {
            let text = format!("{{\"type\":\"session\",\"id\":\"s\",\"parent\":-1}}\n{line}\n");
            let session = load(&text.into_bytes(), &LoadOptions::default()).unwrap();
            assert_eq!(session.format, Format::Draft);
            let ix = session.entry_indexes().next().unwrap();
            let migrated = session.migrate_line(ix, line.as_bytes()).unwrap();
            let keys = format!(
                r#""type":"message","id":{},"parentId":null,"message":{{}},"timestamp":"1970-01-01T00:00:00.000Z""#,
                String::from_utf8(encode_to_vec(&session.id(ix))).unwrap()
            );
            assert_eq!(String::from_utf8_lossy(&migrated), format!("{{{keys}}}"));
        }
    }

    /// A label and a compaction get a member that the line has already, and that was set before.
    #[test]
    fn an_entry_of_the_draft_tree_keeps_one_value_of_a_member() {
        let lines = [
            r#"{"type":"session","id":"s","parent":-1}"#,
            r#"{"type":"message","parent":0,"message":{"role":"user","content":"a"}}"#,
            r#"{"type":"head","parent":1,"name":"here","targetId":1}"#,
            r#"{"type":"compaction","parent":1,"firstKeptEntryId":"x","summarizedPath":[],"firstKeptEntryIndex":1,"summary":"S"}"#,
        ];
        let text = lines.join("\n") + "\n";
        let session = load(&text.into_bytes(), &LoadOptions::default()).unwrap();
        assert_eq!(session.format, Format::Draft);
        let entries: Vec<_> = session.entry_indexes().collect();
        let ids = entries.iter().map(|&ix| session.id(ix));
        let ids: Vec<_> = ids.map(|id| id.to_string_lossy().into_owned()).collect();
        for (entry, key, expected) in [(1, "targetId", &ids[0]), (2, "firstKeptEntryId", &ids[2])] {
            let line = lines[entry + 1].as_bytes();
            let migrated = session.migrate_line(entries[entry], line).unwrap();
            let shown = String::from_utf8_lossy(&migrated);
            let parsed = Edit::new(&migrated).expect(&shown);
            assert!(parsed.get(key).unwrap().is(expected), "{shown}");
        }
    }
}
