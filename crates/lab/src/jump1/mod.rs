//! JUMP-1: its network RDT(2,4,1) and what its routers do.

mod distances;
mod lines;
mod mbp;
mod multicasts;
mod table3;
mod table4;

pub(crate) use distances::EXPERIMENT as DISTANCES;
pub(crate) use multicasts::{DIRECTORIES, FIG11, FIG12};
pub(crate) use table3::EXPERIMENT as TABLE3;
pub(crate) use table4::EXPERIMENT as TABLE4;
