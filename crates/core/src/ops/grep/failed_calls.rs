//! Reads which tool calls of a session failed, if the session is searched without being loaded.

use crate::load::is_truthy;
use crate::session::entry::LineNo;
use crate::session::read::line_chunks::for_each_line;
use crate::session::read::record::{Member, scan_record};
use foldhash::HashMap;
use memchr::memmem::Finder;
use pisess_json::text::Text;
use pisess_json::{Raw, Scanner};
use pisess_store::ReadAt;
use std::io;

/// The results of the calls. A call does not record whether it failed: its result does, further
/// down in the file.
#[derive(Debug, Default)]
pub struct FailedCalls {
    /// The results of each id, in file order. Some providers use the ids of calls again.
    results: HashMap<Vec<u8>, Vec<CallResult>>,
}

#[derive(Debug)]
struct CallResult {
    line: LineNo,
    has_failed: bool,
}

impl FailedCalls {
    /// Reads the results of all calls.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(source: &dyn ReadAt) -> io::Result<FailedCalls> {
        let mut calls = FailedCalls::default();
        let finder = Finder::new(b"\"toolCallId\"");
        let mut number = LineNo(0);
        for_each_line(source, 0..source.len(), |line| {
            number.0 += 1;
            if finder.find(line.bytes).is_some() {
                calls.add_line(number, line.bytes);
            }
            io::Result::Ok(())
        })?;
        Ok(calls)
    }

    /// Whether the call with this id, on this line, failed: the first result with its id after it
    /// is a failure.
    pub fn contains(&self, id: &Text, line: LineNo) -> bool {
        let Some(results) = self.results.get(id.as_bytes()) else {
            return false;
        };
        let next = results.partition_point(|result| result.line <= line);
        results.get(next).is_some_and(|result| result.has_failed)
    }

    /// Adds the result on a line, if there is one.
    fn add_line(&mut self, number: LineNo, line: &[u8]) {
        let mut scanner = Scanner::new(line);
        let mut blocks = Vec::new();
        let Ok(record) = scan_record(&mut scanner, &mut blocks) else {
            return;
        };
        let Some(message) = record.message else {
            return;
        };
        if let Some(id) = message.get(Member::ToolCallId).and_then(Raw::text) {
            let result = CallResult {
                line: number,
                has_failed: is_truthy(&message, Member::IsError),
            };
            let results = self.results.entry(id.as_bytes().to_vec());
            results.or_default().push(result);
        }
    }
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
            .map(|id| calls.contains(&Text::from(id), LineNo(0)));
        assert_eq!(failed, [false, true, true, false, false, true]);
    }

    #[test]
    fn a_call_has_the_first_result_with_its_id_after_it() {
        let lines = concat!(
            "{\"message\":{\"role\":\"assistant\"}}\n",
            "{\"message\":{\"toolCallId\":\"call_0\",\"isError\":false}}\n",
            "{\"message\":{\"role\":\"assistant\"}}\n",
            "{\"message\":{\"toolCallId\":\"call_0\",\"isError\":true}}\n",
            "{\"message\":{\"role\":\"assistant\"}}\n",
        );
        let calls = FailedCalls::read(&lines.as_bytes().to_vec()).unwrap();
        let failed = [1, 3, 5].map(|line| calls.contains(&Text::from("call_0"), LineNo(line)));
        assert_eq!(failed, [false, true, false]);
    }
}
