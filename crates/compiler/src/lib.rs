//! Clauses to decision trees to IR. Absent on purpose: Cranelift, heaps, I/O.

pub mod interpret;
pub mod ir;
