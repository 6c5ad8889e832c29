//! The STAFF-Link cluster: workstations that share memory by pages, with several writers a page.

mod cluster;
mod misses;
mod programs;
mod table1;
mod table3;

pub(crate) use misses::EXPERIMENT as MISSES;
pub(crate) use programs::{FFT, LU, MATMUL};
pub(crate) use table1::EXPERIMENT as TABLE1;
pub(crate) use table3::EXPERIMENT as TABLE3;

const SOURCE: &str = "H. Nakajo, A. Ichikawa, Y. Kaneda: A Distributed Shared-Memory System on a Workstation Cluster \
                      Using Fast Serial Links. IJPP 28(2), 2000";
