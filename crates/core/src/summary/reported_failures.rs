//! Whether a reply reports that a step still fails.

use super::command_step::CommandStep;
use super::prose::split_at_full_stops;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// The words with which a reply reports a failure that is not repaired.
const FAILS_STILL: &str = r"(?ix)(^|\W)(
    fails | (is|are|keeps?)\ (failing|broken|red)
    | (still|again)\ (not\ )?(fail|failing|broken|red|crash\w*|errors?|work\w*|pass\w*|build\w*)
    | (does|do|did)(\ not|n[’']?t)\ (pass|work|build|compile|run|succeed)
    | (schlägt|schlagen)\ .*fehl | (immer\ noch|weiterhin)\ (rot|kaputt|nicht)
    | échoue | échouent | ne\ (passe|marche|fonctionne)\ (toujours\ )?pas | falla | fallan
      | sigue\ fallando
    )(\W|$) | 仍然失败 | 还是失败 | 依然失败";

/// The words with which such a report is denied.
const NO_LONGER: &str = r"(?ix)(^|\W)(no\ (longer|more)|any\ ?more|never|nothing|none|nicht\ mehr
      |n[’']échoue|plus|ya\ no)(\W|$)";

/// Whether a sentence of a reply that names a step reports that it still fails.
pub(super) fn reports_open_failure(reply: &str, step: &CommandStep) -> bool {
    static FAILURE: LazyLock<Regex> = LazyLock::new(|| compile_expression(FAILS_STILL));
    static DENIAL: LazyLock<Regex> = LazyLock::new(|| compile_expression(NO_LONGER));
    let mut sentences = reply.lines().flat_map(split_at_full_stops);
    sentences.any(|sentence| {
        step.is_named_in(sentence) && FAILURE.is_match(sentence) && !DENIAL.is_match(sentence)
    })
}
