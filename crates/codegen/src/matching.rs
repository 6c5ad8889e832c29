//! `Match`: following references and choosing by tag and value.
//!
//! The likely tags are tested on the word as it is; only what matches none of them is looked at for a reference. It is
//! followed one cell at a time, back to the tests. The word may come straight from a cell (`lower`, L2): then it may
//! also say "unbound".
//!
//! Order of tests: cons, structures, integers and atoms, references, objects (before references if there is nothing
//! else). Each accepts a different tag, so the cases' order only matters within one tag, where a case after one that
//! accepts the whole tag is never reached.
//!
//! `count(0, ..)` and `count(N, ..) :- N > 0` are one comparison while the loop goes on: where the block for all other
//! integers does nothing but compare the word with a constant, and no integer that has a case of its own passes, the
//! comparison comes first (`Shortcut`).

use crate::arith::signed;
use crate::lower::{Kind, Lazy, Lower};
use crate::range::Range;
use compiler::ir::{BlockId, End, Operand, Pattern, Reg};
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::Switch;
use term::abi::Cond;
use term::word::{TAG_BITS, Tag, Word, functor_header};

/// Immediates (and structures, and classes) that are compared one by one; more are searched.
const COMPARED_MAX: usize = 4;

/// The cases of one tag.
#[derive(Default)]
struct Group {
    /// Keys in the order of the cases, each once: the bits of immediates and headers, and numbers of classes.
    some: Vec<(u64, BlockId)>,
    /// All others of the tag.
    any: Option<BlockId>,
}

impl Group {
    fn add(&mut self, key: u64, block: BlockId) {
        if self.any.is_none() && self.some.iter().all(|&(known, _)| known != key) {
            self.some.push((key, block));
        }
    }
    fn add_any(&mut self, block: BlockId) {
        self.any.get_or_insert(block);
    }
    fn is_empty(&self) -> bool {
        self.some.is_empty() && self.any.is_none()
    }
}

/// The only thing that the block for any integer does: a comparison of the integer with a constant.
struct Shortcut {
    cond: Cond,
    constant: i64,
    yes: BlockId,
    no: BlockId,
}

/// All cases, by tag.
#[derive(Default)]
struct Groups {
    cons: Option<BlockId>,
    structures: Group,
    ints: Group,
    atoms: Group,
    objects: Group,
    /// Where other words than integers lead, too.
    others: Vec<BlockId>,
}

impl Groups {
    fn new(cases: &[(Pattern, BlockId)], unbound: BlockId, default: BlockId) -> Groups {
        let mut groups = Groups { others: vec![unbound, default], ..Groups::default() };
        for &(pattern, block) in cases {
            if pattern != Pattern::AnyInt {
                groups.others.push(block);
            }
            match pattern {
                Pattern::Cons => {
                    groups.cons.get_or_insert(block);
                }
                Pattern::AnyInt => groups.ints.add_any(block),
                Pattern::Int(value) => groups.ints.add(Word::small(value).bits(), block),
                Pattern::AnyAtom => groups.atoms.add_any(block),
                Pattern::Atom(atom) => groups.atoms.add(Word::atom(atom).bits(), block),
                Pattern::AnyStruct => groups.structures.add_any(block),
                Pattern::Struct(name, arity) => {
                    groups.structures.add(functor_header(name, arity).bits(), block);
                }
                Pattern::AnyObject => groups.objects.add_any(block),
                Pattern::Object(class) => groups.objects.add(u64::from(class), block),
            }
        }
        groups
    }
}

