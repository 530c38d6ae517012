//! The settings of oh-my-pi that are in effect at the end of a path.

use crate::agents::ordered::OrderedMap;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use pisess_json::text::{Text, concat_texts};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js, string};
use std::io;

/// Returns the settings at the end of the path by name, as JSON (the first loop of
/// `buildSessionContext`). A setting that JavaScript would leave out is missing.
///
/// The last entry of a type sets the thinking level, the mode and the service tier. All entries
/// together set the injected rules. For the models, see `ModelAssignments`.
pub fn read_settings(
    path: &[EntryIx],
    reader: &EntryReader,
) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let thinking = read_last(Kind::ThinkingLevelChange, path, reader, |line| {
        ThinkingLevels {
            effective: line.get_some("thinkingLevel").map(to_vec),
            configured: line.get_some("configured").map(to_vec),
        }
    })?;
    let thinking = thinking.unwrap_or_default();

    let mode = read_last(Kind::ModeChange, path, reader, |line| Mode {
        name: line.get("mode").map(to_vec),
        data: line.get("data").map(to_vec),
    })?;
    let mode = mode.unwrap_or(Mode {
        name: Some(b"\"none\"".to_vec()),
        data: None,
    });

    let tier = read_last(Kind::ServiceTierChange, path, reader, |line| {
        service_tiers_json(line.get_some("serviceTier")?)
    })?;

    let mut models = Object::new();
    for assigned in ModelAssignments::read(path, reader)?.assignments {
        models = models.member(&assigned.role, &assigned.model);
    }
    // As in JavaScript, a repeated role keeps its first position and its last model.
    let models = js::stringify(Raw::from_checked(&models.finish())).into_bytes();
    let default_model = Raw::from_checked(&models)
        .get("default")
        .unwrap_or(Raw::NULL);
    let default_model = to_vec(default_model);

    let rules = injected_rules(path, reader)?;
    let effective_level = match &thinking.effective {
        Some(level) => level.clone(),
        None => b"\"off\"".to_vec(),
    };
    let configured_level = thinking.configured.or(thinking.effective);
    let members = [
        ("thinkingLevel", Some(effective_level)),
        ("model", Some(default_model)),
        ("models", Some(models)),
        ("mode", mode.name),
        ("modeData", mode.data),
        ("serviceTier", tier.flatten()),
        ("configuredThinkingLevel", configured_level),
        ("injectedTtsrRules", Some(array(rules.keys()))),
    ];
    let mut settings = Vec::new();
    for (name, value) in members {
        if let Some(value) = value {
            settings.push((name, value));
        }
    }
    Ok(settings)
}

/// The thinking levels that an entry sets, as JSON; `None` for one that is missing or `null`.
#[derive(Default)]
struct ThinkingLevels {
    effective: Option<Vec<u8>>,
    /// The member `configured`. Without it, the effective level counts as configured.
    configured: Option<Vec<u8>>,
}

/// The mode that an entry sets, as JSON.
struct Mode {
    name: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
}

fn to_vec(value: Raw) -> Vec<u8> {
    value.bytes().to_vec()
}

/// Returns the rules that the `ttsr_injection` entries on the path have injected, as JSON. Each
/// occurs once, at the position of its first injection.
fn injected_rules(path: &[EntryIx], reader: &EntryReader) -> io::Result<OrderedMap<Vec<u8>>> {
    let session = reader.session();
    let mut rules = OrderedMap::default();
    for &ix in path {
        if session.entry(ix).kind != Kind::TtsrInjection {
            continue;
        }
        reader.with_entry(ix, |line| {
            for rule in line.get("injectedRules").unwrap_or(Raw::NULL).items() {
                rules.insert(js::stringify(rule).into_bytes());
            }
        })?;
    }
    Ok(rules)
}

