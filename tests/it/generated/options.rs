//! The names of options, over all commands, and the page with all of them, `docs/options.md`.

use crate::every::value as example;
use crate::sandbox::{Sandbox, fixture};
use clap::{Arg, Command};
use std::collections::{BTreeMap, BTreeSet};

/// The values of options, by the names that the help has for them.
const VALUES: &[(&str, &str)] = &[
    (
        "AGENT",
        "an agent; the help of the command lists all. `--source` also takes several with commas between, and `all`",
    ),
    (
        "CMD",
        "a shell command, which reads its data from standard input",
    ),
    ("DIR", "a directory"),
    (
        "FILE",
        "a file to read, `-` for standard input; for `show --file`, a file that the session names",
    ),
    (
        "FORMAT",
        "a format of the output; the help of the command lists all",
    ),
    ("JSON", "a JSON value"),
    (
        "LANG",
        "a programming language, as the first line of a code block names it",
    ),
    (
        "KEY",
        "a key by which rows are grouped or sorted; the help of the command lists all",
    ),
    ("LAYOUT", "how branches are drawn: `trunk` or `pi`"),
    ("LEVEL", "a thinking level"),
    (
        "MODE",
        "the kind of entries to show; the help of the command lists all",
    ),
    ("N", "a number"),
    ("NAME", "a label, or the name of a session"),
    ("PATH", "a file to write, `-` for standard output"),
    ("PATTERN", "a regular expression"),
    ("PROVIDER/ID", "a model"),
    ("TOOL", "the name of a tool, such as `bash`"),
    ("REF", "a reference to an entry"),
    ("ROLE", "a role or type of entries"),
    ("SECONDS", "a number of seconds"),
    ("SESSION", "a session: a path, or a name such as `last`"),
    (
        "SIZE",
        "a number of bytes, such as `500000`, `64k` or `1.5M`",
    ),
    (
        "SUFFIX",
        "what is appended to the name of the old file, such as `.bak`",
    ),
    (
        "TEXT",
        "a text; for a message or a summary, `-` means standard input",
    ),
    ("TIME", "a time or an age"),
    (
        "TOKENS",
        "a number of tokens, such as `8000`, `8k` or `1.5M`",
    ),
    ("TYPE", "the type of a custom entry"),
    (
        "TYPE=CMD",
        "the type of custom entries, and the shell command that renders them",
    ),
    ("WHEN", "`auto`, `always` or `never`"),
    ("WORDS", "words to search for"),
];

/// Arguments that no option has as its value.
const ARGUMENTS: &[(&str, &str)] = &[
    (
        "RANGE",
        "a range of entries: `REF..REF2`, the entries after REF, up to REF2; `REF..`, the entries after REF, up to the end of the branch",
    ),
    (
        "SOURCE",
        "a session of another agent (a file, an id, a name, or words of its title), or a directory",
    ),
];

/// Options that every command has.
const COMMON: [&str; 5] = ["choose", "color", "hyperlink", "no-pager", "quiet"];

/// The commands, with their arguments.
fn verbs() -> Vec<Command> {
    let mut command = pisess::build_cli();
    command.build();
    command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
        .cloned()
        .collect()
}

/// An option, and the command that has it.
type Use<'a> = (&'a str, &'a Arg);

/// Returns the options by their names.
fn options(verbs: &[Command]) -> BTreeMap<&str, Vec<Use<'_>>> {
    let mut options: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for verb in verbs {
        for arg in verb.get_arguments().filter(|arg| !arg.is_hide_set()) {
            if let Some(name) = arg.get_long().filter(|name| *name != "help") {
                options
                    .entry(name)
                    .or_default()
                    .push((verb.get_name(), arg));
            }
        }
    }
    options
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Returns what an option means in every command: its help without what a command adds in
/// parentheses.
fn meaning(arg: &Arg) -> String {
    help(arg).split(" (").next().unwrap_or_default().to_owned()
}

fn value(arg: &Arg) -> Option<String> {
    let names = arg
        .get_value_names()
        .filter(|_| arg.get_action().takes_values())?;
    names.first().map(ToString::to_string)
}

fn default(arg: &Arg) -> String {
    if arg.is_hide_default_value_set() {
        return String::new();
    }

    let values = arg
        .get_default_values()
        .iter()
        .filter(|_| arg.get_action().takes_values());
    let values: Vec<_> = values
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    values
        .into_iter()
        .filter(|value| !value.is_empty())
        .map(|value| format!("`{value}`"))
        .collect()
}

