use super::super::command_step::CommandStep;
use super::super::literals::{find_literals, mask_literals};
use super::super::path_changes::PathChange;
use super::super::shell::*;
use super::{bash, says, summary, user};
use crate::session::dice::Dice;

/// Returns the steps: their words and directory.
fn steps(command: &str) -> Vec<String> {
    let folder = |step: &CommandStep| {
        if step.folder.is_empty() {
            String::new()
        } else {
            format!(" in {}", step.folder)
        }
    };
    CommandLine::parse(command)
        .steps
        .iter()
        .map(|step| step.words.join(" ") + &folder(step))
        .collect()
}

#[test]
fn a_command_line_is_its_programs() {
    assert_eq!(
        steps("cd a/b && npm run build 2>&1 | tail -3"),
        ["npm run build in a/b"]
    );
    assert_eq!(
        steps("git add . && git commit -m \"Fix; all && more\" && git push origin main"),
        ["git add .", "git commit", "git push origin main"]
    );
    assert_eq!(
        steps("RUST_LOG=x timeout 30 /usr/bin/cargo test --lib | grep FAILED"),
        ["cargo test"]
    );
    assert_eq!(
        steps("for dir in a b; do make -C $dir || exit 1; done"),
        ["make $dir"]
    );
    assert_eq!(
        steps("python3 -u scripts/a.py > out.txt"),
        ["python3 scripts/a.py out.txt"]
    );
    assert_eq!(
        steps("python3 - <<'EOF' # rm b\nrm c\nEOF\nmake \\\n test"),
        ["python3", "make test"]
    );
    assert_eq!(steps(""), Vec::<String>::new());
}

#[test]
fn a_step_is_like_another_of_the_same_program() {
    let alike = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|line| CommandLine::parse(line).steps.remove(0));
        one.runs_again(&other)
    };
    assert!(
        alike("git push", "git push -u origin main")
            && alike("cargo test --lib", "cd a && cargo test x")
    );
    assert!(alike("python a.py", "python a.py --all") && alike("npm test", "npm test -- --watch"));
    assert!(!alike("git push", "git commit -m x") && !alike("gh pr create", "gh pr view"));
    assert!(!alike("python a.py", "python b.py") && !alike("cd a && make", "cd b && make"));
    for (later, failed) in [
        ("python3 tides.py", "python tides.py"),
        ("poetry run pytest", "pytest tests/test_tides.py"),
        ("npx --yes jest", "jest tides"),
        ("pytest tests", "pytest tests/test_tides.py"),
        (
            "pytest tests/test_tides.py",
            "pytest tests/test_tides.py::test_low",
        ),
        ("go test ./...", "go test ./tides"),
    ] {
        assert!(alike(later, failed), "{later}");
    }
    for (later, failed) in [
        ("python -c 'print(1)'", "python tides.py"),
        ("pytest tests/a.py", "pytest tests"),
        ("pytest test", "pytest tests/a.py"),
        ("npx jest", "npx eslint"),
        ("gcc-13 tides.c", "gcc-14 tides.c"),
    ] {
        assert!(!alike(later, failed), "{later}");
    }
}

#[test]
fn shell_is_read_only_for_commands_that_only_look() {
    let looks = |command: &str| CommandLine::parse(command).is_read_only;
    for command in [
        "ls -la 2>/dev/null",
        "cd x; grep -rn foo src | head",
        "git log --oneline",
        "which x",
        "sed -n 1,5p a",
        "for dir in a b; do grep -n x $dir/c; done",
    ] {
        assert!(looks(command), "{command}");
    }
    for command in [
        "cat > a <<'EOF'\nx\nEOF",
        "sed -i s/a/b/ c",
        "make",
        "git push",
        "echo x >> y",
    ] {
        assert!(!looks(command), "{command}");
    }
}

#[test]
fn a_step_names_the_paths_that_it_removes() {
    for (line, removed) in [
        ("rm -rf build/ a.log", vec!["build/", "a.log"]),
        ("git rm -q src/a.ts", vec!["src/a.ts"]),
        ("mv a.ts b.ts", vec!["a.ts"]),
        ("git mv a.ts b.ts c.ts lib/", vec!["a.ts", "b.ts", "c.ts"]),
        ("rm *.log $OUT .", vec![]),
        ("cargo rm serde", vec![]),
    ] {
        let command = CommandLine::parse(line);
        assert_eq!(command.steps[0].removed_paths(), removed, "{line}");
    }
}

