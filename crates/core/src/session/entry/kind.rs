//! The tables of entry types and message roles.
//!
//! Whatever is constant for a type is in its row of the table. What a row leaves out has a default
//! that loses and hides nothing.
//!
//! Some behaviour needs code of its own, such as a row in a tree, a counterpart for the other
//! agent, or a view on a page. It is in a `match` in the module concerned, which uses the row for
//! the types it does not name. Only the `match` of `undo` names all types.

use crate::session::dialect::Dialect;
use crate::session::schema::{
    FieldSchema, FieldType, Fields, optional, required, required_when_new,
};
use pisess_json::Raw;
use pisess_json::scan::RawString;

/// What is fixed for a type of entry.
#[derive(Debug)]
pub struct Schema {
    /// Who writes it, and its required fields.
    pub fields: Fields,
    /// Whether entries of the type belong to the conversation.
    pub class: KindClass,
    /// Whether an agent's tree shows such entries, if the agent writes them.
    pub view: TreeVisibility,
    /// The field that refers to another entry, and the entries that it may name.
    pub refers: Option<(&'static str, ReferenceTarget)>,
    /// The fields in which a search looks for words.
    pub searched: &'static [&'static str],
    /// Whether the entry itself may have the `usage` of a request. (A message has its usage in
    /// `message`.)
    pub is_billed: bool,
    /// The name and the field of a row in a tree, if the row needs nothing else. An agent's tree
    /// shows `[name: value]`; a tree for people shows `name: value`.
    pub named: Option<(&'static str, &'static str)>,
    /// Whether `prune --compacted` may move such an entry if no branch needs it. Not set if other
    /// programs may need it: for what extensions store, and for unknown types.
    pub may_be_pruned: bool,
    /// The note on an entry that was kept when its session was converted for an agent without such
    /// entries.
    pub kept_as: &'static str,
    /// The letter for the type in the index of an exported page. (A message has the letter of its
    /// role.) Entries with `n` are shown on one line.
    pub letter: char,
}

/// How entries of a type take part in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindClass {
    /// Entries of the conversation: a model can see them, or they limit what a model sees.
    Conversation,
    /// Entries that change a setting, or what the model sees of other entries.
    Setting,
    /// Bookkeeping: entries that neither reach a model nor change a setting.
    Note,
}

/// Whether an agent's tree shows an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeVisibility {
    /// By default.
    Shown,
    /// Not by default, but in `all`, and with a label in `labeled-only`.
    Hidden,
    /// In no mode of the agent; `--filter all` shows it nevertheless.
    Never,
}

/// The entries that a reference may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceTarget {
    /// Any entry.
    Any,
    /// Any entry, or `root`.
    AnyOrRoot,
    /// An ancestor.
    Ancestor,
    /// An ancestor, or the entry itself.
    AncestorOrItself,
}

/// What most types have in common.
const SCHEMA: Schema = Schema {
    fields: Fields::NEITHER,
    class: KindClass::Conversation,
    view: TreeVisibility::Shown,
    refers: None,
    searched: &[],
    is_billed: false,
    named: None,
    may_be_pruned: false,
    kept_as: "an entry that the other agent does not have",
    letter: 'o',
};

/// What most notes have in common.
const NOTE: Schema = Schema {
    class: KindClass::Note,
    view: TreeVisibility::Hidden,
    ..SCHEMA
};

/// What most settings have in common.
const SETTING: Schema = Schema {
    class: KindClass::Setting,
    view: TreeVisibility::Hidden,
    letter: 'n',
    ..SCHEMA
};

/// What is fixed for the role of a message.
#[derive(Debug)]
pub struct RoleSchema {
    /// Who writes it, and its required fields.
    pub fields: Fields,
    /// Whether session files contain the role. If not, only the context of a model does.
    pub is_stored: bool,
    /// The letter for the role in the index of an exported page.
    pub letter: char,
}

/// Returns the row of a role that session files contain.
const fn stored_role(letter: char, fields: Fields) -> RoleSchema {
    RoleSchema {
        fields,
        is_stored: true,
        letter,
    }
}

/// Returns the row of a role that only the context of a model contains.
const fn derived_role(letter: char, fields: Fields) -> RoleSchema {
    RoleSchema {
        fields,
        is_stored: false,
        letter,
    }
}

