//! The agent a session file belongs to.

/// The agent a session file belongs to. Both agents call their format version 3.
/// [`Dialect::agent`](crate::agents) returns the code for their differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Dialect {
    /// pi; also the default if the file does not show which agent wrote it. pi takes no lock and
    /// reopens the file for each append.
    #[value(help = "pi")]
    Pi,
    /// oh-my-pi, which has its own lock file and keeps the session open.
    #[value(name = "omp", alias = "oh-my-pi", help = "oh-my-pi")]
    OhMyPi,
}

impl Dialect {
    /// All agents.
    pub const ALL: [Dialect; 2] = [Dialect::Pi, Dialect::OhMyPi];
}
