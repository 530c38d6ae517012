//! The archive of a snapcompact compaction: old history as text, and as pictures of text.
//!
//! A model receives pictures up to a limit in bytes. Pictures that the agent moved into its blob
//! store are not read; they count as missing, as they do for the agent if the blob is missing.

use super::data_url::elided;
use crate::session::content;
use pisess_json::Raw;
use pisess_json::js;
use pisess_json::text::{Text, joined, utf16_len};
use pisess_json::write::Object;
use regex::bytes::{Captures, Regex};
use std::sync::LazyLock;

/// The limit for pictures in one request, in bytes of base64.
const FRAME_BYTES: usize = 3_000_000;
/// The mark for a line end in archived text.
const NEWLINE_GLYPH: &str = "\u{2588}";
/// The suffix of a string truncated by an older version while saving; it is no longer a picture.
const CUT_NOTICE: &[u8] = b"\n\n[Session persistence truncated large content]";

/// Returns the blocks of a compaction's archive, oldest first; none if it has no archive.
pub fn blocks(preserve_data: Raw) -> Vec<Vec<u8>> {
    Archive::of(preserve_data)
        .map(|archive| archive.blocks())
        .unwrap_or_default()
}

/// Returns the text that a compaction's archive was made from; `None` if it has none.
pub fn source_text(compaction: Raw) -> Option<Text<'static>> {
    let archive = Archive::of(compaction.get("preserveData")?)?;
    Some(archive.source()).filter(|text| !text.is_empty())
}

struct Archive<'a> {
    frames: Vec<Frame<'a>>,
    truncated_chars: f64,
    text: Option<Text<'a>>,
    head: Option<Text<'a>>,
    tail: Option<Text<'a>>,
}

#[derive(Clone, Copy)]
struct Frame<'a> {
    raw: Raw<'a>,
    /// The length of its data in UTF-16 units, which is how the agent counts bytes of base64.
    bytes: usize,
    is_blob: bool,
    is_cut: bool,
}

impl<'a> Archive<'a> {
    fn of(preserve_data: Raw<'a>) -> Option<Self> {
        let slot = preserve_data.get("snapcompact")?;
        let text = |key| slot.get_text(key).filter(|text| !text.is_empty());
        let frames = slot
            .get("frames")
            .unwrap_or(Raw::NULL)
            .items()
            .filter_map(Frame::of);
        let mut archive = Archive {
            frames: frames.collect(),
            truncated_chars: slot
                .get("truncatedChars")
                .and_then(Raw::number)
                .unwrap_or(0.0),
            text: text("text"),
            head: text("textHead"),
            tail: text("textTail"),
        };
        archive.repair();
        let has_text = archive.text.is_some() || archive.head.is_some() || archive.tail.is_some();
        (has_text || !archive.frames.is_empty()).then_some(archive)
    }

    /// Replaces pictures truncated while saving by the whole text, if it was kept
    /// (`repairTruncatedSnapcompactFrames`).
    fn repair(&mut self) {
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

    /// Whether this is an old archive of a size that made requests fail. The pictures of such an
    /// archive are omitted.
    fn is_risky(&self) -> bool {
        let many = self.frames.len() >= 16;
        let old =
            |frame: &Frame| frame.raw.get("font").is_none() && frame.raw.get("variant").is_none();
        let bytes: usize = self.frames.iter().map(|frame| frame.bytes).sum();
        self.frames.iter().any(old)
            && (many || bytes >= FRAME_BYTES)
            && (many || self.truncated_chars >= 1_000_000.0 || self.source().utf16_len() >= 250_000)
    }

    fn source(&self) -> Text<'static> {
        let both = || {
            joined(
                [&self.head, &self.tail].into_iter().flatten().cloned(),
                NEWLINE_GLYPH,
            )
        };
        readable(&self.text.clone().unwrap_or_else(both))
    }

