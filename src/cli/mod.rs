//! What the commands share: their options, opening a session, changing it, and printing.

pub mod guide;
pub mod options;

pub mod output;

pub mod help;

mod failures;
pub mod files;

pub mod process;

pub mod locate;
pub mod named;
pub mod status;

mod counted;
pub mod open;

pub mod given;
pub mod redaction;
pub mod shared_secrets;

pub mod hook;
pub mod summary_source;

pub mod candidates;
pub mod copies;
pub mod ids;
pub mod lookalikes;
pub mod period;
pub mod plan;
pub mod session_report;
pub mod titled;
pub mod transaction;

pub mod navigation;
pub mod renderer;

pub mod rows;

pub mod follow;

pub mod session_part;
pub mod sessions;
pub mod sources;
pub mod unread_agents;

pub mod foreign;
pub mod opencode;
pub mod pruned;
pub mod rollouts;

pub mod choose;
pub mod external;
pub mod hints;
