//! The query, from the options of the command.

use super::Args;
use crate::cli::output::{Failure, Ui};
use crate::ops::grep::{
    EntryFilter, MatchDetails, Pattern, PatternOptions, Query, TextOptions, ToolOptions,
};
use crate::session::period::Period;
use crate::session::search::SnippetSize;
use pisess_json::text::Text;

/// Builds the query from the options. `period` has the values of `--since` and `--until`.
pub(super) fn build_query(args: &Args, period: Period, ui: &Ui) -> Result<Query, Failure> {
    Ok(Query {
        pattern: build_pattern(args)?,
        inverted: args.invert_match,
        entries: entry_filter(args, period),
        scope: args.field_scope(),
        details: match_details(args, ui),
        is_only_reader: !args.reads_sessions_again(ui),
    })
}

/// Builds the pattern from the values of `-e`; without `-e`, from the first argument.
fn build_pattern(args: &Args) -> Result<Pattern, Failure> {
    let patterns = if args.regexp.is_empty() {
        args.pattern.as_slice()
    } else {
        &args.regexp[..]
    };
    let options = PatternOptions {
        fixed: args.fixed_strings,
        ignore_case: args.ignore_case,
        smart_case: args.smart_case,
        words: args.word_regexp,
    };
    Pattern::new(patterns, options).map_err(|error| {
        Failure::usage_error(format_args!("the pattern: {error}"))
            .with_hint("-F takes it as literal text")
    })
}

/// Returns which entries are searched.
fn entry_filter(args: &Args, period: Period) -> EntryFilter {
    let mut roles = args.role.clone();
    for role in &mut roles {
        // A failure is recorded in the result of a call, which represents both.
        if args.failed && role == "toolCall" {
            *role = "toolResult".to_owned();
        }
    }
    EntryFilter {
        roles,
        tool_names: args.tool.clone(),
        period,
        only_active: args.active,
        only_failed: args.failed,
        only_images: args.with_images,
        only_entries: args.searches_range(),
    }
}

/// Returns what is collected of each match.
fn match_details(args: &Args, ui: &Ui) -> MatchDetails {
    MatchDetails {
        snippets: snippet_size(args, ui),
        tools: tool_options(args, ui),
        texts: TextOptions {
            whole: args.full,
            every_match: args.only_matching,
        },
        reports_active: args.marks_other_branches(ui),
    }
}

/// Returns how much text around a match is collected; `None` if there are no rows to print it in.
fn snippet_size(args: &Args, ui: &Ui) -> Option<SnippetSize> {
    if !args.prints_rows_of_entries() {
        return None;
    }
    match ui.row_width() {
        // The match may be anywhere in its row, so the text on either side may fill the row.
        Some(width) if !args.json => Some(SnippetSize {
            before: width,
            after: width,
        }),
        _ => Some(SnippetSize::default()),
    }
}

/// Returns the options for the descriptions of tools; `None` if no row shows one. JSON has none.
fn tool_options(args: &Args, ui: &Ui) -> Option<ToolOptions> {
    if !args.prints_rows_of_entries() || args.json {
        return None;
    }
    Some(ToolOptions {
        home: ui.home().map(Text::from),
        // A failed call is found by its result, whose own text lacks the arguments.
        call_arguments: args.full && args.failed,
    })
}
