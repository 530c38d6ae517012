//! A temporary file with content that another program printed, for the time in which a command
//! reads it.

use super::error::{Action, StoreError};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::{Builder, TempDir};

/// A file in a private temporary directory. Both are removed when it is dropped.
#[derive(Debug)]
pub struct TempCopy {
    /// Owns the directory.
    _folder: TempDir,
    path: PathBuf,
}

impl TempCopy {
    /// Creates a file with this name, content and modification time.
    pub fn create(
        name: &str,
        content: &[u8],
        modified: Option<SystemTime>,
    ) -> Result<TempCopy, StoreError> {
        TempCopy::create_in_new_folder(name, content, modified)
            .map_err(|error| StoreError::io(Action::Spool, Path::new(name), error))
    }

    /// Creates the file in a new directory, in which no other file can have its name.
    fn create_in_new_folder(
        name: &str,
        content: &[u8],
        modified: Option<SystemTime>,
    ) -> io::Result<TempCopy> {
        let folder = Builder::new().prefix("pisess-").tempdir()?;
        let path = folder.path().join(name);
        let mut file = File::create_new(&path)?;
        file.write_all(content)?;
        if let Some(modified) = modified {
            file.set_modified(modified)?;
        }
        Ok(TempCopy {
            // Dropping it removes the directory and the file.
            _folder: folder,
            path,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_copy_is_there_until_it_is_dropped() {
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let copy = TempCopy::create("kite.json", b"{}", Some(modified)).unwrap();
        let path = copy.path().to_owned();
        assert_eq!(path.file_name().unwrap(), "kite.json");
        assert_eq!(std::fs::read(&path).unwrap(), b"{}");
        assert_eq!(path.metadata().unwrap().modified().unwrap(), modified);
        drop(copy);
        assert!(!path.parent().unwrap().exists());
    }
}
