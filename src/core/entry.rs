//! What is kept of an entry: its envelope, a few facts about its body, and where its line stands.
//!
//! One [`Entry`] is made for each record of a file that is not its header. Bodies stay in the file;
//! strings that must be at hand lie in one arena and are named by [`Slice`]s, so that memory grows
//! with entries and not with bytes.

use std::ops::Range;

/// The number of an entry in its session: its place among the entries in file order, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryIx(pub u32);

impl EntryIx {
    /// As an index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// The number of a physical line in its file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineNo(pub u32);

/// Where bytes stand in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes before it.
    pub start: u64,
    /// Its length in bytes, without a newline.
    pub len: u64,
}

impl Span {
    /// The byte behind it.
    pub fn end(self) -> u64 {
        self.start + self.len
    }
}

/// A string in the arena of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Bytes before it in the arena.
    pub start: u32,
    /// Its length in bytes.
    pub len: u32,
}

impl Slice {
    /// As a range of the arena.
    pub fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }

    /// Whether the string is empty, or was not kept.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

macro_rules! names {
    ($(#[$doc:meta])* $enum:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $($(#[$variant_doc])* $variant,)*
            /// Any other name; it stands in the entry's line.
            Other,
            /// The line has none.
            Missing,
        }

        impl $enum {
            /// The one with this name in the files.
            pub fn named(name: &[u8]) -> Self {
                $(if name == $name.as_bytes() { return Self::$variant; })*
                Self::Other
            }

            /// The name in the files, where it is one of the known.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($name),)*
                    Self::Other | Self::Missing => None,
                }
            }
        }
    };
}

names! {
    /// The type of an entry, as its `type` names it (both dialects, and the older formats).
    Kind {
        /// A message of the conversation.
        Message = "message",
        /// The summary that replaces what came before it.
        Compaction = "compaction",
        /// The summary of a branch that was left.
        BranchSummary = "branch_summary",
        /// An extension's note, never shown to a model.
        Custom = "custom",
        /// An extension's message to the model.
        CustomMessage = "custom_message",
        /// A name for an entry, or its removal.
        Label = "label",
        /// Another model from here on.
        ModelChange = "model_change",
        /// Another thinking level from here on.
        ThinkingLevelChange = "thinking_level_change",
        /// pi: the session's name.
        SessionInfo = "session_info",
        /// pi: usage outside the conversation.
        Usage = "usage",
        /// pi: what the model sees of an earlier entry.
        ContextEdit = "context_edit",
        /// pi: another set of tools (an older harness).
        ActiveToolsChange = "active_tools_change",
        /// A harness's record of the leaf; no entry of the tree.
        Leaf = "leaf",
        /// oh-my-pi: usage outside the conversation.
        ModelUsage = "model_usage",
        /// oh-my-pi: another service tier.
        ServiceTierChange = "service_tier_change",
        /// oh-my-pi: another title.
        TitleChange = "title_change",
        /// oh-my-pi: rules that were injected.
        TtsrInjection = "ttsr_injection",
        /// oh-my-pi: how a subagent was started.
        SessionInit = "session_init",
        /// oh-my-pi: another mode.
        ModeChange = "mode_change",
        /// oh-my-pi: the account in use.
        CredentialPin = "credential_pin",
        /// oh-my-pi: `/clear`.
        ResetBoundary = "reset_boundary",
        /// Draft tree: the position of a named head.
        Head = "head",
        /// Draft tree: the summary of what was popped.
        StackSummary = "stack_summary",
        /// Draft tree: a pop.
        StackPop = "stack_pop",
    }
}

names! {
    /// The role of a message, as `message.role` names it.
    Role {
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// What a tool answered.
        ToolResult = "toolResult",
        /// pi: a system prompt, or changes of it.
        System = "system",
        /// oh-my-pi: instructions that are not the person's.
        Developer = "developer",
        /// A command the person ran.
        BashExecution = "bashExecution",
        /// oh-my-pi: Python the person ran.
        PythonExecution = "pythonExecution",
        /// oh-my-pi: files the person mentioned.
        FileMention = "fileMention",
        /// An extension's message.
        Custom = "custom",
        /// An extension's message, before version 3.
        HookMessage = "hookMessage",
        /// A branch summary as a message.
        BranchSummary = "branchSummary",
        /// A compaction summary as a message.
        CompactionSummary = "compactionSummary",
    }
}