/// Returns the entries that determine the settings at the end of the path: for each setting, the
/// last entry that changes it; for the models, all entries that assign one.
pub fn settings_entries(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>> {
    let kinds = [
        Kind::ThinkingLevelChange,
        Kind::ServiceTierChange,
        Kind::ModeChange,
        Kind::ActiveToolsChange,
    ];
    let mut used = Vec::new();
    for kind in kinds {
        if let Some(index) = reader.session().last_index_of_kind(path, kind) {
            used.push(path[index]);
        }
    }
    used.extend(ModelAssignments::read(path, reader)?.entries);
    Ok(used)
}

/// Finds the last entry of a type on the path, and returns what `read` returns for its line; `None`
/// if there is no such entry.
fn read_last<T>(
    kind: Kind,
    path: &[EntryIx],
    reader: &EntryReader,
    read: impl FnOnce(Raw) -> T,
) -> io::Result<Option<T>> {
    match reader.session().last_index_of_kind(path, kind) {
        Some(index) => Ok(Some(reader.with_entry(path[index], read)?)),
        None => Ok(None),
    }
}

/// A model that a role was given.
struct AssignedModel {
    /// What the model is used for, such as `default`.
    role: Text<'static>,
    /// The name of the model as JSON.
    model: Vec<u8>,
}

/// The models that were chosen on a path.
///
/// A `model_change` assigns a model to a role. As long as none has assigned the role `default`, the
/// assistant messages assign their model to it.
#[derive(Default)]
struct ModelAssignments {
    /// In order. A role may occur repeatedly: its last model counts, at the position of its first
    /// assignment.
    assignments: Vec<AssignedModel>,
    /// The entries that determine the models. All assignments are among them, because the first one
    /// of a role determines the position of the role.
    entries: Vec<EntryIx>,
    /// Whether a `model_change` has assigned the role `default`.
    is_default_chosen: bool,
    /// The assistant messages before that, until their assignment is inserted.
    default_turns: Option<DefaultTurns>,
}

impl ModelAssignments {
    /// Collects the assignments on the path. Of the assistant messages that assign a model, only
    /// the last is read.
    fn read(path: &[EntryIx], reader: &EntryReader) -> io::Result<Self> {
        let session = reader.session();
        let mut models = ModelAssignments::default();
        for &ix in path {
            if session.entry(ix).kind == Kind::ModelChange {
                models.add_change(ix, reader)?;
            } else if session.is_message(ix, Role::Assistant) {
                models.add_turn(ix);
            }
        }
        models.insert_default_turns(reader)?;
        Ok(models)
    }

    /// Adds the assignment of a `model_change`. If it assigns the role `default`, later assistant
    /// messages no longer assign their model.
    fn add_change(&mut self, ix: EntryIx, reader: &EntryReader) -> io::Result<()> {
        self.entries.push(ix);
        let Some(assigned) = reader.with_entry(ix, parse_model_change)? else {
            return Ok(());
        };
        if assigned.role == "default" {
            self.is_default_chosen = true;
        }
        self.assignments.push(assigned);
        Ok(())
    }

    /// Adds an assistant message, which assigns its model unless a default model was chosen.
    fn add_turn(&mut self, ix: EntryIx) {
        if self.is_default_chosen {
            return;
        }
        match &mut self.default_turns {
            Some(turns) => turns.last = ix,
            None => {
                self.default_turns = Some(DefaultTurns {
                    first: ix,
                    last: ix,
                    position: self.assignments.len(),
                });
            }
        }
    }

    /// Inserts the assignments of the assistant messages before a default model was chosen. Each of
    /// them assigns its model to the role `default`, so one assignment suffices: with the position
    /// of the first and the model of the last.
    fn insert_default_turns(&mut self, reader: &EntryReader) -> io::Result<()> {
        let Some(turns) = self.default_turns.take() else {
            return Ok(());
        };
        let assigned = AssignedModel {
            role: Text::from("default"),
            model: reader.with_message(turns.last, turn_model)?,
        };
        self.assignments.insert(turns.position, assigned);
        self.entries.extend([turns.first, turns.last]);
        Ok(())
    }
}

/// The assistant messages that assign the default model. The first determines the position of the
/// assignment, the last the model.
struct DefaultTurns {
    first: EntryIx,
    last: EntryIx,
    /// The number of other assignments before the first.
    position: usize,
}

/// Returns the model of an assistant message as JSON: `provider/model`.
fn turn_model(message: Raw) -> Vec<u8> {
    let provider = js::interpolate(message.get("provider"));
    let name = js::interpolate(message.get("model"));
    string::encode_to_vec(&concat_texts(&[&provider, &"/", &name]))
}

/// Reads which role a `model_change` gives a model; `None` if it names no model.
fn parse_model_change(line: Raw) -> Option<AssignedModel> {
    let model = line.get("model").filter(|model| model.is_truthy())?;
    let role = line.get_some("role").map_or(Text::from("default"), |role| {
        js::to_js_string(role).into_owned()
    });
    Some(AssignedModel {
        role,
        model: model.bytes().to_vec(),
    })
}

/// Returns the service tier of each family of providers as a JSON object; `None` if no family has a
/// known tier.
///
/// Older entries store one word. `priority` sets this tier for all families, `openai-only` and
/// `claude-only` set it for one family, and any other word is the tier of OpenAI.
fn service_tiers_json(value: Raw) -> Option<Vec<u8>> {
    const FAMILIES: [&str; 3] = ["openai", "anthropic", "google"];

    // In the order of `FAMILIES`.
    let tiers = match value.text() {
        // An object with a member for each family.
        None => FAMILIES.map(|family| known_tier(value.get(family)?)),
        Some(word) => match word.as_bytes() {
            b"priority" => [Some("priority"); 3],
            b"openai-only" => [Some("priority"), None, None],
            b"claude-only" => [None, Some("priority"), None],
            _ => [known_tier(value), None, None],
        },
    };
    if tiers.iter().all(Option::is_none) {
        return None;
    }

    let mut object = Object::new();
    for (family, tier) in FAMILIES.into_iter().zip(tiers) {
        if let Some(tier) = tier {
            object = object.str(family, tier);
        }
    }
    Some(object.finish())
}

/// Returns the service tier with this name; `None` if there is none.
fn known_tier(name: Raw) -> Option<&'static str> {
    const TIERS: [&str; 5] = ["auto", "default", "flex", "scale", "priority"];
    TIERS.into_iter().find(|tier| name.is(tier))
}
