//! Arranges the output of `-h`, `--help` and `pisess help TOPIC` from the texts in `guide.rs`.
//!
//! The help of a command begins with its examples. Options that several commands share follow its
//! own options. They have a line each, without the blank lines that clap puts between options.

use super::guide::{Guide, GuideRow, REFERENCES, TOPICS, takes_range, takes_reference, takes_time};
use super::output::{Column, Table};
use clap::builder::Styles;
use clap::{Arg, Command};

/// The heading of the options that all commands have.
pub const COMMON_HEADING: &str = "Common options";

/// The headings of options that several commands share, in the order of the help. A topic explains
/// all but the last.
const SHARED_HEADINGS: [&str; 4] = ["Summary", "Hook", "Writing", COMMON_HEADING];

/// A command, with the group under which the list of commands has it.
#[derive(Clone, Copy, Debug)]
pub struct GroupedCommand {
    pub group: &'static str,
    pub name: &'static str,
}

/// Commands for a newcomer, and what they do.
const FIRST_COMMANDS: [GuideRow; 3] = [
    ("pisess list --all", "list your conversations, newest first"),
    ("pisess grep --all -i WORD", "search them"),
    (
        "pisess tree last",
        "draw the one that changed last in this directory",
    ),
];

/// Where to find more help.
const HELP_FORMS: [GuideRow; 3] = [
    ("pisess --help", "what each command does"),
    ("pisess COMMAND --help", "examples and options of a command"),
    (
        "pisess help TOPIC",
        "references, sessions, times, hooks, exit codes, …",
    ),
];

/// The forms of a SESSION argument.
const SESSION_FORMS: &str = "SESSION is a file, or - for standard input. It can also be the start \
    or end of a session's id, the start of the short id that `list` shows, a session's name, or \
    words of its title. Of the sessions started in the current directory, `last` is the one whose file changed last (a \
    new label counts as a change), `last~1` the session before `last`.";

