//! What this host has: processors for its nodes, memory for a payload.

use crate::patience::Processors;
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::AsRawFd;
use std::path::Path;

/// Bytes above which the system is asked whether there is memory; it grants more than it has, and then ends processes.
const ASK_BYTES: u64 = 256 << 20;
/// Words of a set of processors.
const SET_WORDS: usize = 64;
/// Where version 2 of control groups is.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Whether the nodes of this host have a processor each. Launchers may bind every process to one, so the sets of all
/// are united.
pub(super) fn processors(here: &SimpleCommunicator) -> Processors {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mine = allowed(&status);
    let mut all = [0u64; SET_WORDS];
    here.all_reduce_into(&mine[..], &mut all[..], SystemOperation::bitwise_or());
    let there: u32 = all.iter().map(|word| word.count_ones()).sum();
    // Where the system does not say, nodes rather give way than spin.
    if here.size() as u32 <= there {
        return Processors::Enough;
    }
    let group = scheduling_group();
    let mut groups = [0u64; 2];
    // All of them, and none of the bits that are missing in one: the same if they are one group.
    here.all_reduce_into(&[group, !group], &mut groups, SystemOperation::bitwise_or());
    if groups[0] == !groups[1] { Processors::Few } else { Processors::FewInGroups }
}

/// Which scheduling group this process is in, so that processes with the same number are in the same: its control
/// group's, and otherwise that which Linux makes of its session; 0 if it makes none.
fn scheduling_group() -> u64 {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let weighs = |group: &Path| Path::new(CONTROL_GROUPS).join(group).join("cpu.weight").exists();
    if let Some(group) = control_group(&read("/proc/self/cgroup"), weighs) {
        let mut number = DefaultHasher::new();
        group.hash(&mut number);
        return number.finish();
    }
    if read("/proc/sys/kernel/sched_autogroup_enabled").trim() != "1" {
        return 0;
    }
    group_number(&read("/proc/self/autogroup")).unwrap_or_default()
}

/// The control group from whose share of the processors this process has its own; none if that is the root. `weighs`
/// says whether one has a share, in version 2 of control groups: so one has it from the innermost of those around it
/// that do. In version 1 each has.
fn control_group(list: &str, weighs: impl Fn(&Path) -> bool) -> Option<&Path> {
    let of = |wanted: &str| {
        list.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers
                .split(',')
                .any(|name| name == wanted)
                .then_some(Path::new(path.trim_start_matches('/')))
        })
    };
    match of("cpu") {
        Some(path) => (path != Path::new("")).then_some(path),
        None => of("")?.ancestors().find(|path| weighs(path)),
    }
}

/// As in "/autogroup-12 nice 0".
fn group_number(line: &str) -> Option<u64> {
    line.strip_prefix("/autogroup-")?.split(' ').next()?.parse().ok()
}

/// The processors that a process may run on: hexadecimal groups of 32 bits, the highest first.
fn allowed(status: &str) -> [u64; SET_WORDS] {
    let mut set = [0; SET_WORDS];
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).unwrap_or_default();
    for (i, group) in list.trim().rsplit(',').enumerate().take(2 * SET_WORDS) {
        let bits = u64::from_str_radix(group, 16).unwrap_or_default();
        set[i / 2] |= bits << (32 * (i % 2));
    }
    set
}

/// A file in memory, of `bytes` zeros, that all processes of this host have open; none if they are not all of the job
/// (`all`), or cannot open each other's. All processes of the host call this together.
pub(super) fn shared_file(here: &SimpleCommunicator, all: i32, bytes: u64) -> Option<File> {
    if here.size() != all {
        return None;
    }
    let first = here.rank() == 0;
    let own = first.then(|| memory_file(bytes).ok()).flatten();
    let mut place =
        own.as_ref().map_or([0; 2], |file| [u64::from(std::process::id()), file.as_raw_fd() as u64]);
    here.process_at_rank(0).broadcast_into(&mut place[..]);
    let [process, number] = place;
    let path = format!("/proc/{process}/fd/{number}");
    let file = own.or_else(|| OpenOptions::new().read(true).write(true).open(path).ok());
    // Not another file of this name in another name space of processes.
    let right =
        file.as_ref().is_some_and(|file| file.metadata().is_ok_and(|data| data.len() == bytes.max(1)));
    let mut everybody = false;
    here.all_reduce_into(&right, &mut everybody, SystemOperation::logical_and());
    file.filter(|_| everybody)
}

fn memory_file(bytes: u64) -> std::io::Result<File> {
    let file = File::from(memfd_create("fifth shared memory", MemfdFlags::CLOEXEC)?);
    file.set_len(bytes.max(1))?;
    Ok(file)
}

/// A buffer of this size in bytes, if there is memory for it.
pub(super) fn buffer(bytes: u64) -> Option<Vec<u8>> {
    if bytes > ASK_BYTES && available().is_some_and(|available| bytes > available) {
        return None;
    }
    let bytes = usize::try_from(bytes).ok()?;
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(bytes).ok()?;
    buffer.resize(bytes, 0);
    Some(buffer)
}

/// The memory that can be had, where the system says it.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_processors_are_read() {
        let set = allowed("Name:\tx\nCpus_allowed:\t3,00000001,80000000\nCpus_allowed_list:\t31-32,64-65\n");
        assert_eq!(set[..3], [(1 << 32) | (1 << 31), 3, 0]);
        assert_eq!(allowed("Name:\tx\n"), [0; SET_WORDS]);
    }

    #[test]
    fn scheduling_groups_are_read() {
        assert_eq!(group_number("/autogroup-2849 nice -20\n"), Some(2849));
        assert_eq!((group_number(""), group_number("/autogroup-x nice 0")), (None, None));
    }

    #[test]
    fn control_groups_are_read() {
        let group = |list, weighing: &[&str]| {
            control_group(list, |path| weighing.iter().any(|group| path == Path::new(group)))
        };
        let session = "0::/user.slice/user-7.slice/session-1.scope\n";
        assert_eq!(group(session, &["user.slice"]), Some(Path::new("user.slice")));
        let inner = "user.slice/user-7.slice";
        assert_eq!(group(session, &["user.slice", inner]), Some(Path::new(inner)));
        assert_eq!(group(session, &[]), None);
        // In a container the root is that of the container.
        assert_eq!((group("0::/\n", &[""]), group("0::/\n", &[])), (Some(Path::new("")), None));
        let first = "3:cpuset:/a\n2:cpu,cpuacct:/batch/7\n0::/x\n";
        assert_eq!(group(first, &["x"]), Some(Path::new("batch/7")));
        assert_eq!((group("3:cpuset:/a\n1:cpu:/\n0::/x\n", &["x"]), group("", &[""])), (None, None));
    }

    #[test]
    fn there_is_memory_for_little_and_not_for_everything() {
        assert_eq!(buffer(1000), Some(vec![0; 1000]));
        assert_eq!(buffer(1 << 47), None);
        assert_eq!(buffer(u64::MAX), None);
    }
}
