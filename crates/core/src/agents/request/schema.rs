//! Rewrites JSON schemas of tools for the APIs.
//!
//! A rewrite walks once over a schema and its subschemas, with an explicit stack, and collects the
//! changes.

use super::Api;
use crate::session::content;
use pisess_json::edit::Edit;
use pisess_json::scan::RawString;
use pisess_json::text::Text;
use pisess_json::write::{Object, array, text_array};
use pisess_json::{Raw, string};

/// The maximum depth to which a schema is read.
const MAX_DEPTH: usize = 64;

/// The keywords that all strict modes refuse.
const UNSUPPORTED_KEYWORDS: [&str; 16] = [
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

/// More keywords that Anthropic's strict mode refuses.
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

/// The formats of strings that Anthropic's strict mode accepts.
const ANTHROPIC_FORMATS: [&str; 10] = [
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

/// Returns the schema of a tool's parameters for an API's strict mode, in which objects require all
/// their properties and allow no others. `schema` must be as `js::stringify` writes it, in which no
/// key is repeated.
///
/// `None` if strict mode cannot express the schema, as when it has an unsupported keyword, a node
/// without a type, an object that allows other properties, a union of structures, or too many
/// levels.
pub fn strict_schema(schema: &[u8], api: Api) -> Option<Vec<u8>> {
    let root = Raw::from_checked(schema);
    if !content::member_is(root, "type", "object") {
        return None;
    }
    let mut schema_edit = Edit::new(schema).ok()?;
    let mut pending = vec![Subschema {
        node: root,
        depth: 0,
    }];
    while let Some(subschema) = pending.pop() {
        let node = subschema.node;
        if subschema.depth > MAX_DEPTH || !is_expressible(node, api) {
            return None;
        }
        if content::member_is(node, "type", "object") {
            // Changes are made by position in `schema`, of which the node is a part. So the order
            // in which nodes are edited does not matter.
            schema_edit.merge(close_object(node)?);
        }
        pending.append(&mut subschema.children());
    }
    Some(schema_edit.finish())
}

/// A schema within a schema, which remains to be read.
struct Subschema<'a> {
    node: Raw<'a>,
    depth: usize,
}

impl<'a> Subschema<'a> {
    /// Returns the schemas directly below this one: the variants of a union, the items of a list,
    /// and the properties of an object.
    fn children(&self) -> Vec<Subschema<'a>> {
        let names = ["anyOf", "items", "properties"];
        let [any_of, items, properties] = content::find_members(self.node, names);
        let mut nodes: Vec<Raw> = any_of.unwrap_or(Raw::NULL).items().collect();
        nodes.extend(items);
        for (_, property) in properties.unwrap_or(Raw::NULL).members() {
            nodes.push(property);
        }

        let mut children = Vec::with_capacity(nodes.len());
        for node in nodes {
            children.push(Subschema {
                node,
                depth: self.depth + 1,
            });
        }
        children
    }
}

/// Whether an API's strict mode can express one node of a schema. The schemas in it are nodes of
/// their own, and [`close_object`] checks the properties of an object.
fn is_expressible(node: Raw, api: Api) -> bool {
    if !node.is_object() {
        return false;
    }
    let has_unsupported = node
        .members()
        .any(|(key, value)| is_unsupported(key, value, api));
    if has_unsupported {
        return false;
    }

    let names = ["type", "enum", "anyOf", "properties"];
    let [kind, values, any_of, properties] = content::find_members(node, names);
    // OpenAI's strict mode refuses a node without a type. An enumeration counts as one, a constant
    // does not.
    if kind.is_none() && values.is_none() && any_of.is_none() {
        return false;
    }
    if let Some(any_of) = any_of {
        // A union of nothing, or of objects or lists, is sent without strict mode.
        let is_empty = any_of.items().next().is_none();
        if is_empty || any_of.items().any(is_structured) {
            return false;
        }
    }

    // Properties must all be required, which only a node of the type `object` gets.
    let is_object = content::member_is(node, "type", "object");
    let has_properties_elsewhere = properties.is_some() && !is_object;
    !has_properties_elsewhere
}

