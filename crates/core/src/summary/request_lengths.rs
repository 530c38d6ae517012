//! How much is quoted of each earlier request: all of short ones, and as much of long ones as fits.
//!
//! The user's words bind the work more than anything that can be inferred from them, and in most
//! sessions they are few: then all of them are quoted.

use super::budget::{EARLIER_REQUEST, OLDEST};
use super::quote::count_utf16;
use super::turns::Turn;

/// Returns the number of UTF-16 units to which the requests of turns are cut, so that together they
/// fit in `room`, if [`OLDEST`] units for each do. A long one may take what short ones leave.
pub(super) fn longest_request(turns: &[Turn], room: usize) -> usize {
    let mut sizes = Vec::with_capacity(turns.len());
    for turn in turns {
        sizes.push(count_utf16(&turn.request));
    }
    longest_fitting(&sizes, room).clamp(OLDEST, EARLIER_REQUEST)
}

/// Returns the number of UTF-16 units that the requests of turns take if each is cut to `max`.
pub(super) fn size_of_requests(turns: &[Turn], max: usize) -> usize {
    turns
        .iter()
        .map(|turn| count_utf16(&turn.request).min(max))
        .sum()
}

/// Returns the greatest length to which texts may be cut so that together they fit in `room`;
/// `room` itself if they fit uncut. Texts of sizes 10, 50 and 200 fit in 120 units if they are cut
/// to 60: what the short ones leave goes to the long one.
fn longest_fitting(sizes: &[usize], room: usize) -> usize {
    let mut shortest_first = sizes.to_vec();
    shortest_first.sort_unstable();
    let mut room_left = room;
    let mut count_left = sizes.len();
    for size in shortest_first {
        let share = room_left / count_left;
        if size > share {
            return share;
        }
        room_left -= size;
        count_left -= 1;
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_to_what_short_ones_leave() {
        assert_eq!(longest_fitting(&[10, 50, 200], 120), 60);
        assert_eq!(longest_fitting(&[300, 40, 300], 200), 80);
        assert_eq!(longest_fitting(&[300, 300], 200), 100);
    }

    #[test]
    fn texts_that_fit_are_not_cut() {
        assert_eq!(longest_fitting(&[10, 50], 60), 60);
        assert_eq!(longest_fitting(&[], 60), 60);
    }
}
