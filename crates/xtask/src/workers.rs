//! `cargo xtask bench --default`: each program of `benches/` with one worker, and with the default number of them, in
//! turn. `--ablate`: with the default, and without each rule of the load balance (docs/balance.md), in turn. Seconds
//! are of the wall, the whole process counted: that is what a user waits for.

use crate::bench::{middle, name, programs};
use anyhow::{Context, bail, ensure};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Wall seconds of one run, whose output goes nowhere.
fn seconds(fifth: &Path, options: &[&str], program: &Path) -> anyhow::Result<f64> {
    let begin = Instant::now();
    let mut command = Command::new(fifth);
    let status =
        command.arg("run").args(options).arg(program).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{} {options:?}: {status}", program.display());
    Ok(begin.elapsed().as_secs_f64())
}

/// The fastest of some runs, and their median.
fn fastest_and_middle(runs: &[f64]) -> (f64, f64) {
    (runs.iter().copied().fold(f64::INFINITY, f64::min), middle(runs.to_vec()))
}

/// Measures with this `fifth`, reports: how many times as fast as one worker the default is.
pub(crate) fn run(root: &Path, fifth: &Path, filter: Option<&str>, rounds: usize) -> anyhow::Result<()> {
    if rounds == 0 {
        bail!("no rounds, no figures");
    }
    println!("{:<18} {:>8} {:>8} {:>7} {:>8}", "program", "one, s", "default", "ratio", "fastest");
    for program in programs(root, filter)? {
        let (mut one, mut default) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            one.push(seconds(fifth, &["--workers", "1"], &program)?);
            default.push(seconds(fifth, &[], &program)?);
        }
        let ((one_fastest, one), (fastest, default)) =
            (fastest_and_middle(&one), fastest_and_middle(&default));
        let (ratio, of_fastest) = (one / default, one_fastest / fastest);
        println!("{:<18} {one:>8.3} {default:>8.3} {ratio:>7.2} {of_fastest:>8.2}", name(&program));
    }
    Ok(())
}

/// Rules of the load balance that a run may do without, as `fifth run --without` names them when it is asked for one
/// that there is not.
fn rules(fifth: &Path) -> anyhow::Result<Vec<String>> {
    let asked = Command::new(fifth).args(["run", "--without=", "none.kl1"]).stdin(Stdio::null()).output()?;
    let error = String::from_utf8_lossy(&asked.stderr);
    let names = error.split("there are ").nth(1).and_then(|rest| rest.lines().next());
    let names = names.with_context(|| format!("{} names no rules: {error}", fifth.display()))?;
    Ok(names.split(", ").map(|name| name.trim().to_owned()).collect())
}

/// Measures with this `fifth`, reports: how many times as long each program takes without each rule. A rule that moves
/// no program is to go.
pub(crate) fn ablate(root: &Path, fifth: &Path, filter: Option<&str>, rounds: usize) -> anyhow::Result<()> {
    ensure!(rounds > 0, "no rounds, no figures");
    let rules = rules(fifth)?;
    print!("{:<18} {:>8} {:>9}", "program", "with, s", "noise");
    rules.iter().for_each(|rule| print!(" {rule:>9}"));
    println!();
    for program in programs(root, filter)? {
        let (mut with, mut again) = (Vec::new(), Vec::new());
        let mut without = vec![Vec::new(); rules.len()];
        for _ in 0..rounds {
            with.push(seconds(fifth, &[], &program)?);
            for (rule, times) in rules.iter().zip(&mut without) {
                times.push(seconds(fifth, &[&format!("--without={rule}")], &program)?);
            }
            again.push(seconds(fifth, &[], &program)?);
        }
        let base = fastest_and_middle(&with).1;
        let ratio = |times: &[f64]| fastest_and_middle(times).1 / base;
        print!("{:<18} {base:>8.3} {:>9.2}", name(&program), ratio(&again));
        without.iter().for_each(|times| print!(" {:>9.2}", ratio(times)));
        println!();
    }
    Ok(())
}
