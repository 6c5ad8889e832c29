//! What one run of a program measured: the figures that `fifth run --stats-file` writes and experiments read.

use runtime::statistics::{self, Collected, Collection, Statistics};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The figures of one run. Times are seconds, amounts of data are words of 8 bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Workers of the node.
    pub workers: u32,
    /// From the first goal to the end.
    pub wall_seconds: f64,
    /// Processor time of the process meanwhile, of all threads.
    pub cpu_seconds: f64,
    /// Goals reduced; left out by executables of `fifth build`, whose code does not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reductions: u64,
    /// Goals that suspended.
    pub suspensions: u64,
    /// Goals that were resumed.
    pub resumptions: u64,
    /// Words allocated.
    pub words_allocated: u64,
    /// Writes to unbound cells that other workers may write too: each one compare-and-swap.
    pub shared_writes: u64,
    /// Those of them where another worker was first.
    pub shared_writes_lost: u64,
    /// Mails with goals from worker to worker.
    pub mails: u64,
    /// Every collection, in order; empty of several nodes.
    pub collections: Vec<Sample>,
    /// What each of several nodes did; empty of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRecord>,
    /// What the simulated machine did, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
}

/// The figures of one of several nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeRecord {
    /// Goals reduced.
    pub reductions: u64,
    /// Goals that suspended.
    pub suspensions: u64,
    /// Goals that were resumed.
    pub resumptions: u64,
    /// Words allocated.
    pub words_allocated: u64,
    /// Messages that it sent, by kind.
    pub sent: BTreeMap<String, u64>,
    /// References that these messages gave back.
    pub released: u64,
    /// Reads that it sent, by what they asked for: a structure, one level more, or this number of conses at most.
    pub reads: BTreeMap<String, u64>,
    /// References to imports that had no weight to give away.
    pub indirect: u64,
    /// Terms that other nodes refer to: at the end, and most at one time.
    pub exports: [u64; 2],
    /// Terms of other nodes that it refers to: at the end, and most at one time.
    pub imports: [u64; 2],
    /// Every collection, in order.
    pub collections: Vec<Sample>,
    /// What it did with copies of arrays, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub copies: BTreeMap<String, u64>,
    /// Of a node of a simulated machine: what it spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Spent>,
}

/// What a simulated node did, and how much virtual time it took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spent {
    /// How long it reduced.
    pub reducing_seconds: f64,
    /// How long it sent and received messages.
    pub handling_seconds: f64,
    /// White and black references in the messages that it sent.
    pub references: [u64; 2],
    /// Bytes of these messages.
    pub bytes: u64,
}

/// What is known of a simulated machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Simulation {
    /// Virtual time of the run.
    pub seconds: f64,
    /// Bytes that each channel between two nodes carried.
    pub channel_bytes: Vec<u64>,
    /// What a channel can carry in a second of virtual time.
    pub channel_bytes_per_second: f64,
}

/// Kind of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Of the young spaces.
    Minor,
    /// Of everything.
    Major,
}

/// One collection. Words are those in use after it: what is live, and what died in old space since the last major one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// Minor or major.
    pub kind: Kind,
    /// When it ended, from the run's start.
    pub at_seconds: f64,
    /// How long nothing was reduced.
    pub pause_seconds: f64,
    /// How long the other workers took to stop before it.
    pub stop_seconds: f64,
    /// Words it copied.
    pub words_copied: u64,
    /// Words in use in the heap, records of waiting goals included.
    pub heap_words: u64,
    /// Words of ready goals, which are not in the heap.
    pub ready_words: u64,
    /// Words of the records of waiting goals.
    pub waiting_words: u64,
    /// What each worker did that took part.
    pub shares: Vec<Share>,
}

/// One worker's part in a collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Share {
    /// The worker.
    pub worker: u32,
    /// Words it copied.
    pub words_copied: u64,
    /// How long it had work.
    pub busy_seconds: f64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Record {
    /// A record of a run that began at `started`.
    pub fn new(
        workers: u32,
        statistics: &Statistics,
        collections: &[Collection],
        started: Instant,
        wall: Duration,
        cpu: Duration,
    ) -> Record {
        Record {
            workers,
            wall_seconds: wall.as_secs_f64(),
            cpu_seconds: cpu.as_secs_f64(),
            reductions: statistics.reductions,
            suspensions: statistics.suspensions,
            resumptions: statistics.resumptions,
            words_allocated: statistics.words_allocated,
            shared_writes: statistics.shared_writes,
            shared_writes_lost: statistics.shared_writes_lost,
            mails: statistics.mails,
            collections: samples(collections, started),
            nodes: Vec::new(),
            simulation: None,
        }
    }
    /// Time in collections.
    pub fn pause_seconds(&self) -> f64 {
        // The sum of nothing would be -0.
        self.collections.iter().map(|sample| sample.pause_seconds).fold(0.0, |sum, pause| sum + pause)
    }
    /// Time in which goals were reduced.
    pub fn reducing_seconds(&self) -> f64 {
        (self.wall_seconds - self.pause_seconds()).max(0.0)
    }
    /// Words that collections copied.
    pub fn words_copied(&self) -> u64 {
        self.collections.iter().map(|sample| sample.words_copied).sum()
    }
    /// Collections of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.collections.iter().filter(|sample| sample.kind == kind).count()
    }
    /// The collections, each with the time that was spent in reducing before it.
    pub fn by_reducing_time(&self) -> impl Iterator<Item = (f64, &Sample)> {
        let mut paused = 0.0;
        self.collections.iter().map(move |sample| {
            paused += sample.pause_seconds;
            ((sample.at_seconds - paused).max(0.0), sample)
        })
    }
}

impl Sample {
    /// All words in use.
    pub fn words(&self) -> u64 {
        self.heap_words + self.ready_words
    }
    /// Words of goals, ready or waiting.
    pub fn goal_words(&self) -> u64 {
        self.ready_words + self.waiting_words
    }
}

/// Collections of a run that began at `started`.
pub fn samples(collections: &[Collection], started: Instant) -> Vec<Sample> {
    collections.iter().map(|collection| sample(collection, started)).collect()
}

fn sample(collection: &Collection, started: Instant) -> Sample {
    Sample {
        kind: match collection.kind {
            Collected::Young => Kind::Minor,
            Collected::Everything => Kind::Major,
        },
        at_seconds: collection.ended.saturating_duration_since(started).as_secs_f64(),
        pause_seconds: collection.pause.as_secs_f64(),
        stop_seconds: collection.stop.as_secs_f64(),
        words_copied: collection.words_copied as u64,
        heap_words: collection.heap_words as u64,
        ready_words: collection.ready_words as u64,
        waiting_words: collection.waiting_words as u64,
        shares: collection.shares.iter().map(share).collect(),
    }
}

fn share(share: &statistics::Share) -> Share {
    Share {
        worker: share.worker as u32,
        words_copied: share.words_copied as u64,
        busy_seconds: share.busy.as_secs_f64(),
    }
}
