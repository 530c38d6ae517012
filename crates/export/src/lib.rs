//! Exports a session as a page, as a page without scripts, as Markdown, or as a trajectory.
//!
//! ```text
//! session, reader ──> entry view ──> markup ──> page (pieces that the page's script draws)
//!                                          └──> HTML (one path, without a script)
//!                └──────────────> document (Markdown)
//! ```
//!
//! Text of a session becomes HTML in [`markup::Markup::push_text`] or [`html::Html::from_text`];
//! nothing else makes HTML. A redacted export is an export of a redacted copy.

pub mod html;
pub mod markup;

mod ansi;
mod code;
pub mod commonmark;
mod diff;
mod highlight;
mod typed;

mod row_text;

pub mod cuts;
pub mod source;
pub mod work;

pub mod fit;

mod wrapped;

mod commits;
mod view_parts;

mod tools;

mod entry_view;

mod height;
mod index;
pub mod page;

pub mod markdown;
pub mod static_html;

pub mod atif;

pub mod code_blocks;
pub mod images;

pub mod verify;
