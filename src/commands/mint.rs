//! New ids and times: from the world, or fixed by `PISESS_NOW` and `PISESS_ID_SEED`.

use super::failure::Failure;
use crate::core::ops::Stamp;
use crate::core::time::parse_js_date;
use crate::world::World;
use uuid::{Builder, Uuid};

/// Where ids and times come from during one command.
pub struct Mint {
    now_ms: i64,
    seed: Option<String>,
    count: u64,
}

impl Mint {
    /// Reads the clock once.
    pub fn new(world: &World) -> Result<Mint, Failure> {
        let now_ms = match (world.env)("PISESS_NOW").filter(|now| !now.is_empty()) {
            Some(now) => parse_js_date(now.as_bytes()).ok_or_else(|| {
                Failure::cannot(format_args!("PISESS_NOW: {now:?} is no time"))
                    .hint("write it as 2026-01-31T12:00:00Z")
            })?,
            None => (world.now_ms)(),
        };
        let seed = (world.env)("PISESS_ID_SEED").filter(|seed| !seed.is_empty());
        Ok(Mint { now_ms, seed, count: 0 })
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Calls `make` with a stamp that takes its candidates from here.
    pub fn stamp<T>(&mut self, world: &World, make: impl FnOnce(&mut Stamp) -> T) -> T {
        let now_ms = self.now_ms;
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
        Builder::from_unix_timestamp_millis(self.now_ms.max(0).unsigned_abs(), &random)
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
