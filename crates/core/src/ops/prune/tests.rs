//! Sessions of all shapes: what agents see of them after a prune is what they saw before, and all
//! comes back.

#![allow(clippy::ptr_arg, reason = "a slice is not a source")]

use super::*;
use crate::agents::prepare::FirstKept;
use crate::load::{LoadOptions, load};
use crate::ops::IdSource;
use crate::ops::branches::find_branches;
use crate::session::dice::Dice;
use crate::session::entry::EntryIx;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use crate::session::tree::Tree;
use std::fmt::Write as _;

/// Returns a session with some branches and compactions, and with all kinds of entries that pruning
/// treats specially.
fn any_session(dice: &mut Dice, is_omp: bool) -> Vec<u8> {
    let mut text = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}"#.to_owned() + "\n";
    let count = 5 + dice.below(60);
    let mut parents: Vec<Option<usize>> = Vec::new();
    for at in 0..count {
        // Mostly a chain, with a few branches and roots.
        let parent = match dice.below(20) {
            0 => at.checked_sub(1 + dice.below(8)),
            1 if at > 3 => Some(dice.below(at)),
            _ => at.checked_sub(1),
        };
        let above: Vec<usize> = std::iter::successors(parent, |&up| parents[up]).collect();
        parents.push(parent);
        let any = above.get(dice.below(above.len())).copied().unwrap_or(at);
        let everyone = dice.below(at + 1);
        let members = any_members(dice, is_omp, at, any, everyone);
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"e{parent}\""));
        let space = [" ", "", "\t"][dice.below(3)];
        let _ = write!(
            text,
            "{space}{{{members},\"id\":\"e{at}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:{:02}:{:02}.000Z\"}}{}",
            at / 60,
            at % 60,
            ["\n", "\r\n"][dice.below(2)]
        );
        if dice.below(15) == 0 {
            text += ["\n", "broken\n"][dice.below(2)];
        }
    }
    if dice.below(4) == 0 {
        text.truncate(text.trim_end().len());
    }
    text.into_bytes()
}

