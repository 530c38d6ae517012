//! Reads which tool calls of a session failed, if the session is searched without being loaded.

use crate::load::is_truthy;
use crate::session::read::line_chunks::for_each_line;
use crate::session::read::record::{Member, scan_record};
use foldhash::HashSet;
use memchr::memmem::Finder;
use pisess_json::text::Text;
use pisess_json::{Raw, Scanner};
use pisess_store::ReadAt;
use std::io;

/// The ids of the calls whose results are failures. A call does not record whether it failed: its
/// result does, further down in the file.
#[derive(Debug, Default)]
pub struct FailedCalls {
    ids: HashSet<Vec<u8>>,
}

impl FailedCalls {
    /// Reads the results of all calls.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(source: &dyn ReadAt) -> io::Result<FailedCalls> {
        let mut calls = FailedCalls::default();
        let finder = Finder::new(b"\"isError\"");
        for_each_line(source, 0..source.len(), |line| {
            if may_be_failure(line.bytes, &finder) {
                calls.add_line(line.bytes);
            }
            io::Result::Ok(())
        })?;
        Ok(calls)
    }

    /// Whether the call with this id failed.
    pub fn contains(&self, id: &Text) -> bool {
        self.ids.contains(id.as_bytes())
    }

    /// Adds the call whose result is on a line, if it is a result of a failure.
    fn add_line(&mut self, line: &[u8]) {
        let mut scanner = Scanner::new(line);
        let mut blocks = Vec::new();
        let Ok(record) = scan_record(&mut scanner, &mut blocks) else {
            return;
        };
        let Some(message) = record.message else {
            return;
        };
        if is_truthy(&message, Member::IsError)
            && let Some(id) = message.get(Member::ToolCallId).and_then(Raw::text)
        {
            self.ids.insert(id.as_bytes().to_vec());
        }
    }
}

/// Whether a line may be the result of a failure: a member `isError` has another value than
/// `false`. Results are long, and most are not failures, so they are not parsed.
fn may_be_failure(line: &[u8], key_finder: &Finder) -> bool {
    for key_start in key_finder.find_iter(line) {
        let after_key = line[key_start + key_finder.needle().len()..].trim_ascii_start();
        let Some(value) = after_key.strip_prefix(b":") else {
            continue;
        };
        if !value.trim_ascii_start().starts_with(b"false") {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_failed_results_are_read_however_lines_are_written() {
        let lines = concat!(
            "{\"type\":\"message\",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"ok\",\"isError\":false}}\n",
            "{\"type\":\"message\",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"bad\",\"isError\":true}}\n",
            "{\"message\": {\"isError\" : true, \"toolCallId\" : \"spa\\u0063ed\"}}\n",
            "{\"message\":{\"toolCallId\":\"inner\",\"details\":{\"isError\":true},\"isError\":false}}\n",
            "{\"message\":{\"toolCallId\":\"text\",\"content\":\"\\\"isError\\\":true\"}}\n",
            "broken \"isError\":true\n",
            "{\"message\":{\"toolCallId\":\"last\",\"isError\":true}}",
        );
        let calls = FailedCalls::read(&lines.as_bytes().to_vec()).unwrap();
        let failed = ["ok", "bad", "spaced", "inner", "text", "last"]
            .map(|id| calls.contains(&Text::from(id)));
        assert_eq!(failed, [false, true, true, false, false, true]);
    }
}
