//! JSON schemas of tools, rewritten for the APIs.
//!
//! A rewrite walks once over a schema and its subschemas, with an explicit stack, and collects the
//! changes.

use super::Api;
use crate::session::content;
use pisess_json::edit::Edit;
use pisess_json::scan::RawString;
use pisess_json::text::Text;
use pisess_json::write::{Object, array, texts};
use pisess_json::{Raw, string};

/// The maximum depth; schemas below it are sent unchanged.
const DEPTH: usize = 64;

/// Keywords that strict modes refuse.
const UNSUPPORTED: [&str; 16] = [
    "$ref",
    "$defs",
    "definitions",
    "allOf",
    "oneOf",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "prefixItems",
    "not",
    "if",
    "then",
    "else",
];

/// Keywords that Anthropic's strict mode refuses as well.
const UNSUPPORTED_BY_ANTHROPIC: [&str; 11] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
];

const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Returns the schema for strict mode: objects require all their properties and allow no others.
/// `None` if that is impossible. `schema` must be as JavaScript writes it.
pub fn strict(schema: &[u8], api: Api) -> Option<Vec<u8>> {
    let root = Raw::checked(schema);
    if !content::is(root, "type", "object") {
        return None;
    }
    let mut whole = Edit::new(schema).ok()?;
    let mut open = vec![(root, 0)];
    while let Some((node, depth)) = open.pop() {
        if !node.is_object()
            || depth > DEPTH
            || node
                .members()
                .any(|(key, value)| is_unsupported(key, value, api))
        {
            return None;
        }
        let names = ["type", "enum", "anyOf", "items", "properties"];
        let [kind, values, any_of, items, properties] = content::members(node, names);
        // OpenAI's strict mode refuses a node without a type. An enumeration counts as one, a
        // constant does not.
        if kind.is_none() && values.is_none() && any_of.is_none() {
            return None;
        }
        if let Some(any_of) = any_of {
            any_of.items().next()?;
            if any_of.items().any(is_structured) {
                return None;
            }
            open.extend(any_of.items().map(|variant| (variant, depth + 1)));
        }
        open.extend(items.map(|items| (items, depth + 1)));
        if content::is(node, "type", "object") {
            let mut edit = Edit::new(node.bytes()).ok()?;
            close_object(node, &mut edit)?;
            whole.join(edit);
            open.extend(
                properties
                    .into_iter()
                    .flat_map(Raw::members)
                    .map(|(_, value)| (value, depth + 1)),
            );
        } else if properties.is_some() {
            return None;
        }
    }
    Some(whole.finish())
}

/// Makes an object require all its properties and allow no others; those that were optional may be
/// `null`.
fn close_object<'a>(node: Raw<'a>, edit: &mut Edit<'a>) -> Option<()> {
    let names = ["properties", "required", "additionalProperties"];
    let [properties, required, additional] = content::members(node, names);
    if additional.is_some_and(|additional| additional.bool() != Some(false))
        || properties.is_some_and(|properties| !properties.is_object())
        || required.is_some_and(|required| !required.is_array())
    {
        return None;
    }
    let required = required
        .unwrap_or(Raw::NULL)
        .items()
        .map(Raw::text)
        .collect::<Option<Vec<Text>>>()?;
    let properties: Vec<_> = properties
        .unwrap_or(Raw::NULL)
        .members()
        .map(|(key, value)| (string::decode(key.bytes), value))
        .collect();
    if required
        .iter()
        .any(|name| !properties.iter().any(|(key, _)| key == name))
    {
        return None;
    }
    for (key, property) in &properties {
        if !required.contains(key) && !allows_null(*property) {
            edit.surround(*property, br#"{"anyOf":["#, br#",{"type":"null"}]}"#);
        }
    }
    let all = texts(properties.iter().map(|(key, _)| key));
    edit.set("required", &all);
    edit.set("additionalProperties", b"false");
    Some(())
}

fn is_unsupported(key: RawString, value: Raw, api: Api) -> bool {
    let among = |names: &[&str]| names.iter().any(|name| key.is(name));
    let by_anthropic = || {
        among(&UNSUPPORTED_BY_ANTHROPIC)
            || key.is("minItems") && !matches!(value.number(), Some(0.0 | 1.0))
            || key.is("format") && !FORMATS.iter().any(|format| value.is(format))
    };
    among(&UNSUPPORTED) || api == Api::Anthropic && by_anthropic()
}

