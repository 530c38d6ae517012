//! Man pages: options from the clap definition, everything else from [`pisess::guide`].

use clap::{Arg, Command};
use pisess::guide::{self, Example, Guide, GuideRow, Section};
use std::fmt::Write as _;

/// Commands that are used together. The page of each names the others of its groups.
const RELATED: &[&[&str]] = &[
    &["tree", "path", "show", "branches", "label"],
    &["context", "compact", "prune"],
    &["list", "grep", "stats"],
    &["list", "relocate", "archive"],
    &["switch", "pop", "summarize", "merge"],
    &["compact", "summarize"],
    &["fork", "pick"],
    &["append", "edit"],
    &["diff", "branches"],
    &["export", "redact"],
    &["check", "migrate"],
];

/// Returns the name and the text of each page.
pub fn pages() -> Vec<(String, String)> {
    let mut command = pisess::build_cli();
    command.build();
    let verbs = pisess::command_guides().map(|(verb, guide)| {
        let command = command
            .find_subcommand(verb)
            .expect("each guide has its command");
        (format!("pisess-{verb}.1"), of_command(command, &guide))
    });
    let main = ("pisess.1".to_owned(), of_all(&command));
    std::iter::once(main).chain(verbs).collect()
}

fn of_all(command: &Command) -> String {
    let mut page = Page::new("pisess", command);
    page.heading("SYNOPSIS");
    page.line(r"\fBpisess\fR \fICOMMAND\fR [\fIOPTIONS\fR] \fISESSION\fR [\fI...\fR]");
    page.heading("DESCRIPTION");
    page.paragraph(
        "pisess works on the session files of the pi coding agents, pi and oh-my-pi. It lists and searches \
         sessions, draws them, edits them safely, and exports or archives them. It does for a conversation \
         what git does for code: log, switch, diff, undo. Each run does one operation, on plain files and \
         pipes.",
    );
    page.paragraph(
        "Each command has a page of its own: see `pisess-tree(1)` and the others below.",
    );
    page.heading("COMMANDS");
    let verbs: Vec<_> = command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
        .collect();
    for verb in &verbs {
        page.item(
            &format!(r"\fBpisess\-{}\fR(1)", escaped(verb.get_name())),
            &about(verb),
        );
    }
    let [topics @ .., programs] = &guide::TOPICS;
    page.section(programs);
    page.options(command);
    topics.iter().for_each(|topic| page.section(topic));
    page.heading("ENVIRONMENT");
    page.table(guide::ENVIRONMENT);
    page.examples(&guide::EXAMPLES);
    let names = verbs
        .iter()
        .map(|verb| format!("pisess-{}", verb.get_name()));
    page.see_also(names.chain(["jq".to_owned()]));
    page.text
}

fn of_command(command: &Command, guide: &Guide) -> String {
    let verb = command.get_name();
    let name = format!("pisess-{verb}");
    let mut page = Page::new(&name, command);
    page.heading("SYNOPSIS");
    let usage = command.clone().render_usage().to_string();
    let forms = usage.trim_start_matches("Usage: ").lines().map(|form| {
        form.split_whitespace()
            .map(synopsis_word)
            .collect::<Vec<_>>()
            .join(" ")
    });
    page.line(&forms.collect::<Vec<_>>().join("\n.br\n"));
    page.heading("DESCRIPTION");
    // The first paragraph is already in the NAME section.
    let about = command
        .get_long_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    for paragraph in about.split("\n\n").skip(1) {
        page.paragraph(paragraph);
    }
    page.options(command);
    page.examples(guide.examples);
    if guide::takes_reference(command) || guide::takes_range(command) {
        page.heading("REFERENCES");
        page.paragraph("`pisess(1)` lists the forms of REF, as does `pisess help references`.");
    }
    page.heading("EXIT STATUS");
    page.table(guide.exit_codes(command));
    if guide::writes_files(command) {
        page.paragraph(
            "`pisess(1)` describes how files are written, and what to do while an agent is running.",
        );
    } else if guide::reads_sessions(command) {
        page.paragraph(
            "This command does not change a session. Older formats are read as if they were migrated.",
        );
    }
    let others = pisess::command_guides().filter(|(other, _)| related(verb, other));
    let others = others.map(|(other, _)| format!("pisess-{other}"));
    page.see_also(std::iter::once("pisess".to_owned()).chain(others));
    page.text
}

