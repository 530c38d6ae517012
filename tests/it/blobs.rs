//! Images that oh-my-pi keeps in files of its own, its blobs.

use crate::sandbox::Sandbox;
use serde_json::Value;

/// The SHA-256 of [`BYTES`].
const HASH: &str = "3d1f57c984978ef98a18378c8166c1cb8ede02c03eeb6aee7e2f121dfeee3e56";
const BYTES: [u8; 4] = [0, 1, 2, 255];
/// [`BYTES`] in base64.
const ENCODED: &str = "AAEC/w==";
/// What stands in a session of pi for an image whose blob cannot be read.
const NOTE: &str = "[image kept outside of the session by oh-my-pi: image/png]";

/// The entries of a session of oh-my-pi, of which each has the same image.
fn entries() -> [String; 3] {
    let image = format!(r#"{{"type":"image","data":"blob:sha256:{HASH}","mimeType":"image/png"}}"#);
    let question = format!(
        r#"{{"role":"user","content":[{{"type":"text","text":"What is this?"}},{image}],"timestamp":1}}"#
    );
    let note = format!(r#"{{"role":"developer","content":[{image}],"timestamp":2}}"#);
    [
        format!(
            r#"{{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{question}}}"#
        ),
        format!(
            r#"{{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:01.000Z","message":{note}}}"#
        ),
        format!(
            r#"{{"type":"custom_message","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:02.000Z","customType":"photo","display":true,"content":[{image}]}}"#
        ),
    ]
}

/// Returns a home directory with the session `omp.jsonl`, but without the blob.
fn home() -> Sandbox {
    let s = Sandbox::new();
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","title":"Kites"}"#;
    let entries = entries().join("\n");
    s.put("omp.jsonl", format!("{header}\n{entries}\n"));
    s
}

fn put_blob(s: &Sandbox, content: &[u8]) {
    s.put(&format!(".omp/agent/blobs/{HASH}"), content);
}

/// Runs a command that succeeds, and returns what it prints.
fn run_at_home(s: &Sandbox, line: &str) -> String {
    let done = s.pisess(line).at_home().done();
    assert_eq!(done.code, 0, "{line}: {done}");
    done.text()
}

#[test]
fn fork_puts_the_images_of_oh_my_pi_into_the_session() {
    let s = home();
    let for_pi = |from: &str| run_at_home(&s, &format!("fork -q --branches --for pi -o - {from}"));

    // Without the blob, a text takes the place of the image.
    let without_blob = for_pi("./omp.jsonl");
    assert_eq!(without_blob.matches(NOTE).count(), 3, "{without_blob}");
    // Nor is a file used that has other bytes than the session had.
    put_blob(&s, b"other bytes");
    assert_eq!(for_pi("./omp.jsonl"), without_blob);

    put_blob(&s, &BYTES);
    let with_images = for_pi("./omp.jsonl");
    assert_eq!(with_images.matches(ENCODED).count(), 3, "{with_images}");
    assert!(!with_images.contains(NOTE), "{with_images}");
    let for_claude = run_at_home(&s, "fork -q --for claude -o - ./omp.jsonl");
    assert!(for_claude.contains(ENCODED), "{for_claude}");

    // Back at oh-my-pi, the images are references again.
    s.put("pi.jsonl", with_images);
    let back = run_at_home(&s, "fork -q --branches --for omp -o - ./pi.jsonl");
    for line in entries() {
        assert!(back.contains(&line), "{back}");
    }
}

#[test]
fn requests_and_exports_have_the_images_of_oh_my_pi() {
    let s = home();
    let commands = [
        "context --as anthropic --model x/y ./omp.jsonl",
        "context --as llm ./omp.jsonl",
        "export --as messages -o - ./omp.jsonl",
        "export --as atif -o - ./omp.jsonl",
        "export --static -o - ./omp.jsonl",
        "export -o - ./omp.jsonl",
    ];
    for line in commands {
        let without_blob = run_at_home(&s, line);
        assert!(!without_blob.contains(ENCODED), "{line}");
    }
    put_blob(&s, &BYTES);
    for line in commands {
        let with_image = run_at_home(&s, line);
        assert!(with_image.contains(ENCODED), "{line}: {with_image}");
    }
}

/// oh-my-pi may keep the older conversation as pictures, in a compaction.
#[test]
fn a_request_has_the_pictures_of_a_compaction() {
    let s = home();
    let frame = format!(
        r#"{{"data":"blob:sha256:{HASH}","mimeType":"image/png","cols":80,"rows":40,"chars":9}}"#
    );
    let archive = format!(r#"{{"frames":[{frame}],"totalChars":9,"truncatedChars":0}}"#);
    let compaction = format!(
        r#"{{"type":"compaction","id":"c1","parentId":"a3","timestamp":"2026-01-01T00:00:03.000Z","summary":"Kites.","firstKeptEntryId":"c1","tokensBefore":9,"preserveData":{{"snapcompact":{archive}}}}}"#
    );
    s.put("omp.jsonl", s.text("omp.jsonl") + &compaction + "\n");
    let request = "context --as anthropic --model x/y ./omp.jsonl";
    let without_blob = run_at_home(&s, request);
    let note = "1 archived image frame unavailable here";
    assert!(without_blob.contains(note), "{without_blob}");
    put_blob(&s, &BYTES);
    let with_frame = run_at_home(&s, request);
    assert_eq!(with_frame.matches(ENCODED).count(), 1, "{with_frame}");
    assert!(!with_frame.contains(note), "{with_frame}");
}

/// The agent's own messages refer to the blob, as the session does.
#[test]
fn context_without_a_format_keeps_the_references() {
    let s = home();
    put_blob(&s, &BYTES);
    let context: Value = serde_json::from_str(&run_at_home(&s, "context ./omp.jsonl")).unwrap();
    let image = &context["messages"][0]["content"][1];
    assert_eq!(image["data"], format!("blob:sha256:{HASH}"));
}
