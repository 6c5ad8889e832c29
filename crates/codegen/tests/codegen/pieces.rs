//! Components of several functions: what they do, and how large these are.

use crate::machine::*;
use crate::{arithmetic, attend, calls, intrinsics, ops, programs, shapes, slots};
use codegen::{Dump, Options, dump};
use compiler::ir::{Block, Component, End, Op, Operand, Pattern};
use term::word::Word;

/// A chain of tests: `p([_,..,_|L], [X1,..,Xn], R)` binds R to the sum of what comes first in the list.
fn head(cells: u32) -> Component {
    let call = goal(FIRST, &[v(0), v(1)]);
    let (wait, fail) = (|on| End::Suspend { goal: call.clone(), on: vec![on] }, 1);
    let mut blocks = vec![
        Block { ops: vec![Op::Poll { goal: call.clone(), need: 0 }], end: End::Goto(block(2)) },
        Block { ops: vec![], end: End::Fail { goal: call.clone() } },
    ];
    // The list from each cell on, and its element.
    let (rest, element) = (|cell| r(2 + 2 * cell), |cell| r(3 + 2 * cell));
    for cell in 0..cells {
        let at = blocks.len() as u32;
        let ops = if cell == 0 {
            vec![Op::Move { dst: rest(0), src: v(0) }]
        } else {
            vec![Op::Cdr { dst: rest(cell), src: rest(cell - 1) }]
        };
        let cases = vec![(Pattern::Cons, block(at + 2))];
        let end = End::Match { reg: rest(cell), cases, unbound: block(at + 1), default: block(fail) };
        blocks.push(Block { ops, end });
        blocks.push(Block { ops: vec![], end: wait(rest(cell)) });
    }
    for cell in 0..cells {
        let at = blocks.len() as u32;
        let cases = vec![(Pattern::AnyInt, block(at + 2))];
        let end = End::Match { reg: element(cell), cases, unbound: block(at + 1), default: block(fail) };
        blocks.push(Block { ops: vec![Op::Car { dst: element(cell), src: rest(cell) }], end });
        blocks.push(Block { ops: vec![], end: wait(element(cell)) });
    }
    let sum = r(2 + 2 * cells);
    let mut ops = vec![Op::Move { dst: sum, src: Operand::Int(0) }];
    ops.extend((0..cells).map(|cell| {
        let (a, b) = (Operand::Reg(sum), Operand::Reg(element(cell)));
        Op::Arith { op: term::abi::IntOp::Add, dst: sum, a, b, at: AT }
    }));
    ops.push(Op::Unify { a: v(1), b: Operand::Reg(sum), at: AT });
    blocks.push(Block { ops, end: End::Proceed });
    Component { entries: vec![entry(FIRST, 2, 0)], registers: 3 + 2 * cells, blocks }
}

#[test]
fn large_heads_are_matched_and_wait_at_each_cell() {
    let cells = 700;
    let mut machine = Machine::new(vec![head(cells)], &Options::default());
    let items: Vec<i64> = (0..i64::from(cells)).collect();
    let list = machine.list(&items);
    let out = machine.variable();
    assert_eq!(machine.solve(FIRST, &[list, out]), 1);
    assert_eq!(machine.value(out), Word::small(items.iter().sum()));
    for wrong in [0, 350, 699] {
        let mut machine = Machine::new(vec![head(cells)], &Options::default());
        let out = machine.variable();
        let short = machine.list(&items[..wrong]);
        assert_eq!(machine.solve(FIRST, &[short, out]), 2, "it fails: there are {wrong} cells");
        let list = machine.list(&items);
        let mut cell = list;
        for _ in 0..wrong {
            cell = machine.words(cell, 2)[1];
        }
        let unbound = machine.variable();
        machine.set_word(cell, 0, unbound);
        assert_eq!(machine.solve(FIRST, &[list, out]), 1);
        assert_eq!(machine.worker.pending[0], unbound, "it waits for element {wrong}");
    }
}

