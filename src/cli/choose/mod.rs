//! Completes a command line that lacks a session or an entry.
//!
//! With `--choose`, the user is asked for the session; if the session is given, for the entry.
//! Words of titles in place of the session limit the list. Without `--choose`, on a terminal, a
//! command that only reads takes `last`, and a command that writes asks for the session, and for
//! the entry if it needs one.
//!
//! `--all` together with directories is removed: it means nothing more than the directories.
//!
//! The missing word is inserted into the command line. The line is then run as if the user had
//! typed it.

mod chooser;
mod entries;
mod redundant;
mod sessions;

use crate::cli::foreign::resolve_argument_to_read;
use crate::cli::guide::writes_files;
use crate::cli::named::{find_last, name_argument, resolve_name};
use crate::cli::options::value_name;
use crate::cli::output::{Failure, Ui};
use crate::cli::session_report::report_session;
use crate::cli::sources::SourceArgs;
use crate::cli::titled::{TitleWords, find_by_title};
pub use chooser::Stop;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use entries::choose_entry;
pub use redundant::without_redundant_all;
use sessions::choose_session;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The functions that parse command lines. They are defined in `commands/mod.rs`.
pub struct LineParser {
    /// Returns the error of a command line, if it has one.
    pub check: fn(&[OsString]) -> Result<(), clap::Error>,
    /// Parses a command line that may lack arguments. `None` if it has no command of pisess.
    pub parse_partly: fn(&[OsString]) -> Option<PartialLine>,
}

/// A command line, from which arguments may be missing.
pub struct PartialLine {
    /// The definition of its command.
    pub command: Command,
    /// The given arguments of the command.
    pub matches: ArgMatches,
}

impl PartialLine {
    /// Whether the command changes files. Some commands that do also have a form that only reads.
    fn writes(&self) -> bool {
        let only_reads = match self.command.get_name() {
            "check" => !self.has("repair"),
            "migrate" | "redact" => self.has("check"),
            _ => false,
        };
        writes_files(&self.command) && !only_reads
    }

    /// Whether an option of the command is given.
    fn has(&self, option: &str) -> bool {
        self.matches.value_source(option) == Some(ValueSource::CommandLine)
    }
}

/// Completes a command line with the session or the entry that the user chooses, and returns it.
///
/// # Errors
/// If the command takes neither, if both are given already, or if the user chooses none.
pub fn choose_missing(
    args: &[OsString],
    parser: &LineParser,
    ui: &mut Ui,
) -> Result<Vec<OsString>, Stop> {
    let partial = (parser.parse_partly)(args);
    let mut slots = find_slots(partial.as_ref())?;
    if slots.lacks_word_before(args, parser) {
        // Parsing the line again reports the word.
        return Ok(args.to_vec());
    }
    let only_reads = partial.is_some_and(|partial| !partial.writes());
    let mut line = args.to_vec();
    // Words of a title stand for the session: they limit the list from which the user chooses it.
    let title_words = slots.words_of_titles(only_reads, ui);
    if title_words.is_some() {
        line = slots.remove_session(&line, parser)?;
    }

    // The user is asked only if the rest of the line is valid. Otherwise, parsing the line with
    // the placeholders reports the error.
    let Trial {
        line: trial,
        entry_places,
    } = Trial::fill(&line, &slots, parser)?;
    if (parser.check)(&trial).is_err() {
        return Ok(trial);
    }

    let program = args
        .first()
        .map_or(OsStr::new("pisess"), OsString::as_os_str);
    let session = match slots.session {
        Some(session) => session,
        None => {
            let path = choose_session(title_words.as_ref(), program, ui)?;
            report_session("chose", &path, ui)?;
            let chosen = path.into_os_string();
            line = insert_word(&line, slots.session_place, chosen.clone(), parser)?;
            chosen
        }
    };
    if let Some(entry_places) = entry_places {
        let reference = choose_entry(Path::new(&session), only_reads, program, ui)?;
        ui.print_status(&format!("chose {reference}"));
        line = entry_places.fill(&line, &reference, parser)?;
    }
    Ok(line)
}

/// Returns the places of the session and of an entry in a command line. `partial` is the line as
/// far as it can be parsed; `None` if it has no command. Refuses a command for which nothing can be
/// chosen.
fn find_slots(partial: Option<&PartialLine>) -> Result<Slots, Failure> {
    let Some(slots) = partial.and_then(Slots::find) else {
        let failure = Failure::usage_error("--choose: this command takes no session");
        return Err(failure.with_hint("see `pisess --help`"));
    };
    if slots.takes_archives {
        let failure = Failure::usage_error("--choose: archived sessions are not in the list");
        return Err(failure.with_hint("`pisess archive --list --all` lists them"));
    }
    Ok(slots)
}

