//! How programs are compiled and run.

use crate::simulated::Simulate;

/// Most nodes of one process: more would share too little address space.
pub const NODES_MAX: u32 = 1024;

/// How a program is compiled and run. [`Settings::default`] is one node with a worker for each processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Workers of each node, from 1 to [`WORKERS_MAX`](runtime::worker::WORKERS_MAX). `None`: of a node that is alone
    /// one for each processor, or fewer if the system refuses address space or threads for so many; else one.
    pub workers: Option<u32>,
    /// How the nodes of a program that has several work together.
    pub nodes: Nodes,
    /// The program runs on the nodes of a simulated machine, in virtual time.
    pub simulate: Option<Simulate>,
    /// Reductions are counted.
    pub counts: bool,
    /// Each worker notes what it does when.
    pub traces: bool,
    /// The code says where in the text it comes from, that of the library's modules, too: for a profile.
    pub places: bool,
    /// Bytes that data and goals of a node may need at most. `None`: a part of the machine's memory.
    pub heap_limit: Option<u64>,
    /// Bytes of address space that an engine may map for heap and goal stacks. `None`: 2 TiB, and 64 GiB for each
    /// worker more: a process has room for about 60 such engines. Whoever embeds engines gives each 64 GiB, for
    /// instance.
    pub address_space: Option<u64>,
    /// Collect at every opportunity and check the heap after it; with a number at random ones, from this seed (to find
    /// bugs in Fifth).
    pub check_heap: Option<Option<u64>>,
    /// Workers reduce one after the other, in an order from this seed (to find bugs in Fifth).
    pub schedule: Option<u64>,
    /// The weight above which a predicate becomes several native functions (to find bugs in Fifth).
    pub pieces: Option<u32>,
    /// Rules of the load balance that do not hold, to measure what each is worth.
    pub without: runtime::worker::Without,
}

/// How many nodes run a program, each with a heap of its own, and how they work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// From 1 to [`NODES_MAX`]; of a simulated machine its own number counts.
    pub count: u32,
    /// Ready goals may move to nodes that have none. Then structures have identities, too: many goals that move read
    /// the same ones.
    pub balance: bool,
    /// Structures have an identity when they are sent again or are large: a node that has a copy reads it no more.
    pub identities: bool,
    /// How they share arrays. `None`: the memory is the same if all nodes are on one host.
    pub pages: Option<Pages>,
    /// Goals go to nodes at random, from this seed (to find bugs in Fifth).
    pub check: Option<u64>,
    /// A node of a simulated machine that dies, but for the first (to find bugs in Fifth).
    pub crash: Option<distribution::Crash>,
}

impl Nodes {
    /// Whether structures have identities.
    pub(crate) fn identities(&self) -> bool {
        self.identities || self.balance
    }
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes { count: 1, balance: false, identities: false, pages: None, check: None, crash: None }
    }
}

/// How nodes share the pages of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// They are the same memory.
    Mapped,
    /// Each node has copies, which go by messages.
    Messages,
}

impl Settings {
    /// A node with this number of workers.
    pub fn with_workers(workers: u32) -> Settings {
        Settings { workers: Some(workers), ..Settings::default() }
    }
    /// How many nodes run the program.
    pub fn node_count(&self) -> u32 {
        self.simulate.map_or(self.nodes.count, |machine| machine.nodes)
    }
    /// What code for these nodes is like. `single`: each has one worker.
    pub(crate) fn code(&self, single: bool) -> codegen::Options {
        let workers = if single { codegen::Workers::One } else { codegen::Workers::Several };
        let reductions = match self.simulate {
            Some(_) => codegen::Reductions::Metered,
            None if self.counts => codegen::Reductions::Counted,
            None => codegen::Reductions::Uncounted,
        };
        let piece_weight = self.pieces.unwrap_or(codegen::Options::DEFAULT.piece_weight);
        codegen::Options {
            reductions,
            workers,
            piece_weight,
            places: self.places,
            ..codegen::Options::DEFAULT
        }
    }
}
