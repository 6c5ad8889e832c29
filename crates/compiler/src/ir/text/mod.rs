//! The IR as text: [`print()`] and [`parse`] are each other's inverse.
//!
//! ```text
//! first_constant 0
//! constant 0 list(1, 'a' | '[]')
//! predicate 101 'main':'append'/3 "list.kl1" 7
//! component 5
//! entry 101 (r0, r1, r2) b0
//! b0:
//!   poll 101(r0, r1, r2) need 2
//!   match r0 { '[]' -> b1, cons -> b2 } unbound b3 default b4
//! ```
//! A register is `r1`, a block `b1`, a constant of the pool `c1`; atoms are always quoted. What can err may end in
//! `at 101 line 7`: a line of the file of predicate 101; or
//! in `at c1[r5, 0] below 2`: two lines below what is in column 0 of row `r5` of table `c1`.

mod parse;
mod print;
mod tree;

pub use parse::parse;
pub use print::{print, print_op};
pub use tree::dump_tree;

use term::abi::{Cond, IntOp};

const INT_OPS: [(IntOp, &str); 12] = [
    (IntOp::Add, "add"),
    (IntOp::Sub, "sub"),
    (IntOp::Mul, "mul"),
    (IntOp::Div, "div"),
    (IntOp::Mod, "mod"),
    (IntOp::And, "and"),
    (IntOp::Or, "or"),
    (IntOp::Xor, "xor"),
    (IntOp::Shl, "shl"),
    (IntOp::Shr, "shr"),
    (IntOp::Neg, "neg"),
    (IntOp::Not, "not"),
];

const CONDS: [(Cond, &str); 6] = [
    (Cond::Lt, "lt"),
    (Cond::Le, "le"),
    (Cond::Gt, "gt"),
    (Cond::Ge, "ge"),
    (Cond::Eq, "eq"),
    (Cond::Ne, "ne"),
];
