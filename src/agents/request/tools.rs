//! Definitions of tools, as sessions store them.

use super::Api;
use super::ids::tool_name;
use super::schema;
use crate::session::content;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Raw, js};

#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name in the body.
    pub name: Text<'static>,
    description: Option<Text<'static>>,
    /// The schema of its parameters, as JavaScript writes it.
    parameters: Vec<u8>,
    /// Whether its definition requests the API's strict mode.
    is_strict: bool,
    /// The grammar of its argument.
    pub grammar: Option<Grammar>,
}

/// A grammar for the one argument of a tool.
#[derive(Clone, Debug)]
pub struct Grammar {
    syntax: &'static str,
    definition: Text<'static>,
    /// The name of the argument.
    pub input: Text<'static>,
}

/// The parameters of a tool without a definition: an object with any members.
pub const ANY: &[u8] = br#"{"type":"object","properties":{}}"#;

impl Tool {
    /// Reads a definition; `None` if it has no name.
    pub fn of(tool: Raw, api: Api) -> Option<Tool> {
        let names = ["name", "description", "parameters", "constrainedSampling"];
        let [name, description, parameters, sampling] = content::members(tool, names);
        let parameters = parameters.filter(|schema| schema.is_object());
        let parameters = parameters.map_or(ANY.to_vec(), |schema| js::stringify(schema).into_bytes());
        let sampling = sampling.unwrap_or(Raw::NULL);
        Some(Tool {
            name: tool_name(&name?.text()?, api)?,
            description: description.and_then(Raw::text).map(Text::into_owned),
            is_strict: content::is_block(sampling, "json_schema"),
            grammar: Grammar::of(sampling, Raw::checked(&parameters)),
            parameters,
        })
    }

    /// Returns a definition for a tool of which only the name is known.
    pub fn named(name: Text<'static>) -> Tool {
        Tool { name, description: None, parameters: ANY.to_vec(), is_strict: false, grammar: None }
    }

    /// Returns its parameters rewritten for the API's strict mode; `None` if its definition does not request
    /// that, or they cannot be rewritten.
    pub fn strict_parameters(&self, api: Api) -> Option<Vec<u8>> {
        if self.is_strict { schema::strict(&self.parameters, api) } else { None }
    }

    /// Returns the schema of its parameters, as JavaScript writes it; [`ANY`] if the session has none.
    pub fn parameters(&self) -> &[u8] {
        &self.parameters
    }

    /// Returns an object with its name and description.
    pub fn head(&self, object: Object) -> Object {
        object
            .text("name", &self.name)
            .with(self.description.as_ref(), |object, description| object.text("description", description))
    }
}

/// Returns the name of the only required property, if that property is a string.
fn only_string(parameters: Raw) -> Option<Text<'static>> {
    let [kind, required, properties] = content::members(parameters, ["type", "required", "properties"]);
    let mut required = required?.items();
    let name = required.next()?.text()?;
    if !kind?.is("object") || required.next().is_some() {
        return None;
    }
    let property = properties?.get(&name.to_string_lossy())?;
    content::is(property, "type", "string").then(|| name.into_owned())
}

impl Grammar {
    fn of(sampling: Raw, parameters: Raw) -> Option<Self> {
        let variants = sampling.get("variants").filter(|_| content::is_block(sampling, "grammar"))?;
        let variant = |key| variants.get_text(key).filter(|text| !text.is_blank()).map(Text::into_owned);
        let lark = variant("openai_lark").map(|definition| ("lark", definition));
        let (syntax, definition) = lark.or(variant("openai_regex").map(|definition| ("regex", definition)))?;
        Some(Grammar { syntax, definition, input: only_string(parameters)? })
    }

    /// Adds the grammar's syntax and definition.
    pub fn write(&self, object: Object) -> Object {
        object.str("syntax", self.syntax).text("definition", &self.definition)
    }

    /// Returns the input of a call: the value of its one argument, or nothing if that is not a string.
    pub fn input_of(&self, arguments: Option<Raw>) -> Text<'static> {
        let text = arguments.and_then(|arguments| arguments.get(&self.input.to_string_lossy())?.text());
        text.map(Text::into_owned).unwrap_or_default()
    }
}
