//! The settings in effect at the end of a path.

use crate::agents::ordered::Ordered;
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use pisess_json::text::{Text, concat};
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js, string};
use std::io;

/// Reads the settings, the last of each on the path (the first loop of `buildSessionContext`).
pub fn read(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let session = reader.session();
    let mut settings = Settings::new();
    for &ix in path {
        let entry = session.entry(ix);
        match (entry.kind, entry.role) {
            (Kind::Message, Role::Assistant) => settings.assistant(ix),
            (
                Kind::ThinkingLevelChange
                | Kind::ModelChange
                | Kind::ServiceTierChange
                | Kind::TtsrInjection
                | Kind::ModeChange,
                _,
            ) => reader.with_entry(ix, |line| settings.change(entry.kind, line))?,
            _ => {}
        }
    }
    settings.infer_model(reader)?;
    Ok(settings.members())
}

/// Returns the entries that determine the settings at the end of the path. Each choice of a model counts, because the
/// first for a role determines its place among the models.
pub fn used(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>> {
    let session = reader.session();
    let kinds =
        [Kind::ThinkingLevelChange, Kind::ServiceTierChange, Kind::ModeChange, Kind::ActiveToolsChange];
    let last = kinds.into_iter().filter_map(|kind| session.last_on(path, kind));
    let mut used: Vec<_> = last.map(|at| path[at]).collect();
    let (mut settings, mut first) = (Settings::new(), None);
    for &ix in path {
        match session.entry(ix).kind {
            Kind::ModelChange => {
                reader.with_entry(ix, |line| settings.change(Kind::ModelChange, line))?;
                used.push(ix);
            }
            _ if session.is_message(ix, Role::Assistant) => {
                settings.assistant(ix);
                first = first.or(settings.inferred);
            }
            _ => {}
        }
    }
    used.extend([first, settings.inferred].into_iter().flatten().map(|(ix, _)| ix));
    Ok(used)
}

#[derive(Default)]
struct Settings {
    thinking: Vec<u8>,
    configured_thinking: Option<Vec<u8>>,
    service_tier: Option<Vec<u8>>,
    /// Assignments in order; the last one of a role applies, at the position of the first.
    models: Vec<(Text<'static>, Vec<u8>)>,
    /// The last assistant message before a default model was chosen, and the index of its model in `models`.
    inferred: Option<(EntryIx, usize)>,
    default_chosen: bool,
    rules: Ordered<Vec<u8>>,
    mode: Option<Vec<u8>>,
    mode_data: Option<Vec<u8>>,
}

impl Settings {
    /// Returns the settings of an empty path.
    fn new() -> Self {
        let (thinking, mode) = (b"\"off\"".to_vec(), Some(b"\"none\"".to_vec()));
        Settings { thinking, mode, ..Settings::default() }
    }

    /// An assistant message sets the default model if none was chosen before.
    fn assistant(&mut self, ix: EntryIx) {
        if self.default_chosen {
            return;
        }
        let place = self.inferred.map_or(self.models.len(), |(_, place)| place);
        if self.inferred.is_none() {
            self.models.push((Text::from("default"), b"null".to_vec()));
        }
        self.inferred = Some((ix, place));
    }

    fn change(&mut self, kind: Kind, line: Raw) {
        let bytes = |key: &str| line.get_some(key).map(|value| value.bytes().to_vec());
        match kind {
            Kind::ThinkingLevelChange => {
                self.thinking = bytes("thinkingLevel").unwrap_or_else(|| b"\"off\"".to_vec());
                self.configured_thinking = bytes("configured").or_else(|| bytes("thinkingLevel"));
            }
            Kind::ModelChange if content::truthy(line, "model") => {
                let role =
                    line.get_some("role").map_or(Text::from("default"), |role| js::string(role).into_owned());
                self.default_chosen |= role == "default";
                self.models.push((role, bytes("model").unwrap_or_default()));
            }
            Kind::ServiceTierChange => {
                self.service_tier = line.get_some("serviceTier").and_then(service_tier)
            }
            Kind::TtsrInjection => {
                for rule in line.get("injectedRules").unwrap_or(Raw::NULL).items() {
                    self.rules.set(js::stringify(rule).into_bytes(), ());
                }
            }
            Kind::ModeChange => {
                self.mode = line.get("mode").map(|mode| mode.bytes().to_vec());
                self.mode_data = line.get("data").map(|data| data.bytes().to_vec());
            }
            _ => {}
        }
    }

    fn infer_model(&mut self, reader: &EntryReader) -> io::Result<()> {
        let Some((ix, place)) = self.inferred else { return Ok(()) };
        let model = reader.with_entry(ix, |line| {
            let message = line.get("message").unwrap_or(Raw::NULL);
            concat(&[&js::template(message.get("provider")), &"/", &js::template(message.get("model"))])
        })?;
        self.models[place].1 = string::encoded(&model);
        Ok(())
    }

    /// Returns the settings that JavaScript would not omit.
    fn members(self) -> Vec<(&'static str, Vec<u8>)> {
        let assigned = self.models.iter();
        let last = assigned.fold(Object::new(), |object, (role, model)| object.member(role, model)).finish();
        let models = js::stringify(Raw::checked(&last)).into_bytes();
        let model = Raw::checked(&models).get("default").unwrap_or(Raw::NULL).bytes().to_vec();
        let members = [
            ("thinkingLevel", Some(self.thinking)),
            ("model", Some(model)),
            ("models", Some(models)),
            ("mode", self.mode),
            ("modeData", self.mode_data),
            ("serviceTier", self.service_tier),
            ("configuredThinkingLevel", self.configured_thinking),
            ("injectedTtsrRules", Some(array(self.rules.keys()))),
        ];
        members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// Returns the tier of each provider family; the older single words are split into families.
fn service_tier(value: Raw) -> Option<Vec<u8>> {
    const FAMILIES: [&str; 3] = ["openai", "anthropic", "google"];
    const TIERS: [&str; 5] = ["auto", "default", "flex", "scale", "priority"];
    let tier_of = |given: Raw| TIERS.into_iter().find(|tier| given.is(tier));
    let of = |tiers: [Option<&str>; 3]| {
        let families = FAMILIES.into_iter().zip(tiers);
        let object = families.fold(Object::new(), |object, (family, tier)| {
            object.with(tier, |object, tier| object.str(family, tier))
        });
        Some(object.finish()).filter(|json| json.len() > 2)
    };
    if value.is_object() || value.is_array() {
        return of(FAMILIES.map(|family| tier_of(value.get(family)?)));
    }
    match value.text()?.as_bytes() {
        b"priority" => of([Some("priority"); 3]),
        b"openai-only" => of([Some("priority"), None, None]),
        b"claude-only" => of([None, Some("priority"), None]),
        _ => of([tier_of(value), None, None]),
    }
}
