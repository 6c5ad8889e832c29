//! What goes wrong in a session, as JSON for programs: the text that people get is a member of it.

use crate::program::NotCompiled;
use crate::session::Failure;
use runtime::outcome::{RunOutcome, SuspendedGoal, Waiting};
use serde_json::{Map, Value, json};

fn goals(goals: &[SuspendedGoal]) -> Value {
    let goal = |goal: &SuspendedGoal| {
        json!({
            "goal": goal.goal.text, "waits_for": goal.waits_for, "outside": goal.outside, "file": goal.file,
            "line": goal.line, "holder": goal.holder,
        })
    };
    goals.iter().map(goal).collect()
}

/// An object from `kind` and `text`, and what else is known.
fn object(kind: &str, text: String, more: Value) -> String {
    let mut object = Map::from_iter([("kind".into(), kind.into()), ("text".into(), text.into())]);
    if let Value::Object(more) = more {
        object.extend(more);
    }
    Value::Object(object).to_string()
}

/// Why a call gave no values: an object with `kind` (`undefined`, `unfit`, `poisoned`, `exit`, `deadlock`, `failed`),
/// `text`, and what is known of it: `status`; `goals` and `count`; `error`, `message`, `goal`, `file`, `line`.
pub fn of_call(failure: &Failure) -> String {
    let (kind, more) = match failure {
        Failure::Undefined(_) => ("undefined", Value::Null),
        Failure::Unfit(_) => ("unfit", Value::Null),
        Failure::Poisoned(_) => ("poisoned", Value::Null),
        Failure::Ended { outcome, .. } => match outcome {
            RunOutcome::Success => ("success", Value::Null),
            RunOutcome::Exit(status) => ("exit", json!({ "status": status })),
            RunOutcome::Deadlock { goals: all, count } => {
                ("deadlock", json!({ "goals": goals(all), "count": count }))
            }
            RunOutcome::Failed(error) => {
                let kind = format!("{:?}", error.kind);
                let more = json!({
                    "error": kind, "message": error.message, "goal": error.goal.text, "file": error.file,
                    "line": error.line, "goals": goals(&error.waiting.goals), "count": error.waiting.count,
                });
                ("failed", more)
            }
        },
    };
    object(kind, failure.to_string(), more)
}

/// Why there is no program: an object with `kind` (`text`, or `other`: a file that cannot be read, most often), `text`,
/// and `diagnostics`, each as `fifth check --error-format=json` shows it.
pub fn of_text(wrong: &NotCompiled) -> String {
    let (kind, lines) = match wrong {
        NotCompiled::Wrong(report) => ("text", report.json()),
        NotCompiled::Not(_) => ("other", String::new()),
    };
    let diagnostics: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    object(kind, wrong.to_string(), json!({ "diagnostics": diagnostics }))
}

/// Goals that wait in a call: an object with `goals`, and `count`, how many there are.
pub fn waiting(waiting: &Waiting) -> String {
    json!({ "goals": goals(&waiting.goals), "count": waiting.count }).to_string()
}