/// A command line with placeholders for the words that the user is to choose: `last` for the
/// session, `@` for the entry.
struct Trial {
    line: Vec<OsString>,
    /// The places of the entry; `None` if no entry is to be chosen.
    entry_places: Option<EntryPlaces>,
}

impl Trial {
    /// Fills the slots of a line. If the session is given, the user wants to choose an entry.
    /// Otherwise, an entry is chosen only if the command requires one.
    fn fill(line: &[OsString], slots: &Slots, parser: &LineParser) -> Result<Trial, Failure> {
        let mut trial = line.to_vec();
        let has_session = slots.has_session();
        if !has_session {
            trial = insert_word(&trial, slots.session_place, "last".into(), parser)?;
        }
        let needs_entry =
            has_session || (slots.takes_entry && lacks_argument(&(parser.check)(&trial)));
        if !needs_entry {
            return Ok(Trial {
                line: trial,
                entry_places: None,
            });
        }
        let places = slots.entry_places()?;
        Ok(Trial {
            line: places.fill(&trial, "@", parser)?,
            entry_places: Some(places),
        })
    }
}

/// Completes a command line with the newest session of the current directory, reports the session,
/// and returns the line: `show` becomes `show PATH`. `None` if the line lacks something else, if
/// standard input or output is not a terminal, or if the command writes.
pub fn take_last(
    args: &[OsString],
    parser: &LineParser,
    ui: &mut Ui,
) -> Result<Option<Vec<OsString>>, Failure> {
    let Some(LineWithoutSession { partial, slots }) = LineWithoutSession::parse(args, parser, ui)
    else {
        return Ok(None);
    };
    if partial.writes() {
        return Ok(None);
    }
    let trial = insert_word(args, slots.session_place, "last".into(), parser)?;
    let lacks_session_only = (parser.check)(&trial).is_ok();
    if !lacks_session_only {
        return Ok(None);
    }

    let last = find_last_for(&partial, ui)?;
    report_session("last is", &last, ui)?;
    let completed = insert_word(args, slots.session_place, last.into_os_string(), parser)?;
    Ok(Some(completed))
}

/// Returns the session that `last` means for a command: with `--source`, one of these agents.
fn find_last_for(partial: &PartialLine, ui: &mut Ui) -> Result<PathBuf, Failure> {
    match SourceArgs::given_in(&partial.matches) {
        Some(source) => {
            ui.limit_sources(&source);
            resolve_argument_to_read(Path::new("last"), ui)
        }
        None => find_last(ui),
    }
}

/// Whether to ask the user for the session of a command line. The user is asked on a terminal, if
/// the command writes one session. The line may lack only the session and the entry: the user is
/// asked for both.
pub fn must_ask_for_session(
    args: &[OsString],
    parser: &LineParser,
    ui: &Ui,
) -> Result<bool, Failure> {
    let Some(LineWithoutSession { partial, slots }) = LineWithoutSession::parse(args, parser, ui)
    else {
        return Ok(false);
    };
    // `prune` accepts several sessions, but is usually given one, and `redact -o` takes only one.
    let takes_one = match &*slots.command {
        "prune" => true,
        "redact" => partial.has("output"),
        _ => !slots.takes_several,
    };
    if !takes_one || !partial.writes() {
        return Ok(false);
    }

    // With placeholders for the session and the entry, the line must be valid.
    let trial = Trial::fill(args, &slots, parser)?;
    Ok((parser.check)(&trial.line).is_ok())
}

/// A command line, typed at a terminal, whose command takes a session that is not given.
struct LineWithoutSession {
    partial: PartialLine,
    slots: Slots,
}

impl LineWithoutSession {
    /// Returns `None` for any other command line. Also if a word before the session is missing, so
    /// that an inserted session would be taken for that word.
    fn parse(args: &[OsString], parser: &LineParser, ui: &Ui) -> Option<LineWithoutSession> {
        // If either is not a terminal, a script runs the command, or the session was to come from a
        // pipe. Neither may depend on which session is the newest.
        let terminals = &ui.world.terminals;
        if !terminals.stdin || !terminals.stdout {
            return None;
        }
        let partial = (parser.parse_partly)(args)?;
        let slots = Slots::find(&partial)?;
        if slots.has_session() || slots.lacks_word_before(args, parser) {
            return None;
        }
        Some(LineWithoutSession { partial, slots })
    }
}

/// Whether checking a command line has found a missing required argument.
fn lacks_argument(checked: &Result<(), clap::Error>) -> bool {
    match checked {
        Ok(()) => false,
        Err(error) => error.kind() == ErrorKind::MissingRequiredArgument,
    }
}

