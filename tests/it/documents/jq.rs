//! The subset of jq that the documents use, built on jaq, so that their examples run on machines
//! without jq.
//!
//! `.ci/run` runs them with jq itself.

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::{Val, read, write};
use std::error::Error;
use std::io::{BufRead, Read, Write};

/// The part of jq's library that is needed. All of it would include time zones, which would change
/// those of pisess in every test.
const DEFINITIONS: &str = "
    def null: [][0];
    def add: reduce .[] as $x (null; . + $x);
    def unique_by(f): [group_by(f)[] | .[0]];
    def unique: unique_by(.);
    def max_by(f): reduce max_by_or_empty(f) as $x (null; $x);
    def max: max_by(.);
    def any(f): first((.[] | f | select(.) | true), false);
    def isboolean: . == true or . == false;
    def isnumber: . > true and . < \"\";
    def type:
        if . == null then \"null\" elif isboolean then \"boolean\" elif isnumber then \"number\"
        elif . < [] then \"string\" elif . < {} then \"array\" else \"object\" end;
    def arrays: select(type == \"array\");
    def strings: select(type == \"string\");
    def objects: select(type == \"object\");
";

/// A command line.
#[derive(Default)]
struct Call {
    raw: bool,
    slurp: bool,
    no_input: bool,
    names: Vec<String>,
    values: Vec<Val>,
    filter: String,
    files: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let call = parsed(std::env::args().skip(1))?;
    let (names, defs) = (call.names.iter().map(String::as_str), || {
        let own = load::parse(DEFINITIONS, |parser| parser.defs()).expect("it parses");
        jaq_core::defs().chain(own).chain(jaq_json::defs())
    });
    let funs = jaq_core::funs()
        .chain(jaq_std::base_funs())
        .chain(jaq_json::funs());
    let arena = Arena::default();
    let program = File {
        code: call.filter.as_str(),
        path: (),
    };
    let modules = Loader::new(defs())
        .load(&arena, program)
        .map_err(|error| format!("{error:?}"))?;
    let compiler = Compiler::default().with_funs(funs).with_global_vars(names);
    let filter = compiler
        .compile(modules)
        .map_err(|error| format!("{error:?}"))?;
    let mut out = std::io::stdout().lock();
    for input in inputs(&call)? {
        let ctx = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new(call.values.clone()));
        for value in filter.id.run((ctx, input)).map(unwrap_valr) {
            match value.map_err(|error| error.to_string())? {
                Val::TStr(text) if call.raw => out.write_all(&text)?,
                value => write::write(&mut out, &write::Pp::default(), 0, &value)?,
            }
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn parsed(mut words: impl Iterator<Item = String>) -> Result<Call, Box<dyn Error>> {
    let mut call = Call::default();
    let mut filter = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--arg" => {
                call.names
                    .push(format!("${}", words.next().ok_or("--arg NAME VALUE")?));
                call.values
                    .push(Val::from(words.next().ok_or("--arg NAME VALUE")?));
            }
            word if word.starts_with('-') && filter.is_none() => {
                for option in word.chars().skip(1) {
                    match option {
                        'c' => {}
                        'r' => call.raw = true,
                        's' => call.slurp = true,
                        'n' => call.no_input = true,
                        _ => return Err(format!("no option {word} here").into()),
                    }
                }
            }
            word if filter.is_none() => filter = Some(word.to_owned()),
            word => call.files.push(word.to_owned()),
        }
    }
    call.filter = filter.ok_or("no filter")?;
    Ok(call)
}

fn inputs(call: &Call) -> Result<Vec<Val>, Box<dyn Error>> {
    if call.no_input {
        return Ok(vec![Val::default()]);
    }
    let mut bytes = Vec::new();
    for file in &call.files {
        std::fs::File::open(file)?.read_to_end(&mut bytes)?;
    }
    if call.files.is_empty() {
        std::io::stdin().lock().read_to_end(&mut bytes)?;
    }
    let values = read::read_many(&mut bytes.as_slice() as &mut dyn BufRead)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(if call.slurp {
        vec![values.into_iter().collect()]
    } else {
        values
    })
}
