//! The builtins of the runtime.

use crate::native::Native;

/// All builtins, each with its signature and code.
pub fn natives() -> Vec<Native> {
    Vec::new()
}