/// Whether the page of one command names the other.
fn related(verb: &str, other: &str) -> bool {
    verb != other
        && RELATED
            .iter()
            .any(|group| group.contains(&verb) && group.contains(&other))
}

/// Returns a word of a synopsis such as `pisess fork [OPTIONS] <SESSION> [REF]`: names in bold,
/// arguments in italics.
fn synopsis_word(word: &str) -> String {
    let inner: &str = word.trim_matches(|c| "[]<>.".contains(c));
    let slanted = format!(r"\fI{}\fR", escaped(inner));
    match word.as_bytes().first() {
        Some(b'[') => format!(
            "[{slanted}]{}",
            if word.ends_with("...") { " ..." } else { "" }
        ),
        Some(b'<') => format!(
            "{slanted}{}",
            if word.ends_with("...") { " ..." } else { "" }
        ),
        _ => format!(r"\fB{}\fR", escaped(word)),
    }
}

fn about(command: &Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// A page being written, in the man macros.
struct Page {
    text: String,
}

impl Page {
    fn new(name: &str, command: &Command) -> Page {
        let version = env!("CARGO_PKG_VERSION");
        let mut page = Page {
            text: String::new(),
        };
        page.line(r#".\" Made from src/ by tests/it/generated.rs; do not edit."#);
        page.line(&format!(
            r#".TH {} 1 "" "pisess {version}" "pisess manual""#,
            escaped(&name.to_uppercase())
        ));
        // No hyphenation and no justification: names and options stay whole in a narrow terminal.
        page.line(".nh\n.ad l");
        page.heading("NAME");
        page.line(&format!(
            r"{} \- {}",
            escaped(name),
            escaped(&lowercase(&about(command)))
        ));
        page
    }

    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn heading(&mut self, title: &str) {
        self.line(&format!(".SH {}", escaped(title)));
    }

    /// Adds a paragraph, or a list if its lines begin with `- `.
    fn paragraph(&mut self, text: &str) {
        if let Some(list) = text.strip_prefix("- ") {
            for item in list.split("\n- ") {
                self.line(&format!(".IP \\(bu 2\n{}", marked(item)));
            }
            return;
        }
        self.line(&format!(".PP\n{}", marked(text)));
    }

    fn section(&mut self, section: &Section) {
        self.heading(section.title);
        for paragraph in section.paragraphs {
            self.paragraph(paragraph);
        }
        if !section.rows.is_empty() {
            self.table(section.rows.iter().copied());
        }
    }

    /// Adds a term in roff, and its meaning.
    fn item(&mut self, term: &str, meaning: &str) {
        self.line(&format!(".TP\n{term}\n{}", marked(meaning)));
    }

    fn table(&mut self, rows: impl IntoIterator<Item = GuideRow>) {
        for (index, (form, meaning)) in rows.into_iter().enumerate() {
            if index == 1 {
                self.line(".PD 0");
            }
            self.line(&format!(
                ".TP 14\n\\fB{}\\fR\n{}",
                escaped(form),
                marked(meaning)
            ));
        }
        self.line(".PD");
    }

    fn examples(&mut self, examples: &[Example]) {
        self.heading("EXAMPLES");
        for example in examples {
            self.paragraph(&format!("{}:", example.what));
            self.line(&format!(
                ".RS 4\n.nf\n{}\n.fi\n.RE",
                guarded(&escaped(example.line))
            ));
        }
    }

    fn options(&mut self, command: &Command) {
        let shown = |arg: &&Arg| !arg.is_hide_set();
        let positionals: Vec<&Arg> = command.get_positionals().filter(shown).collect();
        if !positionals.is_empty() {
            self.heading("ARGUMENTS");
            for arg in positionals {
                self.argument(arg);
            }
        }
        let mut headings: Vec<Option<&str>> = Vec::new();
        for arg in options(command) {
            if !headings.contains(&arg.get_help_heading()) {
                headings.push(arg.get_help_heading());
            }
        }
        // Options common to all commands come last.
        headings.sort_by_key(|heading| *heading == Some("Common options"));
        for heading in headings {
            self.heading(&heading.unwrap_or("Options").to_uppercase());
            for arg in options(command).filter(|arg| arg.get_help_heading() == heading) {
                if shown(&arg) {
                    self.argument(arg);
                }
            }
        }
    }

    fn argument(&mut self, arg: &Arg) {
        let mut term = Vec::new();
        if let Some(short) = arg.get_short() {
            term.push(format!(r"\fB\-{short}\fR"));
        }
        if let Some(long) = arg.get_long() {
            term.push(format!(r"\fB\-\-{}\fR", escaped(long)));
        }
        let mut term = term.join(", ");
        if arg.is_positional() || arg.get_action().takes_values() {
            let names = arg
                .get_value_names()
                .map(|names| names.join(" "))
                .unwrap_or_default();
            let value = format!(r"\fI{}\fR", escaped(&names));
            let optional = arg
                .get_num_args()
                .is_some_and(|range| range.min_values() == 0);
            term += &match (arg.is_positional(), optional) {
                (true, _) => value,
                (false, true) => format!("[={value}]"),
                (false, false) => format!(" {value}"),
            };
        }
        let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        if arg.get_id() == "help" {
            help = "Print help: -h prints a summary, --help the full text".to_owned();
        }
        let defaults = arg.get_default_values();
        if let [default] = defaults
            && arg.get_action().takes_values()
            && !default.is_empty()
            && !arg.is_hide_default_value_set()
        {
            let _ = write!(help, " (default: {})", default.to_string_lossy());
        }
        self.item(&term, &format!("{}.", help.trim_end_matches('.')));
        let values: Vec<_> = arg
            .get_possible_values()
            .into_iter()
            .filter(|value| value.get_help().is_some())
            .collect();
        if !arg.get_action().takes_values()
            || arg.is_hide_possible_values_set()
            || values.is_empty()
        {
            return;
        }
        self.line(".RS 7");
        for value in values {
            let meaning = value
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            self.line(&format!(
                ".TP 14\n\\fB{}\\fR\n{}",
                escaped(value.get_name()),
                marked(&meaning)
            ));
        }
        self.line(".RE");
    }

    fn see_also(&mut self, names: impl Iterator<Item = String>) {
        self.heading("SEE ALSO");
        let names: Vec<_> = names
            .map(|name| format!(r"\fB{}\fR(1)", escaped(&name)))
            .collect();
        self.line(&names.join(",\n"));
    }
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|arg| !arg.is_positional() && !arg.is_hide_set())
}

fn lowercase(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

/// Returns prose, escaped, with text in backticks set in bold.
fn marked(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = text
        .split('`')
        .enumerate()
        .map(|(index, part)| match index % 2 {
            0 => escaped(part),
            _ => format!(r"\fB{}\fR", escaped(part)),
        });
    guarded(&parts.collect::<String>())
}

/// Returns text without characters that roff would interpret or draw differently.
fn escaped(text: &str) -> String {
    text.chars()
        .fold(String::with_capacity(text.len() + 8), |mut out, c| {
            match c {
                '\\' => out.push_str(r"\e"),
                '-' => out.push_str(r"\-"),
                '^' => out.push_str(r"\(ha"),
                '~' => out.push_str(r"\(ti"),
                '\'' => out.push_str(r"\(aq"),
                '"' => out.push_str(r"\(dq"),
                '`' => out.push_str(r"\(ga"),
                c => out.push(c),
            }
            out
        })
}

/// Protects a line that begins with a period, which roff would take for a command.
fn guarded(line: &str) -> String {
    if line.starts_with('.') {
        format!(r"\&{line}")
    } else {
        line.to_owned()
    }
}
