//! The memory of the machine, or of the part of it that the process may have.
//!
//! Control groups bound what a container or a session may take: `memory.max` of version 2, `memory.limit_in_bytes` of
//! version 1, of the group of the process and of all groups around it. Which folders these are, `/proc/self/cgroup` and
//! `/proc/self/mountinfo` say (cgroups(7), proc(5)).

use std::path::{Path, PathBuf};

/// Bytes that the process and those beside it may have together.
pub(super) fn bytes() -> u64 {
    let info = rustix::system::sysinfo();
    let all = (info.totalram as u64).saturating_mul(info.mem_unit.into());
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    limit(read).map_or(all, |limit| limit.min(all))
}

/// The least limit of the groups of the process, if there is any; `read` gives the text of a file.
fn limit(read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    let mut least: Option<u64> = None;
    for (mount, file) in mounts.lines().filter_map(Mount::read) {
        let Some(group) = groups.lines().find_map(|line| mount.group(line)) else { continue };
        // A group that the mount does not show is seen by nobody here: what is shown is that of the container.
        let below = group.strip_prefix(&mount.root).unwrap_or(Path::new(""));
        for folder in below.ancestors() {
            let text = read(&mount.point.join(folder).join(file));
            // "max" of version 2 is none, and so is a number beyond all memory of version 1.
            let limit = text.and_then(|text| text.trim().parse::<u64>().ok());
            least = [least, limit].into_iter().flatten().min();
        }
    }
    least
}

/// A folder with the groups of one version.
struct Mount {
    point: PathBuf,
    /// The group that the folder itself is.
    root: PathBuf,
    first_version: bool,
}

impl Mount {
    /// From a line of `/proc/self/mountinfo`, if it has limits of memory; and the file that they are in.
    fn read(line: &str) -> Option<(Mount, &'static str)> {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (plain(fields.next()?), plain(fields.next()?));
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        match kind {
            "cgroup2" => Some((Mount { point, root, first_version: false }, "memory.max")),
            "cgroup" if options.split(',').any(|option| option == "memory") => {
                Some((Mount { point, root, first_version: true }, "memory.limit_in_bytes"))
            }
            _ => None,
        }
    }
    /// The group of the process from a line of `/proc/self/cgroup` that is about this version.
    fn group<'a>(&self, line: &'a str) -> Option<&'a Path> {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let right = if self.first_version {
            controllers.split(',').any(|name| name == "memory")
        } else {
            number == "0" && controllers.is_empty()
        };
        right.then_some(Path::new(path))
    }
}

/// A path of `/proc/self/mountinfo`, where some bytes are octal numbers.
fn plain(field: &str) -> PathBuf {
    let spelt = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    spelt.iter().fold(field.to_string(), |path, (number, byte)| path.replace(number, byte)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_of(files: &[(&str, &str)]) -> Option<u64> {
        limit(|path| files.iter().find(|(name, _)| path == Path::new(name)).map(|(_, text)| text.to_string()))
    }
    const V2: &str = "23 1 0:5 / / rw - ext4 /dev/a rw\n\
        30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n\
        34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    #[test]
    fn the_least_limit_of_a_group_and_those_around_it_counts() {
        let groups = |inner, outer, root| {
            limit_of(&[
                ("/proc/self/mountinfo", V2),
                ("/proc/self/cgroup", "0::/user.slice/a.scope\n"),
                ("/sys/fs/cgroup/user.slice/a.scope/memory.max", inner),
                ("/sys/fs/cgroup/user.slice/memory.max", outer),
                ("/sys/fs/cgroup/memory.max", root),
            ])
        };
        assert_eq!(groups("1000\n", "max\n", "max\n"), Some(1000));
        assert_eq!(groups("max\n", "2000\n", "max\n"), Some(2000));
        assert_eq!(groups("3000\n", "2000\n", "1000\n"), Some(1000));
        assert_eq!(groups("max\n", "max\n", "max\n"), None);
    }

    #[test]
    fn both_versions_count() {
        let groups = |first, second| {
            limit_of(&[
                ("/proc/self/mountinfo", &format!("{V1}41 31 0:38 / /u\\040v rw - cgroup2 cgroup2 rw\n")),
                ("/proc/self/cgroup", "4:memory:/batch/7\n1:cpu:/other\n0::/x\n"),
                ("/sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes", first),
                ("/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "9223372036854771712\n"),
                ("/sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n"),
                ("/u v/x/memory.max", second),
            ])
        };
        assert_eq!(groups("5000\n", "max\n"), Some(5000));
        assert_eq!(groups("5000\n", "4000\n"), Some(4000));
        assert_eq!(groups("9223372036854771712\n", "max\n"), Some(9_223_372_036_854_771_712));
    }

    /// Without a name space of its own a container sees its groups as the host does, and a mount of them that begins at
    /// its own.
    #[test]
    fn a_container_has_the_limit_that_it_is_shown() {
        let of = |root, group: &str| {
            let mounts = format!("35 31 0:32 {root} /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
            limit_of(&[
                ("/proc/self/mountinfo", &mounts),
                ("/proc/self/cgroup", &format!("4:memory:{group}\n")),
                ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "7000\n"),
                ("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "6000\n"),
            ])
        };
        assert_eq!(of("/docker/ab", "/docker/ab"), Some(7000));
        assert_eq!(of("/docker/ab", "/docker/ab/inner"), Some(6000));
        assert_eq!(of("/docker/ab", "/"), Some(7000));
        assert_eq!(of("/", "/docker/ab"), Some(7000));
    }

    #[test]
    fn where_nothing_is_said_there_is_no_limit() {
        assert_eq!(limit_of(&[]), None);
        assert_eq!(limit_of(&[("/proc/self/mountinfo", V2), ("/proc/self/cgroup", "nonsense")]), None);
        assert_eq!(
            limit_of(&[("/proc/self/mountinfo", "x - cgroup2"), ("/proc/self/cgroup", "0::/\n")]),
            None
        );
        let outside = [
            ("/proc/self/mountinfo", V2),
            ("/proc/self/cgroup", "0::/../outside\n"),
            ("/sys/fs/cgroup/memory.max", "9000\n"),
        ];
        assert_eq!(limit_of(&outside), Some(9000));
    }
}