fn is_structured(schema: Raw) -> bool {
    let [kind, properties, items] = content::members(schema, ["type", "properties", "items"]);
    let is = |kind: Raw| kind.is("object") || kind.is("array");
    properties.is_some()
        || items.is_some()
        || kind.is_some_and(|kind| is(kind) || kind.items().any(is))
}

fn allows_null(schema: Raw) -> bool {
    // Nested unions are searched only to the maximum depth of a schema.
    let mut open = vec![(schema, 0)];
    while let Some((schema, depth)) = open.pop() {
        let [kind, constant, values, any_of] =
            content::members(schema, ["type", "const", "enum", "anyOf"]);
        let is_null = |kind: Raw| kind.is("null");
        if kind.is_some_and(|kind| is_null(kind) || kind.items().any(is_null))
            || constant.is_some_and(Raw::is_null)
            || values.is_some_and(|values| values.items().any(Raw::is_null))
        {
            return true;
        }
        if depth < DEPTH {
            open.extend(
                any_of
                    .into_iter()
                    .flat_map(Raw::items)
                    .map(|variant| (variant, depth + 1)),
            );
        }
    }
    false
}

/// Returns a schema in Anthropic's form: `type`, `properties`, `required`, `additionalProperties`
/// and the definitions. A strict schema keeps its other members, too. `schema` must be as JavaScript writes it.
pub fn input_schema(schema: &[u8], is_strict: bool) -> Vec<u8> {
    let node = Raw::checked(schema);
    let or = |key, none: &'static [u8]| (key, node.get_some(key).map_or(none, Raw::bytes));
    let own = [
        ("type", &b"\"object\""[..]),
        or("properties", b"{}"),
        or("required", b"[]"),
    ];
    match Edit::new(schema) {
        Ok(mut edit) if is_strict => {
            own.iter().for_each(|(key, value)| edit.set(key, value));
            edit.finish()
        }
        _ => {
            let object = own.iter().fold(Object::new(), |object, (key, value)| {
                object.json(key, value)
            });
            let kept = ["additionalProperties", "$defs", "definitions"];
            object.copy(node, &kept).finish()
        }
    }
}

/// Keywords whose value maps names to schemas.
const NAME_MAPS: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

