//! Tests of the simulated network from outside.

mod conformance;
mod faults;
mod jmachine;
mod multicast;
mod nodes;
mod traffic;

/// Runs a test with several seeds, or with the one of the environment, and says which one failed.
fn for_seeds(test: &str, count: u64, check: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let wanted = std::env::var("FABRIC_SEED").ok().map(|seed| seed.parse().expect("FABRIC_SEED is a number"));
    let seeds = wanted.map_or(0..count, |seed: u64| seed..seed + 1);
    for seed in seeds {
        if std::panic::catch_unwind(|| check(seed)).is_err() {
            panic!("again: FABRIC_SEED={seed} cargo test -p fabric --test simulated {test}");
        }
    }
}
