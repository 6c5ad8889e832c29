//! A program as a section of an executable.
//!
//! ```text
//! [MAGIC: 16 bytes][length of the program: 8 bytes][its XXH3 sum: 8 bytes][zeros][program]
//! ```
//! There are as many zeros as the program's code needs to lie where it can run as it is: the file is mapped.
//! The section stands behind all that the executable had, and behind it stand a new table of the sections and their
//! names; nothing else moves. The section is not loaded, and `strip` keeps it. [`MARK`] says whether there must be
//! one: an executable that lost its program does not become the compiler.

use anyhow::{Context, anyhow, bail};
use engine::{CODE_ALIGNMENT, OwnFile, Stored};
use object::LittleEndian;
use object::elf::{FileHeader64, SHT_PROGBITS, SectionHeader64};
use object::pod;
use object::read::elf::{FileHeader, SectionHeader};
use object::read::{ReadCache, ReadRef};
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

type Header = FileHeader64<LittleEndian>;
type Section = SectionHeader64<LittleEndian>;

const NAME: &[u8] = b".fifth";
const MAGIC: [u8; 16] = *b"FIFTH PROGRAM 3\n";
const FIXED: usize = 32;

/// Stands once in the executable, which is changed there when it gets a program.
static MARK: [u8; 32] = *b"this executable is the compiler\n";
/// So it reads then.
const CHANGED: [u8; 32] = *b"this executable has a program.\n\n";

/// This executable, whatever its name is now.
pub(crate) const OWN: &str = "/proc/self/exe";

/// The program that this executable has, and its file. `None`: it is the compiler.
pub(crate) fn own_program() -> Option<anyhow::Result<(&'static [u8], OwnFile)>> {
    if *std::hint::black_box(&MARK) != CHANGED {
        return None;
    }
    let file = match OwnFile::map() {
        Ok(file) => file,
        Err(error) => return Some(Err(unreadable(&error))),
    };
    let program =
        program_in(file.bytes()).context("the program in this executable cannot be read; build it again");
    Some(program.map(|program| (program, file)))
}

/// Why this executable cannot read itself, and what to do: it is as it should be.
fn unreadable(error: &std::io::Error) -> anyhow::Error {
    let name = std::env::args_os().next().unwrap_or_default();
    let name = name.display();
    match error.kind() {
        ErrorKind::PermissionDenied => anyhow!(
            "cannot read {name}: an executable of Fifth has its program in itself, so whoever runs it must be allowed \
             to read it: `chmod a+r {name}`"
        ),
        ErrorKind::NotFound => anyhow!(
            "cannot read {name}: an executable of Fifth reads its program through {OWN}, and there is none here: mount \
             /proc (`mount -t proc proc /proc`)"
        ),
        _ => anyhow!("cannot read {name} through {OWN}: {error}"),
    }
}

/// This executable with a program.
pub(crate) fn with_program(program: &Stored) -> anyhow::Result<Vec<u8>> {
    let mut executable = std::fs::read(OWN).map_err(|error| unreadable(&error))?;
    mark(&mut executable)?;
    append(&mut executable, program)?;
    Ok(executable)
}

fn mark(executable: &mut [u8]) -> anyhow::Result<()> {
    let wanted = std::hint::black_box(&MARK);
    let mut found = memchr::memmem::find_iter(executable, wanted);
    let (Some(at), None) = (found.next(), found.next()) else {
        bail!("the fifth executable is not as it was built");
    };
    executable[at..at + CHANGED.len()].copy_from_slice(&CHANGED);
    Ok(())
}

/// Appends the section, and the tables that name it.
fn append(executable: &mut Vec<u8>, program: &Stored) -> anyhow::Result<()> {
    let (mut header, mut sections, mut names) = tables(&executable[..])?;
    let Stored { bytes, code_at } = program;
    let code_at = FIXED + code_at;
    let zeros = vec![0; code_at.next_multiple_of(CODE_ALIGNMENT) - code_at];
    let (length, sum) = ((bytes.len() as u64).to_le_bytes(), xxh3_64(bytes).to_le_bytes());
    let content = [&MAGIC[..], &length, &sum, &zeros, bytes].concat();
    let mut section = Section {
        sh_name: Default::default(),
        sh_type: Default::default(),
        sh_flags: Default::default(),
        sh_addr: Default::default(),
        sh_offset: Default::default(),
        sh_size: Default::default(),
        sh_link: Default::default(),
        sh_info: Default::default(),
        sh_addralign: Default::default(),
        sh_entsize: Default::default(),
    };
    section.sh_name.set(LittleEndian, u32::try_from(names.len())?);
    section.sh_type.set(LittleEndian, SHT_PROGBITS);
    section.sh_addralign.set(LittleEndian, CODE_ALIGNMENT as u64);
    section.sh_size.set(LittleEndian, content.len() as u64);
    section.sh_offset.set(LittleEndian, place(executable, &content));
    names.extend(NAME);
    names.push(0);
    sections.push(section);
    let of_names = header.shstrndx(LittleEndian, &executable[..]).map_err(wrong)? as usize;
    let of_names = sections.get_mut(of_names).context("the fifth executable has no names of sections")?;
    of_names.sh_size.set(LittleEndian, names.len() as u64);
    of_names.sh_offset.set(LittleEndian, place(executable, &names));
    header.e_shoff.set(LittleEndian, place(executable, pod::bytes_of_slice(&sections)));
    header.e_shnum.set(LittleEndian, u16::try_from(sections.len())?);
    executable[..size_of::<Header>()].copy_from_slice(pod::bytes_of(&header));
    Ok(())
}

