//! The kernels of [`dsm`] over arrays: each is a sequence of phases, and each phase is done in parts, by any node.

use crate::builtins::{array, unfit};
use crate::distant::Work;
use crate::memory::{Array, Arrays, refusal};
use dsm::fault::Common;
use dsm::kernels::fft::Fft;
use dsm::kernels::lu::Lu;
use dsm::kernels::matmul::Matmul;
use dsm::{Memory, Use, View};
use runtime::node::{Answer, Term, Terms};
use runtime::outcome::ProgramError;
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What is computed.
#[derive(Clone, Copy)]
enum Plan {
    Matmul(Matmul),
    Fft(Fft),
    Lu(Lu),
}

/// A kernel with its arrays (A2).
pub(crate) struct Kernel {
    plan: Plan,
    /// Where the plan has each array, and the array.
    places: Vec<(usize, Array)>,
}

/// The side of a square of this size.
fn side(size: usize) -> Option<usize> {
    (size > 0 && size.isqrt().pow(2) == size).then(|| size.isqrt())
}

impl Kernel {
    /// That of a term: `matmul(A,B,C)`, `fft(A,Room,Inverse)` or `lu(A,Block)`.
    pub(crate) fn of<'t>(worker: &mut Terms<'t>, term: Term<'t>) -> Result<(Kernel, Arrays), Answer<'t>> {
        let term = worker.known(term)?;
        let name = match worker.view(term) {
            runtime::terms::View::Struct(name, arity) => (worker.atoms().name(name).into_owned(), arity),
            _ => (String::new(), 0),
        };
        let arguments: Vec<Term<'t>> = (0..name.1).map(|number| worker.arg(term, number)).collect();
        match (name.0.as_str(), &arguments[..]) {
            ("matmul", &[a, b, c]) => Kernel::matmul(worker, term, [a, b, c]),
            ("fft", &[a, room, inverse]) => Kernel::fft(worker, term, [a, room, inverse]),
            ("lu", &[a, block]) => Kernel::lu(worker, term, [a, block]),
            _ => Err(unfit(worker, term, "a kernel is matmul(A,B,C), fft(A,Room,Inverse) or lu(A,Block)")),
        }
    }
    fn matmul<'t>(
        worker: &mut Terms<'t>,
        term: Term<'t>,
        words: [Term<'t>; 3],
    ) -> Result<(Kernel, Arrays), Answer<'t>> {
        let (a, arrays) = array(worker, 1, words[0])?;
        let [(b, _), (c, _)] = [array(worker, 2, words[1])?, array(worker, 3, words[2])?];
        let Some(n) = side(a.size) else {
            return Err(unfit(worker, term, &format!("A has {} floats, and is no square matrix", a.size)));
        };
        if b.size != a.size || c.size != a.size {
            let what =
                format!("A has {} floats, B {} and C {}: they must be as large", a.size, b.size, c.size);
            return Err(unfit(worker, term, &what));
        }
        let plan = Matmul { n };
        let places = [a, b, c].into_iter().enumerate().map(|(number, array)| (plan.matrix(number), array));
        let places: Vec<_> = places.collect();
        Kernel { plan: Plan::Matmul(plan), places }.checked(worker, term, &[(0, 2), (1, 2)], arrays)
    }
    fn fft<'t>(
        worker: &mut Terms<'t>,
        term: Term<'t>,
        words: [Term<'t>; 3],
    ) -> Result<(Kernel, Arrays), Answer<'t>> {
        let ((a, arrays), (room, _)) = (array(worker, 1, words[0])?, array(worker, 2, words[1])?);
        let inverse = worker.integer_of(3, words[2])? != 0;
        let side =
            (a.size % 2 == 0).then(|| side(a.size / 2)).flatten().filter(|side| side.is_power_of_two());
        let Some(side) = side else {
            let what = format!(
                "A has {} floats: it must be 2, 8, 32, 128 and so on, two for each of 1, 4, 16, 64 .. complex numbers",
                a.size
            );
            return Err(unfit(worker, term, &what));
        };
        if room.size != a.size {
            return Err(unfit(worker, term, &format!("A has {} floats, its room {}", a.size, room.size)));
        }
        let plan = Fft { side, inverse };
        let places = vec![(plan.array(0), a), (plan.array(1), room)];
        Kernel { plan: Plan::Fft(plan), places }.checked(worker, term, &[(0, 1)], arrays)
    }
    fn lu<'t>(
        worker: &mut Terms<'t>,
        term: Term<'t>,
        words: [Term<'t>; 2],
    ) -> Result<(Kernel, Arrays), Answer<'t>> {
        let ((a, arrays), block) = (array(worker, 1, words[0])?, worker.integer_of(2, words[1])?);
        let Some(n) = side(a.size) else {
            return Err(unfit(worker, term, &format!("A has {} floats, and is no square matrix", a.size)));
        };
        let Some(block) = usize::try_from(block).ok().filter(|&block| block > 0 && n.is_multiple_of(block))
        else {
            return Err(unfit(
                worker,
                term,
                &format!("blocks of {block} rows do not divide a matrix of {n}"),
            ));
        };
        Kernel { plan: Plan::Lu(Lu { n, block }), places: vec![(0, a)] }.checked(worker, term, &[], arrays)
    }
    /// A2: these pairs of arrays must not overlap.
    fn checked<'t>(
        self,
        worker: &Terms<'t>,
        term: Term<'t>,
        pairs: &[(usize, usize)],
        arrays: Arrays,
    ) -> Result<(Kernel, Arrays), Answer<'t>> {
        let overlap = |&(a, b): &(usize, usize)| {
            let (a, b) = (self.places[a].1, self.places[b].1);
            a.first < b.first + b.size && b.first < a.first + a.size
        };
        if pairs.iter().any(overlap) {
            return Err(unfit(
                worker,
                term,
                "an array that is written is read as well: it was freed, or made up",
            ));
        }
        Ok((self, arrays))
    }
    pub(crate) fn phases(&self) -> usize {
        match &self.plan {
            Plan::Matmul(_) => 1,
            Plan::Fft(_) => Fft::PHASES,
            Plan::Lu(lu) => lu.phases(),
        }
    }
    /// Does a part of a phase, or what is left of it. It may wait, and the run may end before.
    pub(crate) fn run<'t>(
        self,
        worker: &mut Terms<'t>,
        arrays: &Arrays,
        phase: usize,
        (node, nodes): (u32, u32),
    ) -> Result<(), Answer<'t>> {
        let common = arrays.common().map_err(refusal)?;
        if arrays.have_copies() {
            return self.go_on(worker, arrays, phase, (node, nodes));
        }
        let Kernel { plan, places } = &self;
        let memory = Part { places, common, worker, node, nodes, ended: RefCell::new(Ok(())) };
        let waits = waits(plan.part(&memory, phase));
        let ended = memory.ended.into_inner();
        assert!(!waits || ended.is_err(), "a part of a phase waits for nothing but the end of the run");
        Ok(ended?)
    }
    /// The same where it may wait for pages.
    fn go_on<'t>(
        self,
        worker: &mut Terms<'t>,
        arrays: &Arrays,
        phase: usize,
        (node, nodes): (u32, u32),
    ) -> Result<(), Answer<'t>> {
        worker.may_go_on(0)?;
        let known = self.known(phase, (node, nodes));
        let begun = arrays.distant().and_then(|mut distant| distant.take(&known));
        let mut work = begun.unwrap_or_else(|| {
            let Kernel { plan, places } = self;
            let memory = DistantPart { places, arrays: arrays.clone(), node, nodes };
            let work: Work = Box::pin(async move { plan.part(&memory, phase).await });
            work
        });
        if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return Ok(());
        }
        let mut distant = arrays.distant().expect("it has copies");
        Err(distant.put_back(worker, known, work))
    }
    /// What makes a part what it is.
    fn known(&self, phase: usize, (node, nodes): (u32, u32)) -> Vec<u64> {
        let plan = match self.plan {
            Plan::Matmul(Matmul { n }) => [0, n, 0],
            Plan::Fft(Fft { side, inverse }) => [1, side, inverse.into()],
            Plan::Lu(Lu { n, block }) => [2, n, block],
        };
        let part = [phase, node as usize, nodes as usize];
        let places = self.places.iter().map(|(_, array)| array.first);
        plan.into_iter().chain(part).chain(places).map(|number| number as u64).collect()
    }
}

