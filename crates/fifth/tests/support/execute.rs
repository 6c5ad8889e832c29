//! The two ways to execute a program: compiled, by the command `fifth`; and by the interpreter, in this process.

use engine::sources::{Beside, Files, complete};
use oracle::interpret::{Options, Outcome, run};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use syntax::source::SourceMap;
use term::AtomTable;

/// No program of the tests runs longer, even under a sanitizer on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(300);
/// No program of the tests needs more steps.
const STEPS_MAX: u64 = 30_000_000;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Success,
    Failure,
    Error,
    Deadlock,
    /// Failure or error: the command does not tell.
    FailureOrError,
}

impl Ending {
    /// Whether this may be the same end as another.
    pub(crate) fn agrees(self, other: Ending) -> bool {
        use Ending::{Error, Failure, FailureOrError};
        match (self, other) {
            (FailureOrError, Failure | Error) | (Failure | Error, FailureOrError) => true,
            _ => self == other,
        }
    }
}

/// What a run gave.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) ending: Ending,
    pub(crate) exit: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Execution {
    /// A count of `--stats`.
    pub(crate) fn count(&self, name: &str) -> u64 {
        let line = self.stderr.lines().find_map(|line| line.strip_prefix(name));
        let count = line.and_then(|rest| rest.trim().parse().ok());
        count.unwrap_or_else(|| panic!("no count of {name}: {}", self.stderr))
    }
}

/// A message of the compiler, as the command prints it for editors.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) severity: String,
    pub(crate) code: String,
    pub(crate) file: String,
    pub(crate) line: u64,
}

/// A folder that a program may write to; it is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only the number itself matters.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fifth-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| error.to_string())?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is only litter.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the command with these options on these files, in an empty folder.
pub(crate) fn compiled(
    options: &[&str],
    files: &[PathBuf],
    arguments: &[String],
    stdin: &[u8],
) -> Result<(Execution, Vec<Message>), String> {
    executed(Command::new(env!("CARGO_BIN_EXE_fifth")), options, files, arguments, stdin)
}

/// The same of a command that ends with the name of the executable.
pub(crate) fn executed(
    mut command: Command,
    options: &[&str],
    files: &[PathBuf],
    arguments: &[String],
    stdin: &[u8],
) -> Result<(Execution, Vec<Message>), String> {
    let folder = Folder::new()?;
    command.current_dir(&folder.0).args(["run", "--message-format", "json"]).args(options).args(files);
    if !arguments.is_empty() {
        command.arg("--").args(arguments);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let (mut input, mut output, mut errors) = (
        child.stdin.take().expect("piped"),
        child.stdout.take().expect("piped"),
        child.stderr.take().expect("piped"),
    );
    let (stdout, stderr, status) = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program need not read its input.
            let _ = input.write_all(stdin);
        });
        let stdout = scope.spawn(move || read_all(&mut output));
        let stderr = scope.spawn(move || read_all(&mut errors));
        let status = wait(&mut child);
        (stdout.join(), stderr.join(), status)
    });
    let status = status?;
    let stdout = stdout.map_err(|_| "reading standard output".to_string())?;
    let stderr =
        String::from_utf8_lossy(&stderr.map_err(|_| "reading standard error".to_string())?).into_owned();
    let exit = status.code().ok_or_else(|| format!("{status}: {stderr}"))?;
    let messages: Vec<Message> = stderr.lines().filter_map(message).collect();
    // A postmortem goal can make the exit code of a failure 0.
    let ending = match exit {
        _ if stderr.contains("fifth: perpetual suspension") => Ending::Deadlock,
        0 | 255 if stderr.contains("fifth: ") => Ending::FailureOrError,
        _ => Ending::Success,
    };
    Ok((Execution { ending, exit, stdout, stderr }, messages))
}

fn read_all(from: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // An error is as good as the end: what came so far is compared.
    let _ = from.read_to_end(&mut bytes);
    bytes
}

fn wait(child: &mut std::process::Child) -> Result<std::process::ExitStatus, String> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status);
        }
        if start.elapsed() > TIME_MAX {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Err(format!("no end after {TIME_MAX:?}"));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn message(line: &str) -> Option<Message> {
    let value: serde_json::Value = serde_json::from_str(line).ok().filter(|_| line.starts_with('{'))?;
    Some(Message {
        severity: value["severity"].as_str()?.to_string(),
        code: value["code"].as_str()?.to_string(),
        file: value["at"]["file"].as_str()?.to_string(),
        line: value["at"]["line"].as_u64()?,
    })
}

/// Modules beside a program.
struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
    }
    fn has(&self, path: &Path) -> bool {
        path.is_file()
    }
}

/// Runs the interpreter on these files and the modules that they need.
pub(crate) fn interpreted(
    files: &[PathBuf],
    arguments: &[String],
    stdin: &[u8],
) -> Result<Execution, String> {
    let texts = files.iter().map(|path| {
        let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((path.display().to_string(), text))
    });
    let texts: Vec<(String, Vec<u8>)> = texts.collect::<Result<_, String>>()?;
    let beside = files.first().and_then(|path| path.parent());
    interpreted_texts(texts, beside, arguments, stdin)
}

/// The same for texts with names.
pub(crate) fn interpreted_texts(
    texts: Vec<(String, Vec<u8>)>,
    beside: Option<&Path>,
    arguments: &[String],
    stdin: &[u8],
) -> Result<Execution, String> {
    let mut sources = SourceMap::default();
    let atoms = AtomTable::new();
    let files: Vec<_> = texts.into_iter().map(|(name, text)| sources.add(name, text)).collect();
    let (program, diagnostics) = syntax::read_program(&sources, &files, &atoms);
    let mut read = engine::sources::Read::of(program, sources, diagnostics, files, Vec::new());
    let folders = beside.map(Path::to_path_buf).into_iter().collect();
    complete(&mut read, &Beside { folders, files: &Disk }, &atoms).map_err(|error| error.message)?;
    let program = read.program;
    let mut options = Options::bare(STEPS_MAX);
    options.arguments = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    options.stdin = stdin.to_vec();
    let report = run(&program, &atoms, options);
    let ending = match &report.outcome {
        Outcome::Success | Outcome::Exit(_) => Ending::Success,
        Outcome::Failure { .. } => Ending::Failure,
        Outcome::Error { .. } => Ending::Error,
        Outcome::Deadlock { .. } => Ending::Deadlock,
        Outcome::StepLimit | Outcome::Unsupported { .. } => {
            return Err(format!("gives up: {:?}", report.outcome));
        }
    };
    let exit = report.outcome.exit_status().ok_or("no exit status")?;
    let stderr = format!("{}{:?}", String::from_utf8_lossy(&report.stderr), report.outcome);
    Ok(Execution { ending, exit, stdout: report.stdout, stderr })
}
