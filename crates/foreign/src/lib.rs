//! What the faces of other languages have in common.
