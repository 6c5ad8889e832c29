//! The atoms that mean something to the macro expander, recognised by number.

use term::{Atom, AtomTable};

macro_rules! keys {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// An atom that the expander knows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Key { $($name),* }
        const KEYS: &[(Key, &str)] = &[$((Key::$name, $text)),*];
    };
}

keys! {
    Clause = ":-", Query = "?-", ImplicitClause = "-->", Bar = "|", Comma = ",", Semicolon = ";",
    Arrow = "->", Colon = ":", Pragma = "@", Minus = "-", Plus = "+", Times = "*", Divide = "/",
    True = "true", Otherwise = "otherwise", Alternatively = "alternatively",
    Module = "module", Inline = "inline", With = "with", Daemon = "daemon",
    Unify = "=", Differ = "\\=", Diff = "diff", IntAssign = ":=", FloatAssign = "$:=",
    Send = "<=", Push = "=>", Update = "<==",
    AddUpdate = "+=", SubUpdate = "-=", MulUpdate = "*=", DivUpdate = "/=",
    Lt = "<", Le = "=<", Gt = ">", Ge = ">=", Eq = "=:=", Ne = "=\\=",
    FloatLt = "$<", FloatLe = "$=<", FloatGt = "$>", FloatGe = "$>=", FloatEq = "$=:=", FloatNe = "$=\\=",
    Before = "@<", NotAfter = "@=<", After = "@>", NotBefore = "@>=", Compare = "compare",
    LessThan = "less_than", NotGreaterThan = "not_greater_than", GreaterThan = "greater_than",
    NotLessThan = "not_less_than", Equal = "equal", NotEqual = "not_equal",
    Add = "add", Subtract = "subtract", Multiply = "multiply", DivideName = "divide", Modulo = "modulo",
    And = "and", Or = "or", ExclusiveOr = "exclusive_or", ShiftLeft = "shift_left",
    ShiftRight = "shift_right", Complement = "complement", PlusName = "plus", MinusName = "minus",
    Mod = "mod", BitAnd = "/\\", BitOr = "\\/", Xor = "xor",
    LeftShift = "<<", RightShift = ">>", Backslash = "\\",
    Int = "int", Float = "float", Pow = "pow",
    Sin = "sin", Cos = "cos", Tan = "tan", Asin = "asin", Acos = "acos", Atan = "atan",
    Sinh = "sinh", Cosh = "cosh", Tanh = "tanh", Exp = "exp", Log = "log", Sqrt = "sqrt",
    Ceil = "ceil", Floor = "floor",
    IntExpression = "~", FloatExpression = "$~", Sharp = "#", Quote = "`", DeepQuote = "``",
    Character = "c", CharacterName = "key", Lf = "lf", Cr = "cr", String = "string", Predicate = "predicate",
    Generic = "generic", Builtin = "builtin",
    Priority = "priority", LowerPriority = "lower_priority", Node = "node", Processor = "processor",
    FloatingPointToInteger = "floating_point_to_integer",
    Shoen = "shoen", Try = "try", Execute = "execute", Skip = "skip",
}

/// The known atoms of one table.
pub(crate) struct Keys {
    by_atom: rustc_hash::FxHashMap<Atom, Key>,
    atoms: Vec<Atom>,
}

impl Keys {
    pub(crate) fn new(table: &AtomTable) -> Self {
        let atoms: Vec<Atom> = KEYS.iter().map(|(_, text)| table.intern(text.as_bytes())).collect();
        let by_atom = atoms.iter().zip(KEYS).map(|(&atom, &(key, _))| (atom, key)).collect();
        Keys { by_atom, atoms }
    }
    /// The key of an atom.
    pub(crate) fn get(&self, atom: Atom) -> Option<Key> {
        self.by_atom.get(&atom).copied()
    }
    /// The atom of a key.
    pub(crate) fn atom(&self, key: Key) -> Atom {
        // KEYS lists the variants in order.
        self.atoms[key as usize]
    }
}