/// Blocks of each of Cranelift's functions, and variables that are handed from block to block.
fn sizes(component: Component) -> Vec<(usize, usize)> {
    let atoms = term::AtomTable::new();
    let text = dump(&program(vec![component]), &builtins(), &atoms, &Options::default(), Dump::Clif);
    let text = text.expect("there is room for its registers");
    let functions = text.split("\nfunction ").skip(1);
    let is_block = |line: &&str| line.starts_with("block");
    functions
        .map(|text| {
            let blocks = text.lines().filter(is_block);
            let parameters = blocks.clone().map(|line| line.matches(": i64").count()).sum();
            (blocks.count(), parameters)
        })
        .collect()
}

/// The time and memory of Cranelift grow faster than a function: so these do not grow, there are more of them.
#[test]
fn functions_do_not_grow_with_the_component() {
    let (few, many) = (sizes(head(1_000)), sizes(head(4_000)));
    assert!(few.len() > 4 && (4 * few.len() - 4..=4 * few.len()).contains(&many.len()), "{}", many.len());
    for (blocks, parameters) in few.into_iter().chain(many) {
        assert!(blocks < 6_000 && parameters < 6_000, "{blocks} blocks, {parameters} parameters");
    }
    assert_eq!(sizes(head(50)).len(), 1);
}

/// Whatever the pieces are: a block, a few, and parts of blocks.
#[test]
fn all_components_do_the_same_in_pieces() {
    for weight in [1, 2, 3, 5] {
        PIECE_WEIGHT.set(Some(weight));
        programs::naive_reverse_reverses();
        programs::metered_code_stops_after_a_number_of_reductions_and_goes_on_later();
        programs::the_end_of_the_heap_interrupts_and_the_goal_goes_on_later();
        programs::an_unbound_list_suspends();
        programs::a_spent_record_is_used_again();
        programs::a_cell_that_leads_to_an_integer_gets_it_when_it_is_read();
        ops::matches_find_their_case_through_references();
        ops::terms_are_laid_out_as_the_runtime_reads_them();
        ops::unification_binds_follows_resumes_or_asks();
        ops::goals_are_pushed_placed_and_the_stack_grows();
        ops::builtins_get_their_operands_and_give_results();
        ops::guards_answer_three_ways();
        ops::several_entries_share_a_function_and_large_needs_are_told();
        ops::helpers_that_may_report_an_error_are_told_the_place();
        ops::more_variables_than_the_worker_holds_are_noted();
        calls::operands_in_registers_and_in_memory_come_to_a_builtin();
        calls::operands_in_registers_come_to_a_guard();
        arithmetic::arithmetic_is_right_or_left_to_the_helper();
        arithmetic::arithmetic_with_constants_agrees();
        arithmetic::operands_behind_references_are_followed();
        arithmetic::guard_arithmetic_has_three_ways_out();
        arithmetic::comparisons_choose_the_branch();
        shapes::a_comparison_of_all_other_integers_agrees_with_cases_for_single_ones();
        slots::a_result_goes_into_the_record_of_the_goal_that_reads_it();
        slots::a_variable_is_unified_where_a_slot_would_be_filled();
        slots::a_result_that_is_not_there_yet_goes_into_the_record_as_a_variable();
        slots::a_goal_that_waits_makes_a_variable_of_its_slot();
        slots::the_slots_of_a_goal_that_waits_are_found_among_its_arguments();
        intrinsics::vector_elements_are_read_inline();
        intrinsics::vector_updates_keep_the_older_version();
        intrinsics::string_elements_and_lengths_are_read_inline();
        intrinsics::equality_asks_the_helper_about_all_but_integers_and_the_same_atom();
        attend::a_resumed_goal_runs_without_the_runtime_and_its_record_is_spent();
        attend::all_else_is_left_to_the_runtime();
        attend::a_variable_that_a_goal_waits_for_is_bound_at_once_but_not_one_with_a_generator();
    }
    PIECE_WEIGHT.set(None);
}
