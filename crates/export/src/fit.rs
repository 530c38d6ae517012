//! Leaves out as much of an export as is necessary for a given size.

use super::cuts::Cuts;
use super::source::Contents;
use pisess_store::FnWriter;
use std::io::{self, Write};

/// The limits for the lines of a tool's output, in the order in which they are tried.
const LINE_LIMITS: [usize; 7] = [80, 40, 20, 10, 5, 2, 0];

/// Writes an export of the contents, with the cuts that they have.
type WriteExport<'a> = dyn Fn(&Contents, &mut dyn Write) -> io::Result<()> + 'a;

/// Sets the cuts of `contents` so that `write` writes at most `max_bytes` bytes. The cuts leave out
/// as little as possible: first lines of output, then thinking, then tools, then entries between
/// the first request and the last entries.
///
/// Returns `false` if the export does not fit even with the largest cuts, which are then set.
pub fn fit_to_size(
    contents: &mut Contents,
    max_bytes: u64,
    write: &WriteExport,
) -> io::Result<bool> {
    let requested = contents.cuts;
    let without_tools = Cuts {
        omits_tools: true,
        omits_thinking: true,
        ..requested
    };
    let limit = SizeLimit { max_bytes, write };
    for cuts in growing_cuts(requested, without_tools) {
        contents.apply_larger_cuts(cuts);
        if limit.allows(contents)? {
            return Ok(true);
        }
    }

    let entry_count = limit.find_most_last_entries(contents, without_tools)?;
    // The search has left the cuts that it tried last, which may not fit.
    contents.apply_larger_cuts(Cuts {
        last_entries: Some(entry_count.unwrap_or(0)),
        ..without_tools
    });
    Ok(entry_count.is_some())
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

/// The size that an export may have.
struct SizeLimit<'a> {
    max_bytes: u64,
    write: &'a WriteExport<'a>,
}

impl SizeLimit<'_> {
    /// Whether the export of these contents is small enough. It is written, but not kept; once it
    /// is too large, the rest is not written.
    fn allows(&self, contents: &Contents) -> io::Result<bool> {
        let mut byte_count = 0;
        let count_bytes = |bytes: &[u8]| {
            byte_count += bytes.len() as u64;
            if byte_count > self.max_bytes {
                // An error ends the writing.
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(())
        };
        match (self.write)(contents, &mut FnWriter(count_bytes)) {
            Ok(()) => Ok(true),
            // Only `count_bytes` returns this error: the bytes go to no file that could be too
            // large.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the largest number of last entries with which the export fits, by binary search.
    /// `None` if it does not fit even without last entries.
    ///
    /// Changes the cuts of `contents`. Afterwards, they are those that were tried last, which may
    /// not fit.
    fn find_most_last_entries(
        &self,
        contents: &mut Contents,
        without_tools: Cuts,
    ) -> io::Result<Option<usize>> {
        // The cuts count entries along the whole path. It may be longer than the path to
        // `contents.leaf`: that is the last entry that is shown.
        let path_len = contents.path_len();
        if path_len == 0 {
            return Ok(None);
        }
        let with_last = |entry_count| Cuts {
            last_entries: Some(entry_count),
            ..without_tools
        };
        contents.apply_larger_cuts(with_last(0));
        if !self.allows(contents)? {
            return Ok(None);
        }

        // `fitting` entries fit, and `too_many` do not: the whole path was tried before.
        let mut fitting = 0;
        let mut too_many = path_len;
        while fitting + 1 < too_many {
            let entry_count = usize::midpoint(fitting, too_many);
            contents.apply_larger_cuts(with_last(entry_count));
            if self.allows(contents)? {
                fitting = entry_count;
            } else {
                too_many = entry_count;
            }
        }
        Ok(Some(fitting))
    }
}
