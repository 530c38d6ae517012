//! Rule 2: a rewrite keeps the attributes of a file, and is one rename.

use super::seam::{EEXIST, EOPNOTSUPP, EPERM};
use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

/// The file is synced before it gets its name, and the directory after.
#[test]
fn the_order_is_write_sync_rename_sync() {
    let bench = Bench::new(OLD);
    bench.rewrite(&now(PI), NEW).unwrap();
    let order: Vec<_> = bench
        .seam
        .log()
        .into_iter()
        .filter(|call| ["write", "set_mode", "sync", "rename", "sync_folder"].contains(call))
        .collect();
    assert_eq!(
        order,
        ["write", "set_mode", "sync", "rename", "sync_folder"]
    );
}

/// While it is written, it is hidden, private, and has a name that no agent lists or promotes.
#[test]
fn the_temporary_file_is_none_of_the_agents() {
    let bench = Bench::new(OLD);
    let folder = bench.folder.path().to_owned();
    let mut seen = Vec::new();
    let look = &mut |out: &mut dyn Write| {
        out.write_all(NEW.as_bytes())?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().into_string().unwrap();
            if name != "s.jsonl" {
                seen.push((name, entry.metadata()?.permissions().mode() & 0o777));
            }
        }
        Ok(())
    };
    bench.lock().rewrite(None, look).unwrap().done().unwrap();
    let [(name, mode)] = seen.as_slice() else {
        panic!("{seen:?}")
    };
    assert!(
        name.starts_with(".pisess-") && name.ends_with(".part") && name.len() < 24,
        "{name}"
    );
    assert_eq!(*mode, 0o600);
}

/// A temporary file without a lock was left by a process that ended; a locked one belongs to
/// another process.
#[test]
fn rewrite_removes_only_temporary_files_of_dead_processes() {
    let bench = Bench::new(OLD);
    let part = temp_of(&bench);
    fs::write(&part, "of the dead").unwrap();
    bench.rewrite(&now(PI), NEW).unwrap();
    assert_eq!((bench.content().as_str(), bench.names().len()), (NEW, 1));

    let live = fs::File::create_new(&part).unwrap();
    live.lock().unwrap();
    fs::write(&part, "of another").unwrap();
    bench.rewrite(&now(PI), OLD).unwrap();
    assert_eq!((bench.content().as_str(), bench.names().len()), (OLD, 2));
    assert_eq!(fs::read_to_string(&part).unwrap(), "of another");

    // Those of another file are left alone.
    fs::rename(&part, bench.at(".pisess-00000000.part")).unwrap();
    drop(live);
    bench.rewrite(&now(PI), NEW).unwrap();
    assert_eq!(bench.names(), [".pisess-00000000.part", "s.jsonl"]);
}

/// Where no name can be had, the names end.
#[test]
fn names_of_temporary_files_are_tried_a_thousand_times() {
    let bench = Bench::new(OLD);
    bench.seam.break_calls("create_new", EEXIST);
    let error = bench.rewrite(&now(PI), NEW).unwrap_err();
    assert_eq!(
        (bench.seam.count("create_new"), bench.content()),
        (1000, OLD.to_owned()),
        "{error}"
    );
}

/// Returns the path of the temporary file of a rewrite.
fn temp_of(bench: &Bench) -> PathBuf {
    let mut path = None;
    let look = &mut |_: &mut dyn Write| {
        path = bench.names().into_iter().find(|name| name != "s.jsonl");
        Err(std::io::Error::other("seen"))
    };
    bench.lock().rewrite(None, look).unwrap_err();
    bench.at(&path.unwrap())
}

/// Another process removes the temporary file between its creation and its lock: a new one is
/// created.
#[test]
fn a_part_that_was_taken_for_dead_is_made_again() {
    let bench = Bench::new(OLD);
    let part = temp_of(&bench);
    let locked = bench.lock();
    let theirs = part.clone();
    bench
        .seam
        .before("try_lock", move || fs::remove_file(theirs).unwrap());
    rewrite(locked, NEW).unwrap();
    assert_eq!((bench.content().as_str(), bench.names().len()), (NEW, 1));

    let locked = bench.lock();
    let (theirs, (hand, holder)) = (part.clone(), std::sync::mpsc::channel());
    bench.seam.before("try_lock", move || {
        let file = fs::File::open(theirs).unwrap();
        file.lock().unwrap();
        hand.send(file).unwrap();
    });
    rewrite(locked, OLD).unwrap();
    assert_eq!(bench.content(), OLD);
    // The first temporary file is left to the process that holds its lock.
    assert!(part.exists() && holder.try_recv().is_ok());
}