impl Plan {
    async fn part<M: Memory>(&self, memory: &M, phase: usize) {
        match self {
            Plan::Matmul(plan) => plan.multiply(memory).await,
            Plan::Fft(plan) => plan.phase(memory, phase).await,
            Plan::Lu(plan) => plan.phase(memory, phase).await,
        }
    }
}

/// Whether something does not come to its end at once.
fn waits(work: impl Future<Output = ()>) -> bool {
    pin!(work).poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending
}

/// Where the words of a plan are.
fn place(places: &[(usize, Array)], each: &Use) -> Use {
    let inside =
        |(from, array): &&(usize, Array)| *from <= each.first && each.first + each.words <= from + array.size;
    let (from, array) = places.iter().find(inside).expect("plans know the sizes of their arrays");
    Use { first: array.first + each.first - from, ..*each }
}

/// What a kernel sees of the arrays: a part of a phase has no barriers and locks.
struct Part<'a, 't> {
    places: &'a [(usize, Array)],
    common: &'a Common,
    worker: &'a Terms<'t>,
    node: u32,
    nodes: u32,
    ended: RefCell<Result<(), Box<ProgramError>>>,
}

/// The same where it may wait, and others reduce meanwhile.
struct DistantPart {
    places: Vec<(usize, Array)>,
    arrays: Arrays,
    node: u32,
    nodes: u32,
}

impl Memory for Part<'_, '_> {
    fn node(&self) -> u32 {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.nodes
    }
    /// When the run ends, it never comes back.
    async fn with<R>(&self, uses: &[Use], f: impl FnOnce(&mut [View<'_>]) -> R) -> R {
        if let Err(ended) = self.worker.may_go_on(0) {
            *self.ended.borrow_mut() = Err(ended);
            return std::future::pending().await;
        }
        let uses: Vec<Use> = uses.iter().map(|each| place(self.places, each)).collect();
        self.common.with(&uses, f)
    }
    async fn barrier(&self) {
        unreachable!("a part of a phase has no barrier");
    }
    async fn lock(&self, _: u32) {
        unreachable!("a part of a phase has no lock");
    }
    async fn unlock(&self, _: u32) {
        unreachable!("a part of a phase has no lock");
    }
    fn spend(&self, _: u64) {}
}

impl Memory for DistantPart {
    fn node(&self) -> u32 {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.nodes
    }
    async fn with<R>(&self, uses: &[Use], f: impl FnOnce(&mut [View<'_>]) -> R) -> R {
        let uses: Vec<Use> = uses.iter().map(|each| place(&self.places, each)).collect();
        std::future::poll_fn(|_| self.arrays.reach(&uses)).await;
        self.arrays.common().expect("a node that has copies has memory").with(&uses, f)
    }
    async fn barrier(&self) {
        unreachable!("a part of a phase has no barrier");
    }
    async fn lock(&self, _: u32) {
        unreachable!("a part of a phase has no lock");
    }
    async fn unlock(&self, _: u32) {
        unreachable!("a part of a phase has no lock");
    }
    fn spend(&self, _: u64) {}
}
