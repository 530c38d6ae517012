//! The pictures of the documents, as SVG, made from what pisess prints on a terminal in colour: the
//! tree of the sample session, and the moving picture of the README.

use crate::pty::on_terminal;
use crate::sandbox::{Sandbox, fixture};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

/// The size of a character, and the space around the text.
const COLUMN: f64 = 8.4;
const ROW: f64 = 19.0;
const MARGIN: f64 = 16.0;
/// The width of the terminal.
const COLUMNS: f64 = 80.0;
/// How long the moving picture shows each command.
const SECONDS_PER_SCENE: usize = 6;

/// A run of characters of one style, in a row.
struct Run {
    column: usize,
    text: String,
    style: String,
}

/// A session of the store in the moving picture, besides the sample session.
struct Told {
    project: &'static str,
    time: &'static str,
    question: &'static str,
    answer: &'static str,
}

const TOLD: [Told; 4] = [
    Told {
        project: "kites",
        time: "2026-11-21T09:12:00.000Z",
        question: "The log shows two flights around midnight as one. Where are they joined?",
        answer: "`group_by_day` takes the date of the start only.",
    },
    Told {
        project: "garden",
        time: "2026-11-20T16:40:00.000Z",
        question: "Which beds are free in March?",
        answer: "Beds 2 and 5: the leeks are out by the end of February.",
    },
    Told {
        project: "kites",
        time: "2026-11-18T11:05:00.000Z",
        question: "Make the wind table sortable by speed",
        answer: "Done: a click on the heading sorts, a second one reverses.",
    },
    Told {
        project: "ferry",
        time: "2026-11-12T08:30:00.000Z",
        question: "Write a release note for the timetable update",
        answer: "Ferries on public holidays now follow the Sunday timetable.",
    },
];

/// Returns the picture of the tree.
pub fn tree() -> String {
    let s = Sandbox::new();
    s.put("session.jsonl", fixture("tour.jsonl"));
    let terminal = shown(&s, "tree session.jsonl");
    let rows = terminal.lines().count();
    let (width, height) = size(rows);
    format!("{}{}</svg>\n", start(width, height, ""), text(&terminal))
}

/// Returns the moving picture: find a session, search, draw it, and read it as a page. Where
/// nothing moves, it shows the tree.
pub fn demo() -> String {
    let s = Sandbox::new();
    let store = ".pi/agent/sessions";
    let name = "2026-03-14T09-26-45-589Z_019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70";
    let tour = format!("{store}/--home-u-code-ferry--/{name}.jsonl");
    s.put(&tour, fixture("tour.jsonl"));
    set_age(&s, &tour, TOLD.len());
    for (number, told) in TOLD.iter().enumerate() {
        let id = format!(
            "019d{number:04}-1405-7a3e-9c1d-5b2f6e8a{:04}",
            3100 + number * 1217
        );
        let file = told.time.replace([':', '.'], "-");
        let path = format!("{store}/--home-u-code-{}--/{file}_{id}.jsonl", told.project);
        s.put(&path, session_of(told, &id));
        set_age(&s, &path, number);
    }

    let commands = ["list --all", "grep --all midnight", "tree 8a4d70"];
    let terminals = commands.map(|command| shown(&s, command));
    let rows = terminals.iter().map(|terminal| terminal.lines().count());
    let (width, height) = size(rows.max().unwrap_or_default());

    let scenes = terminals.len() + 1;
    let mut out = start(width, height, &motion(scenes));
    for (number, terminal) in terminals.iter().enumerate() {
        out += &format!(
            "<g class=\"scene scene{number}\">\n{}</g>\n",
            text(terminal)
        );
    }
    let page = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/page.png")).unwrap();
    let last = terminals.len();
    out += &format!(
        "<g class=\"scene scene{last}\">\n{}<image x=\"{MARGIN}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
         preserveAspectRatio=\"xMidYMin meet\" href=\"data:image/png;base64,{}\"/>\n</g>\n",
        text("\u{1b}[2m$\u{1b}[0m pisess export --open 8a4d70\n"),
        MARGIN + 1.5 * ROW,
        width - 2.0 * MARGIN,
        height - 2.0 * MARGIN - 1.5 * ROW,
        BASE64.encode(page)
    );
    out + "</svg>\n"
}

/// Dates the last change of a file. `grep` begins with the session that changed last, and files
/// that are written within one tick of the clock would be in either order.
fn set_age(s: &Sandbox, name: &str, days: usize) {
    let age = Duration::from_secs(days as u64 * 24 * 60 * 60);
    let file = File::options().write(true).open(s.path(name)).unwrap();
    let last_change = UNIX_EPOCH + Duration::from_secs(1_795_000_000);
    file.set_modified(last_change - age).unwrap();
}

