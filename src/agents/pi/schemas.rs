//! The shapes of what only pi writes.

use crate::agents::schema::{Shape, Shapes, Want, need};

/// The entries, messages and blocks of pi only.
pub const SHAPES: Shapes = Shapes { entries: ENTRIES, messages: MESSAGES, context_only: &[], blocks: BLOCKS };

const ENTRIES: &[Shape] = &[
    ("model_change", &[need("provider", Want::Text), need("modelId", Want::Text)]),
    ("thinking_level_change", &[need("thinkingLevel", Want::Text)]),
    ("session_info", &[need("name", Want::Text)]),
    (
        "usage",
        &[
            need("kind", Want::Text),
            need("provider", Want::Text),
            need("model", Want::Text),
            need("usage", Want::Usage),
        ],
    ),
    ("context_edit", &[need("targetId", Want::Text), need("replacement", Want::Replacement)]),
];

const MESSAGES: &[Shape] = &[("system", &[need("content", Want::Content)])];

const BLOCKS: &[Shape] = &[("image", &[need("data", Want::Text), need("mimeType", Want::Text)])];
