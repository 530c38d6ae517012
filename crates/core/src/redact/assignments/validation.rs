//! Recognizes the rules that a form checks for a value, as Laravel writes them: `'password' =>
//! ['required', 'min:8']` or `'password' => 'required|min:8'`. They are not passwords.

/// Whether one of the strings in an array, or a part of one, is a rule without a value, such as
/// `required`. Then the array has rules, so that other strings of their form are rules, too.
pub fn include_rule_without_value(strings: &[&[u8]]) -> bool {
    strings.iter().any(|string| parts(string).any(is_bare_rule))
}

/// Whether a string in an array consists of rules, such as `min:8` or `min:8|max:255`.
///
/// `are_rules` is whether the array has rules. Then any rule of Laravel counts, as in
/// `digits_between:4,8`; otherwise only the most usual ones.
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
fn is_rule_with_value(part: &[u8], are_rules: bool) -> bool {
    let Some(colon) = part.iter().position(|&byte| byte == b':') else {
        return false;
    };
    let name = &part[..colon];
    USUAL_RULES.contains(&name) || are_rules && OTHER_RULES.contains(&name)
}

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

/// Other names of rules with a value. A list, because after any other word and a colon there may be
/// a password, as in `admin:x9Qd81Lm`.
const OTHER_RULES: [&[u8]; 33] = [
    b"accepted_if",
    b"after",
    b"before",
    b"confirmed",
    b"date_format",
    b"decimal",
    b"digits_between",
    b"doesnt_end_with",
    b"doesnt_start_with",
    b"ends_with",
    b"enum",
    b"exclude_if",
    b"exclude_unless",
    b"exclude_with",
    b"exclude_without",
    b"exists",
    b"gt",
    b"gte",
    b"lt",
    b"lte",
    b"max_digits",
    b"min_digits",
    b"multiple_of",
    b"not_in",
    b"prohibited_if",
    b"prohibited_unless",
    b"required_unless",
    b"required_with_all",
    b"required_without",
    b"required_without_all",
    b"starts_with",
    b"uncompromised",
    b"unique",
];
