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
    pub parameters: Vec<u8>,
    /// Whether the schema was rewritten for the API's strict mode.
    pub is_strict: bool,
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
const ANY: &[u8] = br#"{"type":"object","properties":{}}"#;

impl Tool {
    /// Reads a definition; `None` if it has no name. `takes_strict` and `takes_grammars`: whether
    /// the model accepts those.
    pub fn of(tool: Raw, api: Api, takes_strict: bool, takes_grammars: bool) -> Option<Tool> {
        let names = ["name", "description", "parameters", "constrainedSampling"];
        let [name, description, parameters, sampling] = content::members(tool, names);
        let schema = parameters.filter(|schema| schema.is_object());
        let parameters = schema.map_or(ANY.to_vec(), |schema| js::stringify(schema).into_bytes());
        let sampling = sampling.unwrap_or(Raw::NULL);
        let requests_strict = takes_strict && content::is_block(sampling, "json_schema");
        let strict = requests_strict
            .then(|| schema::strict(&parameters, api))
            .flatten();
        Some(Tool {
            name: tool_name(&name?.text()?, api)?,
            description: description.and_then(Raw::text).map(Text::into_owned),
            is_strict: strict.is_some(),
            grammar: Grammar::of(sampling, Raw::checked(&parameters)).filter(|_| takes_grammars),
            parameters: strict.unwrap_or(parameters),
        })
    }

    /// Returns a definition for a tool of which only the name is known.
    pub fn named(name: Text<'static>) -> Tool {
        Tool {
            name,
            description: None,
            parameters: ANY.to_vec(),
            is_strict: false,
            grammar: None,
        }
    }

    /// Returns an object with its name and description.
    pub fn head(&self, object: Object) -> Object {
        object
            .text("name", &self.name)
            .with(self.description.as_ref(), |object, description| {
                object.text("description", description)
            })
    }
}

/// Returns the name of the only required property, if that property is a string.
fn only_string(parameters: Raw) -> Option<Text<'static>> {
    let [kind, required, properties] =
        content::members(parameters, ["type", "required", "properties"]);
    let mut names = required?.items();
    let name = names.next()?.text()?;
    if !kind?.is("object") || names.next().is_some() {
        return None;
    }
    let property = properties?.get(&name.to_string_lossy())?;
    content::is(property, "type", "string").then(|| name.into_owned())
}

impl Grammar {
    fn of(sampling: Raw, parameters: Raw) -> Option<Self> {
        let variants = sampling
            .get("variants")
            .filter(|_| content::is_block(sampling, "grammar"))?;
        let variant = |key| {
            variants
                .get_text(key)
                .filter(|text| !text.is_blank())
                .map(Text::into_owned)
        };
        let syntaxes = [("lark", "openai_lark"), ("regex", "openai_regex")].into_iter();
        let (syntax, definition) = syntaxes
            .filter_map(|(syntax, key)| Some((syntax, variant(key)?)))
            .next()?;
        Some(Grammar {
            syntax,
            definition,
            input: only_string(parameters)?,
        })
    }

    /// Adds the grammar's syntax and definition.
    pub fn write(&self, object: Object) -> Object {
        object
            .str("syntax", self.syntax)
            .text("definition", &self.definition)
    }

    /// Returns the input of a call: the value of its one argument, or nothing if that is not a
    /// string.
    pub fn input_of(&self, arguments: Option<Raw>) -> Text<'static> {
        let text =
            arguments.and_then(|arguments| arguments.get(&self.input.to_string_lossy())?.text());
        text.map(Text::into_owned).unwrap_or_default()
    }
}
