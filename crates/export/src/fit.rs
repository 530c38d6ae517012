//! Leaves out as much of an export as is necessary for a given size.

use super::cuts::Cuts;
use super::source::Contents;
use pisess_store::FnWriter;
use std::io::{self, Write};

/// The numbers of lines that are tried, one after the other.
const LINES: [usize; 7] = [80, 40, 20, 10, 5, 2, 0];

/// Leaves out as little as possible so that what `write` writes has at most `max_bytes` bytes:
/// lines of output first, then thinking, then tools, then entries between the first request and the
/// last answers. Returns whether it fits.
pub fn fit_to_size(
    contents: &mut Contents,
    max_bytes: u64,
    write: &dyn Fn(&Contents, &mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    let requested = contents.cuts;
    let least = Cuts {
        omits_tools: true,
        omits_thinking: true,
        ..requested
    };
    for cuts in growing_cuts(requested, least) {
        contents.apply_cuts(cuts);
        if fits_in(contents, max_bytes, write)? {
            return Ok(true);
        }
    }

    // The number of last entries is found by halving: `enough` fits, `too_many` does not.
    let mut enough: Option<usize> = None;
    let mut too_many = contents.session.path(contents.leaf).len();
    loop {
        let last = match enough {
            None if too_many > 0 => 0,
            Some(enough) if enough + 1 < too_many => enough.midpoint(too_many),
            _ => break,
        };
        contents.apply_cuts(Cuts {
            last_entries: Some(last),
            ..least
        });
        if fits_in(contents, max_bytes, write)? {
            enough = Some(last);
        } else {
            too_many = last;
        }
    }
    contents.apply_cuts(Cuts {
        last_entries: Some(enough.unwrap_or(0)),
        ..least
    });
    Ok(enough.is_some())
}

/// The cuts to try, from those that were asked for to `least`; each leaves out more.
fn growing_cuts(requested: Cuts, least: Cuts) -> Vec<Cuts> {
    let mut growing = vec![requested];
    for lines in LINES {
        if requested.max_lines.is_none_or(|asked| lines < asked) {
            growing.push(Cuts {
                max_lines: Some(lines),
                ..requested
            });
        }
    }
    growing.push(Cuts {
        max_lines: Some(0),
        omits_thinking: true,
        ..requested
    });
    growing.push(least);
    growing
}

/// Whether what `write` writes has at most `max_bytes` bytes. It is stopped where it has more.
fn fits_in(
    contents: &Contents,
    max_bytes: u64,
    write: &dyn Fn(&Contents, &mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    let mut bytes_left = max_bytes;
    let count = |bytes: &[u8]| {
        bytes_left = bytes_left
            .checked_sub(bytes.len() as u64)
            .ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(())
    };
    match write(contents, &mut FnWriter(count)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(false),
        Err(error) => Err(error),
    }
}
