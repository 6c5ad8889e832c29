//! Generated code, run on a worker without a runtime.

mod arithmetic;
mod attend;
mod calls;
mod intrinsics;
mod machine;
mod ops;
mod pieces;
mod programs;
mod shapes;
mod slots;
