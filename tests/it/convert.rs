//! `pisess fork --for`: a session of one agent as a session of the other.

use crate::sandbox::{Sandbox, fixture, hazards};
use insta::assert_snapshot;
use pisess::agents::convert::{self, KEPT_ENTRY_TYPE};
use pisess::json::Raw;
use pisess::load::{LoadOptions, load};
use pisess::session::blobs::BlobStore;
use pisess::session::dialect::Dialect;
use pisess::session::entry::Kind;

/// The sessions among the fixtures, with the agent that each belongs to.
fn sessions() -> Vec<(String, &'static str)> {
    let names = [
        "tour",
        "omp",
        "two-branches",
        "v1",
        "v2",
        "draft-tree",
        "omp-no-slot",
        "other-tool",
    ];
    let hazards = hazards().into_iter().map(|name| format!("hazards/{name}"));
    let all = names.into_iter().map(str::to_owned).chain(hazards);
    all.filter_map(|name| {
        let name = format!("{name}.jsonl");
        let session = load(&fixture(&name), &LoadOptions::default()).ok()?;
        let agent = if session.dialect == Dialect::OhMyPi {
            "omp"
        } else {
            "pi"
        };
        Some((name, agent))
    })
    .collect()
}

fn other(agent: &str) -> &'static str {
    if agent == "pi" { "omp" } else { "pi" }
}

