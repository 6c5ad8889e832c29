//! One component as one Cranelift function, or several (`pieces`): IR blocks are blocks; fast paths are inline, the
//! rest goes to helpers in blocks marked cold.
//!
//! Invariants while a block is lowered:
//! - L1 The allocation pointer is `use_var(heap) + heap_offset`, the goal stack's top
//!   `use_var(goals) + goals_offset`: building and pushing only move the offsets. Before a jump both offsets are
//!   flushed to 0. A helper's result is stored back minus the offset, so that the hot path needs no instruction for
//!   it.
//! - L2 `lazy` holds registers that were loaded from a cell and not yet tested for "unbound"; `read` tests them;
//!   `Match` on such a register tests the expected tags first. So that the tail of a list stays lazy, a jump to a
//!   loop's head that polls and then matches it does both itself (`shape::Head`); so does one where that is an integer
//!   of which more is known than at the head.
//! - L3 `facts` holds what is known of registers in this block: what is known on all edges to it, if all predecessors
//!   come before it (`shape::Order`) in its piece. Else it holds what the tests on the only way there say (`facts`),
//!   which holds wherever these tests are done.
//! - L4 `young` holds what was made in this block as a distance from an earlier allocation pointer. In a long block
//!   what is only stored is computed again each time, because thousands of live registers take the code generator
//!   quadratic time. What becomes a register of the next block is computed at the end of this one: so a loop that
//!   builds a list has the new tail where the old one was, which has been bound by then.

pub(crate) use crate::facts::Kind;
use crate::facts::{Facts, of_ways};
use crate::floats::Floats;
use crate::helpers::{ANSWER, Helper, Leave, operand};
use crate::options::Options;
use crate::pieces::{Piece, Pieces};
use crate::places::Places;
use crate::shape::{entries_by_demand, record_bytes};
use compiler::ir::{BlockId, Component, ConstantId, End, Entry, Op, Program, Reg};
use cranelift_codegen::ir::{
    self, AbiParam, ExtFuncData, ExternalName, FuncRef, Function, InstBuilder, MemFlagsData, SigRef,
    Signature, UserExternalName, Value, types::I64,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::offset_of;
use term::abi::{Builtin, PredicateId, WorkerAbi};
use term::constant::Constant;
use term::word::Word;

/// Space of names in relocations: thunks of helpers, then those of them that save vector registers, too.
pub(crate) const SPACE_HELPER: u32 = 0;
/// Leave routines.
pub(crate) const SPACE_LEAVE: u32 = 1;
/// Entries of predicates.
pub(crate) const SPACE_ENTRY: u32 = 2;
/// Pieces of the same component.
pub(crate) const SPACE_PIECE: u32 = 3;

/// What code generation knows of the world outside a component.
pub(crate) struct Environment<'a> {
    pub(crate) options: &'a Options,
    known: &'a [Builtin],
    here: HashSet<PredicateId>,
    /// Predicates whose goals may wait for ever: the runtime makes their records.
    daemons: HashSet<PredicateId>,
    first_constant: u32,
    constants: &'a [Constant],
}

impl<'a> Environment<'a> {
    pub(crate) fn new(program: &'a Program, known: &'a [Builtin], options: &'a Options) -> Self {
        let here = program.components.iter().flat_map(|c| c.entries.iter().map(|e| e.predicate)).collect();
        Environment {
            options,
            known,
            here,
            daemons: program.predicates.iter().filter(|p| p.daemon).map(|p| p.id).collect(),
            first_constant: program.first_constant,
            constants: &program.constants,
        }
    }
    /// A constant of this program; `None` for one of an earlier part.
    pub(crate) fn constant(&self, id: ConstantId) -> Option<&'a Constant> {
        self.constants.get(id.0.checked_sub(self.first_constant)? as usize)
    }
    /// Whether the predicate's goals may wait for ever.
    pub(crate) fn is_daemon(&self, predicate: PredicateId) -> bool {
        self.daemons.contains(&predicate)
    }
    /// The builtin with this predicate number.
    pub(crate) fn builtin(&self, predicate: PredicateId) -> Option<&'a Builtin> {
        self.known.get((predicate.0 as usize).checked_sub(1)?)
    }
}

