//! The travelling salesman by branch and bound: paths of some cities are tasks, which nodes get in turn and search
//! depth first, in the cities' order. They tell each other better tours, and give tasks to nodes that have none.
//!
//! As published, a thread of the search makes room for messages now and then by a null call, which is a thread of the
//! system.
//!
//! A node that has nothing left asks the nodes 1, 2, 4, .. places further on. They give something at once, or
//! remember the request and give as soon as they have something to spare (lifelines: Saraswat et al., "Lifeline-based
//! global load balancing", PPoPP 2011). So nobody asks in vain again and again, and the run can end.

use fabric::{Fabric, NodeId, Priority, Random};
use machine::{Call, Context, Here, NodeSet, Program, Verdict};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The handler of a path that somebody gives.
pub const WORK: u32 = 1;
/// The handler for a node that has none.
pub const WANT: u32 = 2;
/// The handler of a better tour.
pub const BOUND: u32 = 3;

/// Most cities: a path fits into a word of 4 bits a city.
pub const CITIES_MAX: usize = 16;
/// Sides of the square where cities lie.
const SIDE: u32 = 1000;
/// Null calls between looking at messages, and paths of one where no time is simulated.
const CALLS: u64 = 16;
const CALL_PATHS: u64 = 16;

/// What a search costs where time is simulated, and how it is divided.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    /// For each path that is looked at.
    pub path: u64,
    /// Of a null call.
    pub call: u64,
    /// Paths that are looked at between null calls.
    pub call_paths: u64,
    /// Cities of a task's path, the first one included.
    pub task_cities: u32,
}

impl Cycles {
    /// Where no time is simulated.
    pub const NONE: Cycles = Cycles { path: 0, call: 0, call_paths: CALL_PATHS, task_cities: 4 };
}

/// Distances between cities.
#[derive(Clone, Debug)]
pub struct Map {
    cities: usize,
    distances: [[u32; CITIES_MAX]; CITIES_MAX],
}

impl Map {
    /// Cities at random places of a square of `SIDE` by `SIDE`, by seed; distances are rounded down.
    pub fn new(seed: u64, cities: usize) -> Map {
        assert!((3..=CITIES_MAX).contains(&cities), "3 to {CITIES_MAX} cities");
        let mut random = Random::new(seed);
        let places: Vec<[i64; 2]> =
            (0..cities).map(|_| [random.below(SIDE).into(), random.below(SIDE).into()]).collect();
        let mut distances = [[0; CITIES_MAX]; CITIES_MAX];
        for a in 0..cities {
            for b in 0..cities {
                let [x, y] = [places[a][0] - places[b][0], places[a][1] - places[b][1]];
                distances[a][b] = ((x * x + y * y) as u64).isqrt() as u32;
            }
        }
        Map { cities, distances }
    }
}

/// A path from city 0, so far.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    last: u32,
    /// A bit for each city that it has been to.
    been: u32,
    count: u32,
    length: u32,
}

impl Path {
    const START: Path = Path { last: 0, been: 1, count: 1, length: 0 };

    fn words(self) -> [u64; 2] {
        [
            u64::from(self.last) | u64::from(self.been) << 32,
            u64::from(self.count) | u64::from(self.length) << 32,
        ]
    }
    /// `None` if no path through these cities has such words.
    fn of([a, b]: [u64; 2], map: &Map) -> Option<Path> {
        let path = Path { last: a as u32, been: (a >> 32) as u32, count: b as u32, length: (b >> 32) as u32 };
        let possible = path.last < map.cities as u32
            && path.been >> map.cities == 0
            && path.been & 1 << path.last != 0
            && path.count == path.been.count_ones()
            && path.length <= 2 * SIDE * path.count;
        possible.then_some(path)
    }
    /// Adds the path's continuations that are shorter than `best`, the one to the first city last.
    fn extend(self, map: &Map, best: u32, open: &mut VecDeque<Path>) {
        let mut rest = !self.been & ((1 << map.cities) - 1);
        while rest != 0 {
            let city = 31 - rest.leading_zeros();
            rest &= !(1 << city);
            let length = self.length + map.distances[self.last as usize][city as usize];
            if length < best {
                open.push_back(Path {
                    last: city,
                    been: self.been | 1 << city,
                    count: self.count + 1,
                    length,
                });
            }
        }
    }
}

/// All paths of this number of cities, in the cities' order.
pub fn tasks(map: &Map, cities: u32) -> Vec<Path> {
    let mut paths = VecDeque::from([Path::START]);
    for _ in 1..cities.min(map.cities as u32) {
        let mut longer = VecDeque::new();
        for path in paths {
            path.extend(map, u32::MAX, &mut longer);
            // The one to the first city comes last.
            let from = longer.len() - (map.cities - path.count as usize);
            longer.make_contiguous()[from..].reverse();
        }
        paths = longer;
    }
    paths.into()
}

/// A node's search: what its handlers and its task share.
#[derive(Debug)]
struct Search {
    /// Paths that are still to be looked at.
    open: VecDeque<Path>,
    best: u32,
    looked_at: u64,
    /// Null calls.
    calls: u64,
    /// Nodes that asked for a part of the tree and have not got one.
    asking: NodeSet,
    /// A task searches.
    runs: bool,
}

