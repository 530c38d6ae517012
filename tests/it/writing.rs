//! Where results go: links, directories, permissions, other writers.

use crate::every::{self, CHANGES, MAKES, READS};
use crate::sandbox::{Done, Sandbox, fixture};
use insta::assert_snapshot;
use std::fs;

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn mode(s: &Sandbox, name: &str) -> u32 {
        s.path(name).metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_symbolic_link_is_followed() {
        for (name, count) in [("two-branches.jsonl", 9), ("v1.jsonl", 11)] {
            let s = Sandbox::new();
            s.put("real/a.jsonl", fixture(name));
            symlink("real/a.jsonl", s.path("link.jsonl")).unwrap();
            s.run("label ./link.jsonl @ n");
            assert!(
                s.path("link.jsonl")
                    .symlink_metadata()
                    .unwrap()
                    .is_symlink(),
                "{name}"
            );
            assert_eq!(s.text("real/a.jsonl").lines().count(), count, "{name}");
            assert_eq!(s.names(), ["link.jsonl", "real/a.jsonl"], "{name}");
        }
    }

    #[test]
    fn a_hard_link_is_appended_to_and_not_rewritten() {
        let s = Sandbox::with(&["v1.jsonl", "two-branches.jsonl"]);
        fs::hard_link(s.path("v1.jsonl"), s.path("v1-too.jsonl")).unwrap();
        fs::hard_link(s.path("two-branches.jsonl"), s.path("two-too.jsonl")).unwrap();
        assert_snapshot!(s.unchanged("label ./v1.jsonl @ n").fails(2), @"cannot rewrite ./v1.jsonl: it has 2 hard links (hint: write the result elsewhere with -o, or remove the other links)");
        s.unchanged("migrate ./v1.jsonl").fails(2);
        s.run("label ./two-branches.jsonl @ n");
        assert_eq!(s.bytes("two-too.jsonl"), s.bytes("two-branches.jsonl"));
    }

    /// Each command that changes a session, as an append and as a rewrite.
    #[test]
    fn every_change_goes_through_a_link_and_tears_no_hard_one() {
        for line in CHANGES.iter() {
            for name in ["two-branches.jsonl", "v1.jsonl"] {
                let s = Sandbox::new();
                s.put("real/a", fixture(name));
                symlink("real/a", s.path("link")).unwrap();
                let done = s.pisess(&every::of(line, "./link")).done();
                assert!(done.code <= 1, "{line} {name}: {done}");
                assert!(
                    s.path("link").symlink_metadata().unwrap().is_symlink(),
                    "{line} {name}"
                );
                let is_changed = s.bytes("real/a") != fixture(name);

                s.put("real/a", fixture(name));
                fs::hard_link(s.path("real/a"), s.path("hard")).unwrap();
                let done = s.pisess(&every::of(line, "./hard")).done();
                let is_rewrite = name == "v1.jsonl" && is_changed;
                assert_eq!(done.code == 2, is_rewrite, "{line} {name}: {done}");
                assert_eq!(
                    done.stderr.contains("it has 2 hard links"),
                    is_rewrite,
                    "{line} {name}: {done}"
                );
                assert_eq!(
                    s.path("hard").metadata().unwrap().nlink(),
                    2,
                    "{line} {name}"
                );
                assert_eq!(
                    s.bytes("real/a") != fixture(name),
                    is_changed && !is_rewrite,
                    "{line} {name}"
                );
            }
        }
    }

    /// A stream can be read once, which is enough for every command but `migrate`, which requires
    /// files. The home directory exists because `fork --for` puts the fork of a file below it, and
    /// that of a stream on standard output.
    #[test]
    fn every_command_reads_a_fifo() {
        let s = Sandbox::with(&["two-branches.jsonl"]);
        fs::create_dir(s.path("home")).unwrap();
        let home = s.path("home").to_str().unwrap().to_owned();
        assert!(
            std::process::Command::new("mkfifo")
                .arg(s.path("fifo"))
                .status()
                .unwrap()
                .success()
        );
        let said = s.unchanged("migrate ./fifo --check").fails(2);
        assert!(
            said.contains("./fifo: not a regular file (hint: "),
            "{said}"
        );
        for line in READS.iter() {
            // An agent cannot open a FIFO.
            if line.starts_with("migrate") || line.starts_with("resume") {
                continue;
            }
            let path = s.path("fifo");
            let writer =
                std::thread::spawn(move || fs::write(path, fixture("two-branches.jsonl")).unwrap());
            // A process of its own: a child that another test forks meanwhile would inherit the
            // reading end of the FIFO, and the next writer would write to nobody.
            let piped = s
                .pisess(&every::of(line, "./fifo"))
                .env("HOME", &home)
                .real();
            writer.join().unwrap();
            let read = s
                .pisess(&every::of(line, "./two-branches.jsonl"))
                .env("HOME", &home)
                .real();
            assert_eq!(piped.code, read.code, "{line}: {piped}");
        }
    }

    #[test]
    fn a_rewrite_keeps_the_mode() {
        let s = Sandbox::with(&["v1.jsonl"]);
        fs::set_permissions(s.path("v1.jsonl"), PermissionsExt::from_mode(0o600)).unwrap();
        s.run("migrate ./v1.jsonl");
        assert_eq!(mode(&s, "v1.jsonl"), 0o600);
        s.put("v1.jsonl", fixture("v1.jsonl"));
        fs::set_permissions(s.path("v1.jsonl"), PermissionsExt::from_mode(0o664)).unwrap();
        s.run("label ./v1.jsonl @ n");
        assert_eq!(mode(&s, "v1.jsonl"), 0o664);
    }

    #[test]
    fn an_append_keeps_the_inode_and_a_rewrite_does_not() {
        let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl"]);
        let inode = |name: &str| s.path(name).metadata().unwrap().ino();
        let before = (inode("two-branches.jsonl"), inode("v1.jsonl"));
        s.run("label ./two-branches.jsonl @ n");
        s.run("label ./v1.jsonl @ n");
        assert_eq!(inode("two-branches.jsonl"), before.0);
        assert_ne!(inode("v1.jsonl"), before.1);
    }

    #[test]
    fn a_fifo_is_read() {
        let s = Sandbox::new();
        let made = std::process::Command::new("mkfifo")
            .arg(s.path("fifo"))
            .status()
            .unwrap();
        assert!(made.success());
        let path = s.path("fifo");
        let writer =
            std::thread::spawn(move || fs::write(path, fixture("two-branches.jsonl")).unwrap());
        assert_eq!(s.run("tree ./fifo").lines().count(), 6);
        writer.join().unwrap();
    }

    #[test]
    fn an_output_to_a_fifo_is_written_through() {
        let s = Sandbox::with(&["two-branches.jsonl"]);
        assert!(
            std::process::Command::new("mkfifo")
                .arg(s.path("fifo"))
                .status()
                .unwrap()
                .success()
        );
        let path = s.path("fifo");
        let reader = std::thread::spawn(move || fs::read(path).unwrap());
        s.run("label ./two-branches.jsonl @ n -o ./fifo --force");
        let read = reader.join().unwrap();
        assert!(read.starts_with(&fixture("two-branches.jsonl")));
        assert_eq!(s.names(), ["fifo", "two-branches.jsonl"]);
    }
}