macro_rules! table {
    (
        $(#[$doc:meta])* $enum:ident: $schema:ident, otherwise $other:expr;
        $($(#[$row_doc:meta])* $variant:ident = $name:literal $row:expr;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $($(#[$row_doc])* $variant,)*
            /// Any other name; it is in the entry's line.
            Other,
            /// The line has none, or it is not a string.
            Missing,
        }

        impl $enum {
            /// All that have a name, in the order of the table.
            pub const NAMED: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the variant that files call `name`; `Other` if there is none.
            pub fn named(name: &[u8]) -> Self {
                $(if name == $name.as_bytes() { return Self::$variant; })*
                Self::Other
            }

            /// Returns the variant that a member names; `Missing` if it is not a string.
            pub fn from_member(name: Option<Raw>) -> Self {
                name.and_then(Raw::text).map_or(Self::Missing, |name| Self::named(name.as_bytes()))
            }

            /// Returns the variant that a string names; `Missing` if there is none.
            pub fn from_string(name: Option<RawString>) -> Self {
                name.map_or(Self::Missing, |name| Self::named(name.text().as_bytes()))
            }

            /// Returns the name in the files, if it is a known one.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($name),)*
                    Self::Other | Self::Missing => None,
                }
            }

            /// Returns the row of the table.
            pub const fn schema(self) -> &'static $schema {
                match self {
                    $(Self::$variant => { const ROW: &$schema = &$row; ROW })*
                    Self::Other | Self::Missing => { const ROW: &$schema = &$other; ROW }
                }
            }
        }
    };
}