/// Keywords whose value is a schema or a list of schemas.
const SUBSCHEMAS: [&str; 16] = [
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

/// Returns a schema in Google's form: a constant becomes an enumeration of one value. `schema` must
/// be as JavaScript writes it.
pub fn without_constants(schema: &[u8]) -> Vec<u8> {
    let Ok(mut whole) = Edit::new(schema) else {
        return schema.to_vec();
    };
    // Each value with whether it is a map from names to schemas, and its depth.
    let mut open = vec![(Raw::checked(schema), false, 0)];
    while let Some((node, is_map, depth)) = open.pop() {
        if depth > DEPTH {
            continue;
        }
        open.extend(node.items().map(|item| (item, false, depth + 1)));
        if !node.is_object() {
            continue;
        }
        for (key, value) in node.members() {
            let among = |names: &[&str]| names.iter().any(|name| key.is(name));
            let maps = !is_map && among(&NAME_MAPS);
            if is_map || maps || among(&SUBSCHEMAS) {
                open.push((value, maps, depth + 1));
            }
        }
        if !is_map && let Ok(mut edit) = Edit::new(node.bytes()) {
            replace_constant(node, &mut edit);
            whole.join(edit);
        }
    }
    whole.finish()
}

/// Replaces the constant of a schema, if it is a string or a number, by an enumeration at its end.
fn replace_constant<'a>(node: Raw<'a>, edit: &mut Edit<'a>) {
    let [constant, values] = content::members(node, ["const", "enum"]);
    let is_listed = |value: &Raw| value.is_string() || value.is_number();
    if let (Some(constant), None) = (constant.filter(is_listed), values) {
        edit.remove("const");
        edit.set("enum", &array([constant.bytes()]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pisess_json::js;

    fn strictly(schema: &str, api: Api) -> Option<String> {
        let schema = js::stringify(Raw::parse(schema.as_bytes()).unwrap()).into_bytes();
        strict(&schema, api).map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn objects_take_all_their_properties_and_no_others() {
        assert_eq!(
            strictly(
                r#"{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"object"},"c":{"type":["null","string"]}},"x":1}"#,
                Api::OpenAi
            )
            .unwrap(),
            r#"{"type":"object","required":["a","b","c"],"properties":{"a":{"type":"string"},"b":{"anyOf":[{"type":"object","required":[],"additionalProperties":false},{"type":"null"}]},"c":{"type":["null","string"]}},"x":1,"additionalProperties":false}"#
        );
        assert_eq!(
            strictly(r#"{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{}}}},"required":["l"]}"#, Api::Google)
                .unwrap(),
            r#"{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{},"required":[],"additionalProperties":false}}},"required":["l"],"additionalProperties":false}"#
        );
    }

    #[test]
    fn what_strict_mode_cannot_do_is_refused() {
        for schema in [
            "{}",
            r#"{"type":"object","$ref":"x"}"#,
            r#"{"type":"object","additionalProperties":true}"#,
            r#"{"type":"object","properties":{"a":true}}"#,
            r#"{"type":"object","properties":{"a":{"description":"any"}}}"#,
            r#"{"type":"object","properties":{"a":{"const":"x"}}}"#,
            r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{}]}}}"#,
            r#"{"type":"object","properties":{"a":{"type":"array","items":{}}}}"#,
            r#"{"type":"object","properties":{"a":{"anyOf":[]}}}"#,
            r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"array"}]}}}"#,
            r#"{"type":"object","properties":{"a":{"type":"array","items":[{}]}}}"#,
            r#"{"type":"object","properties":{"a":{"properties":{}}}}"#,
            r#"{"type":"object","required":["b"]}"#,
            r#"{"type":"object","required":[1]}"#,
        ] {
            assert_eq!(strictly(schema, Api::OpenAi), None, "{schema}");
        }
        let limited = r#"{"type":"object","properties":{"n":{"type":"number","minimum":1}},"required":["n"]}"#;
        assert_eq!(strictly(limited, Api::Anthropic), None);
        assert!(strictly(limited, Api::OpenAi).is_some());
    }

    #[test]
    fn depth_ends() {
        let deep = format!(
            "{}{{\"type\":\"string\"}}{}",
            r#"{"type":"array","items":"#.repeat(5000),
            "}".repeat(5000)
        );
        let schema = format!(r#"{{"type":"object","properties":{{"a":{deep}}},"required":["a"]}}"#);
        assert_eq!(strictly(&schema, Api::OpenAi), None);
        assert_eq!(without_constants(schema.as_bytes()), schema.as_bytes());
    }

    #[test]
    fn constants_become_enumerations() {
        let changed =
            |schema: &str| String::from_utf8(without_constants(schema.as_bytes())).unwrap();
        assert_eq!(changed(r#"{"const":"a"}"#), r#"{"enum":["a"]}"#);
        assert_eq!(
            changed(r#"{"const":1,"type":"number"}"#),
            r#"{"type":"number","enum":[1]}"#
        );
        assert_eq!(
            changed(
                r#"{"properties":{"const":{"type":"string","const":"x"}},"anyOf":[{"const":"y"}]}"#
            ),
            r#"{"properties":{"const":{"type":"string","enum":["x"]}},"anyOf":[{"enum":["y"]}]}"#
        );
        for same in [
            r#"{"const":null}"#,
            r#"{"const":"a","enum":["a"]}"#,
            r#"{"default":{"const":"a"}}"#,
        ] {
            assert_eq!(changed(same), same);
        }
    }

    #[test]
    fn anthropic_gets_objects_only() {
        let schema = |json: &str, is_strict| {
            String::from_utf8(input_schema(json.as_bytes(), is_strict)).unwrap()
        };
        assert_eq!(
            schema(
                r#"{"x":1,"properties":{"a":{}},"$defs":{},"additionalProperties":true}"#,
                false
            ),
            r#"{"type":"object","properties":{"a":{}},"required":[],"additionalProperties":true,"$defs":{}}"#
        );
        assert_eq!(
            schema(r#"{"x":1,"required":["a"],"type":"object"}"#, true),
            r#"{"x":1,"required":["a"],"type":"object","properties":{}}"#
        );
    }
}