/// The places of the session and of an entry in a command line. In this module, a word is an
/// argument that is neither an option nor the value of one.
struct Slots {
    /// The name of the command.
    command: String,
    /// Whether the command takes an entry.
    takes_entry: bool,
    /// Whether the command takes several sessions.
    takes_several: bool,
    /// Whether SESSION names an archived session.
    takes_archives: bool,
    /// The number of words that precede the session if all of them are given.
    words_before: usize,
    /// The number of given words that precede the session.
    session_place: usize,
    /// The session; `None` if it is missing.
    session: Option<OsString>,
    /// The number of given words.
    word_count: usize,
}

impl Slots {
    /// Finds the places in a command line; `None` if its command takes no session.
    ///
    /// The words are given in the order of the command's arguments, so that the session follows the
    /// words of the arguments before SESSION.
    fn find(partial: &PartialLine) -> Option<Slots> {
        let words = given_words(partial);
        let arguments: Vec<&Arg> = partial.command.get_positionals().collect();
        let session_index = arguments.iter().position(|arg| is_named(arg, "SESSION"))?;
        let session_argument = arguments[session_index];
        let command = partial.command.get_name();

        // `grep` takes a pattern before the sessions, unless -e gives the pattern.
        let has_pattern_option = command == "grep" && partial.matches.contains_id("regexp");
        let words_before = if has_pattern_option { 0 } else { session_index };
        // `relocate` takes a directory after the sessions; clap counts it among them.
        let words_after = if command == "relocate" { 1 } else { 0 };
        let has_session = words.len() > words_before + words_after;
        Some(Slots {
            command: command.to_owned(),
            takes_entry: arguments.iter().any(|arg| is_named(arg, "REF")),
            // clap appends each value of an argument that may be repeated.
            takes_several: matches!(session_argument.get_action(), ArgAction::Append),
            takes_archives: takes_archives(partial),
            words_before,
            session_place: words_before.min(words.len()),
            session: if has_session {
                Some(words[words_before].clone())
            } else {
                None
            },
            word_count: words.len(),
        })
    }

    fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Removes the given session, so that it counts as missing. Returns the line without it.
    fn remove_session(
        &mut self,
        line: &[OsString],
        parser: &LineParser,
    ) -> Result<Vec<OsString>, Failure> {
        let remaining_line = remove_word(line, self.session_place, parser)?;
        self.session = None;
        self.word_count -= 1;
        Ok(remaining_line)
    }

    /// Whether a command line lacks a required word before the session, such as the pattern of
    /// `grep`, so that an inserted session would be taken for it. With options such as `--role`,
    /// the pattern is not required.
    fn lacks_word_before(&self, args: &[OsString], parser: &LineParser) -> bool {
        self.session_place < self.words_before && lacks_argument(&(parser.check)(args))
    }

    /// Returns the given SESSION as words of titles, if the user is to choose among the sessions
    /// whose titles have these words. For example, `show --choose 'login bug'` lists the sessions
    /// with both words in their titles.
    ///
    /// Returns `None` in these cases:
    /// - SESSION is missing, a path, or the id or name of a session;
    /// - no title has these words;
    /// - only one title has them, and the command reads one entry. Then the words name that
    ///   session, and the user chooses the entry in it.
    fn words_of_titles(&self, only_reads: bool, ui: &Ui) -> Option<TitleWords> {
        let argument = Path::new(self.session.as_ref()?);
        let words = name_argument(argument)?;
        let is_id_or_name = resolve_name(argument, ui).is_ok();
        if is_id_or_name {
            return None;
        }
        let match_count = find_by_title(words, ui).len();
        if match_count == 0 {
            return None;
        }
        let reads_one_entry = only_reads && self.takes_entry;
        if match_count == 1 && reads_one_entry {
            return None;
        }
        TitleWords::parse(words)
    }

    /// Returns where to insert the chosen entry.
    ///
    /// That follows from the number of given words: `show SESSION` lacks the entry, and `show
    /// SESSION REF` has it already. A session that is still to be chosen counts as given.
    ///
    /// # Errors
    /// If the command takes no entry, or if an entry is given already.
    fn entry_places(&self) -> Result<EntryPlaces, Failure> {
        if !self.takes_entry {
            let failure = Failure::usage_error(format_args!(
                "--choose: SESSION is given, and {} takes no REF",
                self.command
            ));
            return Err(failure.with_hint("omit SESSION to choose it"));
        }
        // An entry follows its session, so without a session there are no other words.
        let word_count = if self.has_session() {
            self.word_count
        } else {
            1
        };
        match (&*self.command, word_count) {
            // `diff SESSION` becomes `diff SESSION CHOSEN @`: the chosen entry is compared with the
            // leaf.
            ("diff", 1) => Ok(EntryPlaces {
                chosen: 1,
                leaf: Some(2),
            }),
            // `diff SESSION REF` becomes `diff SESSION REF CHOSEN`.
            ("diff", 2) => Ok(EntryPlaces {
                chosen: 2,
                leaf: None,
            }),
            // `SESSION` becomes `SESSION CHOSEN`. For `label`, the second word is the name of the
            // label: `SESSION NAME` becomes `SESSION CHOSEN NAME`.
            (_, 1) | ("label", 2) => Ok(EntryPlaces {
                chosen: 1,
                leaf: None,
            }),
            _ => {
                let failure = Failure::usage_error("--choose: SESSION and REF are given");
                Err(failure.with_hint("omit REF, or both, to choose"))
            }
        }
    }
}

