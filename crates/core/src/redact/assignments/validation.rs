//! Recognizes the rules that a form checks for a value, as Laravel writes them: `'password' =>
//! ['required', 'min:8']` or `'password' => 'required|min:8'`. They are not passwords.

/// Whether one of the strings in an array, or a part of one, is a rule without a value, such as
/// `required`. Then the array has rules, so that other strings of their form are rules, too.
pub fn include_rule_without_value(strings: &[&[u8]]) -> bool {
    strings.iter().any(|string| parts(string).any(is_bare_rule))
}

/// Whether a string in an array consists of rules, such as `min:8` or `min:8|max:255`.
///
/// `are_rules` is whether the array has rules. Then any word and a colon begin a rule, as in
/// `digits_between:4,8`; otherwise only the names of the most usual rules.
pub fn is_rule(string: &[u8], are_rules: bool) -> bool {
    parts(string).all(|part| is_bare_rule(part) || is_rule_with_value(part, are_rules))
}

/// Whether a value alone consists of rules, at least one of which is without a value, as in
/// `required|min:8`.
pub fn is_rule_list(value: &[u8]) -> bool {
    include_rule_without_value(&[value]) && is_rule(value, true)
}

fn parts(string: &[u8]) -> impl Iterator<Item = &[u8]> {
    string.split(|&byte| byte == b'|')
}

/// Whether this is the name of a rule that takes no value.
fn is_bare_rule(part: &[u8]) -> bool {
    const BARE_RULES: [&[u8]; 14] = [
        b"required",
        b"nullable",
        b"present",
        b"filled",
        b"sometimes",
        b"bail",
        b"confirmed",
        b"current_password",
        b"string",
        b"alpha_num",
        b"numeric",
        b"integer",
        b"prohibited",
        b"exclude",
    ];
    BARE_RULES.contains(&part)
}

/// Whether this is the name of a rule and its value, such as `min:8`.
fn is_rule_with_value(part: &[u8], is_any_name_allowed: bool) -> bool {
    const USUAL_RULES: [&[u8]; 12] = [
        b"min",
        b"max",
        b"size",
        b"between",
        b"digits",
        b"in",
        b"same",
        b"different",
        b"regex",
        b"not_regex",
        b"required_if",
        b"required_with",
    ];
    let Some(colon) = part.iter().position(|&byte| byte == b':') else {
        return false;
    };
    let name = &part[..colon];
    let is_word = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let is_name = !name.is_empty() && name.iter().all(is_word);
    USUAL_RULES.contains(&name) || is_any_name_allowed && is_name
}