impl Search {
    /// Looks at the path that was found last; true if that gives a better tour.
    fn step(&mut self, map: &Map) -> bool {
        let Some(path) = self.open.pop_back() else { return false };
        if path.length >= self.best {
            return false;
        }
        if path.count as usize == map.cities {
            let tour = path.length + map.distances[path.last as usize][0];
            let better = tour < self.best;
            self.best = self.best.min(tour);
            return better;
        }
        // Those that are too long are looked at, too.
        self.looked_at += map.cities as u64 - u64::from(path.count);
        path.extend(map, self.best, &mut self.open);
        false
    }
    /// A node that asked, and the task that would come last, if there is one to spare.
    fn gift(&mut self) -> Option<(NodeId, Path)> {
        let asker = self.asking.iter().next().filter(|_| self.open.len() > 1)?;
        self.asking.remove(asker);
        Some((asker, self.open.pop_front()?))
    }
}

/// The length of the shortest tour, by dynamic programming over sets of cities.
pub fn sequential(map: &Map) -> u32 {
    let sets = 1usize << map.cities;
    let mut best = vec![[u32::MAX; CITIES_MAX]; sets];
    best[1][0] = 0;
    for set in (1..sets).step_by(2) {
        for last in 0..map.cities {
            let length = best[set][last];
            if length == u32::MAX {
                continue;
            }
            for next in (0..map.cities).filter(|next| set >> next & 1 == 0) {
                let place = &mut best[set | 1 << next][next];
                *place = (*place).min(length + map.distances[last][next]);
            }
        }
    }
    (1..map.cities).map(|last| best[sets - 1][last].saturating_add(map.distances[last][0])).min().unwrap_or(0)
}

/// A node's part.
pub struct Tsp {
    map: Rc<Map>,
    cycles: Cycles,
    search: Rc<RefCell<Search>>,
    /// How often tasks came from other nodes.
    pub gifts: u64,
}

impl Tsp {
    /// The part of a node: nodes have the tasks in turn.
    pub fn new(node: NodeId, nodes: u32, map: &Map, cycles: Cycles) -> Tsp {
        let tasks = tasks(map, cycles.task_cities);
        // The first one is looked at first: it lies on top.
        let open = tasks.into_iter().skip(node.0 as usize).step_by(nodes as usize).rev().collect();
        let asking = NodeSet::new();
        let search = Search { open, best: u32::MAX, looked_at: 0, calls: 0, asking, runs: false };
        Tsp { map: Rc::new(map.clone()), cycles, search: Rc::new(RefCell::new(search)), gifts: 0 }
    }
    /// When the run is over: the length of the shortest tour.
    pub fn best(&self) -> u32 {
        self.search.borrow().best
    }
    /// Paths that this node looked at.
    pub fn looked_at(&self) -> u64 {
        self.search.borrow().looked_at
    }
    /// Its null calls.
    pub fn calls(&self) -> u64 {
        self.search.borrow().calls
    }
    /// Makes a task search, unless one does.
    fn search(&mut self, here: &Here) {
        if !std::mem::replace(&mut self.search.borrow_mut().runs, true) {
            here.spawn(search(here.clone(), self.map.clone(), self.cycles, self.search.clone()));
        }
    }
}

/// Searches until nothing is left, and asks for more.
async fn search(here: Here, map: Rc<Map>, cycles: Cycles, search: Rc<RefCell<Search>>) {
    loop {
        if search.borrow().open.is_empty() {
            break;
        }
        let (better, looked_at, calls) = stretch(&map, &mut search.borrow_mut(), cycles.call_paths);
        here.spend(cycles.path * looked_at + cycles.call * calls);
        if let Some(best) = better {
            here.broadcast(BOUND, &[best.into()], Vec::new()).await;
        }
        loop {
            let Some((asker, path)) = search.borrow_mut().gift() else { break };
            here.send(asker, Priority::High, WORK, &path.words()).await;
        }
        here.give_way().await;
    }
    search.borrow_mut().runs = false;
    let mut distance = 1;
    while distance < here.nodes() {
        let to = NodeId((here.node().0 + distance) % here.nodes());
        here.send(to, Priority::High, WANT, &[]).await;
        distance *= 2;
    }
}

/// Looks at the paths of some null calls, or until there is a better tour: that tour, how many paths they were, and
/// how many calls.
fn stretch(map: &Map, search: &mut Search, call_paths: u64) -> (Option<u32>, u64, u64) {
    let before = (search.looked_at, search.looked_at / call_paths);
    let mut better = None;
    while better.is_none() && search.looked_at - before.0 < CALLS * call_paths && !search.open.is_empty() {
        better = search.step(map).then_some(search.best);
    }
    let calls = search.looked_at / call_paths - before.1;
    search.calls += calls;
    (better, search.looked_at - before.0, calls)
}

impl Program for Tsp {
    fn start(&mut self, here: &Here) {
        self.search(here);
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        let mut search = self.search.borrow_mut();
        match (call.code, call.words) {
            (WORK, &[a, b]) => {
                let Some(path) = Path::of([a, b], &self.map) else { return Verdict::Strange };
                self.gifts += 1;
                search.open.push_back(path);
                drop(search);
                self.search(context.here());
            }
            (WANT, []) => {
                search.asking.insert(call.from);
                if let Some((asker, path)) = search.gift() {
                    context.send(asker, Priority::High, WORK, &path.words());
                }
            }
            (BOUND, &[best]) if best <= u32::MAX.into() => search.best = search.best.min(best as u32),
            _ => return Verdict::Strange,
        }
        Verdict::Done
    }
}