impl Lower<'_, '_> {
    pub(crate) fn match_on(
        &mut self,
        reg: Reg,
        cases: &[(Pattern, BlockId)],
        unbound: BlockId,
        default: BlockId,
    ) {
        let lazy = self.lazy.iter().position(|lazy| lazy.reg == reg).map(|at| self.lazy.swap_remove(at));
        self.flush();
        let groups = Groups::new(cases, unbound, default);
        if let Some(Kind::Int(range)) = self.kind(Operand::Reg(reg)) {
            self.match_integer(reg, range, &groups, default);
            return self.drop_state();
        }
        let tests = self.b.create_block();
        self.b.ins().jump(tests, &[]);
        self.b.switch_to_block(tests);
        let word = self.read_raw(reg);
        let only_objects = self.test_groups(reg, word, &groups, default);
        // Nothing is left to test but whether it is a reference.
        let last = lazy.is_none() && (only_objects || groups.objects.is_empty());
        if lazy.is_some() || self.kind(Operand::Reg(reg)).is_none() {
            let cell = lazy.filter(|_| !groups.ints.is_empty());
            let other = if last { self.edge(default, &[]) } else { self.cold_block() };
            self.follow(reg, word, tests, unbound, other, |lower, content| {
                if let Some(cell) = cell {
                    lower.shorten(cell, content);
                }
            });
            if last {
                self.b.seal_block(tests);
                return self.drop_state();
            }
            self.enter_block(other);
        }
        if !only_objects {
            self.test_pointed(reg, word, Tag::Object, &groups.objects, default);
        }
        self.not_matched(reg, word, lazy, unbound, default);
        self.b.seal_block(tests);
        self.drop_state();
    }

    /// Emits the tests that come before the one for a reference; goes on in a block where none applied. Answers whether
    /// objects were among them.
    fn test_groups(&mut self, reg: Reg, word: Value, groups: &Groups, default: BlockId) -> bool {
        if let Some(block) = groups.cons {
            let target = self.edge(block, &[(reg, Kind::Pointer)]);
            let next = self.b.create_block();
            let differs = self.tag_differs(word, Tag::Cons);
            self.b.ins().brif(differs, next, &[], target, &[]);
            self.enter_block(next);
        }
        self.test_pointed(reg, word, Tag::Struct, &groups.structures, default);
        match self.shortcut(reg, groups) {
            Some(shortcut) => {
                let (this, next) = (self.b.create_block(), self.b.create_block());
                let differs = self.tag_differs(word, Tag::Int);
                self.b.ins().brif(differs, next, &[], this, &[]);
                self.enter_block(this);
                self.compare_first(reg, word, Range::ALL, &groups.ints, shortcut);
                self.enter_block(next);
            }
            None => self.test_immediates(reg, word, Tag::Int, &groups.ints, default),
        }
        self.test_immediates(reg, word, Tag::Atom, &groups.atoms, default);
        let others = groups.structures.is_empty() && groups.ints.is_empty() && groups.atoms.is_empty();
        let only_objects = groups.cons.is_none() && others;
        if only_objects {
            self.test_pointed(reg, word, Tag::Object, &groups.objects, default);
        }
        only_objects
    }

    /// Structures by header, objects by class.
    fn test_pointed(&mut self, reg: Reg, word: Value, tag: Tag, group: &Group, default: BlockId) {
        if group.is_empty() {
            return;
        }
        let (this, next) = (self.b.create_block(), self.b.create_block());
        let differs = self.tag_differs(word, tag);
        self.b.ins().brif(differs, next, &[], this, &[]);
        self.enter_block(this);
        let otherwise = self.edge(group.any.unwrap_or(default), &[(reg, Kind::Pointer)]);
        if group.some.is_empty() {
            self.b.ins().jump(otherwise, &[]);
        } else {
            let header = self.load(word, -(tag as i64));
            let key = if tag == Tag::Object { self.header_class(header) } else { header };
            self.choose(reg, Kind::Pointer, key, &group.some, otherwise);
        }
        self.enter_block(next);
    }

    /// The class in an object's header.
    pub(crate) fn header_class(&mut self, header: Value) -> Value {
        let class = self.b.ins().ushr_imm_u(header, 4);
        self.b.ins().band_imm_s(class, 0xff)
    }

