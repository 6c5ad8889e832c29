//! Programs on real nodes: page faults bring what they touch.

use dsm::fault::{Attached, Attempt, Ended, Lost, Mechanism, NODES_MAX, Real, run};
use dsm::kernels::fft::Fft;
use dsm::kernels::lu::Lu;
use dsm::kernels::matmul::{self, Matmul};
use dsm::kernels::{PAGE_WORDS, options};
use dsm::protocol::Mode;
use dsm::{Memory, Use};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Waker};

const MODES: [Mode; 2] = [Mode::Invalidate, Mode::Update];

/// Of a real node, which waits inside: a future that is ready at once.
fn now<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a real node waits inside"),
    }
}

/// Both mechanisms if there are both; and the same memory for all.
fn ways() -> Vec<Real> {
    let by = |mechanism| Real { faults: Some(mechanism), direct: false };
    Mechanism::available().into_iter().map(by).chain([Real::default()]).collect()
}

/// The ends are those of each way in turn.
fn nodes<R: Send>(
    count: u32,
    words: usize,
    mode: Mode,
    program: impl Fn(&Attached<'_>) -> R + Sync,
) -> Vec<Vec<Ended<R>>> {
    let run = |real: Real| real.run(count, |node| options(words, node, count, mode), &program);
    ways().into_iter().map(|real| run(real).unwrap_or_else(|failed| panic!("{real:?}: {failed}"))).collect()
}

#[test]
fn a_touch_brings_the_page() {
    for mode in MODES {
        for count in [1, 2, 3, 4] {
            let words = 8 * PAGE_WORDS;
            let all = nodes(count, words, mode, |memory| {
                let region = memory.region::<u64>(0, words);
                // Neighbours in a page have different writers.
                for index in (memory.node() as usize..words).step_by(count as usize) {
                    region.set(index, 3 * index as u64 + 1);
                }
                now(memory.barrier());
                (0..words).map(|index| region.get(index)).sum::<u64>()
            });
            let wanted = (0..words as u64).map(|index| 3 * index + 1).sum::<u64>();
            for (ends, real) in all.iter().zip(ways()) {
                assert!(ends.iter().all(|end| end.result == wanted), "{count} nodes, {mode:?}, {real:?}");
                let misses: u64 = ends.iter().map(|end| end.counters.misses).sum();
                assert_eq!(misses > 0, count > 1 && !real.direct, "{count} nodes, {real:?}");
            }
        }
    }
}

#[test]
fn a_phase_has_its_own_statistics() {
    const PAGES: usize = 100;
    let all = nodes(2, 2 * PAGES * PAGE_WORDS, Mode::Invalidate, |memory| {
        // The other node's half.
        let first = (1 - memory.node() as usize) * PAGES * PAGE_WORDS;
        let begin = memory.stats();
        memory.touch(&[Use::read(first, PAGES * PAGE_WORDS)]);
        now(memory.barrier());
        let middle = memory.stats();
        now(memory.with(&[Use::write(first, 2 * PAGE_WORDS)], |views| views[0].fill(1.5)));
        now(memory.barrier());
        [middle - begin, memory.stats() - middle]
    });
    for (ends, real) in all.iter().zip(ways()) {
        for [read, written] in ends.iter().map(|end| end.result) {
            let wanted = if real.direct { [[0; 4]; 2] } else { [[100, 2, 0, 0], [0, 0, 2, 2]] };
            let counted = [read.counters, written.counters]
                .map(|counters| [counters.misses, counters.fetches, counters.upgrades(), counters.diffs]);
            assert_eq!(counted, wanted, "{real:?}");
            let waited = read.work.fetching + read.work.releasing + read.work.barriers + read.work.locks;
            assert_eq!(read.computing() + waited, read.nanoseconds, "{real:?}");
            assert!(real.direct || (read.work.fetching > 0 && written.work.releasing > 0), "{real:?}");
        }
    }
}

#[test]
fn there_may_be_more_nodes_than_a_word_has_bits() {
    let (count, words) = (70, 70 * PAGE_WORDS);
    for mode in MODES {
        let ends = nodes(count, words, mode, |memory| {
            let region = memory.region::<u64>(0, words);
            region.set(memory.node() as usize * PAGE_WORDS, u64::from(memory.node()));
            now(memory.barrier());
            // All have a copy of node 69's page when it is written again.
            let before = region.get(69 * PAGE_WORDS);
            now(memory.barrier());
            if memory.node() == 68 {
                region.set(69 * PAGE_WORDS, 1000);
            }
            now(memory.barrier());
            before + region.get(69 * PAGE_WORDS)
        });
        assert!(ends.iter().flatten().all(|end| end.result == 1069), "{mode:?}");
    }
}

#[test]
fn a_counter_under_a_lock_loses_nothing() {
    for mode in MODES {
        for count in [1, 2, 4] {
            let ends = nodes(count, PAGE_WORDS, mode, |memory| {
                let counter = memory.region::<i64>(7, 1);
                for _ in 0..50 {
                    now(memory.lock(3));
                    counter.set(0, counter.get(0) - 1);
                    now(memory.unlock(3));
                }
                now(memory.barrier());
                counter.get(0)
            });
            assert!(
                ends.iter().flatten().all(|end| end.result == -50 * i64::from(count)),
                "{count} nodes, {mode:?}"
            );
        }
    }
}

#[test]
fn a_home_that_computes_serves_others() {
    static HAS_READ: AtomicBool = AtomicBool::new(false);
    let ends = nodes(2, 2 * PAGE_WORDS, Mode::Invalidate, |memory| {
        let region = memory.region::<f64>(0, 2 * PAGE_WORDS);
        if memory.node() == 0 {
            region.set(0, 1.5);
            HAS_READ.store(false, SeqCst);
            now(memory.barrier());
            // It calls nothing that answers messages until node 1 has read its page.
            let begin = std::time::Instant::now();
            while !HAS_READ.load(SeqCst) && begin.elapsed() < std::time::Duration::from_secs(60) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            let served = HAS_READ.load(SeqCst);
            now(memory.barrier());
            return served;
        }
        now(memory.barrier());
        let right = region.get(0) == 1.5;
        HAS_READ.store(true, SeqCst);
        now(memory.barrier());
        right
    });
    assert!(ends.iter().flatten().all(|end| end.result));
}

#[test]
fn kernels_give_what_they_give_on_one_node() {
    let (matmul, lu, fft) = (Matmul { n: 48 }, Lu { n: 64, block: 8 }, Fft { side: 16, inverse: false });
    let product = matmul::sequential(48);
    let mut first = None;
    for mode in MODES {
        for count in [1, 2, 3, 4, 8] {
            let rows = nodes(count, matmul.words(), mode, |memory| now(matmul.run(memory)));
            for rows in rows {
                assert_eq!(
                    rows.into_iter().flat_map(|end| end.result).collect::<Vec<_>>(),
                    product,
                    "{count}"
                );
            }
            let both = nodes(count, lu.words().max(fft.words()), mode, |memory| {
                now(lu.fill(memory));
                now(lu.factorise(memory));
                let factors = now(lu.matrix(memory));
                now(memory.barrier());
                now(fft.fill(memory));
                now(fft.run(memory));
                (factors, now(memory.with(&[Use::read(0, 512)], |views| views[0].to_vec())))
            });
            let wanted = first.get_or_insert_with(|| both[0][0].result.clone());
            assert!(both.iter().flatten().all(|end| end.result == *wanted), "{count} nodes, {mode:?}");
        }
    }
}

#[test]
fn a_node_that_fails_ends_the_run() {
    let failed = run(
        3,
        |node| options(3 * PAGE_WORDS, node, 3, Mode::Invalidate),
        |memory| {
            let region = memory.region::<u64>(0, 3 * PAGE_WORDS);
            assert!(memory.node() != 1, "no more");
            // Its pages may not come any more.
            let sum: u64 = (0..region.len()).map(|index| region.get(index)).sum();
            now(memory.barrier());
            sum
        },
    );
    let failed = failed.expect_err("node 1 panics");
    assert!(failed.to_string().starts_with("node 1: no more"), "{failed}");
}

/// What a run of three nodes fails with, in each way.
fn failures(program: impl Fn(&Attached<'_>) + Sync) -> Vec<String> {
    let run = |real: Real| real.run(3, |node| options(3 * PAGE_WORDS, node, 3, Mode::Invalidate), &program);
    ways().into_iter().map(|real| run(real).expect_err("it fails").to_string()).collect()
}

#[test]
fn a_node_that_ends_while_others_wait_for_it_ends_the_run() {
    let at_second = |memory: &Attached<'_>| {
        now(memory.barrier());
        if memory.node() != 1 {
            assert_eq!(memory.attempt(Attempt::Barrier), Err(Lost::Stuck));
            // It stays so.
            assert_eq!(memory.attempt(Attempt::Barrier), Err(Lost::Stuck));
        }
    };
    let all_but_one = |memory: &Attached<'_>| {
        if memory.node() > 0 {
            now(memory.barrier());
        }
    };
    let only_one = |memory: &Attached<'_>| {
        if memory.node() == 2 {
            now(memory.barrier());
        }
    };
    for told in [failures(at_second), failures(all_but_one), failures(only_one)].concat() {
        assert!(told.contains(": its program waits at a barrier, to which not all come: "), "{told}");
    }
}

