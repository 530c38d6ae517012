//! What fits into a part of a summary, by the size of its items as they are written.

use super::quote::{count_fitting, count_utf16};

/// Returns the number of units that items take, marks included.
pub(super) fn items_size(items: &[String]) -> usize {
    items.iter().map(|item| item_size(item)).sum()
}

/// Returns the number of units that an item takes, with the line break and the mark before it.
pub(super) fn item_size(item: &str) -> usize {
    count_utf16(item) + 4
}

/// Joins as many items as fit in a line of about `room` UTF-16 units: `Files: a.rs, b.rs, 7 more`,
/// where `lead` is `Files: `. `None` if no item fits.
pub(super) fn join_fitting(lead: &str, items: &[String], room: usize) -> Option<String> {
    const SEPARATOR_LEN: usize = ", ".len();
    const MORE_LEN: usize = ", 999 more".len();

    let sizes = items.iter().map(|item| count_utf16(item) + SEPARATOR_LEN);
    let items_room = room.saturating_sub(count_utf16(lead) + MORE_LEN);
    let shown_count = count_fitting(sizes, items_room);
    if shown_count == 0 {
        return None;
    }
    let mut line = format!("{lead}{}", items[..shown_count].join(", "));
    let omitted_count = items.len() - shown_count;
    if omitted_count > 0 {
        line.push_str(&format!(", {omitted_count} more"));
    }
    Some(line)
}

/// Returns the first items, as many as fit.
pub(super) fn keep_first(mut items: Vec<String>, room: usize) -> Vec<String> {
    let kept_count = count_fitting(items.iter().map(|item| item_size(item)), room);
    items.truncate(kept_count);
    items
}

/// Returns the newest points that fit, in their order.
pub(super) fn keep_newest(mut points: Vec<String>, room: usize) -> Vec<String> {
    let kept = count_fitting(points.iter().rev().map(|point| item_size(point)), room);
    points.split_off(points.len() - kept)
}