/// Returns the whole command line with its help arranged. The help of pisess itself is written by
/// this module, so clap prints nothing else there. In the help of commands, clap lists the options.
pub fn arrange_help(
    cli: Command,
    commands: &[GroupedCommand],
    guides: &[(&'static str, Guide)],
) -> Command {
    let overview = overview_text(&cli, commands);
    let full_text = full_text(&cli, commands);
    // The options of all commands. They are collected before they are hidden below.
    let mut common = Vec::new();
    for arg in cli.get_arguments() {
        if arg.is_global_set() {
            common.push(arg.clone());
        }
    }

    let mut cli = cli
        // `-h` prints `before_help`, and `--help` prints `before_long_help`.
        .help_template("{before-help}")
        .before_help(overview)
        .before_long_help(full_text)
        .mut_args(hide_if_shared);
    for (name, guide) in guides {
        cli = cli.mut_subcommand(name, |command| {
            arrange_command(command, Some(guide), &common)
        });
    }
    cli.mut_subcommand("help", |command| arrange_command(command, None, &common))
}

/// Returns a command with its help arranged as summary, usage, examples, description, options. The
/// short help (`-h`) has no examples and no description. `common` are the options of all commands.
///
/// clap lists all options together. Those below one of the [`SHARED_HEADINGS`] are hidden there,
/// and listed after the others.
fn arrange_command(command: Command, guide: Option<&Guide>, common: &[Arg]) -> Command {
    let mut shared_options = Vec::new();
    for heading in SHARED_HEADINGS {
        let args: Vec<&Arg> = command
            .get_arguments()
            .chain(common)
            .filter(|arg| arg.get_help_heading() == Some(heading) && !arg.is_hide_set())
            .collect();
        if !args.is_empty() {
            shared_options.push(SharedOptions { heading, args });
        }
    }
    let after_short_help = short_end(&shared_options);
    let after_long_help = long_end(&command, guide, &shared_options);
    let before_long_help = long_start(&command, guide);

    let command = if before_long_help.is_empty() {
        command
    } else {
        command.before_long_help(before_long_help)
    };
    command
        // clap would print the summary and the description before the usage. The description is
        // part of `before_long_help` now, which follows the usage.
        .long_about(None::<&str>)
        .help_template("{about}\n\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}")
        .after_help(after_short_help)
        .after_long_help(after_long_help)
        .mut_args(hide_if_shared)
}

/// The options of a command that are below one of the [`SHARED_HEADINGS`].
struct SharedOptions<'a> {
    heading: &'static str,
    args: Vec<&'a Arg>,
}

/// Hides an option from clap's own lists, if the help has a separate table for it.
fn hide_if_shared(arg: Arg) -> Arg {
    let is_shared = arg
        .get_help_heading()
        .is_some_and(|heading| SHARED_HEADINGS.contains(&heading));
    if is_shared {
        arg.hide_short_help(true).hide_long_help(true)
    } else {
        arg
    }
}

/// Returns the examples and the description of a command, which precede the options.
fn long_start(command: &Command, guide: Option<&Guide>) -> String {
    let mut text = String::new();
    if let Some(guide) = guide {
        text += &heading_line("Examples");
        for example in guide.examples {
            text += &format!(
                "  # {}\n  {}\n\n",
                example.what,
                fold_line(example.line, HELP_COLUMNS - EXAMPLE_INDENT)
            );
        }
    }
    let description = command
        .get_long_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    // The first paragraph is left out: it is the summary, which precedes the usage.
    if let Some((_, details)) = description.split_once("\n\n") {
        text += details.trim_end();
    }
    text.trim_end().to_owned()
}

/// Returns the end of the short help: the names of the shared options, without their help.
fn short_end(shared_options: &[SharedOptions]) -> String {
    let mut rows = Vec::new();
    for shared in shared_options {
        let names: Vec<String> = shared.args.iter().map(|arg| option_name(arg)).collect();
        rows.push([shared.heading.to_owned(), names.join(", ")]);
    }
    heading_line("More options") + &format_rows(rows)
}

/// Returns the end of the long help: the shared options with their help, and related topics.
fn long_end(command: &Command, guide: Option<&Guide>, shared_options: &[SharedOptions]) -> String {
    let mut text = String::new();
    for shared in shared_options {
        text += &heading_line(shared.heading);
        text += &format_rows(option_rows(shared.args.iter().copied()));
        text.push('\n');
    }
    let Some(guide) = guide else {
        return text;
    };
    text += &heading_line("More, with `pisess help TOPIC`");
    text += &format_rows(related_topics(command, guide, shared_options));
    text
}

/// Returns the topics that explain the options and arguments of a command, each with what it
/// explains. The last one is about the exit codes.
fn related_topics(
    command: &Command,
    guide: &Guide,
    shared_options: &[SharedOptions],
) -> Vec<[String; 2]> {
    let mut rows = Vec::new();
    for topic in &TOPICS {
        let has_options = shared_options
            .iter()
            .any(|shared| topic.option_heading == Some(shared.heading));
        if has_options {
            rows.push([topic.name.to_owned(), topic.about.to_owned()]);
        }
    }
    if takes_reference(command) || takes_range(command) {
        let forms = "REF: @ (where the conversation is), -, root, :12 (a line), :/TEXT (the newest entry with these words), :1/TEXT (the first), an id or its prefix, a label, REF^, REF~3, REF+3, REF^{user}";
        rows.push(["references".to_owned(), forms.to_owned()]);
    }
    if takes_time(command) {
        let forms = "TIME: an age such as 7d, a date, a month, a year, a weekday; and what a period includes";
        rows.push(["times".to_owned(), forms.to_owned()]);
    }
    let codes = match guide.found_meaning() {
        Some(found) => format!("1 here means: {found}"),
        None => "how the command ended".to_owned(),
    };
    rows.push(["exit-codes".to_owned(), codes]);
    rows
}

/// Returns the output of `pisess` alone and of `pisess -h`. A test checks that it fits on a
/// terminal of 24 lines and 80 columns.
///
/// `commands` must be sorted by group: the commands of a group share a row.
fn overview_text(cli: &Command, commands: &[GroupedCommand]) -> String {
    // For each group, its name and the names of its commands.
    let mut rows: Vec<[String; 2]> = Vec::new();
    for command in commands {
        if let Some([group, names]) = rows.last_mut()
            && group == command.group
        {
            *names += &format!(", {}", command.name);
            continue;
        }
        rows.push([command.group.to_owned(), command.name.to_owned()]);
    }
    let mut option_names: Vec<String> = cli.get_arguments().map(option_name).collect();
    option_names.extend(["--help (-h)".to_owned(), "--version (-V)".to_owned()]);
    let options = format!("Options: {}", option_names.join(", "));
    [
        summary_and_usage(cli),
        format_rows(rows),
        heading_line("To start") + &format_table(FIRST_COMMANDS),
        heading_line("Help") + &format_table(HELP_FORMS),
        indent_text(&options, 0),
    ]
    .join("\n")
}

/// Returns the output of `pisess --help`.
fn full_text(cli: &Command, commands: &[GroupedCommand]) -> String {
    let mut text = summary_and_usage(cli);
    text += &list_by_group(cli, commands);
    text += &describe_options(cli);

    let topics = topic_names().collect::<Vec<_>>().join(", ");
    text + &format!(
        "\n{}{}\n\
         {}\n\
         `pisess help TOPIC` explains more, as does man pisess. The topics are\n\
         {}",
        heading_line("REF arguments name an entry in one of these forms"),
        format_table(REFERENCES),
        indent_text(SESSION_FORMS, 0),
        indent_text(&format!("{topics}."), 0)
    )
}

/// Returns the commands with their descriptions, below the heading of their group.
fn list_by_group(cli: &Command, commands: &[GroupedCommand]) -> String {
    let name_width = commands
        .iter()
        .map(|command| command.name.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    let mut group = "";
    for command in commands {
        if command.group != group {
            group = command.group;
            text += &format!("\n{}", heading_line(&capitalize(group)));
        }
        let about = cli
            .find_subcommand(command.name)
            .and_then(Command::get_about)
            .map(ToString::to_string)
            .unwrap_or_default();
        text += &format!("  {:name_width$}  {about}\n", command.name);
    }
    text
}

/// Returns the options of pisess without a command, and those that all commands have.
fn describe_options(cli: &Command) -> String {
    let options = cli.get_arguments().filter(|arg| !arg.is_global_set());
    let mut rows = option_rows(options);
    // clap handles these two, so they are not among its arguments.
    rows.push([
        "-h, --help".to_owned(),
        "Print help (-h: a short form)".to_owned(),
    ]);
    rows.push(["-V, --version".to_owned(), "Print the version".to_owned()]);
    let common_options = cli.get_arguments().filter(|arg| arg.is_global_set());
    format!(
        "\n{}{}\n{}{}",
        heading_line("Options"),
        format_rows(rows),
        heading_line(COMMON_HEADING),
        format_rows(option_rows(common_options))
    )
}

fn summary_and_usage(cli: &Command) -> String {
    let about = cli.get_about().map(ToString::to_string).unwrap_or_default();
    format!("{about}\n\n{}\n", cli.clone().render_usage().ansi())
}

/// Returns a heading with a colon, in the style of clap's headings.
fn heading_line(title: &str) -> String {
    let styles = Styles::styled();
    let style = styles.get_header();
    format!("{style}{title}:{style:#}\n")
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => format!("{}{}", first.to_uppercase(), chars.as_str()),
        None => String::new(),
    }
}

/// Returns the name of an option for a list of names, such as `--output (-o)`.
fn option_name(arg: &Arg) -> String {
    let long = arg.get_long().unwrap_or_default();
    match arg.get_short() {
        Some(short) => format!("--{long} (-{short})"),
        None => format!("--{long}"),
    }
}

/// Returns a row for each option: its forms, such as `-n, --last <N>`, and its help, with the
/// default value if there is one.
fn option_rows<'a>(args: impl Iterator<Item = &'a Arg>) -> Vec<[String; 2]> {
    let mut rows = Vec::new();
    for arg in args {
        let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let takes_value = arg.get_action().takes_values();
        if takes_value && let [default] = arg.get_default_values() {
            help += &format!(" [default: {}]", default.to_string_lossy());
        }
        rows.push([option_forms(arg), help]);
    }
    rows
}

