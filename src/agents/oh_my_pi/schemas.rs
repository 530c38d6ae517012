//! The shapes of what only oh-my-pi writes.

use crate::agents::schema::{Shape, Shapes, Want, may, need};

/// The entries, messages and blocks of oh-my-pi only. Images are omitted: oh-my-pi may store their data
/// elsewhere.
pub const SHAPES: Shapes =
    Shapes { entries: ENTRIES, messages: MESSAGES, context_only: CONTEXT_ONLY, blocks: &[] };

const ENTRIES: &[Shape] = &[
    ("model_change", &[need("model", Want::Text), may("role", Want::Text)]),
    (
        "thinking_level_change",
        &[need("thinkingLevel", Want::TextOrNull), may("configured", Want::TextOrNull)],
    ),
    ("service_tier_change", &[]),
    ("mode_change", &[need("mode", Want::Text), may("data", Want::Object)]),
    ("title_change", &[need("title", Want::Text), may("source", Want::Text)]),
    (
        "model_usage",
        &[
            need("purpose", Want::Text),
            need("provider", Want::Text),
            need("model", Want::Text),
            need("usage", Want::Usage),
        ],
    ),
    ("ttsr_injection", &[need("injectedRules", Want::Array)]),
    (
        "session_init",
        &[need("systemPrompt", Want::Text), need("task", Want::Text), need("tools", Want::Array)],
    ),
    ("credential_pin", &[need("provider", Want::Text), need("hash", Want::Text)]),
    ("reset_boundary", &[]),
];

const MESSAGES: &[Shape] = &[
    ("developer", &[need("content", Want::Content)]),
    ("fileMention", &[need("files", Want::Array)]),
    (
        "pythonExecution",
        &[
            need("code", Want::Text),
            need("output", Want::Text),
            need("cancelled", Want::Bool),
            need("truncated", Want::Bool),
        ],
    ),
];

/// The old name of `custom`.
const CONTEXT_ONLY: &[Shape] = &[("hookMessage", &[need("content", Want::Content)])];