    /// Integers or atoms: a few are compared with the whole word; else the tag comes first.
    fn test_immediates(&mut self, reg: Reg, word: Value, tag: Tag, group: &Group, default: BlockId) {
        if group.is_empty() {
            return;
        }
        let kind = if tag == Tag::Int { Kind::INT } else { Kind::Atom };
        if group.some.len() <= COMPARED_MAX {
            let next = self.b.create_block();
            self.choose(reg, kind, word, &group.some, next);
            self.enter_block(next);
            if let Some(any) = group.any {
                let next = self.b.create_block();
                let target = self.edge(any, &[(reg, kind)]);
                let differs = self.tag_differs(word, tag);
                self.b.ins().brif(differs, next, &[], target, &[]);
                self.enter_block(next);
            }
            return;
        }
        let (this, next) = (self.b.create_block(), self.b.create_block());
        let differs = self.tag_differs(word, tag);
        self.b.ins().brif(differs, next, &[], this, &[]);
        self.enter_block(this);
        self.choose_immediate(reg, kind, word, group, default);
        self.enter_block(next);
    }

    /// Ends the block: what the register is known to be has a case of its own, or that of all others.
    fn choose_immediate(&mut self, reg: Reg, kind: Kind, word: Value, group: &Group, default: BlockId) {
        let otherwise = self.edge(group.any.unwrap_or(default), &[(reg, kind)]);
        if group.some.len() <= COMPARED_MAX {
            return self.choose(reg, kind, word, &group.some, otherwise);
        }
        let number = self.b.ins().ushr_imm_u(word, 3);
        let some: Vec<_> = group.some.iter().map(|&(key, block)| (key >> TAG_BITS, block)).collect();
        self.choose(reg, kind, number, &some, otherwise);
    }

    /// Ends the block where the register is known to be an integer. The offsets are flushed.
    fn match_integer(&mut self, reg: Reg, range: Range, groups: &Groups, default: BlockId) {
        let word = self.read_raw(reg);
        match self.shortcut(reg, groups) {
            Some(shortcut) => self.compare_first(reg, word, range, &groups.ints, shortcut),
            None => self.choose_immediate(reg, Kind::Int(range), word, &groups.ints, default),
        }
    }

    /// What the block for all integers but a few does, if it does nothing else, is in this piece, none of these passes
    /// there, and only this match leads to it (and what does the match in its place, in this piece, too).
    fn shortcut(&self, reg: Reg, groups: &Groups) -> Option<Shortcut> {
        let group = &groups.ints;
        let any = group.any.filter(|_| !group.some.is_empty() && group.some.len() <= COMPARED_MAX)?;
        let block = &self.component.blocks[any.0 as usize];
        let End::Compare { cond, a: Operand::Reg(compared), b: Operand::Int(constant), yes, no, .. } =
            block.end
        else {
            return None;
        };
        let passes = |&(key, _): &(u64, BlockId)| {
            Range::may_hold(cond, Range::one(key as i64 >> TAG_BITS), Range::one(constant))
        };
        let only = self.pieces.predecessors[any.0 as usize] == 1 && !groups.others.contains(&any);
        let only = only && self.is_here(any) && !self.pieces.is_join(any);
        let fits = only && compared == reg && block.ops.is_empty() && !group.some.iter().any(passes);
        fits.then_some(Shortcut { cond, constant, yes, no })
    }

    /// Ends the block by the tests of an integer, the comparison before those of single ones. The block of the
    /// comparison is not lowered for itself.
    fn compare_first(&mut self, reg: Reg, word: Value, range: Range, group: &Group, shortcut: Shortcut) {
        let Shortcut { cond, constant, yes, no } = shortcut;
        if let Some(merged) = group.any {
            self.whole.merged[merged.0 as usize] = true;
        }
        let limit = self.word(Word::small(constant));
        let fails = self.b.ins().icmp(signed(cond).complement(), word, limit);
        let passed = Range::where_holds(cond, range, Range::one(constant)).0;
        let failed = Range::where_not(cond, range, Range::one(constant)).0;
        let yes = self.edge(yes, &[(reg, Kind::Int(passed))]);
        let rest = self.b.create_block();
        // What the last way of a branch leads to comes next: where a loop goes on.
        self.b.ins().brif(fails, rest, &[], yes, &[]);
        self.enter_block(rest);
        let otherwise = self.edge(no, &[(reg, Kind::Int(failed))]);
        self.choose(reg, Kind::Int(range), word, &group.some, otherwise);
    }

