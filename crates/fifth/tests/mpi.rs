//! The laboratory under an MPI launcher.

use fabric::mpi::launch;
use std::path::Path;

/// `fifth lab run` in this number of processes: whether it ends well, standard output, standard error.
fn lab(processes: u32, arguments: &[&str]) -> (bool, String, String) {
    let mut job = launch::processes(Path::new(env!("CARGO_BIN_EXE_fifth")), processes);
    job.args(["lab", "run", "--scale", "small", "--runs", "2"]).args(arguments);
    let output = launch::outcome(job).expect("a launcher");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// Median, least and most in the rows of a table.
fn figures(table: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(table).unwrap_or_else(|e| panic!("{}: {e}", table.display()));
    let figures =
        |line: &str| line.split(',').rev().skip(1).take(3).map(|f| f.parse().expect("a number")).collect();
    text.lines().skip(1).map(figures).collect()
}

#[test]
fn the_first_process_reports_what_is_measured_between_them() {
    let folder = std::env::temp_dir().join(format!("fifth-mpi-{}", std::process::id()));
    for (processes, barriers) in [(2, 1), (3, 1), (4, 2)] {
        let out = folder.to_string_lossy().into_owned();
        let (ended, stdout, stderr) = lab(processes, &["jmachine/table1", "jmachine/table3", "--out", &out]);
        assert!(ended, "{stdout}\n{stderr}");
        for title in ["threads", "processes"]
            .map(|nodes| [format!("Messages between {nodes}"), format!("Barriers of {nodes}")])
            .as_flattened()
        {
            assert_eq!(stdout.matches(title).count(), 1, "{title} once in\n{stdout}");
        }
        assert!(
            stdout.contains(&format!("The job has {processes} of them, under {}.", launch::library())),
            "{stdout}"
        );
        for (table, rows) in [("jmachine/table1", 3), ("jmachine/table3", barriers)] {
            let figures = figures(&folder.join(table).join("processes.csv"));
            let positive = figures.iter().flatten().filter(|figure| **figure > 0.0).count();
            assert_eq!((figures.len(), positive), (rows, 3 * rows), "{table}: {figures:?}");
        }
        // What cannot be removed is only litter.
        let _ = std::fs::remove_dir_all(&folder);
    }
}

#[test]
fn experiments_that_measure_nothing_between_processes_are_refused() {
    let (ended, stdout, stderr) = lab(2, &["jmachine/table1", "jmachine/fig4"]);
    assert!(!ended && stdout.is_empty(), "{stdout}");
    assert!(stderr.contains("jmachine/fig4 measures nothing between processes"), "{stderr}");
}

#[test]
fn one_process_measures_as_without_a_launcher() {
    let (ended, stdout, stderr) = lab(1, &["jmachine/table1"]);
    assert!(ended && !stdout.contains("Messages between processes"), "{stdout}\n{stderr}");
    assert!(stdout.contains("`mpirun -n 2 fifth lab run ...`"), "{stdout}");
}