/// Returns the forms of an option: `-n, --last <N>`. Forms without a letter are indented, so that
/// all long names begin in the same column.
fn option_forms(arg: &Arg) -> String {
    let short = match arg.get_short() {
        Some(short) => format!("-{short}, "),
        None => "    ".to_owned(),
    };
    let long = arg.get_long().unwrap_or_default();
    if !arg.get_action().takes_values() {
        return format!("{short}--{long}");
    }
    let Some(value_names) = arg.get_value_names() else {
        return format!("{short}--{long}");
    };
    let value = value_names.join(" ");
    if arg.is_require_equals_set() {
        format!("{short}--{long}[=<{value}>]")
    } else {
        format!("{short}--{long} <{value}>")
    }
}

/// Returns the names of the topics.
pub fn topic_names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|section| section.name)
}

/// Returns the text of the topic `name`; `None` if there is no such topic. The options that the
/// topic explains are taken from `shared_options`.
pub fn topic_text(name: &str, shared_options: &Command) -> Option<String> {
    let section = TOPICS.iter().find(|section| section.name == name)?;
    let mut text = format!("{}\n", section.title);
    for paragraph in section.paragraphs {
        let plain = paragraph.replace('`', "");
        text.push('\n');
        text.push_str(&indent_text(&plain, 2));
    }
    if !section.rows.is_empty() {
        text.push('\n');
        text.push_str(&format_table(section.rows.iter().copied()).replace('`', ""));
    }
    if let Some(heading) = section.option_heading {
        text.push_str("\n  Options:\n");
        let options = shared_options
            .get_arguments()
            .filter(|arg| arg.get_help_heading() == Some(heading));
        text.push_str(&format_rows(option_rows(options)));
    }
    Some(text)
}