#[test]
fn mode_and_owner_are_kept() {
    let bench = Bench::new(OLD);
    for mode in [0o600, 0o644, 0o640, 0o664] {
        fs::set_permissions(&bench.path, fs::Permissions::from_mode(mode)).unwrap();
        bench.rewrite(&now(PI), NEW).unwrap();
        assert_eq!(fs::metadata(&bench.path).unwrap().mode() & 0o7777, mode);
    }
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&bench.path, Some(65_534), Some(12_345)).unwrap();
        bench.rewrite(&now(PI), NEW).unwrap();
        let stat = fs::metadata(&bench.path).unwrap();
        assert_eq!((stat.uid(), stat.gid()), (65_534, 12_345));
    }
}

/// The agents open the most recently modified session: a rewrite does not change which one that is.
#[test]
fn the_modification_time_is_kept() {
    let bench = Bench::new(OLD);
    let written =
        fs::metadata(&bench.path).unwrap().modified().unwrap() - Duration::new(86_400, 123_456_789);
    fs::File::open(&bench.path)
        .unwrap()
        .set_modified(written)
        .unwrap();
    bench.rewrite(&now(PI), NEW).unwrap();
    assert_eq!(
        fs::metadata(&bench.path).unwrap().modified().unwrap(),
        written
    );

    bench.seam.break_calls("set_modified", EPERM);
    let error = bench.rewrite(&now(PI), OLD).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the modification time cannot be kept"),
        "{error}"
    );
    assert_eq!((bench.content().as_str(), bench.names().len()), (NEW, 1));
    bench.rewrite(&forced(PI), OLD).unwrap();
    assert_eq!(bench.content(), OLD);
}