table! {
    /// The type of an entry, named by its `type` (in both dialects and the older formats).
    Kind: Schema, otherwise SCHEMA;

    /// A message of the conversation.
    Message = "message" Schema {
        fields: Fields::both(&[required("message", FieldType::Object)]),
        searched: &["message"],
        may_be_pruned: true,
        ..SCHEMA
    };
    /// A summary that replaces what came before it.
    Compaction = "compaction" Schema {
        fields: Fields::both(&[
            required("summary", FieldType::Text),
            required("firstKeptEntryId", FieldType::Text),
            required("tokensBefore", FieldType::Number),
            optional("details", FieldType::Object),
        ]),
        refers: Some(("firstKeptEntryId", ReferenceTarget::AncestorOrItself)),
        searched: &["summary", "shortSummary", "warning"],
        is_billed: true,
        may_be_pruned: true,
        letter: 'c',
        ..SCHEMA
    };
    /// A summary of an abandoned branch.
    BranchSummary = "branch_summary" Schema {
        fields: Fields::both(&[
            required("fromId", FieldType::Text),
            required("summary", FieldType::Text),
            optional("details", FieldType::Object),
        ]),
        refers: Some(("fromId", ReferenceTarget::AnyOrRoot)),
        searched: &["summary"],
        is_billed: true,
        may_be_pruned: true,
        letter: 'r',
        ..SCHEMA
    };
    /// Data of an extension, never shown to a model.
    Custom = "custom" Schema {
        fields: Fields::both(&[required("customType", FieldType::Text)]),
        searched: &["customType"],
        letter: 'x',
        ..NOTE
    };
    /// A message from an extension to the model.
    CustomMessage = "custom_message" Schema {
        fields: Fields::both(CUSTOM_MESSAGE),
        searched: &["customType", "content"],
        may_be_pruned: true,
        letter: 'm',
        ..SCHEMA
    };
    /// The label of an entry, or its removal.
    Label = "label" Schema {
        fields: Fields::both(&[
            required("targetId", FieldType::Text),
            optional("label", FieldType::TextOrNull),
        ]),
        refers: Some(("targetId", ReferenceTarget::Any)),
        searched: &["label"],
        may_be_pruned: true,
        letter: 'l',
        ..NOTE
    };
    /// A change of the model.
    ModelChange = "model_change" Schema {
        fields: Fields::per_agent(
            &[required("provider", FieldType::Text), required("modelId", FieldType::Text)],
            &[required("model", FieldType::Text), optional("role", FieldType::Text)],
        ),
        searched: &["provider", "modelId", "model"],
        may_be_pruned: true,
        ..SETTING
    };
    /// A change of the thinking level.
    ThinkingLevelChange = "thinking_level_change" Schema {
        fields: Fields::per_agent(
            &[required("thinkingLevel", FieldType::Text)],
            &[
                required("thinkingLevel", FieldType::TextOrNull),
                optional("configured", FieldType::TextOrNull),
            ],
        ),
        searched: &["thinkingLevel"],
        named: Some(("thinking", "thinkingLevel")),
        may_be_pruned: true,
        ..SETTING
    };
    /// pi: the name of the session.
    SessionInfo = "session_info" Schema {
        fields: Fields::pi(&[required("name", FieldType::Text)]),
        searched: &["name"],
        may_be_pruned: true,
        letter: 'n',
        ..NOTE
    };
    /// pi: usage outside of the conversation.
    Usage = "usage" Schema {
        fields: Fields::pi(&[
            required("kind", FieldType::Text),
            required("provider", FieldType::Text),
            required("model", FieldType::Text),
            required("usage", FieldType::Usage),
        ]),
        view: TreeVisibility::Never,
        searched: &["note"],
        is_billed: true,
        may_be_pruned: true,
        ..NOTE
    };
    /// pi: a change to what the model sees of an earlier entry.
    ContextEdit = "context_edit" Schema {
        fields: Fields::pi(&[
            required("targetId", FieldType::Text),
            required("replacement", FieldType::Replacement),
        ]),
        refers: Some(("targetId", ReferenceTarget::Ancestor)),
        searched: &["replacement"],
        may_be_pruned: true,
        kept_as: "an edit of the context, which oh-my-pi does not have; it is applied to the entry that it edits",
        letter: 'e',
        ..SETTING
    };
    /// A change of the set of tools, by another tool based on pi's library.
    ActiveToolsChange = "active_tools_change" Schema { may_be_pruned: true, ..SETTING };
    /// A record of the leaf, by another tool based on pi's library.
    Leaf = "leaf" NOTE;
    /// oh-my-pi: usage outside of the conversation.
    ModelUsage = "model_usage" Schema {
        fields: Fields::omp(&[
            required("purpose", FieldType::Text),
            required("provider", FieldType::Text),
            required("model", FieldType::Text),
            required("usage", FieldType::Usage),
        ]),
        searched: &["purpose", "role", "provider", "model", "errorMessage"],
        is_billed: true,
        may_be_pruned: true,
        ..NOTE
    };
    /// oh-my-pi: a change of the service tier.
    ServiceTierChange = "service_tier_change" Schema {
        fields: Fields::omp(&[]),
        searched: &["serviceTier"],
        may_be_pruned: true,
        kept_as: "a service tier, which pi does not have",
        ..SETTING
    };
    /// oh-my-pi: a change of the title.
    TitleChange = "title_change" Schema {
        fields: Fields::omp(&[
            required("title", FieldType::Text),
            optional("source", FieldType::Text),
        ]),
        searched: &["title"],
        named: Some(("title", "title")),
        may_be_pruned: true,
        letter: 'n',
        ..NOTE
    };
    /// oh-my-pi: rules that were injected.
    TtsrInjection = "ttsr_injection" Schema {
        fields: Fields::omp(&[required("injectedRules", FieldType::Array)]),
        searched: &["injectedRules"],
        kept_as: "injected rules, which pi does not have",
        letter: 'o',
        ..SETTING
    };
    /// oh-my-pi: how a subagent was started.
    SessionInit = "session_init" Schema {
        fields: Fields::omp(&[
            required("systemPrompt", FieldType::Text),
            required("task", FieldType::Text),
            required("tools", FieldType::Array),
        ]),
        searched: &["systemPrompt", "task", "agent"],
        kept_as: "how a subagent was started, which pi does not record",
        letter: 'o',
        ..SETTING
    };
    /// oh-my-pi: a change of the mode.
    ModeChange = "mode_change" Schema {
        fields: Fields::omp(&[
            required("mode", FieldType::Text),
            optional("data", FieldType::Object),
        ]),
        searched: &["mode"],
        named: Some(("mode", "mode")),
        may_be_pruned: true,
        kept_as: "a mode, which pi does not have",
        ..SETTING
    };
    /// oh-my-pi: the account in use.
    CredentialPin = "credential_pin" Schema {
        fields: Fields::omp(&[
            required("provider", FieldType::Text),
            required("hash", FieldType::Text),
        ]),
        searched: &["provider"],
        named: Some(("credential pin", "provider")),
        kept_as: "the account in use, which pi does not record",
        ..NOTE
    };
    /// oh-my-pi: `/clear`.
    ResetBoundary = "reset_boundary" Schema {
        fields: Fields::omp(&[]),
        view: TreeVisibility::Hidden,
        letter: 'n',
        ..SCHEMA
    };
    /// Draft tree format: the position of a named head.
    Head = "head" Schema {
        searched: &["name"],
        ..NOTE
    };
    /// Draft tree format: a summary of the entries that a `stack_pop` left behind.
    StackSummary = "stack_summary" Schema {
        searched: &["summary"],
        ..SCHEMA
    };
    /// Draft tree format: a return to an earlier entry.
    StackPop = "stack_pop" Schema {
        searched: &["summary", "prePopSummary"],
        ..SCHEMA
    };
}

