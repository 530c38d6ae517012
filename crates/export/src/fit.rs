//! Leaves out as much of an export as is necessary for a given size.

use super::cuts::Cuts;
use super::source::Contents;
use pisess_store::FnWriter;
use std::io::{self, Write};

/// The numbers of lines that are tried, one after the other.
const LINES: [usize; 7] = [80, 40, 20, 10, 5, 2, 0];

/// Leaves out as little as possible so that what `write` writes has at most `most` bytes: lines of
/// output first, then thinking, then tools, then entries between the first request and the last
/// answers. Returns whether it fits.
pub fn fit(
    contents: &mut Contents,
    most: u64,
    write: &dyn Fn(&Contents, &mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    let fits = |contents: &Contents| {
        let mut left = most;
        let count = |bytes: &[u8]| {
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or(io::ErrorKind::FileTooLarge)?;
            Ok(())
        };
        match write(contents, &mut FnWriter(count)) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(false),
            done => done.map(|()| true),
        }
    };
    let asked = contents.cuts;
    let fewer = LINES
        .into_iter()
        .filter(|&lines| asked.lines.is_none_or(|asked| lines < asked));
    let mut ladder: Vec<Cuts> = vec![asked];
    ladder.extend(fewer.map(|lines| Cuts {
        lines: Some(lines),
        ..asked
    }));
    ladder.push(Cuts {
        lines: Some(0),
        thinking: true,
        ..asked
    });
    let least = Cuts {
        tools: true,
        thinking: true,
        ..asked
    };
    ladder.push(least);
    for cuts in ladder {
        contents.cut(cuts);
        if fits(contents)? {
            return Ok(true);
        }
    }
    let (mut enough, mut too_many) = (None, contents.session.path(contents.leaf).len());
    while enough.map_or(0, |enough| enough + 1) < too_many {
        let last = enough.map_or(0, |enough: usize| enough.midpoint(too_many));
        contents.cut(Cuts {
            last: Some(last),
            ..least
        });
        if fits(contents)? {
            enough = Some(last)
        } else {
            too_many = last
        }
    }
    contents.cut(Cuts {
        last: Some(enough.unwrap_or(0)),
        ..least
    });
    Ok(enough.is_some())
}