    fn blocks(&self) -> Vec<Vec<u8>> {
        let frames = self.frames_within(if self.is_risky() { 0 } else { FRAME_BYTES });
        let has_images = frames.iter().any(|(_, is_shown)| *is_shown);
        let has_gaps = frames.iter().any(|(_, is_shown)| !is_shown);
        let mut blocks = Vec::new();
        // The last text, which may continue.
        let mut text = self.head.as_ref().map(|head| {
            let mut head = readable(head);
            head.push_str(if has_images {
                "\n-------------- imaged middle below\n"
            } else {
                ""
            });
            head
        });
        // Consecutive frames that are omitted for the same reason are one gap.
        let is_one_gap = |(one, is_shown): &(Frame, bool),
                          (next, is_next_shown): &(Frame, bool)| {
            !is_shown && !is_next_shown && one.is_blob == next.is_blob
        };
        for run in frames.chunk_by(is_one_gap) {
            blocks.extend(text.take().map(|text| content::text_block(&text)));
            match run {
                [(frame, true), ..] => blocks.push(image(frame.raw)),
                gap => text = Some(Text::from(note_on(gap))),
            }
        }
        if let Some(tail) = &self.tail {
            let lead = match (has_images, self.truncated_chars > 0.0 || has_gaps) {
                (true, _) => "-------------- imaged middle above\n",
                (false, true) => "\n-------------- middle history omitted above\n",
                (false, false) => "",
            };
            text.get_or_insert_default()
                .push_all(&[&lead, &readable(tail)]);
        }
        blocks.extend(text.map(|text| content::text_block(&text)));
        blocks
    }

    /// Returns the pictures, and whether each is shown: the newest within the budget.
    fn frames_within(&self, budget: usize) -> Vec<(Frame<'a>, bool)> {
        let mut used = 0;
        let mut fits = |frame: &Frame| {
            let fits = !frame.is_blob && used + frame.bytes <= budget;
            used += if fits { frame.bytes } else { 0 };
            fits
        };
        let mut frames: Vec<_> = self
            .frames
            .iter()
            .rev()
            .map(|frame| (*frame, fits(frame)))
            .collect();
        frames.reverse();
        frames
    }
}

impl<'a> Frame<'a> {
    fn of(raw: Raw<'a>) -> Option<Self> {
        let is_number = |key| raw.get(key).is_some_and(Raw::is_number);
        raw.get("mimeType").filter(|mime| mime.is_string())?;
        let text = raw.get_text("data").filter(|data| !data.is_empty())?;
        let data = text.as_bytes();
        ["cols", "rows", "chars"]
            .into_iter()
            .all(is_number)
            .then(|| Frame {
                raw,
                bytes: utf16_len(data),
                is_blob: data.starts_with(b"blob:sha256:"),
                is_cut: data.ends_with(CUT_NOTICE),
            })
    }
}

/// Returns a picture as a block.
fn image(frame: Raw) -> Vec<u8> {
    Object::new()
        .str("type", "image")
        .copy(frame, &["data", "mimeType"])
        .with(
            frame.get("detail").filter(|d| d.is_truthy()),
            |object, detail| object.raw("detail", detail),
        )
        .finish()
}

/// Returns the note on frames that are omitted.
fn note_on(gap: &[(Frame, bool)]) -> String {
    let many = if gap.len() == 1 { "" } else { "s" };
    let count = js::grouped(gap.len() as f64);
    if gap[0].0.is_blob {
        let rule = "--------------";
        return format!("{rule} {count} archived image frame{many} unavailable here {rule}");
    }
    let size = match gap.iter().map(|(frame, _)| frame.bytes).sum::<usize>() {
        0 => String::new(),
        bytes => format!(
            " {} of base64 exceeded the per-request snapcompact payload budget.",
            data_size(bytes as f64)
        ),
    };
    format!(
        "-------------- snapcompact image middle omitted\n{count} archived image frame{many} could not be \
         included.{size} The compacted summary and visible text edges remain available.\n--------------"
    )
}

fn data_size(bytes: f64) -> String {
    match bytes {
        1_000_000.0.. => format!("{} MB", js::fixed1(bytes / 1_000_000.0)),
        1_000.0.. => format!("{} KB", js::fixed1(bytes / 1_000.0)),
        _ => format!("{} B", js::number(bytes)),
    }
}

/// Returns archived text with real newlines, without data URLs and without the characters 0x0E and
/// 0x0F, which switch between dim and normal ink in a picture.
fn readable(text: &Text) -> Text<'static> {
    static MARK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!(r"{NEWLINE_GLYPH}|[\x0e\x0f]")).expect("a constant"));
    let meaning = |mark: &Captures| match &mark[0] {
        b"\x0e" | b"\x0f" => "",
        _ => "\n",
    };
    elided(&Text::from_wtf8(MARK.replace_all(text.as_bytes(), meaning)))
}
