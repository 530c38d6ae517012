//! Tips for options that exclude each other.

use super::refusal::Refusal;

/// Returns a tip for `check --all --repair`, which conflict: what is repaired must be named.
pub(super) fn tip_for_repairing_all(refusal: &Refusal) -> Option<String> {
    if !refusal.is_conflict("--all", "'--repair'") {
        return None;
    }
    Some(
        "`pisess check --all` reports what there is to repair; \
         `pisess check -r --repair --backup DIR` repairs a directory"
            .to_owned(),
    )
}

/// Returns a tip for `--all` or `--archived` together with SESSION.
pub(super) fn tip_for_sessions_with_all(refusal: &Refusal) -> Option<String> {
    let options = ["--all", "--archived"];
    let option = options
        .into_iter()
        .find(|option| refusal.is_conflict(option, "[SESSION]"))?;
    let mut tip = format!("omit {option} or SESSION; a name is looked up in all projects");
    if refusal.command_name() == "grep" {
        // In `grep foo bar --all`, clap reads `bar` as SESSION, but it may be a word of the
        // pattern.
        tip += "; put a pattern of several words in quotes";
    }
    Some(tip)
}

/// Returns a tip for `fork --branch 2`. clap reads that as `--branches`, which takes no REF.
pub(super) fn tip_for_one_branch(refusal: &Refusal) -> Option<String> {
    if refusal.command_name() != "fork" || !refusal.is_conflict_between("'--branches'", "'[REF]'") {
        return None;
    }
    Some(
        "to copy one branch, give its tip without the option: `pisess fork SESSION REF`; \
         `pisess branches` lists the tips"
            .to_owned(),
    )
}
