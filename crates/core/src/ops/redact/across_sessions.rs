//! Secrets across sessions: which secrets are recognized in a session, and which secrets of other
//! sessions occur in it.

use super::{search_session, values_to_remove_everywhere};
use crate::redact::Redactor;
use crate::redact::values::SecretValue;
use pisess_store::ReadAt;
use std::collections::BTreeSet;
use std::io;

/// Returns the secrets that are recognized in a session, each once, without those whose text may be
/// ordinary elsewhere. They are to be removed from other sessions, too.
pub fn recognize_secrets(source: &dyn ReadAt, workers: usize) -> io::Result<Vec<SecretValue>> {
    let redactor = Redactor::for_secrets_only(Vec::new());
    let mut values = Vec::new();
    search_session(source, &redactor, workers, &mut |part| {
        values.extend(values_to_remove_everywhere(&redactor, &part.lines));
    })?;
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

/// Finds which of many values occur in a session. Built once, it serves any number of sessions.
///
/// It makes the redaction of many sessions take linear time: each is redacted with the few values
/// that occur in it. A redactor with the secrets of all sessions, built for each of them, would
/// take quadratic time.
pub struct ValueFinder {
    /// Its search is narrow, because lines without a value are of no interest.
    redactor: Redactor,
}

impl ValueFinder {
    /// Returns a finder of these values, each of which must be given once.
    pub fn new(values: Vec<SecretValue>) -> ValueFinder {
        let mut redactor = Redactor::for_secrets_only(Vec::new());
        redactor.search.narrow_with(values);
        ValueFinder { redactor }
    }

    /// Whether there are no values to find.
    pub fn is_empty(&self) -> bool {
        !self.redactor.search.has_values()
    }

    /// Returns the values that occur in a session, in the order in which they were given. A value
    /// occurs in any encoding in which a redaction finds it, and also if it is inside another
    /// secret or overlaps it.
    pub fn find_in(&self, source: &dyn ReadAt, workers: usize) -> io::Result<Vec<SecretValue>> {
        let mut indexes: BTreeSet<usize> = BTreeSet::new();
        search_session(source, &self.redactor, workers, &mut |mut part| {
            indexes.append(&mut part.value_indexes);
        })?;

        let all_values = self.redactor.search.values();
        let mut values = Vec::new();
        for index in indexes {
            values.push(all_values[index].clone());
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::redact::redact_session;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    const TOKEN: &str = "kq_live_9fQ2xR7bLm4TzW8c";
    const PIN: &str = "918273645";
    /// It overlaps the secret that a rule finds in `API_TOKEN=Zr81Wm-x92kLpQ0v!tail`.
    const TAIL: &str = "kLpQ0v!tail and more";

    fn values(texts: &[&str]) -> Vec<SecretValue> {
        let value = |text: &&str| SecretValue {
            kind: "secret",
            bytes: text.as_bytes().into(),
        };
        texts.iter().map(value).collect()
    }

    fn redact(session: &Vec<u8>, values: Vec<SecretValue>) -> Vec<u8> {
        let mut redactor = Redactor::for_secrets_only(values);
        let mut copy = Vec::new();
        redact_session(session, &mut redactor, 1, Some(&mut copy)).unwrap();
        copy
    }

    /// A redaction with the values that occur in a session is the same as one with all values.
    #[test]
    fn the_values_that_occur_are_enough_for_a_redaction() {
        let all = values(&["not_here_Xw83nQ1z", TOKEN, "nor_here_7Yb2mR5t", PIN, TAIL]);
        let finder = ValueFinder::new(all.clone());
        let base64 = STANDARD.encode(format!("key {TOKEN}."));
        for (line, expected) in [
            (format!(r#"{{"text":"try {TOKEN} again"}}"#), TOKEN),
            (format!(r#"{{"{TOKEN}":1}}"#), TOKEN),
            (format!(r#"{{"text":"{base64}"}}"#), TOKEN),
            (format!(r#"{{"id":"{TOKEN}"}}"#), TOKEN),
            (format!("{{cut off {TOKEN}"), TOKEN),
            (format!(r#"{{"pin":{PIN}}}"#), PIN),
            (
                format!(r#"{{"text":"export API_TOKEN=Zr81Wm-x92{TAIL}"}}"#),
                TAIL,
            ),
        ] {
            let session = format!("{{\"type\":\"session\"}}\n{line}\n").into_bytes();
            let found = finder.find_in(&session, 1).unwrap();
            assert_eq!(found, values(&[expected]), "{line}");
            assert_eq!(redact(&session, found), redact(&session, all.clone()));
        }
        let session = b"{\"text\":\"API_KEY=Q8w2ZrT5yUiO\"}\n".to_vec();
        assert_eq!(finder.find_in(&session, 1).unwrap(), []);
    }

    /// The inner value alone is removed from a session whose own secret the outer value is.
    #[test]
    fn values_inside_others_and_across_them_are_found() {
        let outer = format!("{TOKEN}.{PIN}");
        let across = format!("8c.{PIN}.end");
        let all = values(&[&outer, TOKEN, PIN, &across, "not_here_Xw83nQ1z"]);
        let finder = ValueFinder::new(all.clone());
        for text in [
            format!("{outer}.end"),
            STANDARD.encode(format!("the {outer}.end.")),
        ] {
            for line in [format!(r#"{{"text":"{text}"}}"#), text] {
                let session = format!("{line}\n").into_bytes();
                assert_eq!(finder.find_in(&session, 1).unwrap(), all[..4], "{line}");
            }
        }
    }
}
