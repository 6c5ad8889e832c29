//! Heap layouts that generated code and the runtime both touch. All sizes are in words of 8 bytes.
//!
//! ```text
//! cons      CONS   -> [car][cdr]
//! structure STRUCT -> [functor header][arg 1]..[arg n]
//! object    OBJECT -> [object header][payload]..          (payload: by class)
//! cell      REF    -> [value | VAR]                       (inside a cons or structure, or alone)
//! ```
//! A vector or string is a *handle* on a store. The newest version's handle leads to the store; an older
//! version's handle leads to the next newer handle and keeps one difference:
//! ```text
//! newest  [header][OBJECT store       ][INT -1   ][INT length]
//! older   [header][OBJECT newer handle][INT index][value that the older version has there]
//! literal [header][OBJECT store       ][INT -2   ][INT length]      a constant: an update copies the store first
//! changing [header][..                ][INT -3   ][..        ]      some worker makes an older version of the newest one
//! ```
//! A store and the elements in it are shared by all versions; only the newest version is updated in place.
//! A suspended goal is one record when it waits for one variable, and a record plus one hook per variable
//! when it waits for several:
//! ```text
//! SUSPENSION [header][next: VAR|next record, or UNBOUND][predicate: INT | -1 resumed][INT priority][before][arg]..
//! HOOK       [header][next: VAR|next record, or UNBOUND][OBJECT suspension]
//! GENERATOR  [header][next: always UNBOUND][predicate: INT][INT -][INT -][arg]..   makes the value when it is asked for
//! ```
//! `before` is the address (which reads as an INT) of the suspension made before this one, or 0 in the first one
//! since the last collection; after a collection it means nothing. `WorkerAbi::suspensions` leads to the newest: so
//! every goal that waits is known, even if nothing else leads to it. An unbound cell that is waited for holds
//! VAR|address of its newest record; `next` leads to older ones.

use crate::word::Word;

/// The class of an object; an index into the runtime's class table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct ClassId(pub u8);

/// A goal that waits (see the module comment).
pub const SUSPENSION: ClassId = ClassId(0);
/// One link between a variable and a suspension that waits for several.
pub const HOOK: ClassId = ClassId(1);
/// A record that makes a variable's value on demand.
pub const GENERATOR: ClassId = ClassId(2);
/// Vector handle.
pub const VECTOR: ClassId = ClassId(3);
/// Elements of a vector: values.
pub const STORE: ClassId = ClassId(4);
/// String handle.
pub const STRING: ClassId = ClassId(5);
/// Bytes of a string: `[header][bytes, padded to words]`; the handle has the length.
pub const BYTES: ClassId = ClassId(6);
/// A double: `[header][bits]`.
pub const FLOAT: ClassId = ClassId(7);
/// A big integer: `[header][INT sign -1 or 1][magnitude, little-endian 64-bit limbs]`.
pub const BIGINT: ClassId = ClassId(8);
/// A predicate object: `[header][INT predicate]`.
pub const PREDICATE: ClassId = ClassId(9);
/// A module object: `[header][ATOM name]`.
pub const MODULE: ClassId = ClassId(10);
/// What the processes of one merger share: `[tail of its output][INT number of open inputs]`.
pub const MERGER: ClassId = ClassId(11);
/// First class number free for the runtime's own classes.
pub const FIRST_FREE: ClassId = ClassId(12);

/// The index word of the newest version, of a literal, and of a version that is being changed.
pub const NEWEST: Word = Word::small(-1);
/// See [`NEWEST`].
pub const LITERAL: Word = Word::small(-2);
/// See [`NEWEST`].
pub const CHANGING: Word = Word::small(-3);

/// Payload words of a vector or string handle.
pub const HANDLE_SIZE: usize = 3;
/// Word offsets (from the header) in a handle.
pub const HANDLE_STORE: usize = 1;
/// Word offset of the difference's index; INT -1 in the newest version.
pub const HANDLE_INDEX: usize = 2;
/// Word offset of the length (newest) or of the difference's value (older).
pub const HANDLE_VALUE: usize = 3;

/// Word offset of the link to the next older record in a suspension, hook or generator. In a suspension that is free
/// for another goal: the address of the next such one, or 0.
pub const SUSPENSION_NEXT: usize = 1;
/// Word offset of the predicate (INT), or INT -1 once the goal has been resumed.
pub const SUSPENSION_PREDICATE: usize = 2;
/// What stands there once the goal has been resumed.
pub const RESUMED: Word = Word::small(-1);
/// Word offset of the priority (INT).
pub const SUSPENSION_PRIORITY: usize = 3;
/// Word offset of the address of the suspension made before.
pub const SUSPENSION_BEFORE: usize = 4;
/// Word offset of the first argument.
pub const SUSPENSION_ARGS: usize = 5;
/// Word offset of a hook's suspension (OBJECT).
pub const HOOK_SUSPENSION: usize = 2;

/// Largest number of arguments of a predicate.
pub const GOAL_ARITY_MAX: usize = 255;
