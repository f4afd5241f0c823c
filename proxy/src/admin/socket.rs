//! The socket in the state directory: the admin routes for its owner, whatever `[admin]` says.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use tokio::net::UnixListener;

/// The name of the socket in a state directory.
pub const SOCKET: &str = "control";

/// Connections that may wait to be taken.
const BACKLOG: i32 = 64;

/// The socket `control` of a state directory: 0600, and gone when this is dropped.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    pub(super) listener: UnixListener,
}

impl Control {
    /// Binds it, in a state directory that is ours ([`crate::state::hold`]): a socket that a run before this
    /// one left behind is removed. To be called on a runtime.
    ///
    /// # Errors
    /// What the system said; `InvalidInput` if the path is too long for a socket (107 bytes), and
    /// `AlreadyExists` if something that is no socket has its name. None of it need stop the program.
    pub fn bind(dir: &Path) -> io::Result<Self> {
        let path = dir.join(SOCKET);
        let address = SocketAddrUnix::new(&path)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the path is too long for a socket"))?;
        match fs::symlink_metadata(&path) {
            Ok(about) if about.file_type().is_socket() => fs::remove_file(&path)?,
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&socket, &address)?;
        // Nobody can connect before `listen`, so that nobody comes in before it is closed to others.
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        listen(&socket, BACKLOG)?;
        let listener = UnixListener::from_std(socket.into())?;
        Ok(Self { path, listener })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The next to hold the directory removes what is left.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_socket_is_its_owners_only_and_goes_with_its_holder() {
        let tmp = tempfile::tempdir().unwrap();
        let control = Control::bind(tmp.path()).unwrap();
        let path = tmp.path().join("control");
        assert_eq!(control.path(), path);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(control);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_left_behind_is_replaced_and_anything_else_is_not() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("control");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "left behind");
        drop(Control::bind(tmp.path()).unwrap());
        fs::write(&path, "somebody's").unwrap();
        assert_eq!(Control::bind(tmp.path()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");
    }

    #[tokio::test]
    async fn a_path_too_long_for_a_socket_is_told() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("d".repeat(108));
        fs::create_dir(&dir).unwrap();
        assert_eq!(Control::bind(&dir).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
