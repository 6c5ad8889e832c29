//! What `--stats-file` and `--trace` say of several nodes.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

fn json(file: &Path) -> Value {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn sum(of: &Value) -> u64 {
    of.as_object().expect("an object").values().map(count).sum()
}

/// The figures and the timeline of a run that ended when there was nothing more to do: whether they say the same.
pub(crate) fn check(figures: &Path, trace: &Path, nodes: usize) {
    let (figures, trace) = (json(figures), json(trace));
    let told = figures["nodes"].as_array().expect("a list");
    assert_eq!((told.len(), count(&figures["workers"])), (nodes, nodes as u64), "{figures}");
    let reductions: u64 = told.iter().map(|node| count(&node["reductions"])).sum();
    assert!(reductions > 0 && reductions == count(&figures["reductions"]), "{figures}");
    for node in told {
        assert_eq!(sum(&node["reads"]), count(&node["sent"]["read"]), "{node}");
        for table in ["exports", "imports"] {
            let [end, most] = [0, 1].map(|index| count(&node[table][index]));
            assert!(end <= most, "{node}");
        }
    }
    let events = trace["traceEvents"].as_array().expect("a list");
    let named = |event: &&Value| event["name"] == "process_name";
    let name = |event: &Value| event["args"]["name"].as_str().expect("a name").to_string();
    let names: Vec<String> = events.iter().filter(named).map(name).collect();
    let expected: Vec<String> = (0..nodes).map(|node| format!("node {node}")).collect();
    assert_eq!(names, expected);
    assert!(events.iter().all(|event| count(&event["pid"]) < nodes as u64));
    // Both ends of each message.
    let ends = |phase: &str| -> BTreeMap<u64, &Value> {
        let ends = events.iter().filter(|event| event["name"] == "message" && event["ph"] == phase);
        ends.map(|event| (count(&event["id"]), event)).collect()
    };
    let (begins, ends) = (ends("s"), ends("f"));
    let sent: u64 = told.iter().map(|node| sum(&node["sent"])).sum();
    assert_eq!((begins.len() as u64, ends.len() as u64), (sent, sent));
    for (id, begin) in begins {
        let end = ends.get(&id).unwrap_or_else(|| panic!("{begin} leads nowhere"));
        let time = |event: &Value| event["ts"].as_f64().expect("a time");
        assert!(time(begin) <= time(end) && begin["pid"] != end["pid"], "{begin} {end}");
    }
    for phase in ["sends read", "handles read", "sends answer_value", "handles answer_value", "reducing"] {
        assert!(events.iter().any(|event| event["ph"] == "X" && event["name"] == phase), "no {phase}");
    }
}
