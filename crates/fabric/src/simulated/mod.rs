//! Networks in virtual time, cycle by cycle and flit by flit.
//!
//! [`run`] runs nodes on such a network in one thread; [`measure`] runs traffic of a pattern, in an open or closed
//! loop or from a trace, without nodes. The same [`Config`] and seed give the same run, event by event, on any host:
//! there are no threads, no clocks and no hash maps here.
//!
//! ```
//! use fabric::simulated::{Config, Pattern, Source, Topology, Traffic, measure};
//!
//! let config = Config { buffer_flits: 8, ..Config::plain(Topology::torus(&[8, 8]), 1) };
//! let source = Source::Open { pattern: Pattern::Transpose, flits: 4, rate: 0.1 };
//! let measured = measure(&config, &Traffic { source, warm_up: 500, measure: 1000, drain_max: 1000 });
//! println!("{:.1} cycles, {:.3} flits for each node and cycle", measured.latency.mean(), measured.accepted);
//! assert!(!measured.saturated);
//! ```
//!
//! # The model
//!
//! A node sends a packet of `header_flits` and `word_flits` for each word. It waits in the node's queue;
//! `interface_cycles` after it was sent, its first flit may leave the node's router. At each router a packet takes
//! one output (`topology`); a link carries one flit a cycle, in each direction or in both together ([`Duplex`]). A
//! flit that leaves a router in cycle `t` may leave the next one in cycle `t + hop_cycles`, or is with its node then.
//! So a packet of `L` flits over `H` links arrives after `interface_cycles + (H + 1) hop_cycles + L - 1` cycles if
//! nothing is in its way. A flit moves only when there is a place for it in the next buffer; a place that a flit
//! leaves in cycle `t` may be used in `t + credit_cycles`. Or the next buffer says stop and go ([`Flow`]). A node's
//! interface may take time for each flit besides ([`Config::entry`], [`Config::exit`]). `network` says what a cycle
//! does, in which order.
//!
//! On an RDT a packet may be for many nodes: routers copy it along a `tree` (`multicast`).
//!
//! # Nodes in virtual time
//!
//! A node is stepped when a message has come, at the time it asked for, or when it likes to go on; one whose messages
//! were refused, when one of its packets has left. It has a time of
//! its own: what it [spends](crate::Fabric::spend) makes it later, and what it sends enters the network at that time.
//! Meanwhile the network goes on, and messages wait for it. What comes during a step is seen in the next one. See
//! `world`.

mod config;
mod graph;
mod log;
mod network;
mod packet;
mod rdt;
mod report;
mod rule;
mod topology;
pub mod trace;
mod traffic;
mod tree;
mod world;

pub use config::{Arbitration, Config, Duplex, Flow, Priorities, Routing};
pub use report::{Channel, Times};
pub use rule::{Crossing, Death, RandomFaults, Rule, Rules, Verdict};
pub use topology::{DIMENSIONS_MAX, Topology};
pub use traffic::{Measured, Pattern, Source, Traffic, measure, measure_with};
pub use world::{Endpoint, Outcome, Stopped, run, run_with};
