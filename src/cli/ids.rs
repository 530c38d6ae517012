//! Ids and times for new entries. Ids are random and times are current, unless `PISESS_ID_SEED` and
//! `PISESS_NOW` fix them.

use crate::cli::output::{Failure, Ui};
use crate::ops::IdSource;
use pisess_json::time::parse_js_date;
use pisess_store::plain;
use uuid::{Builder, Uuid};

/// The source of ids and times for one command.
pub struct Ids {
    /// The time given by `PISESS_NOW`; `None` for the current time.
    fixed_ms: Option<i64>,
    /// The text from which ids are derived. Unless `PISESS_ID_SEED` gives it, it is `None` until an
    /// id is needed.
    seed: Option<String>,
    issued_count: u64,
}

/// Parses the value of `PISESS_NOW` into milliseconds since 1970.
fn parse_now(now: &str) -> Result<i64, Failure> {
    parse_js_date(now.as_bytes()).ok_or_else(|| {
        Failure::invalid(format_args!("PISESS_NOW: {now:?} is not a time"))
            .with_hint("write it as 2026-01-31T12:00:00Z")
    })
}

impl Ids {
    /// Reads the time and the seed from the environment. An empty variable counts as unset.
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

    /// Returns the time for new entries, in milliseconds since 1970.
    pub fn now_ms(&self, ui: &Ui) -> i64 {
        self.fixed_ms.unwrap_or_else(ui.world.now_ms)
    }

    /// Calls `make` with a source of ids, and with the time of this call. The time is not taken
    /// earlier, so that entries written after waiting for a lock are not older than the entries
    /// before them.
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

    /// Sets the seed to random bytes, unless it is set. So they are read once, and only if ids are
    /// needed.
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

    /// Returns the next id derived from the seed. A fixed seed gives the same ids in each run.
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
