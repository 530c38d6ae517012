//! `pisess touch`: appends an entry that names another.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::load::Options;
use crate::ops::touch::touch;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new("Touch the last entry of the conversation", "pisess touch session.jsonl @"),
    Example::new("Touch the last user message", "pisess touch session.jsonl '@^{user}'"),
])
.of_conversation();

/// Touch an entry, for other programs.
///
/// Appends a `custom` entry of the type `pisess.touch`, whose data has the id of REF (`targetId`). No model
/// sees it. It is stored under the leaf and becomes the leaf. REF itself does not change.
///
/// Because `@` is the last entry of the conversation, touching it twice touches the same entry.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to touch
    #[arg(value_name = "REF")]
    pub target: String,
    #[command(flatten)]
    pub write: WriteArgs,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    open.change(&args.write, ui, |now, fresh| {
        let target = now.entry(&args.target)?;
        now.refer(target, "be touched")?;
        Ok(touch(&now.session, target, fresh).into())
    })
}