#[test]
fn there_and_back_the_context_is_the_same() {
    let sessions = sessions();
    assert!(
        sessions.len() > 40 && sessions.iter().any(|(_, agent)| *agent == "omp"),
        "{sessions:?}"
    );
    for (name, agent) in sessions {
        let s = Sandbox::with(&[&name]);
        let file = name.rsplit('/').next().unwrap();
        for form in ["--branches", ""] {
            let there = format!(
                "fork -q ./{file} {form} --for {} -o ./there --force",
                other(agent)
            );
            assert_eq!(s.pisess(&there).done().code, 0, "{name}");
            assert_eq!(
                s.pisess(&format!(
                    "fork -q ./there {form} --for {agent} -o ./back --force"
                ))
                .done()
                .code,
                0,
                "{name}"
            );
            // The copy contains nothing that the other agent would not accept or that belongs to
            // the first agent.
            let slot = s.bytes("there").starts_with(br#"{"type":"title""#);
            assert_eq!(slot, agent == "pi", "{name}");
            for view in ["", "--as text", "--as llm", "--tokens"] {
                let of = |file: &str| {
                    s.pisess(&format!("context -q {view} ./{file}"))
                        .done()
                        .stdout
                };
                assert_eq!(
                    String::from_utf8_lossy(&of("back")),
                    String::from_utf8_lossy(&of(file)),
                    "{name} {form} {view}"
                );
            }
        }
    }
}

/// Every line of a whole session in the current format is the same after a conversion and back.
#[test]
fn there_and_back_each_entry_has_its_bytes() {
    for name in ["tour.jsonl", "omp.jsonl", "two-branches.jsonl"] {
        let agent = if name == "omp.jsonl" { "omp" } else { "pi" };
        let s = Sandbox::with(&[name]);
        s.run(&format!(
            "fork -q ./{name} --branches --for {} -o ./there",
            other(agent)
        ));
        s.run(&format!(
            "fork -q ./there --branches --for {agent} -o ./back"
        ));
        let head = if agent == "omp" { 2 } else { 1 };
        let entries = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes)
                .lines()
                .skip(head)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(entries(&s.bytes("back")), entries(&fixture(name)), "{name}");
        for file in ["there", "back"] {
            let check = s.pisess(&format!("check ./{file} --json")).done();
            assert!(
                !check.text().contains(r#""severity":"error""#),
                "{name}: {}",
                check.text()
            );
        }
    }
}

/// What the model sees is the same in both agents: the messages, without the system prompt, which
/// each agent builds itself.
#[test]
fn the_other_agents_model_sees_the_same() {
    for (name, agent) in [
        ("tour.jsonl", "pi"),
        ("omp.jsonl", "omp"),
        ("two-branches.jsonl", "pi"),
    ] {
        let s = Sandbox::with(&[name]);
        s.run(&format!(
            "fork -q ./{name} --for {} -o ./there",
            other(agent)
        ));
        let messages = |file: &str| {
            let context: serde_json::Value =
                serde_json::from_slice(&s.pisess(&format!("context ./{file}")).done().stdout)
                    .unwrap();
            let messages = context["messages"].as_array().unwrap().clone();
            let seen = messages
                .into_iter()
                .filter(|message| message["role"] != "system");
            seen.map(|message| format!("{} {}", message["role"], message["content"]))
                .collect::<Vec<_>>()
        };
        assert_eq!(messages("there"), messages(name), "{name}");
    }
}

#[test]
fn a_session_of_pi_for_oh_my_pi() {
    let s = Sandbox::new();
    s.put("s.jsonl", concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#, "\n",
        r#"{"type":"model_change","id":"a0","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"anthropic","modelId":"m/1"}"#, "\n",
        r#"{"type":"message","id":"a1","parentId":"a0","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"long"}}"#, "\n",
        r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"never mind"}}"#, "\n",
        r#"{"type":"session_info","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","name":"Kites"}"#, "\n",
        r#"{"type":"context_edit","id":"a4","parentId":"a3","timestamp":"2026-01-01T00:00:04.000Z","targetId":"a1","replacement":{"content":"short"}}"#, "\n",
        r#"{"type":"context_edit","id":"a5","parentId":"a4","timestamp":"2026-01-01T00:00:05.000Z","targetId":"a2","replacement":null}"#, "\n",
    ));
    s.run("fork ./s.jsonl --for omp -o ./new");
    assert_snapshot!(s.text("new"), @r#"
    {"type":"title","v":1,"title":"Kites","source":"user","updatedAt":"2026-05-04T12:00:00.000Z","pad":"                                                                                                                                                         "}
    {"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/p","title":"Kites","titleSource":"user","parentSession":"./s.jsonl"}
    {"type":"model_change","id":"a0","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","model":"anthropic/m/1","role":"default","resolvedModelIsFallback":false,"pisess":{"agent":"pi","entry":{"type":"model_change","id":"a0","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"anthropic","modelId":"m/1"}}}
    {"type":"message","id":"a1","parentId":"a0","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"short"},"pisess":{"agent":"pi","entry":{"type":"message","id":"a1","parentId":"a0","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"long"}}}}
    {"type":"custom","customType":"pisess.kept","data":{"agent":"pi","note":"an edit omits it from the context","entry":{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"never mind"}}},"id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z"}
    {"type":"title_change","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","title":"Kites","source":"user","pisess":{"agent":"pi","entry":{"type":"session_info","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","name":"Kites"}}}
    {"type":"custom","customType":"pisess.kept","data":{"agent":"pi","note":"an edit of the context, which oh-my-pi does not have; it is applied to the entry that it edits","entry":{"type":"context_edit","id":"a4","parentId":"a3","timestamp":"2026-01-01T00:00:04.000Z","targetId":"a1","replacement":{"content":"short"}}},"id":"a4","parentId":"a3","timestamp":"2026-01-01T00:00:04.000Z"}
    {"type":"custom","customType":"pisess.kept","data":{"agent":"pi","note":"an edit of the context, which oh-my-pi does not have; it is applied to the entry that it edits","entry":{"type":"context_edit","id":"a5","parentId":"a4","timestamp":"2026-01-01T00:00:05.000Z","targetId":"a2","replacement":null}},"id":"a5","parentId":"a4","timestamp":"2026-01-01T00:00:05.000Z"}
    "#);
    assert_snapshot!(s.run("context ./new --as text"), @"
    [User]: short
    ");
    assert_snapshot!(s.run("tree ./new --filter all"), @"
    a0  • model: anthropic/m/1
    a1  • user: short
    a2  • custom: pisess.kept
    a3  • title: Kites
    a4  • custom: pisess.kept
    a5  • custom: pisess.kept  ← active
    ");
}

#[test]
fn a_session_of_oh_my_pi_for_pi() {
    let s = Sandbox::new();
    let start = r#"{"type":"title","v":1,"title":"Kites","source":"user","updatedAt":"2026-01-01T00:00:00.000Z","pad":""#;
    s.put("s.jsonl", format!("{start}{}\"}}\n", " ".repeat(256 - start.len() - 3)) + concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#, "\n",
        r#"{"type":"model_change","id":"a0","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","model":"anthropic/m","role":"default"}"#, "\n",
        r#"{"type":"message","id":"a1","parentId":"a0","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"before"}}"#, "\n",
        r#"{"type":"reset_boundary","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z"}"#, "\n",
        r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"fileMention","files":[{"path":"a.txt","content":"paper"}],"timestamp":1}}"#, "\n",
        r#"{"type":"mode_change","id":"a4","parentId":"a3","timestamp":"2026-01-01T00:00:04.000Z","mode":"plan"}"#, "\n",
    ));
    s.run("fork ./s.jsonl --for pi -o ./new");
    assert_snapshot!(s.text("new"), @r#"
    {"type":"session","version":3,"id":"019df2dc-0a00-726b-9b5c-564f5be49767","timestamp":"2026-05-04T12:00:00.000Z","cwd":"/p","parentSession":"./s.jsonl"}
    {"type":"model_change","id":"a0","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"anthropic","modelId":"m","pisess":{"agent":"oh-my-pi","entry":{"type":"model_change","id":"a0","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","model":"anthropic/m","role":"default"}}}
    {"type":"message","id":"a1","parentId":"a0","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"before"}}
    {"type":"compaction","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","summary":"The user cleared the conversation here.","firstKeptEntryId":"a2","tokensBefore":0,"pisess":{"agent":"oh-my-pi","entry":{"type":"reset_boundary","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z"}}}
    {"type":"custom_message","customType":"fileMention","content":[{"type":"text","text":"<file path=\"a.txt\">\npaper\n</file>"}],"display":true,"id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","pisess":{"agent":"oh-my-pi","entry":{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"fileMention","files":[{"path":"a.txt","content":"paper"}],"timestamp":1}}}}
    {"type":"custom","customType":"pisess.kept","data":{"agent":"oh-my-pi","note":"a mode, which pi does not have","entry":{"type":"mode_change","id":"a4","parentId":"a3","timestamp":"2026-01-01T00:00:04.000Z","mode":"plan"}},"id":"a4","parentId":"a3","timestamp":"2026-01-01T00:00:04.000Z"}
    {"type":"session_info","id":"27aa2424","parentId":"a4","timestamp":"2026-05-04T12:00:00.000Z","name":"Kites"}
    "#);
    assert_snapshot!(s.run("context ./new --as text"), @r#"
    [User]: The conversation history before this point was compacted into the following summary:

    <summary>
    The user cleared the conversation here.
    </summary>

    [User]: <file path="a.txt">
    paper
    </file>
    "#);
}

/// The name is kept even if the entry that set it is not copied.
#[test]
fn the_name_comes_along() {
    let s = Sandbox::new();
    let start = r#"{"type":"title","v":1,"title":"Kites","source":"user","updatedAt":"2026-01-01T00:00:00.000Z","pad":""#;
    s.put("s.jsonl", format!("{start}{}\"}}\n", " ".repeat(256 - start.len() - 3)) + concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#, "\n",
        r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hi"}}"#, "\n",
        r#"{"type":"title_change","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","title":"Kites","source":"user"}"#, "\n",
    ));
    for (form, wanted) in [("a1", 1), ("", 1), ("--branches", 1)] {
        s.run(&format!("fork ./s.jsonl {form} --for pi -o ./new --force"));
        assert_eq!(
            s.text("new").matches(r#""name":"Kites""#).count(),
            wanted,
            "{form}: {}",
            s.text("new")
        );
    }
}

#[test]
fn it_goes_to_the_store_of_the_other_agent() {
    let s = Sandbox::new();
    let home = s
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    std::fs::create_dir_all(s.path("old")).unwrap();
    let name = home.trim_start_matches('/').replace('/', "-");
    let header = format!(
        r#"{{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{home}/old"}}"#
    );
    let file = format!(".pi/agent/sessions/--{name}-old--/a.jsonl");
    s.put(&file, header + "\n");
    let done = s
        .pisess(&format!("fork --branches --for omp ./{file}"))
        .at_home()
        .done();
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.text().contains("/.omp/agent/sessions/-old/"),
        "{}",
        done.text()
    );
    // It does so from elsewhere, too.
    s.put("b.jsonl", s.bytes(&file));
    let done = s
        .pisess("fork --branches --for omp ./b.jsonl --force")
        .at_home()
        .done();
    assert!(
        done.text().contains("/.omp/agent/sessions/-old/"),
        "{}",
        done.text()
    );
    let done = s
        .pisess("fork --branches --for pi ./b.jsonl")
        .at_home()
        .done();
    assert!(
        done.text()
            .contains(&format!("/.pi/agent/sessions/--{name}-old--/")),
        "{}",
        done.text()
    );
    // A directory that was made for a fork that is not written is removed again.
    #[cfg(unix)]
    {
        std::fs::remove_dir_all(s.path(".omp")).unwrap();
        s.pisess("fork --branches --for omp b.jsonl")
            .at_home()
            .limited("0")
            .fails(2);
        assert!(!s.path(".omp").exists());
    }
}

#[test]
fn for_its_own_agent_it_is_a_fork() {
    let s = Sandbox::with(&["tour.jsonl", "omp.jsonl"]);
    for (name, agent) in [("tour.jsonl", "pi"), ("omp.jsonl", "omp")] {
        s.run(&format!("fork ./{name} -o ./one"));
        s.run(&format!("fork ./{name} --for {agent} -o ./other"));
        assert_eq!(s.text("one"), s.text("other"));
        std::fs::remove_file(s.path("one")).unwrap();
        std::fs::remove_file(s.path("other")).unwrap();
    }
}

/// A session of oh-my-pi whose snapshot by Anthropic covers the path up to `through`; `b` is
/// written meanwhile.
fn native(through: &str) -> String {
    let at = |second: u32| format!(r#""timestamp":"2026-01-01T00:00:0{second}.000Z""#);
    let user = |id: &str, parent: &str, second| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},{},"message":{{"role":"user","content":"{id}","timestamp":1}}}}"#,
            at(second)
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#
            .to_owned(),
        format!(r#"{{"type":"title_change","id":"tttt0001","parentId":null,{},"title":"t"}}"#, at(1)),
        user("aaaa0001", r#""tttt0001""#, 2),
        format!(
            r#"{{"type":"label","id":"llll0001","parentId":"aaaa0001",{},"targetId":"aaaa0001","label":"l"}}"#,
            at(3)
        ),
        user("bbbb0001", r#""llll0001""#, 4),
        format!(
            r#"{{"type":"compaction","id":"cccc0001","parentId":"bbbb0001",{},"summary":"native","firstKeptEntryId":"","tokensBefore":9,"providerReplayThroughEntryId":"{through}","preserveData":{{"anthropicCompaction":{{"provider":"anthropic","content":"c"}}}}}}"#,
            at(5)
        ),
    ];
    lines.map(|line| line + "\n").concat()
}

/// What a snapshot by Anthropic does not cover stays in the context of every copy.
#[test]
fn a_native_snapshot_keeps_what_it_does_not_cover() {
    for (through, rewritten) in [("aaaa0001", 1767225602999_u64), ("llll0001", 1767225603999)] {
        let s = Sandbox::new();
        s.put("s.jsonl", native(through));
        let said = |line: &str| {
            let context = s.run(&format!("context --as text {line}"));
            assert!(
                context.contains("native") && context.contains("bbbb0001"),
                "{through} {line}: {context}"
            );
            assert!(!context.contains("aaaa0001"), "{through} {line}: {context}");
        };
        said("./s.jsonl");
        let sent = s.run("context --as llm --json ./s.jsonl");
        assert!(
            sent.contains(&format!(r#""historyRewriteAt":{rewritten},"#)),
            "{sent}"
        );
        assert_eq!(s.run("check -q ./s.jsonl"), "");
        for copy in [
            "fork -q ./s.jsonl",
            "fork -q ./s.jsonl --for pi",
            "fork -q ./s.jsonl --branches --for pi",
        ] {
            s.run(&format!("{copy} -o ./copy.jsonl --force"));
            said("./copy.jsonl");
        }
        s.run("pick -q ./s.jsonl aaaa0001 bbbb0001 cccc0001 --at tttt0001");
        said("./s.jsonl");
    }
    let s = Sandbox::new();
    s.put("s.jsonl", native("gone0001"));
    assert_snapshot!(s.pisess("check ./s.jsonl").done().text(), @r#"
    ./s.jsonl:6: warning: its last covered entry "gone0001" is not in the file (entry cccc0001)
        nothing before the compaction is kept: the context is incomplete
    "#);
    // If it covers everything, nothing is missing.
    s.put("s.jsonl", native(""));
    assert_eq!(s.run("check -q ./s.jsonl"), "");
}

/// Returns the type of an entry, or that of the custom entry that keeps it.
fn type_of(entry: Raw) -> String {
    if entry
        .get("customType")
        .is_some_and(|kind| kind.is(KEPT_ENTRY_TYPE))
    {
        return KEPT_ENTRY_TYPE.to_owned();
    }
    entry.get_text("type").unwrap().to_string()
}

/// Every type and role that an agent writes comes back. For the other agent, it has the same type,
/// or is kept if only the first one writes the type, except for these.
#[test]
fn each_sample_comes_back_as_it_was() {
    let no_blobs = BlobStore::default();
    let for_oh_my_pi = [
        ("system", KEPT_ENTRY_TYPE),
        ("session_info", "title_change"),
        ("usage", "model_usage"),
    ];
    let for_pi = [
        ("developer", "custom_message"),
        ("fileMention", "custom_message"),
        ("pythonExecution", "custom_message"),
        ("title_change", "session_info"),
        ("model_usage", "usage"),
        ("reset_boundary", "compaction"),
    ];
    for (file, from, to, others) in [
        (
            "kinds/pi.jsonl",
            Dialect::Pi,
            Dialect::OhMyPi,
            &for_oh_my_pi[..],
        ),
        ("kinds/omp.jsonl", Dialect::OhMyPi, Dialect::Pi, &for_pi),
    ] {
        let text = String::from_utf8(fixture(file)).unwrap();
        for line in text.lines() {
            let entry = Raw::from_checked(line.as_bytes());
            if entry.get("parentId").is_none() {
                continue;
            }
            let there = convert::convert_entry(line.as_bytes(), to, None, &no_blobs);
            for key in ["id", "parentId", "timestamp"] {
                let value = |entry: Raw| entry.get(key).map(|value| value.bytes().to_vec());
                assert_eq!(value(Raw::from_checked(&there)), value(entry), "{line}");
            }
            let back = convert::convert_entry(&there, from, None, &no_blobs);
            assert_eq!(String::from_utf8_lossy(&back), line);

            let own_type = type_of(entry);
            let role = entry
                .get("message")
                .and_then(|message| message.get_text("role"));
            let name = role.or(entry.get_text("type")).unwrap();
            let other = others
                .iter()
                .find(|(own, _)| name == *own)
                .map(|(_, there)| *there);
            let is_kept = Kind::named(own_type.as_bytes())
                .schema()
                .fields
                .only_writer()
                == Some(from);
            let wanted = other.unwrap_or(if is_kept { KEPT_ENTRY_TYPE } else { &own_type });
            assert_eq!(type_of(Raw::from_checked(&there)), wanted, "{line}");
        }
    }
}
