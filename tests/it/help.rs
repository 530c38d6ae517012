//! The help: what `pisess` alone prints, the groups of `--help`, and the options of each command.

use crate::sandbox::Sandbox;
use clap::Arg;

/// The options that a command has of its own or shares, without those that are hidden.
fn visible_options(verb: &str) -> Vec<Arg> {
    let mut command = pisess::build_cli();
    command.build();
    let command = command.find_subcommand(verb).unwrap();
    let options = command
        .get_arguments()
        .filter(|arg| arg.get_long().is_some() && !arg.is_hide_set());
    options.cloned().collect()
}

/// Whether a help text names an option: `--by` is not `--by-day`.
fn names_option(help: &str, option: &str) -> bool {
    let mut rest = help;
    while let Some(at) = rest.find(option) {
        rest = &rest[at + option.len()..];
        if !rest.starts_with(|next: char| next == '-' || next.is_alphanumeric()) {
            return true;
        }
    }
    false
}

#[test]
fn pisess_alone_prints_half_a_screen() {
    let s = Sandbox::new();
    let done = s.pisess("").done();
    assert_eq!((done.code, done.stdout.len()), (2, 0));
    let text = done.stderr;
    assert!(text.lines().count() <= 24, "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for (group, name) in pisess::command_groups() {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("  {group} ")));
        assert!(row.unwrap().contains(name), "{name}: {text}");
    }
    for form in [
        "pisess --help",
        "pisess COMMAND --help",
        "pisess help TOPIC",
    ] {
        assert!(text.contains(form), "{text}");
    }
    assert_eq!(s.run("-h"), text);
}

#[test]
fn the_list_of_commands_has_groups() {
    let s = Sandbox::new();
    let help = s.run("--help");
    let mut rest = &help[..];
    let mut last_group = "";
    for (group, name) in pisess::command_groups() {
        if group != last_group {
            let heading = format!("\n{}{}:\n", group[..1].to_uppercase(), &group[1..]);
            let at = rest.find(&heading).unwrap_or_else(|| panic!("{heading}"));
            rest = &rest[at + heading.len()..];
            last_group = group;
        }
        let row = rest.lines().next().unwrap();
        assert!(row.starts_with(&format!("  {name} ")), "{name}: {row}");
        rest = &rest[row.len() + 1..];
    }
    let groups: Vec<_> = pisess::command_groups().map(|(group, _)| group).collect();
    let mut distinct = groups.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), 7);
    assert!(!help.contains("Exit codes"), "{help}");
    assert!(help.contains("smaller; what is removed can be restored"));
}

#[test]
fn examples_precede_the_options() {
    let s = Sandbox::new();
    for (verb, _) in pisess::command_guides() {
        let help = s.run(&format!("{verb} --help"));
        let usage = help.find("\nUsage: ").unwrap();
        let examples = help.find("\nExamples:\n").unwrap();
        let options = help.find("\nOptions:\n").unwrap();
        assert!(usage < examples && examples < options, "{help}");
        assert!(!help.contains("\n\n\n"), "{help}");
    }
}

/// Both forms of the help name the same options, and the long one explains all of them.
#[test]
fn both_forms_of_the_help_have_all_options() {
    let s = Sandbox::new();
    for (verb, _) in pisess::command_guides() {
        let short = s.run(&format!("{verb} -h"));
        let long = s.run(&format!("{verb} --help"));
        let words: Vec<_> = long.split_whitespace().collect();
        let long_line = words.join(" ");
        for option in visible_options(verb) {
            let name = format!("--{}", option.get_long().unwrap());
            assert!(names_option(&short, &name), "{verb} -h: {name}");
            assert!(names_option(&long, &name), "{verb} --help: {name}");
            let meaning = option
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            if name != "--help" {
                assert!(
                    long_line.contains(&meaning),
                    "{verb} --help: {name} {meaning}"
                );
            }
        }
        assert!(
            short.lines().count() * 3 < long.lines().count() * 2,
            "{verb}"
        );
    }
}