/// Each path is preceded by `-` if it is gone, `?` if it may be, `+` if it is there, and `*` if
/// that is also true of what is below it.
#[test]
fn a_command_line_changes_paths_in_order() {
    for (line, expected) in [
        ("rm a.rs && ls", "-a.rs"),
        ("cd /tmp/t && cd u && rm a.rs", "-/tmp/t/u:a.rs"),
        ("cd && rm a.rs", "-~:a.rs"),
        ("test -f a.rs || rm a.rs", "?a.rs"),
        ("(cd /tmp/t && rm a.rs b.rs)", "?a.rs ?b.rs)"),
        ("rm a.rs && cat > a.rs <<'EOF'\nx > y\nEOF", "-a.rs +a.rs"),
        ("cat <<'EOF' > a.rs\nx > y\nEOF", "+a.rs"),
        ("make > \"a b\" 2>&1; rm log", "+_ -log +a b"),
        ("mv a.rs b.rs src/", "+src/ +src/a.rs +src/b.rs -a.rs -b.rs"),
        ("cp -r old/ new", "+new +new/old"),
        ("touch a.rs && make | tee log", "+a.rs +log"),
        ("git checkout HEAD -- a.rs docs", "*HEAD *a.rs *docs"),
        (
            "git restore . && git stash pop && git reset --hard",
            "*. *. *.",
        ),
        ("git reset a.rs && ls", ""),
        ("rm -rf out && mkdir -p out/debug", "-out +out/debug"),
        ("git clone -b main https://host/ada/map src", "*src"),
        ("git clone git@host:ada/map.git", "*map"),
        ("git rm -q --cached a.rs", ""),
        ("git rm a.rs", "-a.rs"),
        ("git restore --staged a.rs", ""),
        ("git restore --staged --worktree a.rs", "*a.rs"),
    ] {
        let mut changes = Vec::new();
        for change in CommandLine::parse(line).path_changes {
            changes.push(match change {
                PathChange::Written(path) => format!("+{path}"),
                PathChange::Restored(path) => format!("*{path}"),
                PathChange::Removed(removed) => {
                    let mark = if removed.is_certain { "-" } else { "?" };
                    let colon = if removed.folder.is_empty() { "" } else { ":" };
                    format!("{mark}{}{colon}{}", removed.folder, removed.path)
                }
            });
        }
        assert_eq!(changes.join(" "), expected, "{line}");
    }
}

#[test]
fn the_exit_code_of_a_pipe_is_that_of_its_last_step() {
    for (line, hides) in [
        ("helm template . | promtool check", false),
        ("make; make test", false),
        ("make test | tail", true),
        ("make test; ls", true),
    ] {
        assert_eq!(
            CommandLine::parse(line).hides_last_exit_code,
            hides,
            "{line}"
        );
    }
}

#[test]
fn a_command_that_opens_a_shell_or_reads_a_document_hides_its_work() {
    for (line, hides) in [
        ("bash", true),
        ("sudo bash", true),
        ("nix develop", true),
        ("nix develop -c make", false),
        ("ssh pier", true),
        ("ssh pier make", false),
        ("ssh -V", false),
        ("bash draw.sh", false),
        ("bash -lc 'make map'", false),
        ("python3 - <<'PY'\nprint(1)\nPY", true),
        ("cat <<EOF\na\nEOF", true),
        ("cat > map.c <<EOF\na\nEOF", false),
        ("python3 draw.py <<EOF\na\nEOF", false),
        ("make", false),
        ("", false),
        ("<<", false),
    ] {
        assert_eq!(hides_work(line), hides, "{line}");
    }
    let text = summary(
        None,
        [
            user("Draw the map."),
            bash("make map", None),
            bash("nix develop", None),
            says("Drawn."),
        ],
    );
    assert!(text.contains("newest first: `make map`\n"), "{text}");
}

/// Quotes, comments and here-documents may begin in one another, or have no end.
#[test]
fn literals_are_disjoint_in_any_command_line() {
    let pieces = [
        "'", "\"", "$'", "\\", "\n", "#", " ", "<<A", "<<'A'", "<<''", "<<<", "A", "é", ">", "((",
        "$(cat ",
    ];
    let mut dice = Dice(1);
    for _ in 0..5000 {
        let mut line = String::new();
        for _ in 0..dice.below(16) {
            line += dice.pick(&pieces);
        }
        let mut end = 0;
        for literal in find_literals(&line) {
            assert!(end <= literal.range.start, "{line}");
            assert!(line.get(literal.range.clone()).is_some(), "{line}");
            end = literal.range.end;
        }
        assert_eq!(mask_literals(&line).len(), line.len(), "{line}");
        CommandLine::parse(&line);
    }
}