impl Kind {
    /// Whether such entries note something beside the conversation: nothing of it reaches a model,
    /// and no setting changes.
    pub fn is_note(self) -> bool {
        matches!(
            self,
            Kind::Custom
                | Kind::Label
                | Kind::Leaf
                | Kind::SessionInfo
                | Kind::TitleChange
                | Kind::Usage
                | Kind::ModelUsage
                | Kind::CredentialPin
                | Kind::Head
        )
    }
}

impl Kind {
    /// Whether such entries change a setting from here on, or what the model sees of others.
    pub fn is_setting(self) -> bool {
        matches!(
            self,
            Kind::ModelChange
                | Kind::ThinkingLevelChange
                | Kind::ContextEdit
                | Kind::ActiveToolsChange
                | Kind::ServiceTierChange
                | Kind::TtsrInjection
                | Kind::SessionInit
                | Kind::ModeChange
        )
    }
}

/// Facts about a body that the pass notes, so that it need not be read again for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// `message.content` is missing or `null`.
    pub const NO_CONTENT: Flags = Flags(1);
    /// An assistant message without text that ended neither in an error nor early: the agents' tree
    /// never shows it.
    pub const SILENT: Flags = Flags(2);
    /// What the agent takes for a request of the person: a user message; in oh-my-pi also a skill
    /// or collaboration prompt attributed to the user.
    pub const USER_REQUEST: Flags = Flags(4);
    /// The parent link closes a cycle and was cut here, or the entry hangs on such a cycle.
    pub const IN_CYCLE: Flags = Flags(8);
    /// Another entry further down has the same id and is the one that counts.
    pub const SUPERSEDED: Flags = Flags(16);
    /// The entry had no `parentId` at all.
    pub const NO_PARENT_KEY: Flags = Flags(32);

    /// oh-my-pi: a skill prompt; only the person's own count as their request.
    pub const SKILL_PROMPT: Flags = Flags(64);

    /// The entry had no `id` at all.
    pub const NO_ID_KEY: Flags = Flags(128);

    /// A turn, a tool or a command that ended with an error.
    pub const FAILED: Flags = Flags(256);

    /// A turn or a command that the user stopped.
    pub const ABORTED: Flags = Flags(512);

    /// Whether all of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets all of `other`.
    pub fn insert(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// What is kept of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its line.
    pub span: Span,
    /// Milliseconds since 1970 of its `timestamp`; [`Entry::NO_TIME`] where it does not parse.
    pub time_ms: i64,
    /// Its id; empty where the line has no string `id`.
    pub id: Slice,
    /// Its `parentId` as written; empty where it is `null` or missing.
    pub parent_id: Slice,
    /// What its row in the tree says (of a tool result: the id of its call), where rows were asked
    /// for.
    pub row: Slice,
    /// Its parent in the tree, with cycles cut; `None` for a root.
    pub parent: Option<EntryIx>,
    /// Its physical line.
    pub line: LineNo,
    /// Its number among the records that parse, the header being 0.
    pub record: u32,
    /// Its type.
    pub kind: Kind,
    /// The role of its message.
    pub role: Role,
    /// Facts about its body.
    pub flags: Flags,
}

impl Entry {
    /// [`Entry::time_ms`] of a timestamp that does not parse: JavaScript's `NaN`.
    pub const NO_TIME: i64 = i64::MIN;

    /// Its time as JavaScript has it: milliseconds, `NaN` where it does not parse.
    pub fn js_time(&self) -> f64 {
        if self.time_ms == Entry::NO_TIME { f64::NAN } else { self.time_ms as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stays_small() {
        assert!(size_of::<Entry>() <= 72, "{}", size_of::<Entry>());
    }

    #[test]
    fn names_go_both_ways() {
        assert_eq!(Kind::named(b"branch_summary"), Kind::BranchSummary);
        assert_eq!(Kind::BranchSummary.name(), Some("branch_summary"));
        assert_eq!(Role::named(b"whatever"), Role::Other);
    }
}
