//! Whose file a session is.

/// Whose file it is: both agents call their format version 3. What the agents do differently is
/// behind [`Dialect::agent`](crate::core::agent).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// pi, and what does not show whose it is. pi locks nothing and reopens the file for each append.
    Pi,
    /// oh-my-pi, which has a lock file of its own and keeps the session open.
    OhMyPi,
}

impl Dialect {
    /// Both.
    pub const ALL: [Dialect; 2] = [Dialect::Pi, Dialect::OhMyPi];
}
