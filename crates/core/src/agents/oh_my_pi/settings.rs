//! The settings in effect at the end of a path.

use crate::agents::ordered::Ordered;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use pisess_json::text::{Text, concat};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js, string};
use std::io;

/// Reads the settings, the last of each on the path (the first loop of `buildSessionContext`),
/// except those that JavaScript would omit.
pub fn read(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let owned = |value: Raw| value.bytes().to_vec();
    let thinking = last(Kind::ThinkingLevelChange, path, reader, |line| {
        ["thinkingLevel", "configured"].map(|key| line.get_some(key).map(owned))
    })?;
    let [level, configured] = thinking.unwrap_or_default();
    let mode = last(Kind::ModeChange, path, reader, |line| {
        ["mode", "data"].map(|key| line.get(key).map(owned))
    })?;
    let [mode, mode_data] = mode.unwrap_or([Some(b"\"none\"".to_vec()), None]);
    let tier = last(Kind::ServiceTierChange, path, reader, |line| {
        service_tier(line.get_some("serviceTier")?)
    })?;
    let mut rules: Ordered<Vec<u8>> = Ordered::default();
    for &ix in path
        .iter()
        .filter(|&&ix| reader.session().entry(ix).kind == Kind::TtsrInjection)
    {
        reader.with_entry(ix, |line| {
            let injected = line.get("injectedRules").unwrap_or(Raw::NULL).items();
            injected.for_each(|rule| rules.set(js::stringify(rule).into_bytes(), ()));
        })?;
    }
    let assigned = Models::read(path, reader)?.assigned.into_iter();
    let models = assigned
        .fold(Object::new(), |object, (role, model)| {
            object.member(&role, &model)
        })
        .finish();
    let models = js::stringify(Raw::checked(&models)).into_bytes();
    let model = Raw::checked(&models)
        .get("default")
        .unwrap_or(Raw::NULL)
        .bytes()
        .to_vec();
    let members = [
        (
            "thinkingLevel",
            Some(level.clone().unwrap_or_else(|| b"\"off\"".to_vec())),
        ),
        ("model", Some(model)),
        ("models", Some(models)),
        ("mode", mode),
        ("modeData", mode_data),
        ("serviceTier", tier.flatten()),
        ("configuredThinkingLevel", configured.or(level)),
        ("injectedTtsrRules", Some(array(rules.keys()))),
    ];
    Ok(members
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect())
}

/// Returns the entries that determine the settings at the end of the path.
pub fn used(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>> {
    let kinds = [
        Kind::ThinkingLevelChange,
        Kind::ServiceTierChange,
        Kind::ModeChange,
        Kind::ActiveToolsChange,
    ];
    let last = kinds
        .into_iter()
        .filter_map(|kind| reader.session().last_on(path, kind));
    Ok(last
        .map(|at| path[at])
        .chain(Models::read(path, reader)?.used)
        .collect())
}

/// Returns what `see` returns for the last entry of a type, if there is one.
fn last<T>(
    kind: Kind,
    path: &[EntryIx],
    reader: &EntryReader,
    see: impl FnOnce(Raw) -> T,
) -> io::Result<Option<T>> {
    let at = reader.session().last_on(path, kind);
    at.map(|at| reader.with_entry(path[at], see)).transpose()
}

/// The models chosen on a path.
#[derive(Default)]
struct Models {
    /// A model for each choice of a role; the last one of a role applies, at the position of the
    /// first.
    assigned: Vec<(Text<'static>, Vec<u8>)>,
    /// The entries that determine them. Each choice counts, because the first for a role determines
    /// its place.
    used: Vec<EntryIx>,
}

impl Models {
    fn read(path: &[EntryIx], reader: &EntryReader) -> io::Result<Self> {
        let session = reader.session();
        let (mut models, mut is_chosen) = (Models::default(), false);
        // Of the assistant messages before a default model was chosen, the first determines the
        // place of their model, the last the model.
        let (mut first, mut last) = (None, None);
        for &ix in path {
            if session.entry(ix).kind == Kind::ModelChange {
                models.used.push(ix);
                let choice = reader.with_entry(ix, choice)?;
                is_chosen |= choice.as_ref().is_some_and(|(role, _)| *role == "default");
                models.assigned.extend(choice);
            } else if !is_chosen && session.is_message(ix, Role::Assistant) {
                first = first.or(Some((models.assigned.len(), ix)));
                last = Some(ix);
            }
        }
        if let (Some((place, first)), Some(last)) = (first, last) {
            let model = reader.with_message(last, |message| {
                let name = |key| js::template(message.get(key)).into_owned();
                string::encoded(&concat(&[&name("provider"), &"/", &name("model")]))
            })?;
            models
                .assigned
                .insert(place, (Text::from("default"), model));
            models.used.extend([first, last]);
        }
        Ok(models)
    }
}

/// Returns the role and the model that a `model_change` assigns.
fn choice(line: Raw) -> Option<(Text<'static>, Vec<u8>)> {
    let model = line.get("model").filter(|model| model.is_truthy())?;
    let role = line
        .get_some("role")
        .map_or(Text::from("default"), |role| js::string(role).into_owned());
    Some((role, model.bytes().to_vec()))
}

/// Returns the tier of each provider family; the older single words are split into families.
fn service_tier(value: Raw) -> Option<Vec<u8>> {
    const FAMILIES: [&str; 3] = ["openai", "anthropic", "google"];
    const TIERS: [&str; 5] = ["auto", "default", "flex", "scale", "priority"];
    let tier_of = |given: Raw| TIERS.into_iter().find(|tier| given.is(tier));
    let tiers = match value.text().unwrap_or_default().as_bytes() {
        b"priority" => [Some("priority"); 3],
        b"openai-only" => [Some("priority"), None, None],
        b"claude-only" => [None, Some("priority"), None],
        _ if value.is_string() => [tier_of(value), None, None],
        _ => FAMILIES.map(|family| tier_of(value.get(family)?)),
    };
    let families = FAMILIES.into_iter().zip(tiers);
    let object = families.fold(Object::new(), |object, (family, tier)| {
        object.with(tier, |object, tier| object.str(family, tier))
    });
    Some(object.finish()).filter(|json| json.len() > 2)
}
