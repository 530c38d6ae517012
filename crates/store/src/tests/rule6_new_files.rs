//! Rule 6: new files and backups never overwrite, and nobody gains read access.

use super::super::create::{NewFile, PermissionsOf, create_on, rename_new_on};
use super::super::{InputFile, create, create_checked, create_private, same_file};
use super::seam::{EOPNOTSUPP, EPERM, Fault};
use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

fn make(path: &Path, input: InputFile, force: bool) -> Result<Committed, StoreError> {
    create(path, input, force, &mut |out| out.write_all(NEW.as_bytes()))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_new_file_is_private_or_as_its_source() {
    let bench = Bench::new(OLD);
    make(&bench.at("new.jsonl"), InputFile::Stream, false).unwrap();
    assert_eq!(fs::read_to_string(bench.at("new.jsonl")).unwrap(), NEW);
    assert_eq!(mode(&bench.at("new.jsonl")), 0o600);
    for wanted in [0o600, 0o640, 0o664, 0o400] {
        fs::set_permissions(&bench.path, fs::Permissions::from_mode(wanted)).unwrap();
        let path = bench.at(&format!("{wanted:o}.jsonl"));
        make(&path, InputFile::Open(&bench.open()), false).unwrap();
        assert_eq!(mode(&path), wanted);
    }
}

#[test]
fn an_export_is_private_or_as_the_file_that_it_replaces() {
    let bench = Bench::new(OLD);
    let export = |path: &Path, force: bool| {
        let mut write = |out: &mut dyn Write| out.write_all(NEW.as_bytes());
        create_private(
            path,
            InputFile::Open(&bench.open()),
            force,
            &mut write,
            None,
        )
        .map(drop)
    };
    fs::set_permissions(&bench.path, fs::Permissions::from_mode(0o644)).unwrap();
    let page = bench.at("page.html");
    export(&page, false).unwrap();
    assert_eq!(mode(&page), 0o600);
    for wanted in [0o644, 0o640, 0o400, 0o600] {
        fs::write(&page, "earlier").ok();
        fs::set_permissions(&page, fs::Permissions::from_mode(wanted)).unwrap();
        export(&page, true).unwrap();
        assert_eq!(mode(&page), wanted);
        assert_eq!(fs::read_to_string(&page).unwrap(), NEW);
    }
    export(&bench.path, true).unwrap_err();
    assert_eq!(bench.content(), OLD);
}

/// The group bits of a file with an ACL are its mask, not the permissions of the group.
#[test]
#[cfg(target_os = "linux")]
fn the_acl_of_the_source_comes_along_or_the_group_stays_out() {
    let bench = Bench::new(OLD);
    let file = fs::File::open(&bench.path).unwrap();
    let acl = super::rule2_rewrite::acl_for(65_534);
    DISK.set_xattr(&file, "system.posix_acl_access".as_ref(), &acl)
        .expect("ACLs");
    assert_eq!(mode(&bench.path), 0o660);
    make(
        &bench.at("with.jsonl"),
        InputFile::Open(&bench.open()),
        false,
    )
    .unwrap();
    let kept = DISK
        .xattrs(&fs::File::open(bench.at("with.jsonl")).unwrap())
        .unwrap();
    assert!(kept.contains(&("system.posix_acl_access".into(), acl)));
    bench.seam.break_calls("set_xattr", EOPNOTSUPP);
    let mut nothing = |_: &mut dyn Write| Ok(());
    let source = bench.open();
    let new = NewFile {
        path: &bench.at("without.jsonl"),
        input: InputFile::Open(&source),
        permissions: PermissionsOf::Input,
        force: false,
    };
    create_on(bench.seam, &new, &mut nothing, None).unwrap();
    assert_eq!(mode(new.path), 0o600);
}

#[test]
fn a_file_that_is_refused_after_it_was_written_does_not_appear() {
    let bench = Bench::new(OLD);
    let check = |accepts: bool, force: bool, path: &Path| {
        create_checked(
            path,
            InputFile::Open(&bench.open()),
            force,
            &mut |out| out.write_all(NEW.as_bytes()),
            &mut |written| {
                let mut seen = vec![0; written.len() as usize];
                written.read_exact_at(&mut seen, 0)?;
                assert_eq!(seen, NEW.as_bytes());
                if accepts {
                    Ok(())
                } else {
                    Err(std::io::Error::other("refused"))
                }
            },
        )
    };
    let other = bench.at("other.jsonl");
    assert!(check(false, false, &other).is_err());
    assert_eq!(bench.names(), ["s.jsonl"]);
    fs::write(&other, "other\n").unwrap();
    assert!(check(false, true, &other).is_err());
    assert_eq!(
        fs::read_to_string(&other).unwrap(),
        "other\n",
        "what it would replace stays"
    );
    check(true, true, &other).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), NEW);
    // What is in a FIFO cannot be taken back.
    let fifo = bench.fifo("fifo");
    for (accepts, wanted) in [(false, ""), (true, NEW)] {
        let reader = Command::new("cat")
            .arg(&fifo)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(check(accepts, false, &fifo).is_ok(), accepts);
        assert_eq!(
            String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap(),
            wanted
        );
    }
}