/// A register whose value was loaded from a cell and not tested yet (L2).
#[derive(Clone, Copy)]
pub(crate) struct Lazy {
    pub(crate) reg: Reg,
    pub(crate) raw: Value,
    /// The REF that the register holds if `raw` says unbound: this plus the offset.
    pub(crate) base: Value,
    pub(crate) offset: i64,
}

/// Operations of a block that is not long (L4).
const SHORT_MAX: usize = 256;

/// Field offsets in the worker, as Cranelift wants them.
macro_rules! field {
    ($name:ident) => {
        std::mem::offset_of!(term::abi::WorkerAbi, $name) as i32
    };
}
pub(crate) use field;

/// What the pieces of a component have in common.
pub(crate) struct Whole<'a> {
    pub(crate) pieces: &'a Pieces<'a>,
    pub(crate) floats: Floats,
    /// The most words that a reduction needs by what its poll says.
    pub(crate) largest_need: usize,
    /// Blocks whose work was done where it led to them: nothing leads there any more.
    pub(crate) merged: Vec<bool>,
    /// Where the code comes from, if somebody wants to know.
    pub(crate) places: Option<Places>,
}

impl<'a> Whole<'a> {
    pub(crate) fn new(env: &Environment<'_>, pieces: &'a Pieces<'a>) -> Whole<'a> {
        let component = &*pieces.component;
        Whole {
            pieces,
            floats: Floats::of(env, component),
            largest_need: largest_need(component),
            merged: vec![false; component.blocks.len()],
            places: env.options.places.then(|| Places::of(component)),
        }
    }
}

/// The lowering of one piece of a component.
pub(crate) struct Lower<'a, 'f> {
    pub(crate) b: FunctionBuilder<'f>,
    pub(crate) env: &'f Environment<'f>,
    pub(crate) whole: &'f mut Whole<'a>,
    pub(crate) pieces: &'a Pieces<'a>,
    pub(crate) component: &'a Component,
    /// The piece's number.
    number: u32,
    /// The block that is lowered.
    pub(crate) block: BlockId,
    pub(crate) worker: Value,
    pub(crate) heap: Variable,
    pub(crate) goals: Variable,
    /// Bytes that `Pend`ed variables take in `WorkerAbi::pending` so far, if the component is one piece (E1).
    pub(crate) pending: Variable,
    pub(crate) heap_offset: i64,
    pub(crate) goals_offset: i64,
    /// Goal-stack words pushed since the last comparison with `goals_limit`; `None`: not compared yet.
    pub(crate) pushed: Option<usize>,
    pub(crate) lazy: Vec<Lazy>,
    /// Slots that the next goals to be pushed have in their records.
    pub(crate) slots: Vec<Reg>,
    /// The arguments of the goal at the end of this block that the routine which suspends it settles: a bit for each.
    pub(crate) settled: u64,
    pub(crate) facts: Facts,
    /// This block is a long one (L4).
    pub(crate) long: bool,
    pub(crate) young: HashMap<Reg, (Value, i64)>,
    /// By the numbers of `Home::Variable`.
    pub(crate) variables: Vec<Variable>,
    /// The piece's blocks, and what leads to those of others.
    blocks: Vec<ir::Block>,
    exits: BTreeMap<BlockId, ir::Block>,
    /// Facts of the edges to a block of the piece until now (L3).
    facts_in: Vec<Option<Facts>>,
    tail_signature: SigRef,
    helpers: [Option<FuncRef>; Helper::ALL.len()],
    leaves: [Option<FuncRef>; Leave::COUNT],
    entries: Vec<(PredicateId, FuncRef)>,
}

/// Lowers a piece into `function`.
pub(crate) fn piece<'f>(
    env: &'f Environment<'f>,
    whole: &'f mut Whole<'_>,
    number: usize,
    function: &'f mut Function,
    context: &'f mut FunctionBuilderContext,
    config: TargetFrontendConfig,
) {
    let pieces = whole.pieces;
    let (component, piece) = (&*pieces.component, &pieces.all[number]);
    function.signature = tail_signature(piece.entries.len() > 1 || pieces.is_cut());
    let mut b = FunctionBuilder::new(function, context);
    let first = b.create_block();
    b.append_block_params_for_function_params(first);
    b.switch_to_block(first);
    b.seal_block(first);
    let params = b.block_params(first).to_vec();
    let (heap, goals, pending) = (b.declare_var(I64), b.declare_var(I64), b.declare_var(I64));
    b.def_var(heap, params[1]);
    b.def_var(goals, params[2]);
    let variables = (0..piece.variables).map(|_| b.declare_var(I64)).collect();
    let blocks: Vec<_> = piece.blocks.iter().map(|_| b.create_block()).collect();
    for (id, &block) in piece.blocks.iter().zip(&blocks) {
        if matches!(component.blocks[id.0 as usize].end, End::Fail { .. }) {
            b.set_cold_block(block);
        }
    }
    let tail_signature = b.import_signature(tail_signature(false));
    let mut facts_in = vec![None; piece.blocks.len()];
    let entries = piece.entries.iter().map(|&index| component.entries[index].block);
    for block in entries.chain(piece.joins.iter().copied()) {
        facts_in[pieces.place(block).1 as usize] = Some(BTreeMap::new());
    }
    let mut lower = Lower {
        b,
        env,
        whole,
        pieces,
        component,
        number: number as u32,
        block: piece.blocks[0],
        worker: params[0],
        heap,
        goals,
        pending,
        heap_offset: 0,
        goals_offset: 0,
        pushed: None,
        lazy: Vec::new(),
        slots: Vec::new(),
        settled: 0,
        facts: BTreeMap::new(),
        long: false,
        young: HashMap::new(),
        variables,
        blocks,
        exits: BTreeMap::new(),
        facts_in,
        tail_signature,
        helpers: [None; Helper::ALL.len()],
        leaves: [None; Leave::COUNT],
        entries: Vec::new(),
    };
    lower.dispatch(piece, params.get(3).copied());
    for &id in &piece.blocks {
        if !lower.whole.merged[id.0 as usize] {
            lower.block(id);
        }
    }
    lower.leave_piece();
    lower.b.seal_all_blocks();
    lower.b.finalize(config);
}