/// The places at which references to entries are inserted. A place is the number of words before
/// the reference.
struct EntryPlaces {
    /// The place of the chosen entry.
    chosen: usize,
    /// The place of the leaf; `None` if it is not inserted. It counts the chosen entry, which is
    /// inserted first.
    leaf: Option<usize>,
}

impl EntryPlaces {
    /// Inserts the reference of the chosen entry and then, for the leaf, `@`. Returns the resulting
    /// arguments.
    fn fill(
        &self,
        args: &[OsString],
        reference: &str,
        parser: &LineParser,
    ) -> Result<Vec<OsString>, Failure> {
        let mut filled = insert_word(args, self.chosen, reference.into(), parser)?;
        if let Some(place) = self.leaf {
            filled = insert_word(&filled, place, "@".into(), parser)?;
        }
        Ok(filled)
    }
}

/// Whether the command is `archive --restore` or `archive --delete`, which take archived sessions.
fn takes_archives(partial: &PartialLine) -> bool {
    // clap panics if it is asked for an option that the command does not have.
    partial.command.get_name() == "archive"
        && (partial.matches.get_flag("restore") || partial.matches.get_flag("delete"))
}

/// Whether an argument's value has this name in the help. `SESSION|REF` are two names.
fn is_named(arg: &Arg, name: &str) -> bool {
    value_name(arg).split('|').any(|part| part == name)
}

/// Returns the given words of a command line, in order.
fn given_words(partial: &PartialLine) -> Vec<OsString> {
    let mut words = Vec::new();
    for arg in partial.command.get_positionals() {
        let id = arg.get_id().as_str();
        // A default value was not typed by the user.
        if partial.matches.value_source(id) == Some(ValueSource::CommandLine) {
            let values = partial.matches.get_raw(id).into_iter().flatten();
            words.extend(values.map(OsStr::to_owned));
        }
    }
    words
}

/// Removes the word at `place`, and returns the resulting command line. `place` is the number of
/// words before that word.
///
/// An option's value may look like the word that is searched for. So each argument that equals the
/// word is tried, from the last to the first, until the parser accepts it as the word.
fn remove_word(
    args: &[OsString],
    place: usize,
    parser: &LineParser,
) -> Result<Vec<OsString>, Failure> {
    let mut words = match (parser.parse_partly)(args) {
        Some(partial) => given_words(&partial),
        None => Vec::new(),
    };
    if place >= words.len() {
        return Err(cannot_complete());
    }
    let removed_word = words.remove(place);
    let remaining_words = words;

    // The first argument is the program.
    for index in (1..args.len()).rev() {
        if args[index] != removed_word {
            continue;
        }
        let mut line = args.to_vec();
        line.remove(index);
        if let Some(partial) = (parser.parse_partly)(&line)
            && given_words(&partial) == remaining_words
        {
            return Ok(line);
        }
    }
    Err(cannot_complete())
}

/// Inserts a word after `place` other words, and returns the resulting command line: `S` at place 0
/// in `show -n 5 REF` gives `show S -n 5 REF`. Every position is tried until the parser finds the
/// wanted words, because only the parser knows that 5 is the value of an option.
fn insert_word(
    args: &[OsString],
    place: usize,
    word: OsString,
    parser: &LineParser,
) -> Result<Vec<OsString>, Failure> {
    let mut wanted = match (parser.parse_partly)(args) {
        Some(partial) => given_words(&partial),
        None => Vec::new(),
    };
    wanted.insert(place.min(wanted.len()), word.clone());
    // The first argument is the program.
    for index in 1..=args.len() {
        let mut line = args.to_vec();
        line.insert(index, word.clone());
        if let Some(partial) = (parser.parse_partly)(&line)
            && given_words(&partial) == wanted
        {
            return Ok(line);
        }
    }
    Err(cannot_complete())
}

/// Returns the failure for a command line in which the parser does not find the wanted words.
fn cannot_complete() -> Failure {
    Failure::usage_error("--choose: this command line cannot be completed")
        .with_hint("give the session and the entry")
}
