//! The archive of a snapcompact compaction (a kind of oh-my-pi's compactions): old history as text,
//! and as pictures of text, which are called frames.
//!
//! A model receives pictures up to a limit in bytes. A picture that is still a reference to a blob
//! is missing: either the blob could not be read, or the reader of entries reads no blobs.

use super::data_url::elide_data_urls;
use super::message::non_empty_text;
use crate::session::content;
use pisess_json::Raw;
use pisess_json::js;
use pisess_json::text::{Text, concat_texts, join_with, utf16_len};
use pisess_json::write::Object;
use regex::bytes::{Captures, Regex};
use std::sync::LazyLock;

/// The limit for the pictures in one request, in bytes of base64.
const FRAME_BYTES: usize = 3_000_000;
/// The number of pictures from which on an old archive made requests fail.
const RISKY_FRAMES: usize = 16;
/// The number of truncated characters from which on an old archive with many bytes made requests
/// fail.
const RISKY_TRUNCATED_CHARS: f64 = 1_000_000.0;
/// The length of the text, in UTF-16 units, from which on an old archive with many bytes made
/// requests fail.
const RISKY_SOURCE_UNITS: usize = 250_000;
/// The mark for a line end in archived text.
const NEWLINE_GLYPH: &str = "\u{2588}";
/// The end of a string that an older version truncated while saving. If it was a picture, it no
/// longer is.
const CUT_NOTICE: &[u8] = b"\n\n[Session persistence truncated large content]";

/// Returns the blocks for a model of a compaction's archive, oldest first; none if there is no
/// archive.
pub fn archive_blocks(preserve_data: Raw) -> Vec<Vec<u8>> {
    SnapcompactArchive::read(preserve_data)
        .map(|archive| archive.render_blocks())
        .unwrap_or_default()
}

/// Returns the text from which a compaction's archive was made; `None` if the archive does not have
/// it.
pub fn source_text(compaction: Raw) -> Option<Text<'static>> {
    let archive = SnapcompactArchive::read(compaction.get("preserveData")?)?;
    Some(archive.source_text()).filter(|text| !text.is_empty())
}

/// The archive in a compaction's `preserveData`. An empty text is `None`.
struct SnapcompactArchive<'a> {
    /// The pictures, oldest first.
    frames: Vec<Frame<'a>>,
    /// The stored `truncatedChars`: more than 0 if a part of the history was left out.
    truncated_chars: f64,
    /// The whole text, if it was kept.
    text: Option<Text<'a>>,
    /// The text before the pictures.
    head: Option<Text<'a>>,
    /// The text after the pictures.
    tail: Option<Text<'a>>,
}

/// A picture of text.
#[derive(Clone, Copy)]
struct Frame<'a> {
    raw: Raw<'a>,
    /// The length of its data in UTF-16 units. The agent counts these as bytes, which is the same
    /// for base64.
    bytes: usize,
    /// Whether the data is in a blob that was not read.
    is_blob: bool,
    /// Whether an older version truncated the data while saving.
    is_cut: bool,
}

/// A picture, and whether the model receives it.
struct SelectedFrame<'a> {
    frame: Frame<'a>,
    is_shown: bool,
}

/// The blocks of an archive. Text after a text continues it, so the last text is no block yet.
#[derive(Default)]
struct ArchiveBlocks {
    finished: Vec<Vec<u8>>,
    /// The last text, to which more may be added; `None` after a picture.
    open_text: Option<Text<'static>>,
}

impl ArchiveBlocks {
    /// Begins another text block.
    fn begin_text(&mut self, text: Text<'static>) {
        self.end_text();
        self.open_text = Some(text);
    }

    /// Appends to the last text or, after a picture, begins a text block.
    fn continue_text(&mut self, text: &Text) {
        self.open_text.get_or_insert_default().push(text);
    }

    /// Appends a picture.
    fn push_image(&mut self, frame: Raw) {
        self.end_text();
        self.finished.push(image_block(frame));
    }

    /// Makes a block of the last text.
    fn end_text(&mut self) {
        if let Some(text) = self.open_text.take() {
            self.finished.push(content::text_block(&text));
        }
    }

    /// Returns all blocks, in order.
    fn finish(mut self) -> Vec<Vec<u8>> {
        self.end_text();
        self.finished
    }
}

