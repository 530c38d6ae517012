//! Leaves out as much of an export as is necessary for a given size.

use super::cuts::Cuts;
use super::source::Contents;
use pisess_store::FnWriter;
use std::io::{self, Write};

/// The limits for the lines of a tool's output, in the order in which they are tried.
const LINE_LIMITS: [usize; 7] = [80, 40, 20, 10, 5, 2, 0];

/// Sets the cuts of `contents` so that `write` writes at most `max_bytes` bytes. The cuts leave out
/// as little as possible: first lines of output, then thinking, then tools, then entries between
/// the first request and the last entries.
///
/// Returns `false` if the export does not fit even with the largest cuts, which are then set. Each
/// attempt leaves its cuts applied, so the first that fits ends the search.
pub fn fit_to_size(
    contents: &mut Contents,
    max_bytes: u64,
    write: &dyn Fn(&Contents, &mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    let requested = contents.cuts;
    let without_tools = Cuts {
        omits_tools: true,
        omits_thinking: true,
        ..requested
    };
    for cuts in growing_cuts(requested, without_tools) {
        if apply_and_fits(contents, cuts, max_bytes, write)? {
            return Ok(true);
        }
    }

    let entry_count = most_last_entries(contents, without_tools, max_bytes, write)?;
    // The search ended with cuts that may not fit.
    contents.apply_larger_cuts(Cuts {
        last_entries: Some(entry_count.unwrap_or(0)),
        ..without_tools
    });
    Ok(entry_count.is_some())
}

/// Returns the largest number of last entries with which the export fits, by binary search. The
/// number is less than the length of the path: the whole path is known not to fit. `None` if the
/// export does not fit even without last entries.
///
/// Afterwards, `contents` has the cuts that were tried last, which may not fit.
fn most_last_entries(
    contents: &mut Contents,
    without_tools: Cuts,
    max_bytes: u64,
    write: &dyn Fn(&Contents, &mut dyn Write) -> io::Result<()>,
) -> io::Result<Option<usize>> {
    // The cuts count entries along the whole path. It may be longer than the path to
    // `contents.leaf`: that is the last entry that is shown.
    let path_len = contents.path_len();
    let with_last = |entry_count| Cuts {
        last_entries: Some(entry_count),
        ..without_tools
    };
    if path_len == 0 || !apply_and_fits(contents, with_last(0), max_bytes, write)? {
        return Ok(None);
    }

    let mut fitting = 0;
    let mut too_many = path_len;
    while fitting + 1 < too_many {
        let entry_count = usize::midpoint(fitting, too_many);
        if apply_and_fits(contents, with_last(entry_count), max_bytes, write)? {
            fitting = entry_count;
        } else {
            too_many = entry_count;
        }
    }
    Ok(Some(fitting))
}

/// Returns the cuts to try before entries are left out, from `requested` to `without_tools`. Each
/// leaves out more than the one before it.
fn growing_cuts(requested: Cuts, without_tools: Cuts) -> Vec<Cuts> {
    let mut growing = vec![requested];
    for limit in LINE_LIMITS {
        // A limit that is not below the requested one would leave out nothing more.
        if requested.max_lines.is_none_or(|asked| limit < asked) {
            growing.push(Cuts {
                max_lines: Some(limit),
                ..requested
            });
        }
    }
    growing.push(Cuts {
        max_lines: Some(0),
        omits_thinking: true,
        ..requested
    });
    growing.push(without_tools);
    growing
}

/// Applies the cuts to `contents`, and returns whether `write` then writes at most `max_bytes`
/// bytes. As soon as it has written more, its writer returns an error, which ends the attempt. The
/// cuts stay applied, whatever the result.
fn apply_and_fits(
    contents: &mut Contents,
    cuts: Cuts,
    max_bytes: u64,
    write: &dyn Fn(&Contents, &mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    contents.apply_larger_cuts(cuts);
    let mut bytes_left = max_bytes;
    let count = |bytes: &[u8]| {
        bytes_left = bytes_left
            .checked_sub(bytes.len() as u64)
            .ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(())
    };
    match write(contents, &mut FnWriter(count)) {
        Ok(()) => Ok(true),
        // Only `count` returns this error: the bytes go to no file that could be too large.
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(false),
        Err(error) => Err(error),
    }
}