/// The width of a help text, in columns. Examples are folded here, and not by clap: a shell would
/// take a line that clap wraps for two commands.
const HELP_COLUMNS: usize = 80;

/// The columns by which an example is indented.
const EXAMPLE_INDENT: usize = 2;

/// The columns by which a continuation line is indented further than the first line.
const CONTINUATION_INDENT: usize = 4;

/// Folds a command line to lines of at most `columns`. Breaks it only at spaces outside quotes.
/// Each line but the last ends in a backslash, so that a shell joins them again. If there is no
/// such space, a line remains longer.
///
/// [`EXAMPLE_INDENT`] is not part of `columns`: the caller has indented the first line, and here
/// the others are indented likewise. Examples are ASCII, so a byte is a column.
fn fold_line(line: &str, columns: usize) -> String {
    const LINE_END: &str = " \\\n";

    let mut folded = String::new();
    let mut indent = 0;
    let mut rest = line;
    while indent + rest.len() > columns {
        let room = columns.saturating_sub(indent + " \\".len());
        let Some(space) = last_space(rest, room) else {
            break;
        };
        folded += &rest[..space];
        folded += LINE_END;
        folded += &" ".repeat(EXAMPLE_INDENT + CONTINUATION_INDENT);
        indent = CONTINUATION_INDENT;
        rest = &rest[space + " ".len()..];
    }
    folded + rest
}

/// Returns the offset of the last space outside quotes, at most `most_bytes`. `None` if there is
/// none.
fn last_space(line: &str, most_bytes: usize) -> Option<usize> {
    let mut open_quote = None;
    let mut space = None;
    for (offset, c) in line.char_indices() {
        if offset > most_bytes {
            break;
        }
        if let Some(quote) = open_quote {
            if c == quote {
                open_quote = None;
            }
        } else if matches!(c, '\'' | '"') {
            open_quote = Some(c);
        } else if c == ' ' {
            space = Some(offset);
        }
    }
    space
}

/// Formats the rows of a guide as an indented table.
fn format_table(rows: impl IntoIterator<Item = GuideRow>) -> String {
    let rows = rows.into_iter();
    format_rows(rows.map(|(form, meaning)| [form.to_owned(), meaning.to_owned()]))
}

/// Formats rows as an indented table.
fn format_rows(rows: impl IntoIterator<Item = [String; 2]>) -> String {
    let mut table = Table::new([Column::text(""), Column::text("").allow_shrink()]);
    for row in rows {
        table.add_text_row(row);
    }
    table
        .format_wrapped(HELP_COLUMNS - 2)
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect()
}

/// Wraps a text to the width of a help text, and indents each line by `indent` columns.
fn indent_text(text: &str, indent: usize) -> String {
    let mut table = Table::new([Column::text("").allow_shrink()]);
    table.add_text_row([text.to_owned()]);
    table
        .format_wrapped(HELP_COLUMNS - indent)
        .lines()
        .map(|line| format!("{:indent$}{line}\n", ""))
        .collect()
}