/// Returns the edit of an object's schema after which it requires all its properties and allows no
/// others, as strict mode demands. A property that was optional accepts `null` afterwards.
///
/// `None` if the object allows other properties, requires one that it does not have, or has members
/// of the wrong types.
fn close_object(node: Raw<'_>) -> Option<Edit<'_>> {
    let properties = ObjectProperties::read(node)?;

    let mut edit = Edit::new(node.bytes()).ok()?;
    for (name, schema) in &properties.schemas {
        let is_optional = !properties.required_names.contains(name);
        if is_optional && !allows_null(*schema) {
            // `{"type":"string"}` becomes `{"anyOf":[{"type":"string"},{"type":"null"}]}`.
            edit.surround(*schema, br#"{"anyOf":["#, br#",{"type":"null"}]}"#);
        }
    }
    let all_names = text_array(properties.schemas.iter().map(|(name, _)| name));
    edit.set("required", &all_names);
    edit.set("additionalProperties", b"false");
    Some(edit)
}

/// The properties of an object that allows no others.
struct ObjectProperties<'a> {
    /// The schema of each property, by its name.
    schemas: Vec<(Text<'a>, Raw<'a>)>,
    /// The names of those that are required.
    required_names: Vec<Text<'a>>,
}

impl<'a> ObjectProperties<'a> {
    /// Reads the schema of an object. `None` if it allows other properties, requires one that it
    /// does not have, or has members of the wrong types.
    fn read(node: Raw<'a>) -> Option<Self> {
        let names = ["properties", "required", "additionalProperties"];
        let [properties, required, additional] = content::find_members(node, names);
        let allows_others = additional.is_some_and(|additional| additional.bool() != Some(false));
        let has_wrong_types = properties.is_some_and(|properties| !properties.is_object())
            || required.is_some_and(|required| !required.is_array());
        if allows_others || has_wrong_types {
            return None;
        }

        let mut schemas = Vec::new();
        for (key, schema) in properties.unwrap_or(Raw::NULL).members() {
            schemas.push((string::decode(key.bytes), schema));
        }
        let mut required_names = Vec::new();
        for name in required.unwrap_or(Raw::NULL).items() {
            let name = name.text()?;
            let is_property = schemas.iter().any(|(property, _)| *property == name);
            if !is_property {
                return None;
            }
            required_names.push(name);
        }
        Some(ObjectProperties {
            schemas,
            required_names,
        })
    }
}

/// Whether an API's strict mode refuses a schema that has this member. Most keys are refused
/// whatever their value is. Anthropic's mode accepts `minItems` and `format` with some values.
fn is_unsupported(key: RawString, value: Raw, api: Api) -> bool {
    if is_one_of(key, &UNSUPPORTED_KEYWORDS) {
        return true;
    }
    if api != Api::Anthropic {
        return false;
    }
    // Anthropic accepts that a list must not be empty, but no other minimum length.
    if key.is("minItems") {
        return !matches!(value.number(), Some(0.0 | 1.0));
    }
    if key.is("format") {
        return !ANTHROPIC_FORMATS.iter().any(|format| value.is(format));
    }
    is_one_of(key, &UNSUPPORTED_BY_ANTHROPIC)
}

fn is_one_of(key: RawString, names: &[&str]) -> bool {
    names.iter().any(|name| key.is(name))
}

/// Whether a schema describes an object, an array, or a type that includes one.
fn is_structured(schema: Raw) -> bool {
    let [kind, properties, items] = content::find_members(schema, ["type", "properties", "items"]);
    if properties.is_some() || items.is_some() {
        return true;
    }
    let is_structure = |kind: Raw| kind.is("object") || kind.is("array");
    // `type` is a name, or a list of names.
    kind.is_some_and(|kind| is_structure(kind) || kind.items().any(is_structure))
}

/// Whether a schema, or a variant of its unions, accepts `null`.
fn allows_null(schema: Raw) -> bool {
    // Unions may be nested. Below the maximum depth, a variant counts as one that does not accept
    // `null`.
    let mut pending = vec![(schema, 0)];
    while let Some((schema, depth)) = pending.pop() {
        let [kind, constant, values, any_of] =
            content::find_members(schema, ["type", "const", "enum", "anyOf"]);
        // `type` is a name, or a list of names.
        let kind = kind.unwrap_or(Raw::NULL);
        let has_null_type = kind.is("null") || kind.items().any(|name| name.is("null"));
        let is_null_constant = constant.is_some_and(Raw::is_null);
        let enumerates_null = values.unwrap_or(Raw::NULL).items().any(Raw::is_null);
        if has_null_type || is_null_constant || enumerates_null {
            return true;
        }
        if depth < MAX_DEPTH {
            for variant in any_of.unwrap_or(Raw::NULL).items() {
                pending.push((variant, depth + 1));
            }
        }
    }
    false
}

/// Returns the schema of a tool's parameters in Anthropic's form: an object with `properties` and
/// `required`, which are empty if the schema has none. Of its other members, only
/// `additionalProperties` and the definitions are kept, but a strict schema keeps all.
///
/// `schema` must be as `js::stringify` writes it, in which no key is repeated. If it is not an
/// object, it counts as one without members.
pub fn anthropic_schema(schema: &[u8], is_strict: bool) -> Vec<u8> {
    let node = Raw::from_checked(schema);
    let properties = node.get_some("properties").map_or(&b"{}"[..], Raw::bytes);
    let required = node.get_some("required").map_or(&b"[]"[..], Raw::bytes);
    let object_type = br#""object""#;

    // Editing fails only if the schema is not an object.
    if is_strict && let Ok(mut edit) = Edit::new(schema) {
        edit.set("type", object_type);
        edit.set("properties", properties);
        edit.set("required", required);
        return edit.finish();
    }
    Object::new()
        .json("type", object_type)
        .json("properties", properties)
        .json("required", required)
        .copy_members(node, &["additionalProperties", "$defs", "definitions"])
        .finish()
}

/// The keywords whose value maps names to schemas.
const NAME_MAP_KEYWORDS: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

/// The keywords whose value is a schema or a list of schemas.
const SUBSCHEMA_KEYWORDS: [&str; 16] = [
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

/// A value of a schema that remains to be read.
struct SchemaNode<'a> {
    value: Raw<'a>,
    /// Whether the value maps names to schemas. If not, it is a schema or a list of schemas.
    is_name_map: bool,
    depth: usize,
}

/// Returns a schema in Google's form, which has no constants: `"enum":["a"]` replaces
/// `"const":"a"`. Constants below `MAX_DEPTH` stay.
///
/// `schema` must be as `js::stringify` writes it, in which no key is repeated.
pub fn replace_constants(schema: &[u8]) -> Vec<u8> {
    let Ok(mut schema_edit) = Edit::new(schema) else {
        return schema.to_vec();
    };
    let mut pending = vec![SchemaNode {
        value: Raw::from_checked(schema),
        is_name_map: false,
        depth: 0,
    }];
    while let Some(node) = pending.pop() {
        if node.depth > MAX_DEPTH {
            continue;
        }
        pending.append(&mut node.children());
        let is_schema = node.value.is_object() && !node.is_name_map;
        if is_schema && let Some(edit) = replace_constant(node.value) {
            schema_edit.merge(edit);
        }
    }
    schema_edit.finish()
}

impl<'a> SchemaNode<'a> {
    /// Returns the values directly below this one that are schemas, or contain schemas: as a list,
    /// or as a map from names to schemas.
    fn children(&self) -> Vec<SchemaNode<'a>> {
        let depth = self.depth + 1;
        let mut children = Vec::new();
        for item in self.value.items() {
            children.push(SchemaNode {
                value: item,
                is_name_map: false,
                depth,
            });
        }
        for (key, value) in self.value.members() {
            // In a map from names to schemas, a key is a name, even if it looks like a keyword.
            let leads_to_map = !self.is_name_map && is_one_of(key, &NAME_MAP_KEYWORDS);
            if self.is_name_map || leads_to_map || is_one_of(key, &SUBSCHEMA_KEYWORDS) {
                children.push(SchemaNode {
                    value,
                    is_name_map: leads_to_map,
                    depth,
                });
            }
        }
        children
    }
}

