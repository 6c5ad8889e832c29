//! Programs on nodes that are processes. This program is its own node: without a launcher it starts itself under one,
//! several times.

use dsm::fault::{Attached, Ended, Mechanism, Real};
use dsm::kernels::fft::Fft;
use dsm::kernels::lu::{self, Lu};
use dsm::kernels::matmul::{self, Matmul};
use dsm::kernels::{PAGE_WORDS, options, share};
use dsm::protocol::Mode;
use dsm::{Memory, Use};
use fabric::Random;
use fabric::mpi::Session;
use fabric::mpi::launch::{self, Case, Expected};
use std::future::Future;
use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

const MODES: [Mode; 2] = [Mode::Invalidate, Mode::Update];

const BY_MESSAGES: Real = Real { faults: None, direct: false };

fn main() -> ExitCode {
    match launch::program() {
        Some(program) => node(&program),
        None => launch::tests(&cases()),
    }
}

fn cases() -> Vec<Case> {
    use Expected::{Failure, Success};
    let mut cases: Vec<Case> = [1, 2, 3, 4, 8].into_iter().map(|nodes| ("shares", nodes, Success)).collect();
    cases.push(("answers while it computes", 2, Success));
    cases.push(("panics", 3, Failure("node 1: no more")));
    // The moment is another one each time.
    (0..3).for_each(|_| cases.push(("is killed", 2, Failure(""))));
    cases.push(("is killed", 4, Failure("")));
    cases
}

/// Of a real node, which waits inside: a future that is ready at once.
fn now<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a real node waits inside"),
    }
}

fn node(program: &str) -> ExitCode {
    let mut session = Session::start().expect("the first session of this process");
    match program {
        "shares" => {
            let by = |mechanism| Real { faults: Some(mechanism), direct: false };
            for real in Mechanism::available().into_iter().map(by).chain([Real::default()]) {
                for mode in MODES {
                    let mut job = Job { session: &mut session, real, mode };
                    touches(&mut job);
                    counts(&mut job);
                    computes(&mut job);
                }
            }
        }
        "answers while it computes" => answers(&mut session),
        "panics" | "is killed" => {
            // Says what it was, and gives up the job.
            let failed = endless(&mut session, program).expect_err("it does not end well");
            eprintln!("{failed}");
            return ExitCode::FAILURE;
        }
        other => panic!("no such program: {other}"),
    }
    session.finish();
    ExitCode::SUCCESS
}

/// How programs run.
struct Job<'a> {
    session: &'a mut Session,
    real: Real,
    mode: Mode,
}

impl Job<'_> {
    fn run<R>(&mut self, words: usize, program: impl FnOnce(&Attached<'_>) -> R) -> Ended<R> {
        let Job { session, real, mode } = self;
        let nodes = session.nodes();
        let ended = real.join(session, |node| options(words, node, nodes, *mode), program);
        ended.unwrap_or_else(|failed| panic!("{failed}"))
    }
}

/// Neighbours in a page have different writers.
fn touches(job: &mut Job<'_>) {
    let words = 8 * PAGE_WORDS;
    let ended = job.run(words, |memory| {
        let region = memory.region::<u64>(0, words);
        for index in (memory.node() as usize..words).step_by(memory.nodes() as usize) {
            region.set(index, 3 * index as u64 + 1);
        }
        now(memory.barrier());
        (0..words).map(|index| region.get(index)).sum::<u64>()
    });
    assert_eq!(ended.result, (0..words as u64).map(|index| 3 * index + 1).sum::<u64>());
    assert_eq!(ended.counters.misses > 0, job.session.nodes() > 1 && !job.real.direct);
}

fn counts(job: &mut Job<'_>) {
    let ended = job.run(PAGE_WORDS, |memory| {
        let counter = memory.region::<i64>(7, 1);
        for _ in 0..50 {
            now(memory.lock(3));
            counter.set(0, counter.get(0) - 1);
            now(memory.unlock(3));
        }
        now(memory.barrier());
        counter.get(0)
    });
    assert_eq!(ended.result, -50 * i64::from(job.session.nodes()));
}

fn computes(job: &mut Job<'_>) {
    let (matmul, lu, fft) = (Matmul { n: 48 }, Lu { n: 64, block: 8 }, Fft { side: 16, inverse: false });
    let rows = job.run(matmul.words(), |memory| now(matmul.run(memory))).result;
    let band = share(48, job.session.node().0, job.session.nodes());
    assert_eq!(rows, matmul::sequential(48)[48 * band.start..48 * band.end]);
    let (factors, back) = job
        .run(lu.words().max(fft.words()), |memory| {
            now(lu.fill(memory));
            now(lu.factorise(memory));
            let factors = now(lu.matrix(memory));
            now(memory.barrier());
            now(fft.fill(memory));
            now(fft.run(memory));
            now(Fft { inverse: true, ..fft }.run(memory));
            (factors, now(memory.with(&[Use::read(0, 512)], |views| views[0].to_vec())))
        })
        .result;
    let residual = lu::residual(&lu.original(), &factors, lu.n);
    assert!(residual < 1e-13, "{residual}");
    assert!(back.iter().zip(fft.original()).all(|(a, b)| (a - b).abs() < 1e-12));
}

/// Node 0 answers no message itself until node 1 has read its page, which a file tells. Processes of a launcher have
/// one parent.
fn answers(session: &mut Session) {
    let mut job = Job { session, real: BY_MESSAGES, mode: Mode::Invalidate };
    let told =
        std::env::temp_dir().join(format!("fifth-dsm-answers-{}", std::os::unix::process::parent_id()));
    let end = job.run(2 * PAGE_WORDS, |memory| {
        let region = memory.region::<f64>(0, 2 * PAGE_WORDS);
        if memory.node() == 0 {
            region.set(0, 1.5);
        }
        now(memory.barrier());
        let mut right = true;
        if memory.node() == 0 {
            let begin = Instant::now();
            while !told.exists() && begin.elapsed() < Duration::from_secs(60) {}
            right = std::fs::remove_file(&told).is_ok();
        } else {
            right &= region.get(0) == 1.5;
            std::fs::write(&told, "").expect("a temporary file");
        }
        now(memory.barrier());
        right
    });
    assert!(end.result);
}

/// Everybody misses, releases and waits without end, until node 1 has had enough.
fn endless(session: &mut Session, program: &str) -> Result<Ended<()>, fabric::Failed> {
    let (node, nodes) = (session.node().0, session.nodes());
    if node == 1 && program == "is killed" {
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later").as_nanos();
        let moment = Duration::from_micros(Random::new(seed as u64).below(200_000).into());
        // As `kill -9` does: none of this process's code runs any more.
        let kill = move || {
            thread::sleep(moment);
            std::process::Command::new("kill").args(["-9", &std::process::id().to_string()]).status()
        };
        thread::spawn(kill);
    }
    let words = 4 * PAGE_WORDS;
    BY_MESSAGES.join(
        session,
        |node| options(words, node, nodes, Mode::Invalidate),
        |memory| {
            let region = memory.region::<u64>(0, words);
            for round in 1.. {
                assert!(program != "panics" || node != 1 || round < 20, "no more");
                for index in (node as usize..words).step_by(nodes as usize * 16) {
                    region.set(index, round);
                }
                now(memory.barrier());
                now(memory.lock(0));
                region.set(0, region.get(0) + 1);
                now(memory.unlock(0));
                (0..words).step_by(64).for_each(|index| _ = region.get(index));
                now(memory.barrier());
            }
        },
    )
}