/// Returns the lines of a session with one question and its answer.
fn session_of(told: &Told, id: &str) -> String {
    let Told {
        project,
        time,
        question,
        answer,
    } = told;
    let header = json!({
        "type": "session", "version": 3, "id": id, "timestamp": time,
        "cwd": format!("/home/u/code/{project}"),
    });
    let user = json!({
        "type": "message", "id": "a0000001", "parentId": null, "timestamp": time,
        "message": {"role": "user", "content": question},
    });
    let words = answer.split_whitespace().count();
    let usage = json!({
        "input": 900 + 40 * words, "output": 12 * words, "cacheRead": 0, "cacheWrite": 0,
        "totalTokens": 900 + 52 * words, "cost": {"total": 0.0011 * words as f64},
    });
    let reply = json!({
        "type": "message", "id": "a0000002", "parentId": "a0000001", "timestamp": time,
        "message": {
            "role": "assistant", "content": [{"type": "text", "text": answer}],
            "api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5",
            "usage": usage, "stopReason": "stop",
        },
    });
    format!("{header}\n{user}\n{reply}\n")
}

/// Returns a prompt with a command, and what the command prints on a terminal.
fn shown(s: &Sandbox, line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
    command
        .args(line.split(' '))
        .current_dir(s.path(""))
        .env_clear();
    command.env("HOME", s.path("")).envs([
        ("TERM", "xterm"),
        ("PAGER", "cat"),
        ("TZ", "UTC"),
        ("PISESS_NOW", "2026-11-21T12:00:00Z"),
    ]);
    let (shown, code) = on_terminal(command);
    assert_eq!(code, 0, "{shown}");
    format!("\u{1b}[2m$\u{1b}[0m pisess {line}\n{shown}")
}

fn size(rows: usize) -> (f64, f64) {
    (
        COLUMNS * COLUMN + 2.0 * MARGIN,
        rows as f64 * ROW + 2.0 * MARGIN,
    )
}

/// Returns the beginning of a picture, with further rules of style.
fn start(width: f64, height: f64, rules: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>\n\
         text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d8dce4; white-space: pre; }}\n\
         .s1 {{ font-weight: bold; }} .s2 {{ fill: #737b89; }} .s4 {{ text-decoration: underline; }}\n\
         .s31 {{ fill: #f07178; }} .s32 {{ fill: #9ccc7a; }}\n\
         .s33 {{ fill: #e8c268; }} .s34 {{ fill: #82aaff; }} .s35 {{ fill: #d39be0; }} .s36 {{ fill: #62c3d4; }}\n\
         {rules}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n"
    )
}

/// Returns the rules by which one scene follows the other. Without them, and for readers who ask
/// for less motion, the scene before the last stays.
fn motion(scenes: usize) -> String {
    let seconds = scenes * SECONDS_PER_SCENE;
    let share = 100.0 / scenes as f64;
    let mut rules = format!(
        ".scene {{ visibility: hidden; }} .scene{} {{ visibility: visible; }}\n\
         @media (prefers-reduced-motion: no-preference) {{\n\
         .scene {{ animation: scene {seconds}s step-end infinite; visibility: hidden; }}\n",
        scenes - 2
    );
    for number in 1..scenes {
        // A negative delay would show the scenes in another order.
        let delay = number * SECONDS_PER_SCENE;
        rules += &format!(".scene{number} {{ animation-delay: {delay}s; }}\n");
    }
    rules += &format!(
        "}}\n@keyframes scene {{ 0% {{ visibility: visible; }} {share}% {{ visibility: hidden; }} }}\n"
    );
    rules
}

/// Returns what a terminal shows, as elements of text.
fn text(shown: &str) -> String {
    let mut out = String::new();
    for (row, line) in shown.lines().enumerate() {
        let y = MARGIN + (row as f64 + 0.75) * ROW;
        for run in runs(line) {
            let columns = run.text.chars().count();
            let text = run.text.replace('&', "&amp;").replace('<', "&lt;");
            // A fixed length keeps the columns of any font.
            out += &format!(
                "<text x=\"{:.1}\" y=\"{y:.1}\" textLength=\"{:.1}\" class=\"{}\">{text}</text>\n",
                MARGIN + run.column as f64 * COLUMN,
                columns as f64 * COLUMN,
                run.style,
            );
        }
    }
    out
}

/// Returns the runs of a line that are not blank.
fn runs(line: &str) -> Vec<Run> {
    let (mut runs, mut column, mut style) = (Vec::new(), 0, String::new());
    for (at, piece) in line.split("\u{1b}[").enumerate() {
        let text = if at == 0 {
            piece
        } else {
            let (codes, text) = piece.split_once('m').expect("only colours are printed");
            style = codes
                .split(';')
                .filter(|code| *code != "0")
                .map(|code| format!("s{code} "))
                .collect();
            text
        };
        let blank = text.chars().take_while(|c| *c == ' ').count();
        if !text.trim().is_empty() {
            let (column, style) = (column + blank, style.trim_end().to_owned());
            runs.push(Run {
                column,
                text: text.trim().to_owned(),
                style,
            });
        }
        column += text.chars().count();
    }
    runs
}