/// Returns the edit that replaces the constant in a schema by an enumeration at the schema's end.
/// `None` if the constant is neither a string nor a number, or if there is an enumeration already.
fn replace_constant(node: Raw<'_>) -> Option<Edit<'_>> {
    let [constant, values] = content::find_members(node, ["const", "enum"]);
    let constant = constant?;
    let can_be_enumerated = constant.is_string() || constant.is_number();
    if !can_be_enumerated || values.is_some() {
        return None;
    }
    let mut edit = Edit::new(node.bytes()).ok()?;
    edit.remove("const");
    edit.set("enum", &array([constant.bytes()]));
    Some(edit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pisess_json::js;

    fn strictly(schema: &str, api: Api) -> Option<String> {
        let schema = js::stringify(Raw::parse(schema.as_bytes()).unwrap()).into_bytes();
        strict_schema(&schema, api).map(|json| String::from_utf8(json).unwrap())
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
    fn strict_schema_refuses_what_the_api_does_not_support() {
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
        assert_eq!(replace_constants(schema.as_bytes()), schema.as_bytes());
    }

    #[test]
    fn constants_become_enumerations() {
        let changed =
            |schema: &str| String::from_utf8(replace_constants(schema.as_bytes())).unwrap();
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
            String::from_utf8(anthropic_schema(json.as_bytes(), is_strict)).unwrap()
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
