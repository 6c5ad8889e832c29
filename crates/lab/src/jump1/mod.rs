//! JUMP-1: its network RDT(2,4,1) and what its routers do.

mod distances;

pub(crate) use distances::EXPERIMENT as DISTANCES;
