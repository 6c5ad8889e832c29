//! How fast networks are simulated: flits over links in a second of processor time, best of several runs.
//! `cargo xtask bench --network` runs it. Arguments of `cargo bench` (behind `--`) are parts of names of networks: only
//! these are measured.

use fabric::simulated::{Config, Duplex, Pattern, Source, Topology, Traffic, measure};
use std::time::Instant;

const RUNS: usize = 5;

fn main() {
    println!(
        "{:<34} {:>8} {:>6} {:>14} {:>16}",
        "network, 8-flit packets", "nodes", "load", "flit-hops", "flit-hops/s"
    );
    for side in [4, 8, 12, 16] {
        // Greater meshes take less: half of what goes from one half to the other can go at once.
        let load = if side <= 8 { 0.2 } else { 1.6 / f64::from(side) };
        mesh("mesh, full duplex", Duplex::Full, side, load);
    }
    mesh("mesh, half duplex", Duplex::Half, 8, 0.1);
    for side in [16, 64] {
        row("RDT(2,4,1)", &Config::jump1(side, 1), 0.2);
    }
}

fn mesh(what: &str, duplex: Duplex, side: u32, load: f64) {
    row(what, &Config { duplex, buffer_flits: 8, ..Config::plain(Topology::mesh(&[side; 3]), 1) }, load);
}

fn row(what: &str, config: &Config, load: f64) {
    let name = format!("{what} {}", config.topology.nodes());
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part)) {
        return;
    }
    let source = Source::Open { pattern: Pattern::Uniform, flits: 8, rate: load };
    let nodes = config.topology.nodes();
    let traffic = Traffic { source, warm_up: 200, measure: 400_000 / u64::from(nodes), drain_max: 2000 };
    let mut best = 0.0f64;
    let mut flit_hops = 0;
    for _ in 0..RUNS {
        let begin = Instant::now();
        let measured = measure(config, &traffic);
        best = best.max(measured.flit_hops as f64 / begin.elapsed().as_secs_f64());
        flit_hops = measured.flit_hops;
        assert!(!measured.saturated, "a saturated network is another load");
    }
    println!("{:<34} {nodes:>8} {load:>6.2} {flit_hops:>14} {:>14.1} M", what, best / 1e6);
}