/// Returns the default of an option. If it differs, each is followed by the commands that have it.
fn defaults(uses: &[Use]) -> String {
    let mut commands_by_default: Vec<(String, Vec<String>)> = Vec::new();
    for (verb, arg) in uses {
        let default = default(arg);
        let command = verb.to_string();
        match commands_by_default
            .iter_mut()
            .find(|(known, _)| *known == default)
        {
            Some((_, commands)) => commands.push(command),
            None => commands_by_default.push((default, vec![command])),
        }
    }
    if let [(default, _)] = &commands_by_default[..] {
        return default.clone();
    }
    let texts = commands_by_default.iter().map(|(default, commands)| {
        // The default of `export --as` depends on the name of the output file, for example.
        if default.is_empty() {
            let helps = commands
                .iter()
                .map(|command| format!("`pisess {command} --help`"));
            return format!("see {}", helps.collect::<Vec<_>>().join(", "));
        }
        let names = commands.iter().map(|command| format!("`{command}`"));
        format!("{default} ({})", names.collect::<Vec<_>>().join(" "))
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Divides the uses of an option into those with and those without a value.
fn by_value<'a>(uses: &[Use<'a>]) -> Vec<Vec<Use<'a>>> {
    let (with_value, without_value): (Vec<_>, Vec<_>) =
        uses.iter().partition(|(_, arg)| value(arg).is_some());
    [with_value, without_value]
        .into_iter()
        .filter(|uses| !uses.is_empty())
        .collect()
}

/// Returns an option as it is typed: `-o`, `--output PATH`.
fn typed(name: &str, arg: &Arg) -> String {
    let short = arg
        .get_short()
        .map(|short| format!("`-{short}`, "))
        .unwrap_or_default();
    let value = value(arg).map(|value| {
        if arg.is_require_equals_set() {
            format!("[={value}]")
        } else {
            format!(" {value}")
        }
    });
    format!("{short}`--{name}{}`", value.unwrap_or_default())
}

/// Returns the page `docs/options.md`.
pub fn page() -> String {
    let verbs = verbs();
    let mut page = String::from(
        "<!-- Made from src/ by tests/it/generated/options.rs; do not edit. -->\n\n# Options\n\n\
         A long option means the same everywhere, except `--images`; each command's help adds details. The short options `-o` and `-v` have other meanings in `grep` than elsewhere. A name can be shortened as long as it is \
         unambiguous. The names that an option had in earlier versions still work.\n\n\
         - [Options](#all-options) · [Commands](#commands) · [Values](#values)\n\n\
         ## All options\n\n\
         | option | meaning | default | commands |\n| --- | --- | --- | --- |\n",
    );
    let options = options(&verbs);
    let rows = options
        .iter()
        .flat_map(|(name, uses)| by_value(uses).into_iter().map(move |uses| (*name, uses)));
    for (name, uses) in rows {
        let is_common = COMMON.contains(&name);
        let commands: Vec<_> = uses.iter().map(|(verb, _)| format!("`{verb}`")).collect();
        let commands = if is_common {
            "all".to_owned()
        } else {
            commands.join(" ")
        };
        let is_same = uses.iter().all(|(_, arg)| help(arg) == help(uses[0].1));
        let text = if is_same {
            help(uses[0].1)
        } else {
            meaning(uses[0].1)
        };
        let cells = [
            typed(name, uses[0].1),
            escaped(&text),
            defaults(&uses),
            commands,
        ];
        page += &format!("| {} |\n", cells.join(" | "));
    }
    page += "\n## Commands\n\n| command | options |\n| --- | --- |\n";
    for mut verb in verbs.clone() {
        let usage = verb.render_usage().to_string();
        let forms = usage.trim_start_matches("Usage: ").lines().map(|form| {
            format!(
                "`{}`",
                form.trim()
                    .trim_start_matches("pisess ")
                    .replace("[OPTIONS] ", "")
            )
        });
        let own = verb
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(Arg::get_long);
        let mut own: Vec<_> = own
            .filter(|name| *name != "help" && !COMMON.contains(name))
            .collect();
        own.sort_unstable();
        let own: Vec<_> = own.iter().map(|name| format!("`--{name}`")).collect();
        page += &format!(
            "| {} | {} |\n",
            escaped(&forms.collect::<Vec<_>>().join("<br>")),
            own.join(" ")
        );
    }
    page += "\n## Values\n\n| value | what it is |\n| --- | --- |\n";
    for (name, what) in VALUES.iter().chain(ARGUMENTS) {
        page += &format!("| `{name}` | {what} |\n");
    }
    page
}

fn escaped(cell: &str) -> String {
    cell.replace('|', "\\|")
}

/// Options that mean something else in one command: `prune --images` selects what to prune.
const OTHER_MEANINGS: &[(&str, &str)] = &[("show", "images")];

/// Options that share their letter with another option, by the custom of other programs: `-o` of
/// grep, `-v` for details. No command has both options.
const OTHER_LETTERS: &[&str] = &["only-matching", "verbose"];