impl<'a> SnapcompactArchive<'a> {
    /// Reads the archive in a compaction's `preserveData`: old history as text, and as pictures of
    /// text. `None` if it has neither.
    fn read(preserve_data: Raw<'a>) -> Option<Self> {
        let slot = preserve_data.get("snapcompact")?;
        let frames = slot.get("frames").unwrap_or(Raw::NULL).items();
        let truncated_chars = slot.get("truncatedChars").and_then(Raw::number);
        let mut archive = SnapcompactArchive {
            frames: frames.filter_map(Frame::read).collect(),
            truncated_chars: truncated_chars.unwrap_or(0.0),
            text: non_empty_text(slot, "text"),
            head: non_empty_text(slot, "textHead"),
            tail: non_empty_text(slot, "textTail"),
        };
        // First, because it may remove pictures, or put the text in their place.
        archive.replace_cut_frames();

        let has_text = archive.text.is_some() || archive.head.is_some() || archive.tail.is_some();
        if !has_text && archive.frames.is_empty() {
            return None;
        }
        Some(archive)
    }

    /// Repairs an archive of which a picture was truncated while saving
    /// (`repairTruncatedSnapcompactFrames`): its whole text replaces all pictures, and the texts
    /// before and after them. If that text was not kept, only the truncated pictures are removed,
    /// because providers refuse them.
    fn replace_cut_frames(&mut self) {
        if !self.frames.iter().any(|frame| frame.is_cut) {
            return;
        }
        match &self.text {
            Some(text) => {
                self.head = Some(text.clone());
                self.tail = None;
                self.frames.clear();
            }
            None => self.frames.retain(|frame| !frame.is_cut),
        }
    }

    /// Whether this is an old archive of a size that made requests fail, so that its pictures are
    /// left out. The rules are the agent's:
    ///
    /// - It is old if a picture has neither a font nor a variant.
    /// - It is too large if it has [`RISKY_FRAMES`] pictures, or if its pictures reach the limit of
    ///   a request, and its text is long or much of the text was truncated.
    fn is_risky(&self) -> bool {
        let is_old = self
            .frames
            .iter()
            .any(|frame| frame.raw.get("font").is_none() && frame.raw.get("variant").is_none());
        if !is_old {
            return false;
        }
        if self.frames.len() >= RISKY_FRAMES {
            return true;
        }

        let frame_bytes: usize = self.frames.iter().map(|frame| frame.bytes).sum();
        if frame_bytes < FRAME_BYTES {
            return false;
        }
        self.truncated_chars >= RISKY_TRUNCATED_CHARS
            || self.source_text().utf16_len() >= RISKY_SOURCE_UNITS
    }

    /// Returns the whole text or, if it was not kept, the texts before and after the pictures.
    fn source_text(&self) -> Text<'static> {
        if let Some(text) = &self.text {
            return decode_archived_text(text);
        }
        let ends = [&self.head, &self.tail].into_iter().flatten().cloned();
        decode_archived_text(&join_with(ends, NEWLINE_GLYPH))
    }

    /// Returns the archive as blocks for a model, oldest first: the text before the pictures, the
    /// pictures that fit into a request, a note in place of each gap between them, and the text
    /// after the pictures.
    ///
    /// The text after the pictures is appended to the block before it if that is a text: a note, or
    /// the text before the pictures.
    fn render_blocks(&self) -> Vec<Vec<u8>> {
        let budget = if self.is_risky() { 0 } else { FRAME_BYTES };
        let frames = self.select_frames(budget);
        let has_images = frames.iter().any(|selected| selected.is_shown);

        let mut blocks = ArchiveBlocks::default();
        if let Some(head) = &self.head {
            let mut text = decode_archived_text(head);
            if has_images {
                text.push_str("\n-------------- imaged middle below\n");
            }
            blocks.begin_text(text);
        }

        for run in frames.chunk_by(is_one_gap) {
            // A picture that is shown is a run of its own.
            if run[0].is_shown {
                blocks.push_image(run[0].frame.raw);
            } else {
                blocks.begin_text(Text::from(gap_note(run)));
            }
        }

        if let Some(tail) = &self.tail {
            let heading = self.tail_heading(&frames);
            blocks.continue_text(&concat_texts(&[&heading, &decode_archived_text(tail)]));
        }
        blocks.finish()
    }

    /// Returns the heading of the text after the pictures, in the words of the agent: what of the
    /// history before it is shown as pictures, or left out.
    fn tail_heading(&self, frames: &[SelectedFrame]) -> &'static str {
        if frames.iter().any(|selected| selected.is_shown) {
            return "-------------- imaged middle above\n";
        }
        // Without a picture that is shown, all of them are left out.
        let is_incomplete = !frames.is_empty() || self.truncated_chars > 0.0;
        if is_incomplete {
            "\n-------------- middle history omitted above\n"
        } else {
            ""
        }
    }

    /// Decides which pictures the model receives: from the newest to the oldest, each that still
    /// fits into the budget in bytes. A picture whose blob was not read is never shown.
    fn select_frames(&self, budget: usize) -> Vec<SelectedFrame<'a>> {
        let mut used_bytes = 0;
        let mut selected = Vec::with_capacity(self.frames.len());
        for &frame in self.frames.iter().rev() {
            let is_shown = !frame.is_blob && used_bytes + frame.bytes <= budget;
            if is_shown {
                used_bytes += frame.bytes;
            }
            selected.push(SelectedFrame { frame, is_shown });
        }
        selected.reverse();
        selected
    }
}

