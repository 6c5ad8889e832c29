//! Module `variable`: looking at variables, and wrapped terms.

use super::{Row, body};
use crate::native::Outcome;
use crate::terms::View;
use crate::worker::Worker;
use term::Word;

/// `unbound(X,R)`: `{X}` if it is bound now, `{Node,Address,X}` if not.
fn unbound(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = match worker.view(inputs[0]) {
        View::Unbound(variable) => {
            let address = Word::small((variable.address() >> 3) as i64);
            worker.vector(&[Word::small(0), address, variable])
        }
        _ => worker.vector(&[inputs[0]]),
    };
    Outcome::Done
}

pub(super) const NATIVES: &[Row] = &[body("variable", "unbound", "ao", unbound)];
