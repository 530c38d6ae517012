//! Compares the time of pisess with that of `wc -l`, `jq`, `jaq` and pi's own loader, on generated
//! sessions.
//!
//! Run it with `cargo bench --bench compare`; see `docs/performance.md`. Answers are checked before
//! times are printed; a wrong one ends the run.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it prints its table"
)]

mod cases;
mod generate;
mod measure;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
cargo bench --bench compare -- [options] [CASE]...
  --percent N   sessions of N percent of the entries (default 100)
  --runs N      runs of each command, of which the fastest counts (default 5)
  --dir DIR     where the sessions are made (default: a folder that is removed again)
  --list        the cases
cargo bench --bench compare -- generate SHAPE COUNT SEED FILE
  SHAPE         turns, small, big, tokens, chain, fan, comb, labels, line, v1";

fn main() -> ExitCode {
    // Cargo adds --bench when it starts a benchmark.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let done = match args.first().map(String::as_str) {
        Some("generate") => generate_one(&args[1..]),
        // `cargo test --benches` starts it, too, although there is nothing to test.
        Some("--test") => Ok(()),
        _ => cases::Plan::parse(&args).and_then(|plan| plan.map_or(Ok(()), |plan| plan.run())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn generate_one(args: &[String]) -> Result<(), String> {
    let [shape, count, seed, file] = args else {
        return Err(USAGE.to_owned());
    };
    let shape = generate::Shape::named(shape).ok_or(USAGE)?;
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|error| format!("{text}: {error}"))
    };
    let file = std::fs::File::create(file).map_err(|error| format!("{file}: {error}"))?;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
    let facts = generate::write(shape, number(count)?, u64::from(number(seed)?), &mut out);
    println!("{:?}", facts.map_err(|error| error.to_string())?);
    Ok(())
}
