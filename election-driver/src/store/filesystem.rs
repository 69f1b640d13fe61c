//! The file system that a database file is on, and the mount that leads there.

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
pub(super) use bsd::unknown;
#[cfg(target_os = "linux")]
pub(super) use linux::{mount_of, unknown};
use rustix::{
    fs::{StatFs, statfs},
    io::Errno,
};
use std::path::Path;

/// Only Linux mounts a file where there was another.
#[cfg(not(target_os = "linux"))]
pub(super) fn mount_of(_: &Path) -> Option<u64> {
    None
}

/// What the system says of the file system that a file is on, or will be on, and the path that it
/// was asked for; nothing if SQLite will not get there either, and says why.
fn asked(path: &Path) -> Result<Option<(&Path, StatFs)>, String> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    for at in [path, directory] {
        match statfs(at) {
            Ok(system) => return Ok(Some((at, system))),
            Err(
                Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG,
            ) => {}
            Err(error) => return Err(format!("an unknown file system ({error})")),
        }
    }
    Ok(None)
}

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
mod bsd {
    use super::asked;
    use std::path::Path;

    /// As on Linux: file systems of this machine's kernel. Below `nullfs` and `unionfs` of FreeBSD
    /// may be any.
    const LOCAL: [&str; 8] = ["apfs", "hfs", "ufs", "zfs", "tmpfs", "ext2fs", "msdosfs", "exfat"];

    /// The name of the file system that a file is on, or will be on, unless it is known to be local.
    pub(crate) fn unknown(path: &Path) -> Option<String> {
        let system = match asked(path) {
            Ok(found) => found?.1,
            Err(why) => return Some(why),
        };
        // The characters' sign differs between architectures.
        #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
        let name = system.f_fstypename.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0);
        let name = String::from_utf8_lossy(&name.collect::<Vec<_>>()).into_owned();
        (!LOCAL.contains(&&*name)).then_some(name)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::asked;
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, openat, statx};
    use std::{fs, os::fd::AsRawFd as _, path::Path};

    /// File systems of this machine's kernel, with one cache for all mounts of a disk: locks and
    /// mapped memory are shared by every process, whichever path it takes. The numbers are those of
    /// `statfs(2)`.
    const LOCAL: [u32; 20] = [
        0xEF53,      // ext2, ext3, ext4
        0x5846_5342, // xfs
        0x9123_683E, // btrfs
        0x2FC1_2FC1, // zfs
        0xCA45_1A4E, // bcachefs
        0xF2F5_2010, // f2fs
        0x0102_1994, // tmpfs
        0x8584_58F6, // ramfs
        0x794C_7630, // overlay, as below containers
        0x3153_464A, // jfs
        0x5265_4973, // reiserfs
        0x3434,      // nilfs2
        0x2405_1905, // ubifs
        0x72B6,      // jffs2
        0x4D44,      // vfat
        0x2011_BAB0, // exfat
        0x7366_746E, // ntfs3
        0x482B,      // hfsplus
        0x1501_3346, // udf
        0x9660,      // iso9660, which is only read
    ];

    /// The name of the file system that a file is on, or will be on, unless it is known to be local.
    pub(crate) fn unknown(path: &Path) -> Option<String> {
        let (at, system) = match asked(path) {
            Ok(found) => found?,
            Err(why) => return Some(why),
        };
        // The field's type differs between architectures.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let number = system.f_type as u32;
        if LOCAL.contains(&number) {
            return None;
        }
        let name = mount_of(at).and_then(|mount| {
            let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
            Some(type_of(mount, &table)?.to_owned())
        });
        Some(name.unwrap_or_else(|| format!("a file system of type {number:#x}")))
    }

    /// What `/proc/self/mountinfo` calls the file system of a mount: `nfs4`, `fuse.sshfs`.
    fn type_of(mount: u64, table: &str) -> Option<&str> {
        let of = |line: &str| line.split(' ').next()?.parse().ok();
        let line = table.lines().find(|line| of(line) == Some(mount))?;
        line.split_once(" - ")?.1.split(' ').next()
    }

    /// The mount that a path leads into. `None` if it cannot be determined, for instance for a file
    /// that does not exist.
    pub(crate) fn mount_of(path: &Path) -> Option<u64> {
        by_statx(path).or_else(|| by_descriptor(path))
    }

    /// Since Linux 5.8.
    fn by_statx(path: &Path) -> Option<u64> {
        let stat = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id)
    }

    /// For older kernels, and only where `/proc` is mounted. A descriptor that is only a path
    /// neither takes locks nor drops any when it is closed.
    fn by_descriptor(path: &Path) -> Option<u64> {
        let file = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()));
        let info = info.ok()?;
        let line = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
        line.trim().parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn both_ways_to_ask_for_a_mount_agree() {
            for path in ["/", "/proc", "/proc/self/status", "/dev/shm", "/dev/null"] {
                let path = Path::new(path);
                assert_eq!(by_statx(path), by_descriptor(path), "{path:?}");
                assert!(mount_of(path).is_some(), "{path:?}");
            }
            assert_ne!(mount_of(Path::new("/")), mount_of(Path::new("/proc")));
            assert_eq!(mount_of(Path::new("/no such file")), None);
        }

        #[test]
        fn a_system_of_the_kernel_is_unknown_by_its_name() {
            assert_eq!(unknown(Path::new("/proc/e.db")).as_deref(), Some("proc"));
            assert_eq!(unknown(Path::new("/sys/none")).as_deref(), Some("sysfs"));
            assert_eq!(unknown(&std::env::temp_dir()), None);
        }

        #[test]
        fn the_table_of_mounts_names_a_file_system() {
            let table =
                "42 27 0:39 / /mnt/my\\040disk rw,relatime shared:5 - fuse.sshfs me@host:/x rw\n";
            assert_eq!(type_of(42, table), Some("fuse.sshfs"));
            assert_eq!(type_of(27, table), None);
        }
    }
}
