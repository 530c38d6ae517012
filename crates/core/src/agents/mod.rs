//! The agents: a trait for what differs between them, implemented by each.
//!
//! Whatever an agent computes from a session is reached through [`Dialect::agent`]. Other code
//! matches on the dialect only to detect, locate, lock, move or convert files. What both agents
//! compute alike is in the callers of the trait's methods; the rest is in [`crate::agents::pi`] and
//! [`crate::agents::oh_my_pi`].

pub mod stores;

pub mod ordered;

pub mod prepare;
pub mod prompt;

pub mod row;

mod agent;
mod conversation_tools;

pub mod pi;

pub mod oh_my_pi;

pub mod readable;

pub mod convert;
pub mod request;

pub use agent::{Agent, AgentConstants, Emit};
pub(crate) use agent::{context_build_budget, context_build_cost};

use crate::session::Session;
use crate::session::dialect::Dialect;

impl Dialect {
    /// Returns the agent whose files have this dialect.
    pub fn agent(self) -> &'static dyn Agent {
        match self {
            Dialect::Pi => &pi::agent::Pi,
            Dialect::OhMyPi => &oh_my_pi::agent::OhMyPi,
        }
    }
}

impl Session {
    /// Returns the agent of the session.
    pub fn agent(&self) -> &'static dyn Agent {
        self.dialect.agent()
    }
}