/// Returns the members of the entry `at`, which may refer to an entry above it, `any`, and to one
/// of all, `everyone`.
fn any_members(dice: &mut Dice, is_omp: bool, at: usize, any: usize, everyone: usize) -> String {
    let size = "x".repeat(dice.below(60));
    match dice.below(if is_omp { 21 } else { 17 }) {
        0 | 1 => format!(r#""type":"message","message":{{"role":"user","content":"u{at}{size}"}}"#),
        2..=4 => {
            let usage = match dice.below(3) {
                0 => format!(
                    r#","usage":{{"input":{},"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}"#,
                    at * 7,
                    at * 9 + 5
                ),
                _ => String::new(),
            };
            let model = ["m", "n"][dice.below(2)];
            format!(
                r#""type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"a{at}{size}"}},{{"type":"toolCall","id":"c{at}","name":"read","arguments":{{"path":"f{at}"}}}}],"provider":"p","model":"{model}","stopReason":"stop"{usage}}}"#
            )
        }
        5 | 6 => format!(
            r#""type":"message","message":{{"role":"toolResult","toolCallId":"c{}","toolName":"read","content":[{{"type":"text","text":"r{size}"}}],"isError":false}}"#,
            at.wrapping_sub(1)
        ),
        7 | 8 => {
            let more = match dice.below(4) {
                0 if is_omp => format!(
                    r#","providerReplayThroughEntryId":"e{any}","preserveData":{{"openaiRemoteCompaction":{{"provider":"o","replacementHistory":[{{}}]}}}}"#
                ),
                1 if is_omp => r#","details":{"kind":"experimental-context-rollover"}"#.to_owned(),
                2 => r#","details":{"readFiles":["g"],"modifiedFiles":["h"]}"#.to_owned(),
                3 if !is_omp => {
                    r#","systemMessage":{"role":"system","content":"now","timestamp":1}"#.to_owned()
                }
                _ => String::new(),
            };
            let first = if dice.below(6) == 0 {
                "none".to_owned()
            } else {
                format!("e{any}")
            };
            format!(
                r#""type":"compaction","summary":"S{at}","firstKeptEntryId":"{first}","tokensBefore":{at}{more}"#
            )
        }
        9 => format!(r#""type":"label","targetId":"e{everyone}","label":"l{at}""#),
        10 if is_omp => format!(
            r#""type":"model_change","model":"x/y{at}","role":"{}""#,
            ["default", "smol", "slow"][dice.below(3)]
        ),
        10 => format!(r#""type":"model_change","provider":"x","modelId":"y{at}""#),
        11 => {
            format!(
                r#""type":"thinking_level_change","thinkingLevel":"{}""#,
                ["low", "high"][dice.below(2)]
            )
        }
        12 => {
            format!(r#""type":"custom_message","customType":"k","content":"c{at}","display":true"#)
        }
        13 => format!(r#""type":"branch_summary","fromId":"e{any}","summary":"B{at}""#),
        14 => format!(r#""type":"custom","customType":"k","data":{at}"#),
        15 if is_omp => r#""type":"reset_boundary""#.to_owned(),
        15 => format!(
            r#""type":"context_edit","targetId":"e{any}","replacement":{}"#,
            ["null", r#"{"content":"new"}"#][dice.below(2)]
        ),
        16 if is_omp => format!(
            r#""type":"custom","customType":"experimental_context_notes","data":{{"version":1,"text":"n{at}"}}"#
        ),
        16 => match dice.below(2) {
            0 => format!(r#""type":"session_info","name":"N{at}""#),
            _ => format!(r#""type":"message","message":{{"role":"system","content":"y{at}"}}"#),
        },
        17 => format!(r#""type":"mode_change","mode":"m{at}""#),
        18 => format!(
            r#""type":"ttsr_injection","injectedRules":["r{}"]"#,
            dice.below(5)
        ),
        19 => r#""type":"service_tier_change","serviceTier":"priority""#.to_owned(),
        _ => format!(r#""type":"session_init","systemPrompt":"s{at}","task":"t","tools":[]"#),
    }
}

/// Returns what the agent sees at an entry, and what its next compaction there would be.
fn seen(session: &Session, source: &Vec<u8>, tip: EntryIx) -> String {
    let reader = EntryReader::new(session, source);
    let path = session.path(Some(tip));
    let agent = session.agent();
    let mut out = String::new();
    let mut push = |messages: &[ContextMessage]| {
        for message in messages {
            let json = message.with_json(&reader, |json| {
                String::from_utf8_lossy(json.bytes()).into_owned()
            });
            let _ = writeln!(out, "{} {}", session.id(message.entry), json.unwrap());
        }
        out += "--\n";
    };
    let context = agent.build_context(&path, &reader).unwrap();
    push(&context.messages);
    let next = agent
        .prepare_compaction(&path, &reader, FirstKept::RecentTokens(40))
        .unwrap();
    if let Some(next) = &next {
        push(&next.messages_to_summarize);
        push(&next.turn_prefix_messages);
    }
    for (name, json) in &context.settings {
        let _ = writeln!(out, "{name} {}", String::from_utf8_lossy(json));
    }
    let _ = writeln!(out, "{}", agent.estimate_context(&path, &reader).unwrap());
    let checkpoint = agent
        .system_checkpoint(&path, &reader)
        .unwrap()
        .unwrap_or_default();
    let _ = writeln!(out, "{}", String::from_utf8_lossy(&checkpoint));
    if let Some(next) = next {
        // A label before the cut leaves with its entry: then the cut is at the next entry.
        let first = next.first_kept.map(|first| {
            let below = path.iter().skip_while(|&&ix| ix != first);
            let next = below
                .copied()
                .find(|&ix| session.entry(ix).kind != crate::session::entry::Kind::Label);
            next.map(|ix| session.id(ix).to_string())
        });
        let (split, before, summary) = (
            next.is_split_turn,
            next.tokens_before,
            &next.previous_summary,
        );
        let _ = writeln!(
            out,
            "{first:?} {split} {before} {summary:?} {:?}",
            next.file_ops.file_lists(session)
        );
    }
    out
}

fn loaded(source: &Vec<u8>) -> Session {
    load(source, &LoadOptions::default()).unwrap()
}

/// Prunes the wanted entries. Returns the pruned session and the pruned file.
fn pruned(
    session: &Session,
    source: &Vec<u8>,
    old: Option<&Vec<u8>>,
    wanted: &dyn Fn() -> Vec<bool>,
) -> (Vec<u8>, Vec<u8>) {
    let mut ids = 0;
    let mut candidates = || {
        ids += 1;
        format!("{ids:08x}")
    };
    let mut fresh = IdSource::new(0, &mut candidates);
    let plan = PrunePlan::from_entries("compacted", session, source, wanted(), &mut fresh).unwrap();
    run(&plan, session, source, old)
}

/// Applies a plan. Returns the pruned session and the pruned file.
fn run(
    prune: &PrunePlan,
    session: &Session,
    source: &Vec<u8>,
    old: Option<&Vec<u8>>,
) -> (Vec<u8>, Vec<u8>) {
    let old = old.map(|old| restore(session, source, old));
    let mut beside = Vec::new();
    prune
        .write_pruned(session, source, old.as_ref(), &mut beside)
        .unwrap();
    let pruned = prune.build_pruned_session(session, source);
    (all(&pruned.with_source(source)), beside)
}

fn restore(session: &Session, source: &Vec<u8>, beside: &Vec<u8>) -> Restoration {
    let side = read_pruned_file(beside, &session.header.id).unwrap();
    Restoration::new(session, source, side, Box::new(beside.clone())).unwrap()
}

fn all(file: &dyn ReadAt) -> Vec<u8> {
    file.read_range(0..file.len()).unwrap()
}

fn restored(source: &Vec<u8>, beside: &Vec<u8>) -> Vec<u8> {
    let session = loaded(source);
    let restore = restore(&session, source, beside);
    assert!(restore.unplaced.is_empty(), "{:?}", restore.unplaced);
    all(&restore.restored_file(source))
}

fn assert_same(now: &str, before: &str, show: &dyn Fn() -> String) {
    let differs = now
        .lines()
        .zip(before.lines())
        .find(|(now, before)| now != before);
    assert!(now == before, "{}\nnow and before: {differs:#?}", show());
}

/// Compares what the agent sees at the tips and at the leaf before the prune, and the session's
/// name, with those after.
fn assert_seen_the_same(
    (session, whole): (&Session, &Vec<u8>),
    (after, left): (&Session, &Vec<u8>),
    show: &dyn Fn() -> String,
) {
    let tips: Vec<_> = find_branches(session, &Tree::new(session))
        .iter()
        .map(|branch| branch.tip)
        .collect();
    for &tip in tips.iter().chain(session.leaf.iter()) {
        let Some(same) = after.find_entry(&session.id(tip)) else {
            assert!(
                session.entry(tip).kind == crate::session::entry::Kind::Label,
                "{}",
                show()
            );
            continue;
        };
        assert_same(&seen(after, left, same), &seen(session, whole, tip), show);
    }
    // The same leaf, name, and labels of what stays.
    let at_leaf = |session: &Session, source| session.leaf.map(|leaf| seen(session, source, leaf));
    assert_eq!(at_leaf(after, left), at_leaf(session, whole), "{}", show());
    assert_eq!(after.name(), session.name(), "{}", show());
}

#[test]
fn an_operation_with_odd_members_keeps_its_records() {
    let first = r#"{"session":"s","operations":[{"operation":1,"records":1,"entries":null,"branches":"x"}]}"#;
    let beside =
        format!("{first}\n{{\"line\":2,\"field\":\"x\",\"note\":1,\"payload\":2}}\n").into_bytes();
    assert_eq!(
        read_pruned_file(&beside, &"s".into()).unwrap()[0]
            .records
            .len(),
        1
    );
}

/// Prunes again, after more was appended, a branch and what was compacted since, and restores all.
fn prune_again(after: &Session, left: Vec<u8>, beside: &Vec<u8>, whole: Vec<u8>, seed: u64) {
    let mut more = left;
    if more.last() != Some(&b'\n') {
        more.push(b'\n');
    }
    let start = more.len();
    let parent = after
        .leaf
        .map_or("null".to_owned(), |leaf| format!("\"{}\"", after.id(leaf)));
    more.extend(format!("{{\"type\":\"message\",\"id\":\"n1\",\"parentId\":{parent},\"timestamp\":\"2026-01-02T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"n\"}}}}\n").into_bytes());
    more.extend(b"{\"type\":\"compaction\",\"id\":\"n2\",\"parentId\":\"n1\",\"timestamp\":\"2026-01-02T00:00:01.000Z\",\"summary\":\"again\",\"firstKeptEntryId\":\"n1\",\"tokensBefore\":1}\n");
    let added = more[start..].to_vec();
    let session = loaded(&more);
    let (left, beside) = pruned(&session, &more, Some(beside), &|| {
        find_compacted_entries(&session, &more).unwrap()
    });
    let mut expected = whole;
    if expected.last() != Some(&b'\n') {
        expected.push(b'\n');
    }
    expected.extend(added);
    let again = restored(&left, &beside);
    let (again, expected) = (
        String::from_utf8_lossy(&again),
        String::from_utf8_lossy(&expected),
    );
    // A mark stays if something follows it.
    let is_mark = |line: &&str| line.contains("pisess.switch");
    let unmarked: Vec<_> = again.split('\n').filter(|line| !is_mark(line)).collect();
    assert_eq!(unmarked.join("\n"), expected, "seed {seed}");
}

#[test]
fn agents_see_the_same_and_all_comes_back() {
    let (mut with_compactions, mut left_entries) = (0, 0);
    for seed in 0..400 {
        let mut dice = Dice(seed * 7919 + 1);
        let is_omp = seed % 2 == 1;
        let mut whole = any_session(&mut dice, is_omp);
        if is_omp {
            let title = r#"{"type":"title","v":1,"title":"t","source":"user","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}"#;
            whole = [title.as_bytes(), b"\n", &whole].concat();
        }
        let session = loaded(&whole);
        if PruneBlocker::require_removable_entries(&session).is_err() {
            continue;
        }
        let leaves = find_compacted_entries(&session, &whole).unwrap();
        let (left, beside) = pruned(&session, &whole, None, &|| leaves.clone());
        with_compactions += usize::from(leaves.contains(&true));
        left_entries += leaves.iter().filter(|leaves| **leaves).count();
        let after = loaded(&left);
        let show = || {
            format!(
                "seed {seed}\n{}\n--\n{}",
                String::from_utf8_lossy(&whole),
                String::from_utf8_lossy(&left)
            )
        };
        assert_seen_the_same((&session, &whole), (&after, &left), &show);
        assert_eq!(
            String::from_utf8_lossy(&restored(&left, &beside)),
            String::from_utf8_lossy(&whole),
            "seed {seed}"
        );
        prune_again(&after, left, &beside, whole, seed);
    }
    assert!(
        with_compactions > 100 && left_entries > 1000,
        "{with_compactions} {left_entries}"
    );
}

/// Returns a session after the entries above its compactions were pruned, and its pruned file,
/// which has records of entries and links.
fn session_and_pruned_file() -> (Vec<u8>, Vec<u8>) {
    for seed in 0..400 {
        let whole = any_session(&mut Dice(seed * 7919 + 1), false);
        let session = loaded(&whole);
        if PruneBlocker::require_removable_entries(&session).is_err() {
            continue;
        }
        let leaves = find_compacted_entries(&session, &whole).unwrap();
        let (left, beside) = pruned(&session, &whole, None, &|| leaves.clone());
        let text = String::from_utf8_lossy(&beside).into_owned();
        let has_kind = |kind: &str| text.contains(&format!("\"kind\":\"{kind}\""));
        // A short one, because all of it is read again for each of its bits.
        if beside.len() > 3000 || !has_kind("entry") || !has_kind("link") {
            continue;
        }
        return (left, beside);
    }
    panic!("no session has both")
}

/// A session with payloads, and with a branch whose last entry is the leaf.
const WITH_PAYLOADS_AND_BRANCHES: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"look"}}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}]}}
{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"LONG"},{"type":"image","data":"LONG","mimeType":"image/png"}],"details":["LONG"],"isError":false}}
{"type":"message","id":"e4","parentId":"e3","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"user","content":"removed"}}
{"type":"message","id":"e5","parentId":"e4","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"user","content":"linked anew"}}
{"type":"message","id":"e6","parentId":"e1","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":"another branch"}}
{"type":"message","id":"e7","parentId":"e5","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"user","content":"the leaf, removed"}}
"#;

/// Returns a whole session, the session without some entries and payloads, and its pruned file, in
/// which there are records of all kinds.
fn session_and_pruned_file_of_all_kinds() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let long = "payload ".repeat(30);
    let whole = WITH_PAYLOADS_AND_BRANCHES
        .replace("LONG", &long)
        .into_bytes();

    let session = loaded(&whole);
    let is_removed = |ix| matches!(&*session.id(ix).to_string(), "e4" | "e7");
    let leaves: Vec<bool> = session.entry_indexes().map(is_removed).collect();
    let (left, beside) = pruned(&session, &whole, None, &|| leaves.clone());

    let session = loaded(&left);
    let payloads = PrunePlan::from_payloads(&session, &left, 100, &ValueKind::PAYLOADS, 1).unwrap();
    let (left, beside) = run(&payloads, &session, &left, Some(&beside));

    let text = String::from_utf8_lossy(&beside);
    for kind in ["entry", "link", "mark", "image", "result", "details"] {
        assert!(text.contains(&format!("\"kind\":\"{kind}\"")), "{text}");
    }
    (whole, left, beside)
}

/// Returns a message of the user. `parent` is JSON.
fn user_message(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"u"}}}}"#
    )
}

