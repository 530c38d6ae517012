//! The agents: a table of what differs between them, filled in by each.
//!
//! What an agent computes from a session is reached through [`Dialect::agent`]; other code matches
//! on the dialect only to detect, locate, lock, move or convert files. What both agents compute
//! alike is in the callers of the table's functions; the rest is in [`crate::agents::pi`] and
//! [`crate::agents::oh_my_pi`].

pub mod stores;

pub mod ordered;

pub mod prepare;
pub mod prompt;

pub mod row;

mod agent;

pub mod pi;

pub mod oh_my_pi;

pub mod readable;

pub mod convert;
pub mod request;

pub use agent::{Agent, Emit};

use crate::session::Session;
use crate::session::dialect::Dialect;

impl Dialect {
    /// Returns the agent of these files.
    pub fn agent(self) -> &'static Agent {
        match self {
            Dialect::Pi => &pi::agent::PI,
            Dialect::OhMyPi => &oh_my_pi::agent::OH_MY_PI,
        }
    }
}

impl Session {
    /// Returns the agent of the session.
    pub fn agent(&self) -> &'static Agent {
        self.dialect.agent()
    }
}
