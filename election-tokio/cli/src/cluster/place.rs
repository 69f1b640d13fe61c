//! Where a member keeps its ballot and its control socket, unless it is told otherwise.

use crate::exit::Failed;
use rustix::{
    fs::statfs,
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
    process::geteuid,
};
use std::{
    env, fs, io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
};

/// How many bytes the system permits in the path of a socket, without the zero at its end.
const LONGEST: usize = if cfg!(target_os = "linux") { 107 } else { 103 };
/// macOS has no such flags; there, `connect` to a socket of this machine does not wait.
#[cfg(target_vendor = "apple")]
const ASKING: SocketFlags = SocketFlags::empty();
#[cfg(not(target_vendor = "apple"))]
const ASKING: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);
/// What `statfs` says of file systems in memory: tmpfs, ramfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A name as part of a file's name: names of elections may hold anything but control characters.
fn file_name(name: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let escaped = |byte: u8| match plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02x}"),
    };
    name.bytes().map(escaped).collect()
}

/// A directory that a variable names, absolutely.
fn directory(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable)?;
    // systemd names several directories with colons in between.
    let first = value.as_bytes().split(|byte| *byte == b':').next()?;
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(first));
    path.is_absolute().then_some(path)
}

/// The ballot of a member, in a directory that exists from now on.
///
/// # Errors
/// If no directory is known, or it cannot be created.
pub(crate) fn ballot(election: &str, node: &str) -> Result<PathBuf, Failed> {
    let (election, node) = (file_name(election), file_name(node));
    if let Some(state) = directory("STATE_DIRECTORY") {
        return Ok(state.join(format!("{election}.{node}.ballot")));
    }
    let home = || Some(directory("HOME")?.join(".local/state"));
    let state = directory("XDG_STATE_HOME").or_else(home).ok_or_else(|| {
        Failed::new(
            "no directory for the ballot: STATE_DIRECTORY, XDG_STATE_HOME and HOME are unset; name \
             a file that outlives restarts of the machine with --ballot",
        )
    })?;
    let place = state.join("election").join(election);
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&place);
    made.map_err(|error| {
        let what = format!("the directory of the ballot, {}", place.display());
        Failed::new(format!("{what}: {error}; allow it, or name a file with --ballot"))
    })?;
    Ok(place.join(format!("{node}.ballot")))
}

/// Whether a file would be gone after a restart of the machine.
pub(crate) fn is_in_memory(path: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let found = statfs(parent.unwrap_or_else(|| Path::new(".")));
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)] // its type differs between machines
    found.is_ok_and(|found| IN_MEMORY.contains(&(found.f_type as u64)))
}

/// Where the control socket of a member is.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) path: PathBuf,
    /// Nobody has chosen it, so its directory is this command's own.
    pub(crate) is_usual: bool,
}

impl Spot {
    /// The chosen path, or else the usual ones; the first is where a member listens.
    ///
    /// # Errors
    /// If a path is longer than the system permits.
    pub(crate) fn all(
        chosen: Option<&Path>,
        election: &str,
        node: &str,
    ) -> Result<Vec<Self>, Failed> {
        if let Some(path) = chosen {
            return Ok(vec![Self { path: short(path.to_owned())?, is_usual: false }]);
        }
        let name = format!("{}.{}.sock", file_name(election), file_name(node));
        // It may be another session's, which is over.
        let runtime = directory("XDG_RUNTIME_DIR").filter(|runtime| runtime.is_dir());
        let runtime = runtime.map(|runtime| runtime.join("election"));
        let temporary = PathBuf::from(format!("/tmp/election-{}", geteuid().as_raw()));
        let places = runtime.into_iter().chain([temporary]);
        places.map(|place| Ok(Self { path: short(place.join(&name))?, is_usual: true })).collect()
    }

    /// Whether a process listens there, as far as this user can see. One that was killed leaves its
    /// socket behind.
    pub(crate) fn is_answered(&self) -> bool {
        let Ok(address) = SocketAddrUnix::new(&self.path) else { return false };
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let asks = socket_with(family, kind, ASKING, None);
        // One that stands still has no room for another connection, and does not run any less.
        !matches!(
            asks.and_then(|asks| connect(&asks, &address)),
            Err(Errno::CONNREFUSED | Errno::NOENT | Errno::NOTDIR)
        )
    }

    /// Creates the usual directory, if it is one, and checks that nobody else could have put
    /// anything into it.
    ///
    /// # Errors
    /// If it cannot be created, or is another user's, or others may write to it.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let Some(place) = self.path.parent().filter(|_| self.is_usual) else { return Ok(()) };
        match fs::DirBuilder::new().mode(0o700).create(place) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(format!("the directory {} cannot be created: {error}", place.display()))
            }
            _ => self.is_safe(),
        }
    }

    /// Checks that the usual directory is this user's alone.
    ///
    /// # Errors
    /// If it is not there, or is not.
    pub(crate) fn is_safe(&self) -> Result<(), String> {
        let Some(place) = self.path.parent().filter(|_| self.is_usual) else { return Ok(()) };
        let shown = place.display();
        // Of the name itself: a link may lead to anybody's directory.
        let found = fs::symlink_metadata(place).map_err(|error| format!("{shown}: {error}"))?;
        let why = match found {
            _ if !found.is_dir() => "is not a directory, or is a symbolic link to one",
            _ if found.uid() != geteuid().as_raw() => "belongs to another user",
            _ if found.mode() & 0o077 != 0 => "is accessible to other users (chmod 700 it)",
            _ => return Ok(()),
        };
        Err(format!("{shown} {why}, so another user could have put a socket there"))
    }
}

fn short(path: PathBuf) -> Result<PathBuf, Failed> {
    let length = path.as_os_str().len();
    if length > LONGEST {
        return Err(Failed::new(format!(
            "the path of the control socket has {length} bytes, but the system allows {LONGEST}: \
             {}; choose a shorter one with --socket, also for the commands that ask this member",
            path.display()
        )));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_one_file_and_no_two_are_the_same() {
        assert_eq!(file_name("billing-2_b"), "billing-2_b");
        assert_eq!(file_name("../a.b c%"), "%2e%2e%2fa%2eb%20c%25");
        assert_ne!(file_name("ä"), file_name("a"));
    }

    #[test]
    fn a_path_is_as_long_as_the_system_permits() {
        let path = |length: usize| PathBuf::from("/".to_owned() + &"x".repeat(length - 1));
        assert!(short(path(LONGEST)).is_ok());
        let (message, _) = short(path(LONGEST + 1)).unwrap_err().into_parts();
        assert!(message.unwrap().contains("--socket"));
    }

    #[test]
    fn the_usual_directory_is_this_users_alone() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let place = tempfile::tempdir().unwrap();
        let spot = |name: &str| Spot { path: place.path().join(name).join("s"), is_usual: true };
        spot("own").prepare().unwrap();
        let mode = fs::metadata(place.path().join("own")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        spot("own").prepare().unwrap();
        symlink(place.path().join("own"), place.path().join("link")).unwrap();
        assert!(spot("link").prepare().unwrap_err().contains("link"));
        let open = fs::Permissions::from_mode(0o777);
        fs::create_dir(place.path().join("open")).unwrap();
        fs::set_permissions(place.path().join("open"), open).unwrap();
        assert!(spot("open").prepare().unwrap_err().contains("chmod 700"));
        fs::write(place.path().join("file"), "").unwrap();
        assert!(spot("file").prepare().unwrap_err().contains("not a directory"));
    }
}
