//! Ids and times for new entries: random and current, or fixed by `PISESS_NOW` and
//! `PISESS_ID_SEED`.

use crate::cli::output::{Failure, Ui};
use crate::ops::IdSource;
use pisess_json::time::parse_js_date;
use pisess_store::plain;
use uuid::{Builder, Uuid};

/// Ids and times for one command.
pub struct Ids {
    /// The time fixed by the environment.
    fixed_ms: Option<i64>,
    seed: Option<String>,
    issued_count: u64,
}

/// Parses the value of `PISESS_NOW`.
fn parse_now(now: &str) -> Result<i64, Failure> {
    parse_js_date(now.as_bytes()).ok_or_else(|| {
        Failure::invalid(format_args!("PISESS_NOW: {now:?} is not a time"))
            .with_hint("write it as 2026-01-31T12:00:00Z")
    })
}

impl Ids {
    /// Reads the time and the seed from the environment; an empty variable counts as missing.
    pub fn new(ui: &Ui) -> Result<Ids, Failure> {
        let fixed_ms = match ui.env_var("PISESS_NOW") {
            Some(now) if !now.is_empty() => Some(parse_now(&now)?),
            _ => None,
        };
        let seed = ui.env_var("PISESS_ID_SEED").filter(|seed| !seed.is_empty());
        Ok(Ids {
            fixed_ms,
            seed,
            issued_count: 0,
        })
    }

    /// Returns the time to write, in milliseconds since 1970.
    pub fn now_ms(&self, ui: &Ui) -> i64 {
        self.fixed_ms.unwrap_or_else(ui.world.now_ms)
    }

    /// Calls `make` with a source of ids and the time of this call, so that entries written after
    /// waiting for a lock are not older than those before them.
    pub fn with_id_source<T>(
        &mut self,
        ui: &Ui,
        make: impl FnOnce(&mut IdSource) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let now_ms = self.now_ms(ui);
        self.ensure_seed(ui)?;
        let mut candidates = || self.next_uuid().simple().to_string()[..8].to_owned();
        make(&mut IdSource::new(now_ms, &mut candidates))
    }

    /// Returns the id of a new session: a UUIDv7, as in both agents.
    pub fn new_session_id(&mut self, ui: &Ui) -> Result<String, Failure> {
        self.ensure_seed(ui)?;
        let mut random = [0; 10];
        random.copy_from_slice(&self.next_uuid().as_bytes()[..10]);
        let now_ms = self.now_ms(ui).max(0).unsigned_abs();
        Ok(Builder::from_unix_timestamp_millis(now_ms, &random)
            .into_uuid()
            .to_string())
    }

    /// Sets the seed, unless it is fixed: random bytes are read once, and only if ids are made.
    fn ensure_seed(&mut self, ui: &Ui) -> Result<(), Failure> {
        if self.seed.is_none() {
            let random = (ui.world.random)().map_err(|error| {
                Failure::invalid(format_args!(
                    "cannot get random bytes for ids: {}",
                    plain(&error)
                ))
            })?;
            self.seed = Some(Uuid::from_bytes(random).to_string());
        }
        Ok(())
    }

    /// Returns the next ID that follows from the seed. A fixed seed gives the same IDs in each run.
    fn next_uuid(&mut self) -> Uuid {
        self.issued_count += 1;
        let name = format!(
            "{}:{}",
            self.seed.as_deref().unwrap_or_default(),
            self.issued_count
        );
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
    }
}
