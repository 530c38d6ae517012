//! Formats data for people: ages, amounts, ids, differences, and untrusted text. Everything that is
//! printed, exported or put into a summary uses these functions.

mod age;
mod amounts;
pub mod changes;
mod clip;
mod marks;
pub mod title;
mod visible;

pub use age::{AGE_UNITS, format_age};
pub use amounts::{
    ID_SUFFIX_LEN, format_bytes, format_cost, format_count, format_dated_cost, format_dollars,
    format_estimate, format_request_cost, format_small_dollars, format_tokens, group_digits,
    id_suffix,
};
pub use clip::{clip, count_fitting, count_utf16, display_width, fitting_len, is_narrower};
pub use marks::{is_block_mark, strip_emphasis, strip_links};
pub use visible::{
    acts_on_terminal, escape_json, find_byte, is_printable_ascii, push_squeezed, push_visible,
    push_visible_lines, to_visible, to_visible_cow, to_visible_line, to_visible_lines,
};