#[test]
fn an_existing_file_is_refused_without_force() {
    let bench = Bench::new(OLD);
    let other = bench.at("other.jsonl");
    fs::write(&other, "other\n").unwrap();
    let error = make(&other, InputFile::Open(&bench.open()), false).unwrap_err();
    assert!(
        error.kind() == Some(ErrorKind::AlreadyExists) && !error.is_busy(),
        "{error:?}"
    );
    assert_eq!(fs::read_to_string(&other).unwrap(), "other\n");
    make(&other, InputFile::Open(&bench.open()), true).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), NEW);
    assert_eq!(bench.names(), ["other.jsonl", "s.jsonl"]);
}

/// Two creators cannot both succeed: the name is taken between the check and the rename.
#[test]
fn a_name_taken_meanwhile_is_refused() {
    let bench = Bench::new(OLD);
    let path = bench.at("new.jsonl");
    let theirs = path.clone();
    let error = create(&path, InputFile::Stream, false, &mut |out| {
        fs::write(&theirs, "theirs\n")?;
        out.write_all(NEW.as_bytes())
    });
    assert_eq!(error.unwrap_err().kind(), Some(ErrorKind::AlreadyExists));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
    assert_eq!(bench.names(), ["new.jsonl", "s.jsonl"]);
}

#[test]
fn the_input_is_refused_by_any_name() {
    let bench = Bench::new(OLD);
    symlink("s.jsonl", bench.at("soft.jsonl")).unwrap();
    fs::hard_link(&bench.path, bench.at("hard.jsonl")).unwrap();
    for name in ["s.jsonl", "soft.jsonl", "hard.jsonl", "./s.jsonl"] {
        let error = make(&bench.at(name), InputFile::Open(&bench.open()), true).unwrap_err();
        assert!(
            matches!(error.cause, Cause::SameAsInput),
            "{name}: {error:?}"
        );
    }
    assert_eq!(bench.content(), OLD);
    // A converted input is not open, but its path is known.
    let converted = InputFile::Converted(&bench.path);
    for name in ["s.jsonl", "soft.jsonl", "hard.jsonl"] {
        let error = make(&bench.at(name), converted, true).unwrap_err();
        assert!(matches!(error.cause, Cause::SameAsInput), "{name}");
    }
    make(&bench.at("other.jsonl"), converted, false).unwrap();
    let behind_redirection = fs::OpenOptions::new()
        .append(true)
        .open(&bench.path)
        .unwrap();
    assert!(same_file(bench.open().handle(), &behind_redirection));
    assert!(!same_file(
        bench.open().handle(),
        fs::File::open("/dev/null").unwrap()
    ));
}

#[test]
fn other_places_are_refused_or_followed() {
    let bench = Bench::new(OLD);
    let refused = |path: &Path| {
        make(path, InputFile::Stream, true)
            .unwrap_err()
            .kind()
            .unwrap()
    };
    assert_eq!(refused(bench.folder.path()), ErrorKind::IsADirectory);
    assert_eq!(refused(&bench.at("no/new.jsonl")), ErrorKind::NotFound);
    assert_eq!(refused(&bench.at("new/")), ErrorKind::IsADirectory);
    assert_eq!(refused(&bench.at("s.jsonl/new")), ErrorKind::NotADirectory);
    fs::create_dir(bench.at("there")).unwrap();
    symlink("there/new.jsonl", bench.at("to.jsonl")).unwrap();
    make(&bench.at("to.jsonl"), InputFile::Stream, false).unwrap();
    assert_eq!(
        fs::read_to_string(bench.at("there/new.jsonl")).unwrap(),
        NEW
    );
    assert!(
        fs::symlink_metadata(bench.at("to.jsonl"))
            .unwrap()
            .is_symlink()
    );
    symlink("loop", bench.at("loop")).unwrap();
    assert!(make(&bench.at("loop"), InputFile::Stream, false).is_err());
    fs::write(bench.at("one"), "1").unwrap();
    fs::hard_link(bench.at("one"), bench.at("two")).unwrap();
    assert!(matches!(
        make(&bench.at("two"), InputFile::Stream, true),
        Err(StoreError {
            cause: Cause::HardLinked(_),
            ..
        })
    ));
}