fn largest_need(component: &Component) -> usize {
    let ops = component.blocks.iter().flat_map(|block| &block.ops);
    ops.map(|op| if let Op::Poll { need, .. } = op { *need as usize } else { 0 }).max().unwrap_or(0)
}

/// `(worker, heap, goals[, selector]) -> status`.
fn tail_signature(selector: bool) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    let count = if selector { 4 } else { 3 };
    signature.params.extend(std::iter::repeat_n(AbiParam::new(I64), count));
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// Loads and stores never trap: addresses come from words whose tags were tested.
pub(crate) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

impl Lower<'_, '_> {
    /// From the function's start to the entries' first blocks and to those that other pieces lead to.
    fn dispatch(&mut self, piece: &Piece, selector: Option<Value>) {
        if !self.pieces.is_cut() {
            let zero = self.b.ins().iconst(I64, 0);
            self.set_pending(zero);
        }
        let entries = entries_by_demand(self.component, piece, &self.pieces.predecessors);
        let last = if piece.joins.is_empty() { entries.len().saturating_sub(1) } else { entries.len() };
        for (position, &index) in entries.iter().enumerate() {
            let entry = &self.component.entries[index];
            if let Some(selector) = selector
                && position < last
            {
                let (this, rest) = (self.b.create_block(), self.b.create_block());
                let chosen = self.b.ins().icmp_imm_s(ir::condcodes::IntCC::Equal, selector, index as i64);
                self.b.ins().brif(chosen, this, &[], rest, &[]);
                self.enter_block(this);
                self.load_arguments(entry);
                self.enter_block(rest);
            } else {
                self.load_arguments(entry);
            }
        }
        let Some((selector, (&otherwise, others))) = selector.zip(piece.joins.split_first()) else { return };
        let mut switch = Switch::new();
        for &join in others {
            switch.set_entry(self.pieces.selector(join) as u128, self.here(join));
        }
        let otherwise = self.here(otherwise);
        switch.emit(&mut self.b, selector, otherwise);
    }

