//! Putting files there that were not there before.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use crate::fault::{Fault, Wrong};

/// The mode of a key, from its first byte.
pub(crate) const PRIVATE: u32 = 0o600;
/// The mode of what anybody may read.
pub(crate) const PUBLIC: u32 = 0o644;

/// Temporary files of a crash that are passed by.
const LEFTOVERS: u32 = 100;

/// Makes a folder that only its owner can enter, if it is not there.
pub(crate) fn folder(path: &Path) -> Result<(), Fault> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Wrong::Unwritable(error.kind()).at(path))
}

/// Writes both files whole, or neither; a file that is there already is not touched.
pub(crate) fn pair(first: (&Path, &str, u32), second: (&Path, &str, u32)) -> Result<(), Fault> {
    let first_written = Temporary::new(first.0, first.1, first.2)?;
    let second_written = Temporary::new(second.0, second.1, second.2)?;
    first_written.place()?;
    second_written.place().inspect_err(|_| drop(fs::remove_file(first.0)))
}

/// A file under a name for the time being, removed unless it gets its own.
struct Temporary<'a> {
    path: PathBuf,
    target: &'a Path,
}

impl<'a> Temporary<'a> {
    fn new(target: &'a Path, text: &str, mode: u32) -> Result<Self, Fault> {
        let unwritable = |error: io::Error| Wrong::Unwritable(error.kind()).at(target);
        if target.symlink_metadata().is_ok() {
            return Err(Wrong::Exists.at(target));
        }
        let (mut file, path) = create(target, mode).map_err(unwritable)?;
        // Removes it whatever happens from here.
        let written = Self { path, target };
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(unwritable)?;
        Ok(written)
    }

    /// Gives it its name, if nothing has it.
    fn place(self) -> Result<(), Fault> {
        let named = rustix::fs::renameat_with(CWD, &self.path, CWD, self.target, RenameFlags::NOREPLACE);
        let named = match named {
            // The file system knows no such renaming; all know one of these two.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::hard_link(&self.path, self.target),
            named => named.map_err(io::Error::from),
        };
        named.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Wrong::Exists.at(self.target),
            kind => Wrong::Unwritable(kind).at(self.target),
        })
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a renaming there is nothing any more.
        let _ = fs::remove_file(&self.path);
    }
}

/// A new file beside the one it is to become.
fn create(target: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut number = 0;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let path = target.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < LEFTOVERS => number += 1,
            made => return made.map(|file| (file, path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::fixture::Folder;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn listing(folder: &Folder) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_key_is_its_owners_from_the_first_byte() {
        let folder = Folder::new();
        let target = folder.at("a.key");
        let (file, path) = create(&target, PRIVATE).unwrap();
        assert_eq!((mode(&path), file.metadata().unwrap().len()), (0o600, 0));
        assert!(!target.exists());
    }

    #[test]
    fn both_are_written_or_neither() {
        let folder = Folder::new();
        let (key, cert) = (folder.at("a.key"), folder.at("a.crt"));
        pair((&key, "key", PRIVATE), (&cert, "cert", PUBLIC)).unwrap();
        assert_eq!((mode(&key), mode(&cert)), (0o600, 0o644));
        assert_eq!((fs::read(&key).unwrap(), fs::read(&cert).unwrap()), (b"key".to_vec(), b"cert".to_vec()));
        assert_eq!(listing(&folder), ["a.crt", "a.key"]);

        for gone in [&key, &cert] {
            fs::remove_file(gone).unwrap();
            let fault = pair((&key, "other", PRIVATE), (&cert, "other", PUBLIC)).unwrap_err();
            assert_eq!(fault.wrong, Wrong::Exists);
            assert_eq!(listing(&folder).len(), 1);
            fs::write(gone, "new").unwrap();
        }
        // The second finds the first in its place.
        let twice = folder.at("twice");
        assert_eq!(pair((&twice, "", PRIVATE), (&twice, "", PUBLIC)).unwrap_err().wrong, Wrong::Exists);
        assert!(!twice.exists());
        // A link that leads nowhere is there, too.
        fs::remove_file(&key).unwrap();
        std::os::unix::fs::symlink("nowhere", &key).unwrap();
        assert_eq!(
            pair((&key, "", PRIVATE), (&folder.at("b"), "", PUBLIC)).unwrap_err().wrong,
            Wrong::Exists
        );
        assert!(!folder.at("nowhere").exists());
    }

    #[test]
    fn who_comes_second_overwrites_nothing() {
        let folder = Folder::new();
        let target = folder.at("a.key");
        let written = Temporary::new(&target, "late", PRIVATE).unwrap();
        fs::write(&target, "first").unwrap();
        assert_eq!(written.place().unwrap_err().wrong, Wrong::Exists);
        assert_eq!(fs::read(&target).unwrap(), b"first");
        assert_eq!(listing(&folder), ["a.key"]);
    }

    #[test]
    fn leftovers_of_a_crash_are_passed_by() {
        let folder = Folder::new();
        let left: Vec<_> = (0..3).map(|_| create(&folder.at("a"), PRIVATE).unwrap().1).collect();
        let (key, cert) = (folder.at("a"), folder.at("b"));
        pair((&key, "key", PRIVATE), (&cert, "cert", PUBLIC)).unwrap();
        assert!(key.exists() && left.iter().all(|path| path.exists()));
    }

    #[test]
    fn a_folder_is_its_owners() {
        let place = Folder::new();
        folder(&place.at("x/y")).unwrap();
        assert_eq!((mode(&place.at("x")), mode(&place.at("x/y"))), (0o700, 0o700));
        folder(&place.at("x/y")).unwrap();
        place.write("file", "");
        assert!(matches!(folder(&place.at("file/z")).unwrap_err().wrong, Wrong::Unwritable(_)));
    }
}