/// A wait that takes long is no mistake: the others look whether it is one.
#[test]
fn others_may_be_waited_for_for_long() {
    let ends = nodes(3, PAGE_WORDS, Mode::Invalidate, |memory| {
        let counter = memory.region::<u64>(0, 1);
        for turn in 0..3 {
            if memory.node() == turn {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            now(memory.lock(9));
            counter.set(0, counter.get(0) + 1);
            if memory.node() != turn {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            now(memory.unlock(9));
            now(memory.barrier());
        }
        counter.get(0)
    });
    assert!(ends.iter().flatten().all(|end| end.result == 9));
}

#[test]
fn a_node_that_ends_with_a_lock_ends_the_run() {
    let told = failures(|memory| {
        if memory.node() == 2 {
            now(memory.lock(7));
        }
        now(memory.barrier());
        if memory.node() == 0 {
            // It never gets it.
            let _ = memory.attempt(Attempt::Lock(7));
        }
    });
    let wanted = "node 2: its program has ended with lock 7: give it back before";
    assert!(told.iter().all(|text| text == wanted), "{told:?}");
}

#[test]
fn nodes_that_wait_for_each_other_end_the_run() {
    let told = failures(|memory| {
        let me = memory.node();
        now(memory.lock(me));
        now(memory.barrier());
        assert_eq!(memory.attempt(Attempt::Lock((me + 1) % 3)), Err(Lost::Stuck));
    });
    assert!(told.iter().all(|text| text.contains("its program waits for lock ")), "{told:?}");
}

#[test]
fn steps_that_make_no_sense_are_told_by_their_node() {
    let told = failures(|memory| {
        if memory.node() == 1 {
            now(memory.lock(4));
            now(memory.lock(4));
        }
    });
    assert!(told.iter().all(|text| text == "node 1: node 1 has lock 4 already"), "{told:?}");
    let told = failures(|memory| {
        if memory.node() == 1 {
            now(memory.unlock(4))
        }
    });
    assert!(told.iter().all(|text| text == "node 1: node 1 does not have lock 4"), "{told:?}");
    for uses in [Use::read(3 * PAGE_WORDS, 1), Use::write(usize::MAX, 2)] {
        let told = failures(|memory| {
            if memory.node() == 1 {
                memory.touch(&[uses])
            }
        });
        assert!(told.iter().all(|text| text.contains("is beyond the end of the memory")), "{told:?}");
    }
}

#[test]
fn numbers_of_nodes_that_cannot_be_are_refused() {
    for real in ways() {
        for nodes in [0, NODES_MAX + 1, u32::MAX] {
            let run = real.run(nodes, |node| options(PAGE_WORDS, node, nodes, Mode::Invalidate), |_| ());
            let told = run.expect_err("too many, or none").to_string();
            assert!(told.contains(&format!("{nodes} nodes in one process: 1 to 1024")), "{told}");
        }
    }
}

#[test]
fn pages_that_the_system_cannot_protect_are_refused() {
    let small =
        |node| dsm::protocol::Options { page_bytes: 64, ..options(PAGE_WORDS, node, 1, Mode::Invalidate) };
    let failed = run(1, small, |_| ()).expect_err("64 bytes");
    assert!(failed.to_string().contains("pages of 64 bytes"), "{failed}");
}

#[test]
fn what_was_touched_is_there() {
    for mode in MODES {
        for (ends, real) in nodes(2, 8 * PAGE_WORDS, mode, |memory| {
            let words = Use::read(0, 8 * PAGE_WORDS);
            memory.touch(&[words]);
            let region = memory.region::<u64>(0, 8 * PAGE_WORDS);
            (0..region.len()).map(|index| region.get(index)).sum::<u64>()
        })
        .iter()
        .zip(ways())
        {
            // Half of them, each once.
            let misses = if real.direct { 0 } else { 4 };
            assert!(
                ends.iter().all(|end| (end.result, end.counters.misses) == (0, misses)),
                "{mode:?}, {real:?}"
            );
        }
    }
}

#[test]
fn memory_that_is_not_there_is_refused() {
    // 2^50 bytes at home at one node.
    let homes: dsm::protocol::Homes = vec![fabric::NodeId(0); 1 << 22].into();
    let options = |node| dsm::protocol::Options {
        page_bytes: 1 << 18,
        homes: homes.clone(),
        ..options(PAGE_WORDS, node, 1, Mode::Invalidate)
    };
    for real in ways() {
        let failed = real.run(1, options, |_| ()).expect_err("there is not that much memory");
        assert!(failed.to_string().contains("with too little memory, use fewer pages"), "{failed}");
    }
}