/// If the owner cannot be restored, the rewrite is refused; with force, the file loses its owner
/// and the permissions of the group.
#[test]
fn a_lost_owner_is_refused_without_force() {
    let bench = Bench::new(OLD);
    fs::set_permissions(&bench.path, fs::Permissions::from_mode(0o660)).unwrap();
    bench.seam.break_calls("set_owner", EPERM);
    bench
        .seam
        .estrange(fs::metadata(&bench.path).unwrap().ino());
    let error = bench.rewrite(&now(PI), NEW).unwrap_err();
    assert!(matches!(error.cause, Cause::AttributesLost { what, .. } if what == "the owner"));
    assert_eq!((bench.content().as_str(), bench.names().len()), (OLD, 1));
    bench.rewrite(&forced(PI), NEW).unwrap();
    assert_eq!(fs::metadata(&bench.path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn extended_attributes_are_kept_or_refused() {
    let bench = Bench::new(OLD);
    let file = fs::File::open(&bench.path).unwrap();
    DISK.set_xattr(&file, "user.note".as_ref(), b"kept")
        .expect("a file system with extended attributes");
    bench.rewrite(&now(PI), NEW).unwrap();
    let kept = DISK.xattrs(&fs::File::open(&bench.path).unwrap()).unwrap();
    assert!(
        kept.contains(&("user.note".into(), b"kept".to_vec())),
        "{kept:?}"
    );

    bench.seam.break_calls("set_xattr", EOPNOTSUPP);
    let error = bench.rewrite(&now(PI), OLD).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the attribute user.note cannot be kept"),
        "{error}"
    );
    assert_eq!((bench.content().as_str(), bench.names().len()), (NEW, 1));
    bench.rewrite(&forced(PI), OLD).unwrap();
    assert_eq!(bench.content(), OLD);
}

/// The ACL of the file is kept; the default ACL of the directory is not applied.
#[test]
#[cfg(target_os = "linux")]
fn the_acl_is_kept() {
    let bench = Bench::new(OLD);
    let acl = |path: &Path| {
        let found = DISK.xattrs(&fs::File::open(path).unwrap()).unwrap();
        found
            .into_iter()
            .find(|(name, _)| name == "system.posix_acl_access")
            .map(|(_, value)| value)
    };
    let folder = fs::File::open(bench.folder.path()).unwrap();
    DISK.set_xattr(&folder, "system.posix_acl_default".as_ref(), &acl_for(7))
        .expect("ACLs");
    bench.rewrite(&now(PI), NEW).unwrap();
    assert_eq!(acl(&bench.path), None);

    let file = fs::File::open(&bench.path).unwrap();
    DISK.set_xattr(&file, "system.posix_acl_access".as_ref(), &acl_for(65_534))
        .unwrap();
    bench.rewrite(&now(PI), OLD).unwrap();
    assert_eq!(acl(&bench.path), Some(acl_for(65_534)));
}

/// Returns `u::rw-,u:USER:rw-,g::---,m::rw-,o::---` as the kernel encodes it.
#[cfg(target_os = "linux")]
pub(super) fn acl_for(user: u32) -> Vec<u8> {
    let entries = [
        (1_u16, 6_u16, u32::MAX),
        (2, 6, user),
        (4, 0, u32::MAX),
        (16, 6, u32::MAX),
        (32, 0, u32::MAX),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn a_symbolic_link_is_followed() {
    let bench = Bench::new(OLD);
    let link = bench.at("link.jsonl");
    symlink("s.jsonl", &link).unwrap();
    let file = SessionFile::open(&link).unwrap();
    assert_eq!(
        (file.path(), file.resolved()),
        (link.as_path(), bench.path.canonicalize().unwrap().as_path())
    );
    let committed = rewrite(lock_on(&DISK, &file, &now(PI)).unwrap(), NEW).unwrap();
    assert_eq!(committed.path, link);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(bench.content(), NEW);
}

#[test]
fn a_hard_link_is_refused_for_a_rewrite_and_fine_for_an_append() {
    let bench = Bench::new(OLD);
    fs::hard_link(&bench.path, bench.at("other.jsonl")).unwrap();
    let error = bench.rewrite(&forced(PI), NEW).unwrap_err();
    assert!(matches!(error.cause, Cause::HardLinked(2)), "{error:?}");
    assert_eq!(bench.content(), OLD);
    bench.append(&now(PI)).unwrap();
    assert_eq!(
        fs::read_to_string(bench.at("other.jsonl")).unwrap(),
        format!("{OLD}{LINE}")
    );
}

/// Root may do anything, so the test changes its user, for this thread only.
#[test]
#[cfg(target_os = "linux")]
fn a_read_only_file_and_a_read_only_folder_are_refused() {
    let bench = Bench::new(OLD);
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(bench.folder.path(), 0o777);
    set(&bench.path, 0o444);
    let denied = as_nobody(|| bench.try_lock(&now(PI)).map(drop)).unwrap_err();
    assert!(denied.is_denied(), "{denied:?}");
    assert!(
        denied.to_string().ends_with("permission denied"),
        "{denied}"
    );

    set(&bench.path, 0o666);
    set(bench.folder.path(), 0o555);
    let denied = as_nobody(|| bench.rewrite(&now(PI), NEW)).unwrap_err();
    assert!(denied.is_denied(), "{denied:?}");
    assert_eq!((bench.content().as_str(), bench.names().len()), (OLD, 1));
    as_nobody(|| bench.append(&now(PI))).unwrap();
    assert_eq!(bench.content(), format!("{OLD}{LINE}"));

    let new = bench.at("new.jsonl");
    let denied = as_nobody(|| {
        super::super::create(
            &new,
            super::super::InputFile::Stream,
            false,
            &mut |_| Ok(()),
        )
    })
    .unwrap_err();
    assert!(denied.is_denied(), "{denied:?}");

    set(&bench.path, 0o600);
    let denied = as_nobody(|| SessionFile::open(&bench.path).map(drop));
    // If the tests do not run as root, `as_nobody` does not change the user, and the file can be
    // read.
    assert_eq!(denied.is_err(), rustix::process::geteuid().is_root());
    set(bench.folder.path(), 0o700);
}

#[cfg(target_os = "linux")]
fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    use rustix::thread::{Uid, set_thread_res_uid};
    std::thread::scope(|scope| {
        let run = || {
            if rustix::process::geteuid().is_root() {
                let nobody = Uid::from_raw(65_534);
                set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            act()
        };
        scope.spawn(run).join().unwrap()
    })
}

#[test]
fn a_closure_that_fails_changes_nothing() {
    let bench = Bench::new(OLD);
    let changed = || StoreError::changed(Path::new("x"), super::super::FileChange::Edited);
    let error = bench.lock().rewrite(None, &mut |out| {
        out.write_all(NEW.as_bytes())?;
        Err(std::io::Error::other(changed()))
    });
    // The error is returned unchanged: it determines the exit code.
    assert!(error.unwrap_err().is_busy());
    assert_eq!((bench.content().as_str(), bench.names().len()), (OLD, 1));
}

#[test]
fn a_batch_syncs_each_folder_once_and_reports() {
    let bench = Bench::new(OLD);
    let batch = super::super::Batch::default();
    let write = &mut |out: &mut dyn Write| out.write_all(NEW.as_bytes());
    batch
        .rewrite(bench.lock(), Some(&bench.at("s.bak")), write)
        .unwrap()
        .done()
        .unwrap();
    assert!(batch.finish().is_empty());
    assert_eq!(bench.names(), ["s.bak", "s.jsonl"]);
}
