//! The form in which people see facts: ages, amounts, ids, differences, and text of others.
//! Everything that is printed, exported or put into a summary uses these.

mod age;
mod amounts;
pub mod changes;
mod clip;
mod visible;

pub use age::{AGES, age};
pub use amounts::{ID, counted, decimals, dollars, grouped, id_end, size, tokens};
pub use clip::{clip, columns, fit, fitting, units};
pub use visible::{
    acts, escaped_json, is_plain, push_shown, push_squeezed, push_visible, visible, visible_lines,
};
