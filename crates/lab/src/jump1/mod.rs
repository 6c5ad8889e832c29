//! JUMP-1: its network RDT(2,4,1) and what its routers do.

mod distances;
mod multicasts;

pub(crate) use distances::EXPERIMENT as DISTANCES;
pub(crate) use multicasts::{DIRECTORIES, FIG11, FIG12};