#[test]
fn one_name_has_one_meaning_and_one_meaning_one_name() {
    let verbs = verbs();
    let mut wrong = Vec::new();
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    let mut shorts = BTreeMap::new();
    let mut values = BTreeSet::new();
    for (name, mut uses) in options(&verbs) {
        uses.retain(|(verb, _)| !OTHER_MEANINGS.contains(&(*verb, name)));
        let facts = |arg: &Arg| (meaning(arg), value(arg), arg.get_short());
        let (first, arg) = uses[0];
        for (verb, other) in &uses[1..] {
            if facts(other) != facts(arg) {
                wrong.push(format!(
                    "--{name}: {first} {:?}, {verb} {:?}",
                    facts(arg),
                    facts(other)
                ));
            }
        }
        if let Some(other) = names.insert(meaning(arg), name) {
            wrong.push(format!(
                "--{other} and --{name} both mean: {}",
                meaning(arg)
            ));
        }
        let own_letter = arg.get_short().filter(|_| !OTHER_LETTERS.contains(&name));
        if let Some(other) = own_letter.and_then(|short| shorts.insert(short, name)) {
            wrong.push(format!("--{other} and --{name} have the same letter"));
        }
        values.extend(value(arg));
    }
    let known: BTreeSet<_> = VALUES.iter().map(|(name, _)| (*name).to_owned()).collect();
    wrong.extend(
        values
            .symmetric_difference(&known)
            .map(|name| format!("the value {name} is not in both tables")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Earlier spellings, and what they are now.
const FORMER: &[(&str, &str)] = &[
    (
        "tree ./two-branches.jsonl --at 1a2b3c04",
        "tree ./two-branches.jsonl 1a2b3c04",
    ),
    (
        "summarize ./two-branches.jsonl root --at 1a2b3c05 --prepare",
        "summarize ./two-branches.jsonl root --from 1a2b3c05 --prepare",
    ),
    (
        "fork ./two-branches.jsonl --all -o -",
        "fork ./two-branches.jsonl --branches -o -",
    ),
    (
        "grep paper ./two-branches.jsonl --files-with-matches",
        "grep paper ./two-branches.jsonl --files",
    ),
    (
        "edit ./two-branches.jsonl @ --undo -n",
        "edit ./two-branches.jsonl @ --restore -n",
    ),
];

/// What other programs and other commands call the same.
#[test]
fn other_words_for_the_same_are_understood() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl"]);
    for (known, other) in [
        ("list --json --sort modified .", "list --json --sort time ."),
        ("grep -c --sort time e .", "grep -c --sort modified e ."),
        (
            "grep -C 1 paper ./two-branches.jsonl",
            "grep --context 1 paper ./two-branches.jsonl",
        ),
    ] {
        assert_eq!(s.run(known), s.run(other), "{other}");
    }
}

#[test]
fn former_spellings_work_and_are_hidden() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for (former, now) in FORMER {
        let [done, wanted] = [former, now].map(|line| s.unchanged(line));
        assert_eq!((done.code, done.text()), (0, wanted.text()), "{former}");
        let mut words = former.split(' ');
        let (verb, option) = (
            words.next().unwrap(),
            words.find(|word| word.starts_with("--")).unwrap(),
        );
        let help = s.run(&format!("{verb} --help"));
        assert!(!help.contains(option), "{former}: {help}");
    }
}

/// What a usage line shows without brackets suffices.
#[test]
fn usage_lines_say_what_is_required() {
    for mut verb in verbs() {
        let usage = verb.render_usage().to_string();
        for form in usage.trim_start_matches("Usage: ").lines() {
            let words = form
                .split_whitespace()
                .skip(1)
                .filter(|word| !word.starts_with('['));
            let line: Vec<_> = words
                .map(
                    |word| match example(word.trim_matches(|c| "<>.".contains(c))) {
                        "F" => "./store/two-branches.jsonl",
                        "SOURCE" => "./other/plain.jsonl",
                        value => value,
                    },
                )
                .collect();
            let s = Sandbox::new();
            s.put("store/two-branches.jsonl", fixture("two-branches.jsonl"));
            s.put("other/plain.jsonl", fixture("claude/plain.jsonl"));
            // `diff SESSION` compares the session with its copy.
            s.put("store/copy.jsonl", fixture("two-branches.jsonl"));
            let call = s
                .pisess(&line.join(" "))
                .stdin("{\"type\":\"custom\",\"customType\":\"x\"}");
            let done = call
                .env(
                    "PI_CODING_AGENT_SESSION_DIR",
                    s.path("store").to_str().unwrap(),
                )
                .done();
            assert_ne!(done.code, 2, "{form}\n{done}");
        }
    }
}
