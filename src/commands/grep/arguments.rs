//! Which arguments are the pattern, and which are sessions.

use super::Args;
use crate::cli::locate::SessionStores;
use crate::cli::named::{
    is_session_id, may_be_given_session, name_argument, name_failure, take_range,
};
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::session_report::report_session;
use crate::cli::titled::find_only_title;
use crate::load::names::SearchRange;
use std::path::{Path, PathBuf};

impl Args {
    /// Returns these arguments with the pattern, the sessions and the range in their own members.
    ///
    /// clap only counts: the first argument is in `pattern`, even if it is a session, and all
    /// others are in `sessions`, even if the last is a range.
    pub(super) fn separate_pattern_from_paths(&self, ui: &mut Ui) -> Result<Args, Failure> {
        let mut args = self.clone();
        if let Some(session) = args.find_first_session(ui)? {
            args.pattern = None;
            args.sessions.paths.insert(0, session);
        }
        // Without any pattern, every selected entry matches, as with an empty one.
        if args.pattern.is_none() && args.regexp.is_empty() {
            args.pattern = Some(String::new());
        }
        args.range = take_range(&mut args.sessions.paths)?;
        Ok(args)
    }

    /// Refuses combinations of options that clap cannot refuse: a range is a positional argument,
    /// which only its form distinguishes from a session.
    pub(super) fn refuse_conflicts(&self) -> Result<(), Failure> {
        if self.range.is_some() && self.last.entry_count.is_some() {
            return Err(
                Failure::usage_error("a range cannot be combined with --last")
                    .with_hint("omit one of them"),
            );
        }
        if self.range.is_some() && self.follow {
            return Err(Failure::usage_error("a range cannot be followed")
                .with_hint("omit the range, or --follow"));
        }
        Ok(())
    }

    /// Returns the first argument if it is a session, and not the pattern.
    ///
    /// With `-e`, it is always a session. Options such as `--role` make the pattern optional: then
    /// a single argument is a session if it is a file, or the id or the whole name of a session.
    fn find_first_session(&self, ui: &mut Ui) -> Result<Option<PathBuf>, Failure> {
        if !self.regexp.is_empty() {
            return Ok(self.pattern.as_ref().map(PathBuf::from));
        }
        let Some(argument) = self.optional_pattern() else {
            return Ok(None);
        };
        let path = ui.current_folder().join(argument);
        let is_session_file = path.is_file() && may_be_given_session(&path);
        if is_session_file || is_session_id(argument, ui) {
            return Ok(Some(PathBuf::from(argument)));
        }
        if !self.may_name_session(ui)? {
            return Ok(None);
        }
        find_by_name_in_project(argument, ui)
    }

    /// Returns the only argument, if another option makes the pattern optional.
    fn optional_pattern(&self) -> Option<&str> {
        let selects_entries =
            self.failed || self.with_images || !self.role.is_empty() || !self.tool.is_empty();
        if !selects_entries || !self.regexp.is_empty() || !self.sessions.paths.is_empty() {
            return None;
        }
        self.pattern.as_deref()
    }

    /// Whether the only argument may be the name of a session of pi or oh-my-pi, or words of its
    /// title.
    fn may_name_session(&self, ui: &Ui) -> Result<bool, Failure> {
        // `-v` without a pattern would print nothing: every entry matches an empty one.
        if self.invert_match {
            return Ok(false);
        }
        // Other options, or an environment variable, select the sessions already.
        let sessions = &self.sessions;
        if sessions.all || sessions.archived || sessions.source.sources(ui)?.is_some() {
            return Ok(false);
        }
        let argument = self.optional_pattern().unwrap_or_default();
        Ok(name_argument(Path::new(argument)).is_some())
    }

    /// Whether the pattern, which matches no entry, may be a session.
    pub(super) fn takes_pattern_for_session(&self, ui: &Ui) -> Result<bool, Failure> {
        let searches_for_matches = !self.files_without_match && !self.follow;
        Ok(searches_for_matches && self.may_name_session(ui)?)
    }

    /// Whether words of a title are accepted in place of a name.
    ///
    /// A title may have the words by chance. So they are accepted only if the user sees which
    /// session is searched: not with `-q`, nor if a script reads counts, paths or JSON.
    fn accepts_title(&self, ui: &Ui) -> bool {
        let prints_rows = !self.count && !self.only.is_set() && !self.only_matching && !self.json;
        prints_rows && !ui.is_quiet()
    }

    /// Returns these arguments with a session in place of the pattern: the one that the pattern
    /// names, or whose title has its words. `None` if there is no such session, or several.
    pub(super) fn with_session_of_pattern(&self, ui: &mut Ui) -> Result<Option<Args>, Failure> {
        let Some(words) = self.optional_pattern() else {
            return Ok(None);
        };
        let Some(session) = self.find_named_or_titled(words, ui)? else {
            return Ok(None);
        };
        let mut args = self.clone();
        args.pattern = Some(String::new());
        args.sessions.paths.push(session);
        Ok(Some(args))
    }

    /// Returns the only session that `words` name or whose title has these words, and reports it.
    /// `None` if there is no such session, or several.
    fn find_named_or_titled(&self, words: &str, ui: &mut Ui) -> Result<Option<PathBuf>, Failure> {
        let stores = SessionStores::locate(ui);
        match stores.find_by_whole_name(words, SearchRange::AllProjects) {
            Ok(Some(session)) => {
                report_named(words, &session, ui)?;
                Ok(Some(session))
            }
            Ok(None) if self.accepts_title(ui) => find_only_title(words, ui),
            Ok(None) => Ok(None),
            // Several sessions have the name.
            Err(error) => {
                ui.warn(&name_failure(error, ui).to_note());
                Ok(None)
            }
        }
    }
}

/// Returns the session of the current directory that has this whole name, and reports it. `None` if
/// there is none, or several: the name is then a pattern.
///
/// `grep` reads the sessions of this directory in any case. For a name from another project, it
/// would have to read all sessions.
fn find_by_name_in_project(name: &str, ui: &mut Ui) -> Result<Option<PathBuf>, Failure> {
    let stores = SessionStores::locate(ui);
    let Ok(Some(session)) = stores.find_by_whole_name(name, SearchRange::Project) else {
        return Ok(None);
    };
    report_named(name, &session, ui)?;
    Ok(Some(session))
}

/// Reports the session that the only argument names.
fn report_named(name: &str, session: &Path, ui: &mut Ui) -> Result<(), Failure> {
    let how = format!("`{}` is", to_visible(name));
    report_session(&how, session, ui)
}