#[test]
fn a_locked_session_is_busy() {
    let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl"]);
    for name in s.names() {
        let file = fs::OpenOptions::new()
            .append(true)
            .open(s.path(&name))
            .unwrap();
        file.lock().unwrap();
        let said = s
            .unchanged(&format!("label ./{name} @ n --wait 0.1"))
            .fails(3);
        assert!(
            said.contains(&format!("./{name}")) && said.contains("hint: wait"),
            "{said}"
        );
        // Reading needs no lock.
        s.run(&format!("tree ./{name}"));
        drop(file);
        s.run(&format!("label ./{name} @ n --wait 0.1"));
    }
}

/// What stands in the way of a change in place.
#[derive(Clone, Copy, Debug)]
enum Obstacle {
    /// Another process has locked the session.
    Lock,
    /// The session has a second name, so it can be appended to, but not rewritten.
    HardLink,
}

#[test]
fn a_dry_run_is_refused_as_the_run_is() {
    let mut differing = Vec::new();
    for obstacle in [Obstacle::Lock, Obstacle::HardLink] {
        for line in CHANGES.iter() {
            for name in ["two-branches.jsonl", "v1.jsonl"] {
                let line = every::of(line, &format!("./{name}")) + " --wait 0";
                let planned = run_against(obstacle, name, &format!("{line} -n"));
                let run = run_against(obstacle, name, &line);
                let is_same = planned.code == run.code
                    && (run.code < 2 || planned.stderr.ends_with(&run.stderr));
                if !is_same {
                    differing.push(format!("{obstacle:?} {line}\n{planned}\n{run}"));
                }
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}

#[test]
fn a_dry_run_is_refused_if_the_output_exists() {
    let mut differing = Vec::new();
    for line in MAKES.iter() {
        let has_no_dry_run = ["export", "join"].iter().any(|verb| line.starts_with(verb));
        if has_no_dry_run {
            continue;
        }
        for (output, force) in [("./new", ""), ("./two-branches.jsonl", " --force")] {
            let line = every::of(line, "./two-branches.jsonl").replace("./new", output) + force;
            let s = Sandbox::with(&["two-branches.jsonl"]);
            s.put("new", b"mine");
            let planned = s.pisess(&format!("{line} -n")).done();
            let run = s.pisess(&line).done();
            let is_same = planned.code == run.code && planned.stderr.ends_with(&run.stderr);
            if run.code == 0 || !is_same {
                differing.push(format!("{line}\n{planned}\n{run}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}

/// Runs a command on a session with an obstacle.
fn run_against(obstacle: Obstacle, name: &str, line: &str) -> Done {
    let s = Sandbox::with(&[name]);
    match obstacle {
        Obstacle::Lock => {
            let path = s.path(name);
            let file = fs::OpenOptions::new().append(true).open(path).unwrap();
            file.lock().unwrap();
            let done = s.pisess(line).done();
            drop(file);
            done
        }
        Obstacle::HardLink => {
            fs::hard_link(s.path(name), s.path("other-name.jsonl")).unwrap();
            s.pisess(line).done()
        }
    }
}

#[test]
fn a_batch_with_a_busy_file_goes_on() {
    let s = Sandbox::with(&["v1.jsonl", "v2.jsonl", "v4.jsonl"]);
    let file = fs::OpenOptions::new()
        .append(true)
        .open(s.path("v1.jsonl"))
        .unwrap();
    file.lock().unwrap();
    assert_eq!(
        s.pisess("migrate --wait 0 ./v1.jsonl ./v2.jsonl")
            .done()
            .code,
        3
    );
    assert!(s.text("v2.jsonl").contains("\"version\":3"));
    assert_eq!(s.bytes("v1.jsonl"), fixture("v1.jsonl"));
    // An error takes precedence over a busy session.
    assert_eq!(
        s.pisess("migrate --wait 0 ./v1.jsonl ./v4.jsonl")
            .done()
            .code,
        2
    );
}

#[test]
fn older_files_stay_when_the_operation_does_not_happen() {
    let s = Sandbox::with(&["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"]);
    for name in s.names() {
        for line in [
            format!("label ./{name} gone n"),
            format!("label ./{name} root n"),
            format!("label ./{name} @ ''"),
            format!("label --clear ./{name} @^{{user}}"),
            format!("label -n ./{name} @ n"),
            format!("label ./{name}"),
            format!("compact ./{name}"),
            format!("compact ./{name} --if-over 1000000 --first-kept none"),
            format!("compact ./{name} --first-kept none --summarizer false"),
            format!("compact ./{name} --first-kept none --summary ''"),
            format!("compact ./{name} --prepare --first-kept none"),
            format!("compact ./{name} --prompt --first-kept none"),
            format!("summarize ./{name} @"),
            format!("summarize ./{name} root --summarizer false"),
            format!("summarize ./{name} root --prepare"),
            format!("summarize ./{name} root --prompt"),
            format!("switch ./{name} @"),
            format!("switch ./{name} root --prepare"),
            format!("pop ./{name} --summarizer false"),
            format!("pop -n ./{name}"),
            format!("fork ./{name} -n"),
            format!("migrate -n ./{name}"),
            format!("migrate --check ./{name}"),
        ] {
            s.unchanged(&line);
        }
    }
}

#[test]
fn another_session_can_be_written_from_an_older_one() {
    for name in ["v1.jsonl", "v2.jsonl", "draft-tree.jsonl"] {
        let s = Sandbox::with(&[name]);
        for line in [
            format!("label ./{name} @ n -o ./a.jsonl"),
            format!("compact ./{name} --first-kept none --summary s -o ./b.jsonl"),
            format!("summarize ./{name} root --summary s -o ./c.jsonl"),
            format!("switch ./{name} root -o ./d.jsonl"),
        ] {
            s.run(&line);
        }
        assert_eq!(s.bytes(name), fixture(name), "{name}");
        for new in ["a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"] {
            assert!(
                s.run(&format!("migrate --check ./{new}"))
                    .contains("already version 3"),
                "{name} {new}"
            );
            s.run(&format!("tree ./{new}"));
        }
    }
}

#[test]
fn ids_skip_those_that_are_taken() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let ids: Vec<_> = (0..5)
        .map(|at| s.run(&format!("label ./two-branches.jsonl @^{{user}} n{at}")))
        .collect();
    let different: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(different.len(), 5);
}

#[test]
fn an_oh_my_pi_file_in_use_is_left_alone() {
    let s = Sandbox::with(&["omp.jsonl", "omp-no-slot.jsonl"]);
    s.run("label ./omp-no-slot.jsonl @ n --wait 0 -o ./copy.jsonl");
    // The last entry was written just now, and is not a session_exit.
    let line = crate::sandbox::user("aaaa0001", None, "still talking");
    let line = line.replace(
        "2026-01-01T00:00:01.000Z",
        &jiff::Timestamp::now().to_string(),
    );
    s.put(
        "live.jsonl",
        [
            fixture("omp-no-slot.jsonl"),
            line.into_bytes(),
            b"\n".to_vec(),
        ]
        .concat(),
    );
    let said = s.unchanged("label ./live.jsonl @ n --wait 0").fails(3);
    assert!(said.starts_with("cannot write ./live.jsonl: "), "{said}");
    assert!(
        said.ends_with("(hint: end that agent's session first, or use --force to write anyway)"),
        "{said}"
    );
    s.run("label ./live.jsonl @ n --wait 0 --force");
    // The session ends with a session_exit.
    s.run("label ./omp.jsonl @ n --wait 0");
}

#[test]
fn a_title_line_of_another_width_goes_back_as_it_is() {
    let s = Sandbox::with(&["hazards/title-slot-too-short.jsonl"]);
    s.run("label --force ./title-slot-too-short.jsonl @ n");
    assert!(
        s.bytes("title-slot-too-short.jsonl")
            .starts_with(&fixture("hazards/title-slot-too-short.jsonl"))
    );
}

/// A command that writes several files and is killed leaves the first of them: the same command
/// gives the result that it would have given.
#[test]
fn the_same_command_completes_what_a_kill_left() {
    let damaged = fixture("hazards/malformed-v3.jsonl");
    for (line, session, made) in [
        (
            "migrate --backup ./s.jsonl",
            fixture("v1.jsonl"),
            &["s.jsonl.bak"][..],
        ),
        (
            "check --repair --backup ./s.jsonl",
            damaged.clone(),
            &["s.jsonl.rejected", "s.jsonl.bak"],
        ),
        (
            "check --repair ./s.jsonl -o ./copy",
            damaged,
            &["copy.rejected"],
        ),
        (
            "prune --over 1k ./s.jsonl",
            crate::prune::large().into(),
            &["s.jsonl.pruned"],
        ),
        (
            "prune --branch ee2b93f5 ./s.jsonl",
            fixture("tour.jsonl"),
            &["s.jsonl.pruned"],
        ),
        (
            "prune --compacted ./s.jsonl",
            crate::prune_compacted::compacted(),
            &["s.jsonl.pruned"],
        ),
        (
            "prune --over 1k ./s.jsonl -o ./copy",
            crate::prune::large().into(),
            &["copy.pruned"],
        ),
    ] {
        let s = Sandbox::new();
        s.put("s.jsonl", &session);
        let code = s.pisess(line).done().code;
        let whole = s.files();
        for left in 1..=made.len() {
            let s = Sandbox::new();
            s.put("s.jsonl", &session);
            made[..left]
                .iter()
                .for_each(|name| s.put(name, &whole[*name]));
            assert_eq!(s.pisess(line).done().code, code, "{line}, {left}");
            assert!(s.files() == whole, "{line}, {left}: {:?}", s.names());
        }
    }
}