/// Some removed entries may be in the session again. The others keep their places beside them.
#[test]
fn entries_are_put_back_between_entries_that_are_present() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s","cwd":"/p"}"#.to_owned(),
        user_message("e1", "null"),
        user_message("e2", r#""e1""#),
        "broken".to_owned(),
        user_message("e3", r#""e1""#),
        user_message("e4", r#""e1""#),
        user_message("e5", r#""e1""#),
    ];
    let join = |lines: &[String]| (lines.join("\n") + "\n").into_bytes();
    let whole = join(&lines);

    let session = loaded(&whole);
    let is_removed = |ix| matches!(&*session.id(ix).to_string(), "e2" | "e3" | "e4");
    let removed: Vec<bool> = session.entry_indexes().map(is_removed).collect();
    let (_, beside) = pruned(&session, &whole, None, &|| removed.clone());

    // The lines of e2, e3 and e4.
    let removed_lines = [2, 4, 5];
    for present_count in 0..=removed_lines.len() {
        for present_at in 0..removed_lines.len() {
            let mut present = removed_lines.to_vec();
            present.rotate_left(present_at);
            present.truncate(present_count);
            let mut left = Vec::new();
            for (index, line) in lines.iter().enumerate() {
                if !removed_lines.contains(&index) || present.contains(&index) {
                    left.push(line.clone());
                }
            }
            let restored = restored(&join(&left), &beside);
            assert!(
                restored == whole,
                "{present:?}\n{}",
                String::from_utf8_lossy(&restored)
            );
        }
    }
}

/// Without the mark, the agents would take `e2` for the leaf, although `e4` is not put back.
#[test]
fn a_mark_stays_if_all_removed_entries_are_lost() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s","cwd":"/p"}"#.to_owned(),
        user_message("e1", "null"),
        user_message("e2", r#""e1""#),
        user_message("e3", r#""e1""#),
        user_message("e4", r#""e1""#),
    ];
    let whole = (lines.join("\n") + "\n").into_bytes();
    let session = loaded(&whole);
    let is_removed = vec![false, false, false, true];
    let (left, beside) = pruned(&session, &whole, None, &|| is_removed.clone());
    assert_eq!(restored(&left, &beside), whole);

    // The line before `e4`, behind which it would be put back, is deleted.
    let left = String::from_utf8(left).unwrap();
    let without_anchor = left.replace(&format!("{}\n", lines[3]), "").into_bytes();
    let session = loaded(&without_anchor);
    assert_eq!(session.entries.len(), 3, "two messages and the mark");
    let restoration = restore(&session, &without_anchor, &beside);
    assert_eq!(restoration.unplaced.len(), 1);
    let after = all(&restoration.restored_file(&without_anchor));
    assert_eq!(
        String::from_utf8_lossy(&after),
        String::from_utf8_lossy(&without_anchor)
    );
}

/// Damage in a line that is not in its payload may change an order or a place.
#[test]
fn a_changed_bit_anywhere_in_a_pruned_file_is_noticed() {
    let (left, beside) = session_and_pruned_file();
    assert_changes_are_noticed(&left, &beside);
}

/// Each kind of record has members of its own.
#[test]
fn a_changed_bit_in_a_record_of_any_kind_is_noticed() {
    let (whole, left, beside) = session_and_pruned_file_of_all_kinds();
    assert!(restored(&left, &beside) == whole);
    assert_changes_are_noticed(&left, &beside);
}

fn assert_changes_are_noticed(left: &Vec<u8>, beside: &Vec<u8>) {
    let id = loaded(left).header.id;
    assert!(read_pruned_file(beside, &id).is_ok());
    for at in 0..beside.len() {
        for bit in 0..8 {
            let mut changed = beside.clone();
            changed[at] ^= 1 << bit;
            let result = read_pruned_file(&changed, &id);
            assert!(
                result.is_err(),
                "bit {bit} of byte {at}: {}",
                String::from_utf8_lossy(
                    &changed[at.saturating_sub(40)..(at + 40).min(changed.len())]
                )
            );
        }
    }
}

/// Returns a pruned file as an earlier version wrote it, without checksums of anything but
/// payloads.
fn without_checksums(beside: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(beside).unwrap();
    let mut older = String::new();
    for line in text.lines() {
        let (before, rest) = line.split_once(",\"frameCrc\":").unwrap();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        older += &format!("{before}{}\n", &rest[digits..]);
    }
    older.into_bytes()
}

#[test]
fn a_pruned_file_of_an_earlier_version_is_restored_and_gets_checksums() {
    let (left, beside) = session_and_pruned_file();
    let older = without_checksums(&beside);
    assert!(older.len() < beside.len());
    assert_eq!(restored(&left, &older), restored(&left, &beside));
    let session = loaded(&left);
    let old = restore(&session, &left, &older);
    let nothing = PrunePlan {
        name: "payloads",
        entries: Vec::new(),
        branch_count: 0,
        values: Vec::new(),
        secrets: PrunableSecrets::default(),
        pruned_message_tokens: Vec::new(),
        mark: None,
    };
    let mut again = Vec::new();
    nothing
        .write_pruned(&session, &left, Some(&old), &mut again)
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&again),
        String::from_utf8_lossy(&beside)
    );
}

/// Returns the size of the context at the leaf, from the file alone.
fn context_size(source: &Vec<u8>) -> u64 {
    let session = loaded(source);
    let reader = EntryReader::new(&session, source);
    let context = session
        .agent()
        .build_context(&session.path(session.leaf), &reader)
        .unwrap();
    let size = |message: &ContextMessage| {
        message.with_json(&reader, |json| session.agent().estimate_message(json))
    };
    context
        .messages
        .iter()
        .map(|message| size(message).unwrap())
        .sum()
}

#[test]
fn the_context_after_a_prune_is_that_of_the_pruned_file() {
    let long = "an é and \\ud83d\\ude00\\n".repeat(300);
    let models = [r#""provider":"p","modelId":"m""#, r#""model":"p/m""#];
    for (model, version) in models
        .into_iter()
        .flat_map(|model| [(model, 2), (model, 3)])
    {
        let entries = [
            format!(r#""type":"model_change",{model}"#),
            format!(r#""type":"message","message":{{"role":"user","content":"{long}"}}"#),
            r#""type":"message","message":{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"toolCall","id":"c","name":"read","arguments":{"b":1.0}}]}"#.to_owned(),
            format!(r#""type":"message","message":{{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{{"type":"text","text":"{long}"}},{{"type":"image","data":"{long}"}}],"details":["{long}"]}}"#),
            format!(r#""type":"message","message":{{"role":"bashExecution","command":"c","output":"{long}"}}"#),
            format!(r#""type":"message","message":{{"role":"hookMessage","customType":"t","content":"{long}","details":"{long}"}}"#),
            format!(r#""type":"custom_message","customType":"t","content":[{{"type":"text","text":"kept"}},{{"type":"image","data":"{long}"}}],"details":"{long}","display":true"#),
        ];
        let mut text =
            format!(r#"{{"type":"session","version":{version},"id":"s","cwd":"/p"}}"#) + "\n";
        let mut parent = "null".to_owned();
        for (at, members) in entries.iter().enumerate() {
            text += &format!(r#"{{{members},"id":"e{at}","parentId":{parent}}}"#);
            text += "\n";
            parent = format!(r#""e{at}""#);
        }
        let source = text.into_bytes();

        let options = LoadOptions {
            message_spans: true,
            message_tokens: true,
            ..LoadOptions::default()
        };
        let session = load(&source, &options).unwrap();
        let prune =
            PrunePlan::from_payloads(&session, &source, 1000, &ValueKind::PAYLOADS, 2).unwrap();
        assert!(prune.values.len() >= 6, "{prune:?}");
        let after = all(&prune
            .build_pruned_session(&session, &source)
            .with_source(&source));
        let sizes = prune.context_tokens(&session, &source, 2).unwrap();
        assert_eq!(sizes.before, context_size(&source));
        assert_eq!(sizes.after, context_size(&after));
        assert!(sizes.after * 2 < sizes.before, "{sizes:?}");
    }
}