    /// C1: loads an entry's arguments, pops the goal's record and goes on.
    fn load_arguments(&mut self, entry: &Entry) {
        let goals = self.b.use_var(self.goals);
        let size = record_bytes(entry);
        for (index, &parameter) in entry.parameters.iter().enumerate() {
            let value = self.load(goals, 8 * index as i64 - size);
            self.set(parameter, value);
        }
        let popped = self.b.ins().iadd_imm_s(goals, -size);
        self.b.def_var(self.goals, popped);
        let target = self.here(entry.block);
        self.b.ins().jump(target, &[]);
    }

    /// Whether a block is in this piece.
    pub(crate) fn is_here(&self, block: BlockId) -> bool {
        self.pieces.place(block).0 == self.number
    }
    /// The Cranelift block of a block of this piece.
    fn here(&self, block: BlockId) -> ir::Block {
        self.blocks[self.pieces.place(block).1 as usize]
    }

    fn block(&mut self, id: BlockId) {
        let (block, target) = (&self.component.blocks[id.0 as usize], self.here(id));
        self.b.switch_to_block(target);
        if !self.pieces.loops[id.0 as usize] {
            self.b.seal_block(target);
        }
        let facts = self.facts_in[self.pieces.place(id).1 as usize].take();
        self.facts = facts.unwrap_or_else(|| {
            of_ways(self.component, &self.pieces.sole_predecessors, id, |guard| self.kind_of_output(guard))
        });
        self.block = id;
        self.pushed = None;
        self.long = block.ops.len() > SHORT_MAX;
        self.settled = self.settled_at_end(block);
        let mut ops = block.ops.as_slice();
        while let [op, rest @ ..] = ops {
            self.set_place(id, block.ops.len() - ops.len());
            match (self.float_run(ops), rest) {
                (0, [next, others @ ..]) if self.compute_and_bind(op, next) => ops = others,
                (0, _) => {
                    self.op(op);
                    ops = rest;
                }
                (count, _) => ops = &ops[count..],
            }
        }
        self.set_place(id, block.ops.len());
        self.end(&block.end);
        debug_assert!(
            self.lazy.is_empty() && self.slots.is_empty() && self.heap_offset == 0 && self.goals_offset == 0
        );
    }

    /// What follows is code of this operation of a block, or of its end.
    fn set_place(&mut self, block: BlockId, index: usize) {
        if let Some(places) = &self.whole.places {
            self.b.set_srcloc(places.at(block, index));
        }
    }

    // ---- control -------------------------------------------------------------------------------