table! {
    /// The role of a message, named by `message.role`.
    Role: RoleSchema, otherwise stored_role('o', Fields::NEITHER);

    /// The user.
    User = "user" stored_role('u', Fields::both(&[required("content", FieldType::Content)]));
    /// The model.
    Assistant = "assistant" stored_role('a', Fields::both(&[
        required("content", FieldType::Blocks),
        required_when_new("api", FieldType::Text),
        required("provider", FieldType::Text),
        required("model", FieldType::Text),
        required("usage", FieldType::Usage),
        required("stopReason", FieldType::StopReason),
    ]));
    /// The result of a tool call.
    ToolResult = "toolResult" stored_role('t', Fields::both(&[
        required("toolCallId", FieldType::Text),
        required("toolName", FieldType::Text),
        required("content", FieldType::Blocks),
        required_when_new("isError", FieldType::Bool),
    ]));
    /// A shell command run by the user.
    BashExecution = "bashExecution" stored_role('b', Fields::both(&[
        required("command", FieldType::Text),
        required("output", FieldType::Text),
        required_when_new("cancelled", FieldType::Bool),
        required_when_new("truncated", FieldType::Bool),
    ]));
    /// A message from an extension.
    Custom = "custom" stored_role('m', Fields::both(CUSTOM_MESSAGE));
    /// pi: a system prompt, or a change to it.
    System = "system" stored_role('s', Fields::pi(&[required("content", FieldType::Content)]));
    /// oh-my-pi: instructions that are not from the user.
    Developer = "developer" stored_role(
        's',
        Fields::omp(&[required("content", FieldType::Content)]),
    );
    /// oh-my-pi: files mentioned by the user.
    FileMention = "fileMention" stored_role(
        'f',
        Fields::omp(&[required("files", FieldType::Array)]),
    );
    /// oh-my-pi: Python code run by the user.
    PythonExecution = "pythonExecution" stored_role('b', Fields::omp(&[
        required("code", FieldType::Text),
        required("output", FieldType::Text),
        required_when_new("cancelled", FieldType::Bool),
        required_when_new("truncated", FieldType::Bool),
    ]));
    /// A branch summary as a message.
    BranchSummary = "branchSummary" derived_role(
        'r',
        Fields::both(&[required("summary", FieldType::Text)]),
    );
    /// A compaction summary as a message.
    CompactionSummary = "compactionSummary" derived_role(
        'c',
        Fields::both(&[required("summary", FieldType::Text)]),
    );
    /// A message from an extension, before version 3.
    HookMessage = "hookMessage" derived_role(
        'm',
        Fields::omp(&[required("content", FieldType::Content)]),
    );
}

/// The fields of a message from an extension, both as an entry and as the message of an entry.
const CUSTOM_MESSAGE: &[FieldSchema] = &[
    required("customType", FieldType::Text),
    required("content", FieldType::Content),
    required_when_new("display", FieldType::Bool),
];

impl Kind {
    /// Whether entries of this type neither reach a model nor change a setting.
    pub fn is_bookkeeping(self) -> bool {
        self.schema().class == KindClass::Note
    }

    /// Whether entries of this type change a setting, or what the model sees of other entries.
    pub fn is_setting(self) -> bool {
        self.schema().class == KindClass::Setting
    }

    /// Returns how the agent's tree shows entries of this type. Entries of a type that the agent
    /// does not know are shown.
    pub fn tree_visibility(self, dialect: Dialect) -> TreeVisibility {
        let schema = self.schema();
        if schema.fields.for_agent(dialect).is_some() {
            schema.view
        } else {
            TreeVisibility::Shown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for &kind in Kind::NAMED {
            assert_eq!(
                kind.name().map(|name| Kind::named(name.as_bytes())),
                Some(kind)
            );
        }
        assert_eq!(Kind::named(b"hologram"), Kind::Other);
        assert_eq!(Role::named(b"whatever"), Role::Other);
    }
}
