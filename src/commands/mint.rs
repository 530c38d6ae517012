//! New ids and times: from the world, or fixed by `PISESS_NOW` and `PISESS_ID_SEED`.

use super::failure::Failure;
use crate::core::ops::Stamp;
use crate::core::time::parse_js_date;
use crate::world::World;
use uuid::{Builder, Uuid};

/// Where ids and times come from during one command.
pub struct Mint {
    /// The time that the environment fixes.
    fixed_ms: Option<i64>,
    seed: Option<String>,
    count: u64,
}

impl Mint {
    /// Reads the environment.
    pub fn new(world: &World) -> Result<Mint, Failure> {
        let fixed = (world.env)("PISESS_NOW").filter(|now| !now.is_empty());
        let read = |now: String| {
            parse_js_date(now.as_bytes()).ok_or_else(|| {
                Failure::cannot(format_args!("PISESS_NOW: {now:?} is no time"))
                    .hint("write it as 2026-01-31T12:00:00Z")
            })
        };
        let fixed_ms = fixed.map(read).transpose()?;
        let seed = (world.env)("PISESS_ID_SEED").filter(|seed| !seed.is_empty());
        Ok(Mint { fixed_ms, seed, count: 0 })
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self, world: &World) -> i64 {
        self.fixed_ms.unwrap_or_else(|| (world.now_ms)())
    }

    /// Calls `make` with a stamp that takes its candidates from here, and its time from this moment:
    /// what waited for a lock is not older than what came before it.
    pub fn stamp<T>(&mut self, world: &World, make: impl FnOnce(&mut Stamp) -> T) -> T {
        let now_ms = self.now_ms(world);
        let mut candidates = || {
            let bytes = self.bytes(world);
            format!("{:02x}{:02x}{:02x}{:02x}", bytes[0], bytes[1], bytes[2], bytes[3])
        };
        make(&mut Stamp { now_ms, candidates: &mut candidates })
    }

    /// The id of a new session: a UUIDv7, as both agents make it.
    pub fn session_id(&mut self, world: &World) -> String {
        let bytes = self.bytes(world);
        let mut random = [0; 10];
        random.copy_from_slice(&bytes[..10]);
        Builder::from_unix_timestamp_millis(self.now_ms(world).max(0).unsigned_abs(), &random)
            .into_uuid()
            .to_string()
    }

    fn bytes(&mut self, world: &World) -> [u8; 16] {
        self.count += 1;
        match &self.seed {
            Some(seed) => {
                *Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{seed}:{}", self.count).as_bytes()).as_bytes()
            }
            None => (world.random)(),
        }
    }
}
