//! Generated code, run on a worker without a runtime.

mod machine;
mod ops;
mod programs;
