//! Definitions of tools, as sessions store them.

use super::ids::{gemini_version, sanitize_tool_name};
use super::schema;
use super::{Api, Model};
use crate::session::content;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Raw, js};

/// The definition of a tool in a body.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name in the body.
    pub name: Text<'static>,
    description: Option<Text<'static>>,
    /// The JSON schema of the parameters, as JavaScript writes it.
    pub parameters: Vec<u8>,
    /// Whether the schema was rewritten for the API's strict mode.
    pub is_strict: bool,
    /// The grammar of the one argument; `None` for a tool that takes arguments as JSON.
    pub grammar: Option<Grammar>,
}

/// A grammar for the text that is the only argument of a tool.
#[derive(Clone, Debug)]
pub struct Grammar {
    syntax: &'static str,
    definition: Text<'static>,
    /// The name of the argument.
    pub argument_name: Text<'static>,
}

/// The parameters of a tool without a definition: an object with any members.
const ANY_PARAMETERS: &[u8] = br#"{"type":"object","properties":{}}"#;

/// The kinds of tool definitions that a model accepts.
#[derive(Clone, Copy, Debug)]
pub struct ToolSupport {
    api: Api,
    takes_strict_schemas: bool,
    takes_grammars: bool,
}

impl ToolSupport {
    /// Returns which kinds of tool definitions a model accepts. Schemas in strict mode: OpenAI's
    /// and Anthropic's own models, all models in the Responses API, and Gemini from 3 on. Grammars:
    /// OpenAI's own models from GPT-5 on.
    pub fn for_model(model: &Model, api: Api) -> Self {
        let is_openai = model.provider == "openai";
        let takes_strict_schemas = match api {
            Api::Anthropic => model.provider == "anthropic",
            Api::OpenAi => is_openai,
            Api::Responses => true,
            Api::Google => gemini_version(&model.id).is_some_and(|version| version >= 3),
        };
        let has_grammars = matches!(api, Api::OpenAi | Api::Responses);
        ToolSupport {
            api,
            takes_strict_schemas,
            takes_grammars: has_grammars && is_openai && is_gpt_5_or_later(&model.id),
        }
    }
}

/// Whether the id of a model begins with `gpt-5` or a later version.
fn is_gpt_5_or_later(id: &Text) -> bool {
    let name = id.to_string_lossy();
    let version = name
        .strip_prefix("gpt-")
        .and_then(|rest| rest.split(['.', '-']).next()?.parse::<u32>().ok());
    version.is_some_and(|version| version >= 5)
}

impl Tool {
    /// Reads the definition of a tool; `None` if it has no name. The tool gets a strict schema or a
    /// grammar if the definition requests it and the model accepts it. Without a schema, any
    /// parameters are allowed.
    pub fn read(definition: Raw, support: ToolSupport) -> Option<Tool> {
        let names = ["name", "description", "parameters", "constrainedSampling"];
        let [name, description, parameters, sampling] = content::find_members(definition, names);
        let name = sanitize_tool_name(&name?.text()?, support.api)?;
        let loose_parameters = match parameters {
            Some(schema) if schema.is_object() => js::stringify(schema).into_bytes(),
            _ => ANY_PARAMETERS.to_vec(),
        };
        let sampling = sampling.unwrap_or(Raw::NULL);

        let grammar = if support.takes_grammars {
            Grammar::read(sampling, Raw::from_checked(&loose_parameters))
        } else {
            None
        };
        // If strict mode cannot express the schema, it is sent as it is.
        let requests_strict = content::is_block(sampling, "json_schema");
        let strict_parameters = if requests_strict && support.takes_strict_schemas {
            schema::strict_schema(&loose_parameters, support.api)
        } else {
            None
        };
        Some(Tool {
            name,
            description: description.and_then(Raw::text).map(Text::into_owned),
            is_strict: strict_parameters.is_some(),
            grammar,
            parameters: strict_parameters.unwrap_or(loose_parameters),
        })
    }

    /// Returns a definition for a tool of which only the name is known.
    pub fn from_name(name: Text<'static>) -> Tool {
        Tool {
            name,
            description: None,
            parameters: ANY_PARAMETERS.to_vec(),
            is_strict: false,
            grammar: None,
        }
    }

    /// Adds the name and the description to a definition.
    pub fn add_description(&self, definition: Object) -> Object {
        let named = definition.text("name", &self.name);
        match &self.description {
            Some(description) => named.text("description", description),
            None => named,
        }
    }
}

impl Grammar {
    /// Reads the grammar that a definition requests for the argument of a tool. Of several
    /// syntaxes, the first counts.
    ///
    /// `None` if the definition requests none, or if the tool does not require exactly one string,
    /// which is the text that a grammar describes.
    fn read(sampling: Raw, parameters: Raw) -> Option<Self> {
        if !content::is_block(sampling, "grammar") {
            return None;
        }
        let variants = sampling.get("variants")?;
        for (syntax, key) in [("lark", "openai_lark"), ("regex", "openai_regex")] {
            let definition = variants.get_text(key).unwrap_or_default();
            if !definition.is_blank() {
                let argument_name = only_string_parameter(parameters)?;
                return Some(Grammar {
                    syntax,
                    definition: definition.into_owned(),
                    argument_name,
                });
            }
        }
        None
    }

    /// Adds the syntax and the definition of the grammar to an object.
    pub fn add_to(&self, object: Object) -> Object {
        object
            .str("syntax", self.syntax)
            .text("definition", &self.definition)
    }

    /// Returns the text of a call: the value of its only argument; empty if that is not a string.
    pub fn call_input(&self, arguments: Option<Raw>) -> Text<'static> {
        let name = self.argument_name.to_string_lossy();
        let input = arguments.and_then(|arguments| arguments.get_text(&name));
        input.unwrap_or_default().into_owned()
    }
}

/// Returns the name of the one property that an object requires, if it is a string; `None` for any
/// other schema.
fn only_string_parameter(parameters: Raw) -> Option<Text<'static>> {
    let [kind, required, properties] =
        content::find_members(parameters, ["type", "required", "properties"]);
    let mut names = required?.items();
    let name = names.next()?.text()?;
    if !kind?.is("object") || names.next().is_some() {
        return None;
    }
    let property = properties?.get(&name.to_string_lossy())?;
    if !content::member_is(property, "type", "string") {
        return None;
    }
    Some(name.into_owned())
}
