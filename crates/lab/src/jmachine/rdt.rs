//! The J-Machine's programs and nodes on JUMP-1's network.

use super::applications::{Application, Ran, Sizes, report};
use super::simulation::network;
use super::{ANY_BOX, SEED, SOURCE};
use crate::chosen;
use crate::report::{Cell, Report, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::simulated;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jump1/programs",
    title: "JUMP-1's network: the J-Machine's programs",
    source: SOURCE,
    about: "Beyond the papers, a model: the J-Machine's four programs on its nodes, linked by its own mesh and by \
            JUMP-1's RDT(2,4,1). An RDT has channels for one priority, so there replies wait behind requests.",
    times_host: false,
    run,
};

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let sizes = Sizes::of(config.scale);
    let sides: &[u32] = match config.scale {
        Scale::Full => &[4, 8, 16],
        Scale::Small => &[4],
    };
    let cases: Vec<(Application, u32)> =
        Application::ALL.into_iter().flat_map(|one| sides.iter().map(move |side| (one, *side))).collect();
    let run = |(application, side): &(Application, u32)| {
        let mesh = application.run(side * side, &sizes)?;
        let rdt = application.run_on(&chosen::network(simulated::Config::jump1(*side, SEED)), &sizes)?;
        Ok((mesh, rdt))
    };
    let mut part = 0;
    let runs = chosen::each(&cases, run, |(application, side), (mesh, rdt)| {
        part += 1;
        host.progress(part, cases.len(), &format!("{}, {} nodes", application.name(), side * side));
        let told = [
            ("program", Cell::text(application.name())),
            ("nodes", Cell::key(side * side)),
            ("mesh, cycles", Cell::count(mesh.cycles)),
            ("RDT, cycles", Cell::count(rdt.cycles)),
        ];
        host.row("Programs", &told);
    })?;
    let times = |ran: &Ran| [Cell::count(ran.cycles), Cell::Measured(ran.idle(), 1)];
    let row = |((application, side), (mesh, rdt)): (&(Application, u32), &(Ran, Ran))| {
        let nodes = side * side;
        let cells = [Cell::Text(application.name().into()), Cell::key(nodes)];
        let topology = [Cell::Text(network(nodes).topology.to_string())];
        let ratio = [Cell::ratio(mesh.cycles as f64, rdt.cycles as f64, 3)];
        cells.into_iter().chain(topology).chain(times(mesh)).chain(times(rdt)).chain(ratio).collect()
    };
    let rows = cases.iter().zip(&runs).map(row).collect();
    let heads = [
        "program",
        "nodes",
        "the mesh",
        "mesh: cycles",
        "mesh: % idle",
        "RDT: cycles",
        "RDT: % idle",
        "times as fast on the RDT",
    ];
    let note = "The nodes are the same, and so is what their handlers spend. The mesh has links of half a word a \
                cycle for both directions together and two priorities; the RDT (flits of a word, headers of 3 flits, \
                buffers of 16) a word a cycle in each direction, and one priority. The inputs are those of nodes and \
                mesh. Where nodes compute nearly always, networks make no difference.";
    let table = Table::new("programs", "Programs", note, &heads, rows);
    Ok(report(experiment, (&Application::ALL, config.scale), ANY_BOX, vec![table], Vec::new()))
}