/// Appends bytes at the next multiple of what code needs, and gives that.
fn place(executable: &mut Vec<u8>, bytes: &[u8]) -> u64 {
    executable.resize(executable.len().next_multiple_of(CODE_ALIGNMENT), 0);
    let at = executable.len() as u64;
    executable.extend(bytes);
    at
}

/// The file's header, those of the sections, and their names.
fn tables<'d>(file: impl ReadRef<'d>) -> anyhow::Result<(Header, Vec<Section>, Vec<u8>)> {
    let header = Header::parse(file).map_err(wrong)?;
    let sections = header.section_headers(LittleEndian, file).map_err(wrong)?;
    let names = header.shstrndx(LittleEndian, file).map_err(wrong)? as usize;
    let names = sections.get(names).ok_or_else(|| anyhow!("it has no table of sections"))?;
    let names = names.data(LittleEndian, file).map_err(wrong)?;
    Ok((*header, sections.to_vec(), names.to_vec()))
}

/// Whether a file is an executable that has got a program, of whatever version.
pub(crate) fn is_executable_with_program(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|facts| facts.is_file());
    let Some(file) = File::open(path).ok().filter(|_| is_file) else { return false };
    let file = ReadCache::new(file);
    own_section(&file).is_ok_and(|section| section.is_some())
}

/// The section of an executable that has a program, if there is one.
fn own_section<'d>(file: impl ReadRef<'d>) -> anyhow::Result<Option<Section>> {
    let (_, sections, names) = tables(file)?;
    let is_ours = |section: &&Section| {
        let name = names.get(section.sh_name.get(LittleEndian) as usize..).unwrap_or_default();
        name.split(|&byte| byte == 0).next() == Some(NAME)
    };
    Ok(sections.iter().find(is_ours).copied())
}

/// The program in an executable.
fn program_in<'d>(file: impl ReadRef<'d>) -> anyhow::Result<&'d [u8]> {
    let section = own_section(file)?.context("its section is not there")?;
    let content = section.data(LittleEndian, file).map_err(|_| anyhow!("it is cut off"))?;
    let (fixed, rest) = content.split_at_checked(FIXED).context("it is cut off")?;
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| fixed[at + i]));
    if fixed[..16] != MAGIC {
        bail!("it is damaged, or of another version of Fifth");
    }
    let zeros = usize::try_from(number(16)).ok().and_then(|length| rest.len().checked_sub(length));
    let (zeros, program) = rest.split_at(zeros.context("it is damaged")?);
    if zeros.iter().any(|&byte| byte != 0) || number(24) != xxh3_64(program) {
        bail!("it is damaged");
    }
    Ok(program)
}

fn wrong(error: object::read::Error) -> anyhow::Error {
    anyhow!("the executable's tables are damaged: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    const PROGRAM: &[u8] = b"program program program";
    /// Where its code begins, if it had any.
    const CODE_AT: usize = 5;
    const ZEROS: usize = CODE_ALIGNMENT - (FIXED + CODE_AT) % CODE_ALIGNMENT;

    static WITH: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let stored = Stored { bytes: PROGRAM.into(), code_at: CODE_AT };
        with_program(&stored).expect("the test's executable")
    });

    /// Where the section is in it.
    fn content(executable: &[u8]) -> std::ops::Range<usize> {
        let (_, sections, _) = tables(executable).expect("tables");
        let (start, size) = sections.last().and_then(|s| s.file_range(LittleEndian)).expect("a section");
        start as usize..(start + size) as usize
    }

    #[test]
    fn a_program_is_found_again() {
        assert_eq!(program_in(&WITH[..]).expect("a program"), PROGRAM);
        assert!((content(&WITH).end - PROGRAM.len() + CODE_AT).is_multiple_of(CODE_ALIGNMENT));
        assert!(own_program().is_none());
        let own = std::fs::read(OWN).expect("it can be read");
        let told = program_in(&own[..]).expect_err("it has none");
        assert!(told.to_string().contains("not there"), "{told}");
        // It cannot get a second one.
        assert!(mark(&mut WITH.clone()).is_err());
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        for length in content(&WITH).start..WITH.len() {
            assert!(program_in(&WITH[..length]).is_err(), "{length}");
        }
        for length in [0, 1, 63, 64, 100, 10_000] {
            assert!(program_in(&WITH[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn damage_is_an_error(at in 0usize..FIXED + ZEROS + PROGRAM.len(), by in 1u8..=255) {
            let file = content(&WITH).start;
            let mut tail = WITH[file..].to_vec();
            tail[at] ^= by;
            // The whole file is large: only its end is copied.
            let damaged = Damaged { from: file as u64, tail: &tail };
            prop_assert!(program_in(damaged).is_err());
        }
    }

    /// [`WITH`] with another end.
    #[derive(Clone, Copy, Debug)]
    struct Damaged<'d> {
        from: u64,
        tail: &'d [u8],
    }

    impl<'d> ReadRef<'d> for Damaged<'d> {
        fn len(self) -> Result<u64, ()> {
            Ok(self.from + self.tail.len() as u64)
        }
        fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'d [u8], ()> {
            match offset.checked_sub(self.from) {
                Some(offset) => self.tail.read_bytes_at(offset, size),
                None => WITH[..].read_bytes_at(offset, size),
            }
        }
        fn read_bytes_at_until(self, range: std::ops::Range<u64>, delimiter: u8) -> Result<&'d [u8], ()> {
            WITH[..].read_bytes_at_until(range, delimiter)
        }
    }
}
