//! Prints the forms of every command, for tests that are not written in Rust: the name of a table,
//! a tab and a form, in which `F` is replaced by the session.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../every.rs"]
mod every;

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let tables: [(&str, &[&str]); 4] = [
        ("READS", &every::READS),
        ("CHANGES", &every::CHANGES),
        ("MAKES", &every::MAKES),
        ("SEARCHES", every::SEARCHES),
    ];

    let mut out = io::stdout().lock();
    for (table, forms) in tables {
        for form in forms {
            writeln!(out, "{table}\t{form}")?;
        }
    }
    Ok(())
}