impl<'a> Frame<'a> {
    /// Reads a picture; `None` if one of its members is missing or of another type.
    fn read(raw: Raw<'a>) -> Option<Self> {
        if !raw.get("mimeType").is_some_and(Raw::is_string) {
            return None;
        }
        for key in ["cols", "rows", "chars"] {
            if !raw.get(key).is_some_and(Raw::is_number) {
                return None;
            }
        }

        let data = non_empty_text(raw, "data")?;
        let data = data.as_bytes();
        Some(Frame {
            raw,
            // Base64 has one byte per UTF-16 unit.
            bytes: utf16_len(data),
            is_blob: data.starts_with(b"blob:sha256:"),
            is_cut: data.ends_with(CUT_NOTICE),
        })
    }
}

/// Returns a picture as a block.
fn image_block(frame: Raw) -> Vec<u8> {
    Object::new()
        .str("type", "image")
        .copy_members(frame, &["data", "mimeType"])
        .with(
            frame.get("detail").filter(|d| d.is_truthy()),
            |object, detail| object.raw("detail", detail),
        )
        .finish()
}

/// Whether two consecutive pictures are left out for the same reason, and so form one gap.
fn is_one_gap(selected: &SelectedFrame, next: &SelectedFrame) -> bool {
    !selected.is_shown && !next.is_shown && selected.frame.is_blob == next.frame.is_blob
}

/// Returns the note that replaces a gap, which is a run of pictures that are left out for the same
/// reason: their blobs were not read, or they exceed the budget.
fn gap_note(gap: &[SelectedFrame]) -> String {
    let plural_suffix = if gap.len() == 1 { "" } else { "s" };
    let count = js::group_digits(gap.len() as f64);
    // A gap has at least one picture, and all have the reason of the first.
    let are_in_blobs = gap[0].frame.is_blob;
    if are_in_blobs {
        return format!(
            "-------------- {count} archived image frame{plural_suffix} unavailable here --------------"
        );
    }

    let bytes: usize = gap.iter().map(|selected| selected.frame.bytes).sum();
    let size = format_size(bytes as f64);
    format!(
        "-------------- snapcompact image middle omitted\n{count} archived image \
         frame{plural_suffix} could not be included. {size} of base64 exceeded the per-request \
         snapcompact payload budget. The compacted summary and visible text edges remain \
         available.\n--------------"
    )
}

/// Formats a number of bytes in units of 1,000 bytes, as the agent does in notes on pictures. (In
/// notices about output, it has units of 1,024.)
fn format_size(bytes: f64) -> String {
    if bytes >= 1_000_000.0 {
        format!("{} MB", js::to_fixed_1(bytes / 1_000_000.0))
    } else if bytes >= 1_000.0 {
        format!("{} KB", js::to_fixed_1(bytes / 1_000.0))
    } else {
        format!("{} B", js::number_to_string(bytes))
    }
}

/// Returns archived text with real newlines, and without data URLs. Also removes the characters
/// 0x0E and 0x0F, which switch between dim and normal ink in a picture.
fn decode_archived_text(text: &Text) -> Text<'static> {
    static MARK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!(r"{NEWLINE_GLYPH}|[\x0e\x0f]")).expect("a constant"));
    let replace_mark = |mark: &Captures| match &mark[0] {
        b"\x0e" | b"\x0f" => "",
        _ => "\n",
    };
    elide_data_urls(&Text::from_wtf8(
        MARK.replace_all(text.as_bytes(), replace_mark),
    ))
}