/// FIFOs and devices stay what they are. `/dev/full` reports a full disk.
#[test]
fn make_writes_through_fifos_and_devices() {
    let bench = Bench::new(OLD);
    let fifo = bench.fifo("fifo");
    let reader = Command::new("cat")
        .arg(&fifo)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    make(&fifo, InputFile::Open(&bench.open()), false).unwrap();
    assert_eq!(reader.wait_with_output().unwrap().stdout, NEW.as_bytes());
    assert!(!fs::metadata(&fifo).unwrap().is_file());
    make(Path::new("/dev/null"), InputFile::Stream, false).unwrap();
    let error = make(Path::new("/dev/full"), InputFile::Stream, true).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("/dev/full: no space left on device"),
        "{error}"
    );
    assert!(!fs::metadata("/dev/full").unwrap().is_file());
}

/// A backup has the content and the attributes of the old file, and shares nothing with the new
/// one: an append to one does not appear in the other, and both can be rewritten.
#[test]
fn a_backup_is_a_file_of_its_own_and_never_overwrites() {
    let bench = Bench::new(OLD);
    fs::set_permissions(&bench.path, fs::Permissions::from_mode(0o640)).unwrap();
    let written =
        fs::metadata(&bench.path).unwrap().modified().unwrap() - Duration::from_secs(9_999);
    fs::File::open(&bench.path)
        .unwrap()
        .set_modified(written)
        .unwrap();
    let backup = bench.at("s.jsonl.bak");
    rewrite_with_backup(bench.lock(), &backup).unwrap();
    assert_eq!(
        (fs::read_to_string(&backup).unwrap().as_str(), mode(&backup)),
        (OLD, 0o640)
    );
    assert_eq!(fs::metadata(&backup).unwrap().modified().unwrap(), written);

    append_to(&bench.path, LINE);
    append_to(&backup, "other\n");
    let error = rewrite_with_backup(bench.lock(), &backup).unwrap_err();
    assert!(
        error.kind() == Some(ErrorKind::AlreadyExists) && error.path == backup,
        "{error:?}"
    );
    assert_eq!(bench.content(), format!("{NEW}{LINE}"));
    assert_eq!(
        fs::read_to_string(&backup).unwrap(),
        format!("{OLD}other\n")
    );
    assert_eq!(bench.names().len(), 2);
    for path in [&bench.path, &backup] {
        rewrite(
            lock_on(&DISK, &SessionFile::open(path).unwrap(), &now(PI)).unwrap(),
            OLD,
        )
        .unwrap();
    }
}

/// The directory of the new name is synced first: a crash in between must not leave the file
/// without a name.
#[test]
fn a_move_syncs_the_new_name_before_the_old() {
    // Each call fails once, and the warning names its directory.
    for (call, synced) in [(1, "to"), (2, "from")] {
        let bench = Bench::on(Seam::failing_at(call, Fault::Eio), OLD);
        let folders = ["from", "to"].map(|name| bench.at(name));
        for folder in &folders {
            fs::create_dir(folder).unwrap();
        }
        let [from, to] = folders.map(|folder| folder.join("s.jsonl"));
        fs::rename(&bench.path, &from).unwrap();

        let committed = rename_new_on(bench.seam, &from, &to).unwrap();
        let log = bench.seam.log();
        assert_eq!(log, ["rename_new", "sync_folder", "sync_folder"]);
        let [warning] = &*committed.warnings else {
            panic!("{:?}", committed.warnings)
        };
        assert_eq!(warning.path, bench.at(synced));
        assert_eq!(fs::read_to_string(&to).unwrap(), OLD);
    }
}

/// If the commit fails, no backup remains.
#[test]
fn a_backup_goes_with_a_commit_that_failed() {
    for broken in ["rename", "set_modified", "rename_new"] {
        let bench = Bench::new(OLD);
        bench.seam.break_calls(broken, EPERM);
        rewrite_with_backup(bench.lock(), &bench.at("bak")).unwrap_err();
        assert_eq!(
            (bench.content().as_str(), bench.names()),
            (OLD, vec!["s.jsonl".to_owned()])
        );
    }
}