    /// A new block off the hot path.
    pub(crate) fn cold_block(&mut self) -> ir::Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }
    /// A new block that the current one goes on in: off the hot path if that is.
    pub(crate) fn next_block(&mut self) -> ir::Block {
        let cold = self.b.current_block().is_some_and(|block| self.b.func.layout.is_cold(block));
        if cold { self.cold_block() } else { self.b.create_block() }
    }
    /// Continues in a block that has all its predecessors.
    pub(crate) fn enter_block(&mut self, block: ir::Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }
    /// The Cranelift block of an IR block, told what is known on the way there.
    pub(crate) fn edge(&mut self, to: BlockId, more: &[(Reg, Kind)]) -> ir::Block {
        let (piece, index) = self.pieces.place(to);
        if piece != self.number {
            return *self.exits.entry(to).or_insert_with(|| self.b.create_block());
        }
        if !self.pieces.loops[to.0 as usize] {
            match &mut self.facts_in[index as usize] {
                Some(known) => known.retain(|reg, kind| {
                    let more = more.iter().find(|fact| fact.0 == *reg).map(|fact| &fact.1);
                    let other = more.or_else(|| self.facts.get(reg));
                    other.inspect(|&&other| *kind = kind.or(other)).is_some()
                }),
                none => {
                    let mut facts = self.facts.clone();
                    facts.extend(more.iter().copied());
                    *none = Some(facts);
                }
            }
        }
        self.blocks[index as usize]
    }
    /// The ways from this piece to others.
    fn leave_piece(&mut self) {
        let selects = self.b.import_signature(tail_signature(true));
        for (to, exit) in std::mem::take(&mut self.exits) {
            self.enter_block(exit);
            let function = self.import(SPACE_PIECE, self.pieces.place(to).0, selects);
            let selector = self.b.ins().iconst(I64, self.pieces.selector(to) as i64);
            let (heap, goals) = (self.heap_now(), self.goals_now());
            self.b.ins().return_call(function, &[self.worker, heap, goals, selector]);
        }
    }
    /// L1, L2: nothing is left in `lazy` and the offsets.
    pub(crate) fn flush(&mut self) {
        while let Some(&Lazy { reg, .. }) = self.lazy.last() {
            self.force(reg);
        }
        let heap = self.heap_now();
        self.b.def_var(self.heap, heap);
        self.heap_offset = 0;
        let goals = self.goals_now();
        self.b.def_var(self.goals, goals);
        self.goals_offset = 0;
    }
    /// After the end of a block: what the block's code knew is of no use to the next.
    pub(crate) fn drop_state(&mut self) {
        self.lazy.clear();
        self.young.clear();
        self.heap_offset = 0;
        self.goals_offset = 0;
    }

    // ---- memory --------------------------------------------------------------------------------

    pub(crate) fn load(&mut self, base: Value, offset: i64) -> Value {
        self.b.ins().load(I64, trusted(), base, offset as i32)
    }
    /// A load that is not replaced by an earlier one of the same place (another worker may have written there).
    pub(crate) fn load_again(&mut self, base: Value, offset: i64) -> Value {
        let address = self.offset(base, offset);
        self.b.ins().atomic_load(I64, trusted(), address)
    }
    pub(crate) fn store(&mut self, value: Value, base: Value, offset: i64) {
        self.b.ins().store(trusted(), value, base, offset as i32);
    }
    pub(crate) fn worker_field(&mut self, offset: i32) -> Value {
        self.load(self.worker, i64::from(offset))
    }
    pub(crate) fn set_worker_field(&mut self, offset: i32, value: Value) {
        self.store(value, self.worker, i64::from(offset));
    }
    pub(crate) fn word(&mut self, word: Word) -> Value {
        self.b.ins().iconst(I64, word.bits() as i64)
    }
    pub(crate) fn offset(&mut self, base: Value, offset: i64) -> Value {
        if offset == 0 { base } else { self.b.ins().iadd_imm_s(base, offset) }
    }
    /// The allocation pointer as it is now.
    pub(crate) fn heap_now(&mut self) -> Value {
        let base = self.b.use_var(self.heap);
        self.offset(base, self.heap_offset)
    }
    /// The goal stack's top as it is now.
    pub(crate) fn goals_now(&mut self) -> Value {
        let base = self.b.use_var(self.goals);
        self.offset(base, self.goals_offset)
    }

    // ---- calls ---------------------------------------------------------------------------------

    /// C2: before a helper that uses the allocation pointer or the goal stack, and before every return.
    pub(crate) fn store_state(&mut self) {
        let heap = self.heap_now();
        self.set_worker_field(field!(heap), heap);
        let goals = self.goals_now();
        self.set_worker_field(field!(goals), goals);
    }
    /// After a helper that changes the allocation pointer (L1).
    pub(crate) fn reload_heap(&mut self) {
        let heap = self.worker_field(field!(heap));
        let base = self.offset(heap, -self.heap_offset);
        self.b.def_var(self.heap, base);
    }
    /// After a helper that changes the goal stack (L1).
    pub(crate) fn reload_goals(&mut self) {
        let goals = self.worker_field(field!(goals));
        let base = self.offset(goals, -self.goals_offset);
        self.b.def_var(self.goals, base);
    }
    /// Calls a helper; its answer if it has one.
    pub(crate) fn call_helper(&mut self, helper: Helper, operands: &[Value]) -> Option<Value> {
        let function = self.helper(helper, operands);
        for (index, &value) in operands.iter().enumerate() {
            self.store(value, self.worker, operand(index) as i64);
        }
        self.b.ins().call(function, &[self.worker]);
        helper.answers().then(|| self.load(self.worker, ANSWER as i64))
    }
    /// Calls a helper that takes its operands in registers; the two words that it answers.
    pub(crate) fn call_in_registers(&mut self, helper: Helper, operands: &[Value]) -> [Value; 2] {
        let function = self.helper(helper, operands);
        let call = self.b.ins().call(function, &[&[self.worker], operands].concat());
        let results = self.b.inst_results(call);
        [results[0], results[1]]
    }
    fn helper(&mut self, helper: Helper, operands: &[Value]) -> FuncRef {
        debug_assert_eq!(operands.len(), helper.operands());
        let index = helper as usize;
        if let Some(function) = self.helpers[index] {
            return function;
        }
        let in_registers = helper.in_registers();
        let convention = if in_registers { CallConv::SystemV } else { CallConv::PreserveAll };
        let mut signature = Signature::new(convention);
        let params = if in_registers { operands.len() } else { 0 };
        signature.params.extend(std::iter::repeat_n(AbiParam::new(I64), 1 + params));
        signature.returns.extend(std::iter::repeat_n(AbiParam::new(I64), if in_registers { 2 } else { 0 }));
        let signature = self.b.import_signature(signature);
        let name = index + if self.whole.floats.any { Helper::ALL.len() } else { 0 };
        let function = self.import(SPACE_HELPER, name as u32, signature);
        self.helpers[index] = Some(function);
        function
    }
    fn import(&mut self, namespace: u32, index: u32, signature: SigRef) -> FuncRef {
        let name = self.b.func.declare_imported_user_function(UserExternalName { namespace, index });
        self.b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        })
    }
    /// Ends the block in a leave routine.
    pub(crate) fn leave(&mut self, leave: Leave) {
        let index = leave.number();
        let function = match self.leaves[index] {
            Some(function) => function,
            None => {
                let function = self.import(SPACE_LEAVE, index as u32, self.tail_signature);
                self.leaves[index] = Some(function);
                function
            }
        };
        let (heap, goals) = (self.heap_now(), self.goals_now());
        self.b.ins().return_call(function, &[self.worker, heap, goals]);
    }
    /// Ends the block in a predicate whose goal is on top of the stack.
    pub(crate) fn enter_predicate(&mut self, predicate: PredicateId) {
        let (heap, goals) = (self.heap_now(), self.goals_now());
        if !self.env.here.contains(&predicate) {
            let word = self.word(predicate.goal_word());
            return self.enter_goal_word(word, heap, goals);
        }
        let function = match self.entries.iter().find(|entry| entry.0 == predicate) {
            Some(&(_, function)) => function,
            None => {
                let function = self.import(SPACE_ENTRY, predicate.0, self.tail_signature);
                self.entries.push((predicate, function));
                function
            }
        };
        self.b.ins().return_call(function, &[self.worker, heap, goals]);
    }
    /// Ends the block in the predicate of a goal word, which is its offset in the table of entries.
    pub(crate) fn enter_goal_word(&mut self, goal_word: Value, heap: Value, goals: Value) {
        let entries = self.worker_field(offset_of!(WorkerAbi, entries) as i32);
        let slot = self.b.ins().iadd(entries, goal_word);
        let address = self.load(slot, 0);
        self.b.ins().return_call_indirect(self.tail_signature, address, &[self.worker, heap, goals]);
    }
}