    /// Ends the block: to the case of `key`, or `otherwise`.
    fn choose(&mut self, reg: Reg, kind: Kind, key: Value, some: &[(u64, BlockId)], otherwise: Block) {
        if some.len() > COMPARED_MAX {
            let mut switch = Switch::new();
            for &(case, block) in some {
                let target = self.edge(block, &[(reg, kind)]);
                switch.set_entry(u128::from(case), target);
            }
            switch.emit(&mut self.b, key, otherwise);
            return;
        }
        for (index, &(case, block)) in some.iter().enumerate() {
            let target = self.edge(block, &[(reg, kind)]);
            let equal = self.b.ins().icmp_imm_s(IntCC::Equal, key, case as i64);
            if index + 1 == some.len() {
                self.b.ins().brif(equal, target, &[], otherwise, &[]);
                return;
            }
            let next = self.b.create_block();
            self.b.ins().brif(equal, target, &[], next, &[]);
            self.enter_block(next);
        }
        self.b.ins().jump(otherwise, &[]);
    }

    /// A reference is followed, back to `tests`; an unbound cell goes to `unbound`. `then` gets the content of one that
    /// is bound. All that is no reference goes to `other`.
    pub(crate) fn follow(
        &mut self,
        reg: Reg,
        word: Value,
        tests: Block,
        unbound: BlockId,
        other: Block,
        then: impl FnOnce(&mut Self, Value),
    ) {
        let unbound = self.edge(unbound, &[]);
        let (reference, bound) = (self.cold_block(), self.cold_block());
        let differs = self.tag_differs(word, Tag::Ref);
        self.b.ins().brif(differs, other, &[], reference, &[]);
        self.enter_block(reference);
        let content = self.load(word, -(Tag::Ref as i64));
        let is_value = self.tag_differs(content, Tag::Var);
        self.b.ins().brif(is_value, bound, &[], unbound, &[]);
        self.enter_block(bound);
        then(self, content);
        self.redefine(reg, content);
        self.b.ins().jump(tests, &[]);
    }

    /// C6 of `term::abi`: the cell that the word came from gets what it led to, if that is an integer. So that is found
    /// at once the next time, before a collection has come by. (For atoms it does not pay: most are the ends of lists,
    /// and each cons that is found through a reference would be tested.)
    fn shorten(&mut self, cell: Lazy, content: Value) {
        let (integer, other) = (self.cold_block(), self.cold_block());
        let differs = self.tag_differs(content, Tag::Int);
        self.b.ins().brif(differs, other, &[], integer, &[]);
        self.enter_block(integer);
        self.store(content, cell.base, cell.offset - Tag::Ref as i64);
        self.b.ins().jump(other, &[]);
        self.enter_block(other);
    }

    /// What no case accepts. Only the word that came from the cell itself can say "unbound": contents of references
    /// were tested for that.
    fn not_matched(&mut self, reg: Reg, word: Value, lazy: Option<Lazy>, unbound: BlockId, default: BlockId) {
        let (unbound, default) = (self.edge(unbound, &[]), self.edge(default, &[]));
        let Some(lazy) = lazy else {
            self.b.ins().jump(default, &[]);
            return;
        };
        let empty = self.cold_block();
        let is_value = self.tag_differs(word, Tag::Var);
        self.b.ins().brif(is_value, default, &[], empty, &[]);
        self.enter_block(empty);
        let cell = self.offset(lazy.base, lazy.offset);
        self.redefine(reg, cell);
        self.b.ins().jump(unbound, &[]);
    }
}
