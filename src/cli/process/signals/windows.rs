//! Windows: Ctrl-C ends pisess and the command at once, as the console sends it to both; the
//! command's descendants end with pisess, because they are in its job.

/// Does nothing here.
pub struct Waiting;

impl Waiting {
    /// Does nothing.
    pub fn begin() -> Waiting {
        Waiting
    }

    /// Returns `None`: a signal ends the process.
    pub fn signal(&self) -> Option<i32> {
        None
    }

    /// Does nothing: a signal ends the process.
    pub fn then(self, _: impl FnOnce() + Send + 'static) {}
}
