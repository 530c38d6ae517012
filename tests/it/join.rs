//! `pisess join`: two copies of a session as one.

use crate::names::Desk;
use crate::sandbox::{Sandbox, fixture, user};
use insta::assert_snapshot;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The session with these messages after its own, each under the one before.
fn grown(messages: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = fixture("two-branches.jsonl");
    let mut parent = last_id(&bytes);
    for (id, text) in messages {
        bytes.extend_from_slice(user(id, Some(&parent), text).as_bytes());
        bytes.push(b'\n');
        parent = (*id).to_owned();
    }
    bytes
}

fn last_id(session: &[u8]) -> String {
    let text = String::from_utf8(session.to_vec()).unwrap();
    let last = text.lines().last().unwrap();
    let (_, from_id) = last.split_once(r#""id":""#).unwrap();
    from_id.split('"').next().unwrap().to_owned()
}

#[test]
fn tails_become_branches() {
    let s = Sandbox::new();
    s.put(
        "a.jsonl",
        grown(&[("aaaa0001", "at home"), ("aaaa0002", "more at home")]),
    );
    s.put("b.jsonl", grown(&[("bbbb0001", "on the train")]));
    assert_snapshot!(s.unchanged("tree ./a.jsonl --unfold"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    aaaa0001  • user: at home
    aaaa0002  • user: more at home  ← active
    ");
    assert_snapshot!(s.pisess("join ./a.jsonl ./b.jsonl -o ./c.jsonl").done(), @"
    ./c.jsonl
    2> pisess: 2 entries only in the first copy, 1 entry only in the second
    ");
    assert_snapshot!(s.unchanged("tree ./c.jsonl --unfold"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    bbbb0001  ├─ user: on the train  (1 message, 4mo)
    aaaa0001  • user: at home
    aaaa0002  • user: more at home  ← active
    ");
    assert!(!s.pisess("check ./c.jsonl").done().text().contains("error:"));
    // Each line is there as it was.
    let joined = s.text("c.jsonl");
    for line in s.text("a.jsonl").lines().chain(s.text("b.jsonl").lines()) {
        assert_eq!(
            joined.lines().filter(|own| *own == line).count(),
            1,
            "{line}"
        );
    }

    // In the other direction, the conversation continues on the train.
    assert_snapshot!(s.pisess("join ./b.jsonl ./a.jsonl -o ./d.jsonl --json").done(), @r#"{"path":"./d.jsonl","entries":10,"onlyFirst":1,"onlySecond":2}"#);
    assert!(s.run("tree ./d.jsonl").contains("on the train  ← active"));
    // A copy that only lacks the end adds nothing.
    assert_eq!(s.run("join ./c.jsonl ./a.jsonl -o -"), joined);
    assert_eq!(
        s.pisess("join ./a.jsonl ./b.jsonl -o ./c.jsonl")
            .done()
            .code,
        2
    );
}

#[test]
fn copies_with_labels_and_pruned_branches() {
    let s = Sandbox::new();
    s.put("a.jsonl", grown(&[("aaaa0001", "at home")]));
    s.put("b.jsonl", grown(&[]));
    s.run("label ./b.jsonl @ here");
    let whole = grown(&[("aaaa0001", "at home")]);
    s.pisess("prune --branch 1a2b3c05 ./a.jsonl --force").done();
    assert!(s.path("a.jsonl.pruned").exists());
    let joined = s.pisess("join ./a.jsonl ./b.jsonl -o ./c.jsonl").done();
    assert_eq!(joined.code, 0, "{joined}");
    let joined = s.text("c.jsonl");
    for line in String::from_utf8(whole).unwrap().lines() {
        assert!(joined.lines().any(|own| own == line), "{line}");
    }
    assert!(joined.contains(r#""label":"here""#), "{joined}");
}

#[test]
fn an_entry_with_two_contents_is_refused() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.put("a.jsonl", grown(&[("aaaa0001", "one")]));
    s.put(
        "b.jsonl",
        grown(&[("cccc0001", "x"), ("aaaa0001", "other")]),
    );
    assert_snapshot!(s.pisess("join ./a.jsonl ./b.jsonl -o ./c.jsonl").done().fails(2), @"the entry aaaa0001 has two contents: line 9 of ./a.jsonl and line 10 of ./b.jsonl (hint: a copy that was redacted, or pruned without its SESSION.pruned, cannot be joined)");
    assert_snapshot!(s.pisess("join ./a.jsonl ./tour.jsonl -o ./c.jsonl").done().fails(2), @"./a.jsonl and ./tour.jsonl are different sessions: their ids differ (hint: `pisess check` on their directory names copies of one session)");
    let mut torn = grown(&[]);
    torn.extend_from_slice(b"{\"type\":\n{}\n");
    s.put("b.jsonl", torn);
    assert_snapshot!(s.pisess("join -q ./a.jsonl ./b.jsonl -o ./c.jsonl").done().fails(2), @"./b.jsonl: line 9 is not JSON (hint: `pisess check --repair` it first)");
    assert!(!s.path("c.jsonl").exists());
    assert_eq!(s.pisess("join ./a.jsonl ./b.jsonl").done().code, 2);
}

#[test]
fn check_names_copies() {
    let s = Sandbox::new();
    s.put("s/a.jsonl", grown(&[("bbbb0001", "two")]));
    s.put("s/b.jsonl", grown(&[("aaaa0001", "one")]));
    let checked = s.pisess("check ./s").done();
    assert!(checked.to_string().contains("2 copies of the session 019c0000-0000-7000-8000-00000000babe: ./s/a.jsonl, ./s/b.jsonl (hint: `pisess join`"), "{checked}");
}

/// Each hazard is joined with its copy, and is then the same, or is refused in one line.
#[test]
fn every_hazard_is_joined_or_refused() {
    for name in crate::sandbox::hazards() {
        let s = Sandbox::with(&[&format!("hazards/{name}.jsonl")]);
        s.put("copy.jsonl", s.bytes(&format!("{name}.jsonl")));
        let done = s
            .pisess(&format!(
                "join -q ./{name}.jsonl ./copy.jsonl -o ./new.jsonl"
            ))
            .done();
        if done.code != 0 {
            done.fails(2);
            assert!(!s.path("new.jsonl").exists(), "{name}");
            continue;
        }
        let lines = |file: &str| {
            let bytes = s.bytes(file);
            let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
            let lines = bytes.split(|&byte| byte == b'\n');
            let lines = lines
                .map(<[u8]>::trim_ascii)
                .filter(|line| !line.is_empty());
            lines.map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(
            lines("new.jsonl"),
            lines(&format!("{name}.jsonl")),
            "{name}"
        );
    }
}

#[test]
fn join_goes_on_with_a_copy_that_only_grew() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("grown.jsonl", grown(&[("aaaa0001", "at home")]));
    for line in [
        "join ./two-branches.jsonl ./grown.jsonl -o ./from-old.jsonl",
        "join ./grown.jsonl ./two-branches.jsonl -o ./from-new.jsonl",
    ] {
        assert_eq!(s.pisess(line).done().code, 0, "{line}");
    }
    assert_eq!(s.bytes("from-old.jsonl"), s.bytes("grown.jsonl"));
    assert_eq!(s.bytes("from-new.jsonl"), s.bytes("grown.jsonl"));
}

/// The lines that a copy lacks are appended to it, and it keeps its leaf.
#[test]
fn a_copy_gets_what_it_lacks() {
    let own = grown(&[("aaaa0001", "at home"), ("aaaa0002", "more at home")]);
    let other = grown(&[("bbbb0001", "on the train"), ("bbbb0002", "arrived")]);
    let lines = [
        "join ./a.jsonl ./b.jsonl",
        "join ./a.jsonl ./b.jsonl -o ./a.jsonl",
        "join ./a.jsonl ./b.jsonl -o ./link.jsonl",
    ];
    let mut results = Vec::new();
    for line in lines {
        let s = Sandbox::new();
        s.put("a.jsonl", &own);
        s.put("b.jsonl", &other);
        std::os::unix::fs::symlink("a.jsonl", s.path("link.jsonl")).unwrap();
        let planned = s.unchanged(&format!("{line} -n"));
        assert_eq!(planned.code, 0, "{planned}");
        let done = s.pisess(line).done();
        assert_eq!(
            (done.code, done.text().as_str(), done.stderr.as_str()),
            (
                0,
                "",
                "pisess: 2 entries only in the first copy, 2 entries only in the second\n\
                 pisess: ./a.jsonl has the entries of both now\n\
                 pisess: now at aaaa0002  user: more at home\n"
            ),
            "{line}"
        );
        assert!(s.bytes("a.jsonl").starts_with(&own), "{line}");
        assert_eq!(s.bytes("b.jsonl"), other);
        assert!(!s.pisess("check ./a.jsonl").done().text().contains("error:"));
        results.push(s.bytes("a.jsonl"));
        let again = s.pisess(line).done();
        assert_eq!(again.stderr, "pisess: nothing to do in ./a.jsonl\n");
        assert_eq!(s.pisess("join ./b.jsonl ./a.jsonl").done().code, 0);
    }

    assert!(results.iter().all(|result| *result == results[0]));
    let s = Sandbox::new();
    s.put("a.jsonl", &results[0]);
    assert_snapshot!(s.lines_from("a.jsonl", 11), @r#"
    {"type":"message","id":"bbbb0001","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"on the train"}}
    {"type":"message","id":"bbbb0002","parentId":"bbbb0001","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"arrived"}}
    {"type":"custom","customType":"pisess.switch","data":{"from":"bbbb0002","to":"aaaa0002"},"id":"226b1b5c","parentId":"aaaa0002","timestamp":"2026-05-04T12:00:00.000Z"}
    "#);
    assert_snapshot!(s.run("tree ./a.jsonl --unfold"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    bbbb0001  ├─ user: on the train  (2 messages, 4mo)
    bbbb0002  │  user: arrived
    aaaa0001  • user: at home
    aaaa0002  • user: more at home  ← active
    ");
    // The end of the other copy is where the leaf was before.
    assert_snapshot!(s.run("show ./a.jsonl -"), @"
    bbbb0002  user · 2026-01-01 00:00
      line 12 · parent bbbb0001
        arrived
    ");
}

#[test]
fn a_copy_that_only_lacks_the_end_becomes_the_other() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("grown.jsonl", grown(&[("aaaa0001", "at home")]));
    assert_snapshot!(s.unchanged("join ./two-branches.jsonl ./grown.jsonl -n"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type  content
    142 B  aaaa0001  user  at home
    2> pisess: 0 entries only in the first copy, 1 entry only in the second
    2> pisess: would be at aaaa0001  user: at home
    ");
    assert_snapshot!(s.pisess("join ./two-branches.jsonl ./grown.jsonl --json").done(), @r#"{"path":"./two-branches.jsonl","action":"append","dryRun":false,"written":[{"type":"message","id":"aaaa0001","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"at home"}}],"editorText":null}"#);
    assert_eq!(s.bytes("two-branches.jsonl"), s.bytes("grown.jsonl"));
}

#[test]
fn what_cannot_be_added_in_place_is_refused() {
    let s = Sandbox::new();
    s.put("a.jsonl", grown(&[("aaaa0001", "one")]));
    s.put("b.jsonl", grown(&[("bbbb0001", "two")]));
    s.put("c.jsonl", grown(&[("aaaa0001", "other")]));
    let mut said = String::new();
    for line in [
        "join ./a.jsonl ./b.jsonl -o ./b.jsonl --force",
        "join ./a.jsonl ./c.jsonl",
        "join - -",
    ] {
        said += &s.unchanged(line).fails(2);
        said.push('\n');
    }
    s.pisess("prune --branch 1a2b3c05 ./a.jsonl --force").done();
    said += &s.unchanged("join ./a.jsonl ./b.jsonl").fails(2);
    assert_snapshot!(said, @"
    ./b.jsonl: the entries are added to the first copy, and this is the second (hint: give the copies in the other order)
    the entry aaaa0001 has two contents: line 9 of ./a.jsonl and line 9 of ./c.jsonl (hint: a copy that was redacted, or pruned without its SESSION.pruned, cannot be joined)
    standard input cannot be both copies
    ./a.jsonl: parts of it were pruned, so it cannot get the entries of the other copy (hint: `pisess prune --restore` it first, or write the result with -o PATH)
    ");
    assert_snapshot!(s.unchanged("join ./a.jsonl ./b.jsonl -o ./d.jsonl -n"), @"would create ./d.jsonl with 9 entries");

    // A stream has no place of its own.
    let piped = s
        .pisess("join - ./a.jsonl")
        .stdin(s.bytes("b.jsonl"))
        .done();
    assert_eq!(piped.code, 0, "{piped}");
    assert!(piped.text().contains("bbbb0001") && piped.text().contains("aaaa0001"));
}

/// Returns a path in the store for the session of these tests.
fn path_in_store(project: &str) -> String {
    format!(
        "home/.pi/agent/sessions/--{project}--/2026-01-01T00-00-00-000Z_019c0000-0000-7000-8000-00000000babe.jsonl"
    )
}

/// Without a second session, the copies are found by their common id.
#[test]
fn the_copies_of_a_named_session_are_found() {
    let desk = Desk::new();
    let s = &desk.s;
    let in_store = |project: &str, bytes: &[u8]| {
        let path = path_in_store(project);
        s.put(&path, bytes);
        path
    };
    let older = in_store("x", &grown(&[("aaaa0001", "at home")]));
    // The newer copy comes first. Files that are written soon after each other may have one time.
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    let file = File::options().write(true).open(s.path(&older)).unwrap();
    file.set_modified(an_hour_ago).unwrap();
    let only = desk.pisess("join 0000babe").done().fails(1);
    assert!(
        only.contains("the stores have no other session with the id 019c0000-0000-7000-8000-00000000babe (hint: give the other copy as the second SESSION)"),
        "{only}"
    );

    // `diff` compares two branches of a session that has no copy.
    let only = desk.pisess("diff 0000babe").done();
    assert_eq!((only.code, only.stderr.as_str()), (1, ""), "{only}");
    assert!(
        only.text()
            .contains("- 1a2b3c04  user: Tissue paper then. How big?"),
        "{only}"
    );

    let newest = in_store("y", &grown(&[("bbbb0001", "on the train")]));
    let compared = desk.pisess("diff 0000babe").done();
    assert_eq!(compared.code, 1, "{compared}");
    assert!(
        compared.text().contains("- bbbb0001  user: on the train"),
        "{compared}"
    );
    assert!(
        compared.text().contains("+ aaaa0001  user: at home"),
        "{compared}"
    );
    let planned = desk.pisess("join 0000babe -n").done();
    assert_eq!(planned.code, 0, "{planned}");
    assert!(
        planned.stderr.contains("the first copy is ~/.pi/"),
        "{planned}"
    );
    let done = desk.pisess("join 0000babe").done();
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stderr
            .contains("1 entry only in the first copy, 1 entry only in the second"),
        "{done}"
    );
    assert!(done.stderr.contains("`pisess archive "), "{done}");
    let joined = s.text(&newest);
    assert!(
        joined.contains("at home") && joined.contains("on the train"),
        "{joined}"
    );

    in_store("z", &grown(&[("cccc0001", "by boat")]));
    let several = desk.pisess("join 0000babe").done();
    assert_eq!(several.code, 2, "{several}");
    assert!(
        several
            .stderr
            .contains("has 3 copies (hint: give the paths of two of them)"),
        "{several}"
    );
    assert_eq!(desk.pisess("join -").stdin("").done().code, 2);
}

/// A directory means the copy in it, as on a stick with sessions from another computer.
#[test]
fn the_copy_in_a_directory_is_found() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.put("a.jsonl", grown(&[("aaaa0001", "at home")]));
    s.put("stick/old/b.jsonl", grown(&[("bbbb0001", "on the train")]));
    s.put("stick/tour.jsonl", fixture("tour.jsonl"));
    assert_snapshot!(s.unchanged("diff ./a.jsonl ./stick"), @"
    --- ./a.jsonl · 6 entries, 1 only here
    +++ ./stick/old/b.jsonl · 6 entries, 1 only here
      1a2b3c06  user: Washi then. How big?
      1a2b3c07  assistant: A metre and more, with a bamboo spar.
    - aaaa0001  user: at home
    + bbbb0001  user: on the train
    2> pisess: the second copy is ./stick/old/b.jsonl
    exit 1
    ");
    let reversed = s.unchanged("diff ./stick ./a.jsonl");
    assert!(reversed.text().contains("- bbbb0001"), "{reversed}");
    assert_snapshot!(s.pisess("join ./a.jsonl ./stick").done(), @"
    2> pisess: the second copy is ./stick/old/b.jsonl
    2> pisess: 1 entry only in the first copy, 1 entry only in the second
    2> pisess: ./a.jsonl has the entries of both now
    2> pisess: now at aaaa0001  user: at home
    ");
    assert!(s.text("a.jsonl").contains("on the train"));

    // A session that the directory has no copy of, or several.
    assert_snapshot!(s.unchanged("join ./tour.jsonl ./stick/old").fails(2), @"./stick/old: no session in it has the id of ./tour.jsonl, 019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70 (hint: `pisess list -l ./stick/old` prints the paths of its sessions)");
    assert_snapshot!(s.unchanged("diff ./tour.jsonl ./stick/old").fails(2), @"./stick/old: no session in it has the id of ./tour.jsonl, 019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70 (hint: `pisess diff ./tour.jsonl ./stick/old/b.jsonl` compares it with the only session there)");
    s.put("stick/c.jsonl", grown(&[]));
    #[cfg(unix)]
    {
        // Two names of one file are one copy.
        std::fs::create_dir(s.path("links")).unwrap();
        std::fs::hard_link(s.path("stick/old/b.jsonl"), s.path("links/b.jsonl")).unwrap();
        std::os::unix::fs::symlink("b.jsonl", s.path("links/c.jsonl")).unwrap();
        assert_eq!(s.unchanged("diff ./tour.jsonl ./links").code, 2);
        let found = s.unchanged("diff ./a.jsonl ./links");
        assert!(
            found.stderr.contains("the second copy is ./links/b.jsonl"),
            "{found}"
        );
    }
    assert_snapshot!(s.unchanged("diff ./a.jsonl ./stick"), @"
    2> pisess: ./stick: 2 sessions in it have the id of ./a.jsonl (hint: give the path of one)
    2>   ./stick/c.jsonl
    2>   ./stick/old/b.jsonl
    exit 2
    ");
}

/// Words of a title name the copies for `diff` and `join`.
#[test]
fn the_copies_with_these_words_in_their_titles_are_found() {
    let desk = Desk::new();
    desk.s
        .put(&path_in_store("x"), grown(&[("aaaa0001", "at home")]));
    let only = desk.pisess("join 'which paper'").done();
    assert_eq!(only.code, 1, "{only}");
    assert!(
        only.stderr
            .contains("the stores have no other session with the id"),
        "{only}"
    );
    desk.s
        .put(&path_in_store("y"), grown(&[("bbbb0001", "on the train")]));
    let compared = desk.pisess("diff 'which paper'").done();
    assert_eq!(compared.code, 1, "{compared}");
    assert!(compared.text().contains("bbbb0001"), "{compared}");
    assert_eq!(desk.pisess("diff 'no such words'").done().code, 2);

    // With -q, nothing would report which session was changed.
    assert_eq!(desk.pisess("join -q 'which paper'").done().code, 2);
    let joined = desk.pisess("join 'which paper'").done();
    assert_eq!(joined.code, 0, "{joined}");
    assert!(joined.stderr.contains("the first copy is "), "{joined}");
    let is_in = |project: &str, id: &str| desk.s.text(&path_in_store(project)).contains(id);
    let x_has_both = is_in("x", "aaaa0001") && is_in("x", "bbbb0001");
    let y_has_both = is_in("y", "aaaa0001") && is_in("y", "bbbb0001");
    assert!(x_has_both != y_has_both, "{joined}");
}

/// Of two given copies, either may be named by words of its title, the other by its path or the
/// path of its directory.
#[test]
fn join_takes_words_of_a_title() {
    for other in ["./stick/b.jsonl", "./stick"] {
        let desk = Desk::new();
        let named = path_in_store("x");
        let before = grown(&[("aaaa0001", "at home")]);
        desk.s.put(&named, &before);
        desk.s
            .put("stick/b.jsonl", grown(&[("bbbb0001", "on the train")]));

        let quiet = desk.pisess(&format!("join -q 'which paper' {other}"));
        assert_eq!(quiet.done().code, 2);
        let joined = desk.pisess(&format!("join 'which paper' {other}")).done();
        assert_eq!(joined.code, 0, "{joined}");
        assert!(
            joined
                .stderr
                .contains("`which paper` is in the title of 0000babe ("),
            "{joined}"
        );
        assert!(desk.s.text(&named).contains("bbbb0001"), "{joined}");
        assert_eq!(desk.pisess("undo 'which paper'").done().code, 0);
        let reversed = desk.pisess("join -n ./stick/b.jsonl 'which paper'").done();
        assert_eq!(reversed.code, 0, "{reversed}");
    }
}

/// A link gives a file a second name, but the file is no copy of itself.
#[test]
#[cfg(unix)]
fn a_file_with_two_names_is_not_joined_with_itself() {
    type MakeLink = fn(&Path, &Path) -> io::Result<()>;
    let make_links: [MakeLink; 2] = [
        |file, link| std::os::unix::fs::symlink(file, link),
        |file, link| std::fs::hard_link(file, link),
    ];
    for make_link in make_links {
        let desk = Desk::new();
        let file = path_in_store("p");
        let link = path_in_store("link");
        desk.s.put(&file, grown(&[]));
        desk.s.put(&link, "");
        std::fs::remove_file(desk.s.path(&link)).unwrap();
        make_link(&desk.s.path(&file), &desk.s.path(&link)).unwrap();

        for name in ["0000babe", &format!("./{file}"), &format!("./{link}")] {
            let joined = desk.pisess(&format!("join {name}")).done().fails(1);
            assert!(
                joined.contains("the stores have no other session with the id"),
                "{joined}"
            );
        }
        desk.pisess("tree 0000babe").done().quiet();
        let checked = desk.pisess("check --all").done();
        assert!(!checked.stderr.contains("copies"), "{checked}");
    }
}

/// The header of an archive is read as by other commands.
#[test]
fn the_copy_of_an_archive_is_found() {
    let desk = Desk::new();
    let file = path_in_store("x");
    desk.s.put(&file, grown(&[("aaaa0001", "at home")]));
    let archived = desk.pisess(&format!("archive -q --force ./{file}")).done();
    assert_eq!(archived.code, 0, "{archived}");
    desk.s
        .put(&path_in_store("y"), grown(&[("bbbb0001", "on the train")]));

    let archive = file.replacen("/sessions/", "/sessions.archive/", 1) + ".zst";
    let planned = desk.pisess(&format!("join ./{archive} -n")).done();
    assert_eq!(planned.code, 0, "{planned}");
    assert_eq!(planned.text(), "would create - with 9 entries\n");
}
