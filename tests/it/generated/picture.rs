//! The picture of the tree in the README: what `tree` prints on a terminal in colour, as SVG.

use crate::pty::on_terminal;
use std::path::Path;
use std::process::Command;

/// The size of a character, and the space around the text.
const COLUMN: f64 = 8.4;
const ROW: f64 = 19.0;
const MARGIN: f64 = 16.0;
/// The width of the terminal.
const COLUMNS: f64 = 80.0;

/// A run of characters of one style, in a row.
struct Run {
    column: usize,
    text: String,
    style: String,
}

/// Returns the picture.
pub fn tree() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_pisess"));
    command
        .args(["tree", "fixtures/tour.jsonl"])
        .current_dir(root)
        .env_clear();
    command.envs([
        ("TERM", "xterm"),
        ("PAGER", "cat"),
        ("TZ", "UTC"),
        ("PISESS_NOW", "2026-11-21T12:00:00Z"),
    ]);
    let (shown, code) = on_terminal(command);
    assert_eq!(code, 0, "{shown}");
    svg(&format!(
        "\u{1b}[2m$\u{1b}[0m pisess tree session.jsonl\n{shown}"
    ))
}

fn svg(shown: &str) -> String {
    let rows: Vec<_> = shown.lines().map(runs).collect();
    let (width, height) = (
        COLUMNS * COLUMN + 2.0 * MARGIN,
        rows.len() as f64 * ROW + 2.0 * MARGIN,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>\n\
         text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d8dce4; white-space: pre; }}\n\
         .s1 {{ font-weight: bold; }} .s2 {{ fill: #737b89; }} .s31 {{ fill: #f07178; }} .s32 {{ fill: #9ccc7a; }}\n\
         .s33 {{ fill: #e8c268; }} .s34 {{ fill: #82aaff; }} .s35 {{ fill: #d39be0; }} .s36 {{ fill: #62c3d4; }}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n"
    );
    for (row, runs) in rows.iter().enumerate() {
        let y = MARGIN + (row as f64 + 0.75) * ROW;
        for run in runs {
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
    out + "</svg>\n"
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
