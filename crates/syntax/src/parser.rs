//! Tokens to terms: operator precedence with an explicit stack, for source files and for `gett`.
//!
//! Invariants:
//! - No recursion: what encloses the current place is on [`Parser::frames`], finished operands on
//!   `values`. Input may nest as deep as memory allows.
//! - Every step takes a token or pops a frame, so parsing ends.
//! - R3 A frame's `base` is the height of `values` when it was pushed; closing it leaves exactly one value
//!   above.
//!
//! Reading is greedy: an operator continues the innermost term it fits. Absent on purpose: what terms mean.

mod messages;

use crate::hints::hint;
use crate::lexer::{Lexer, TEXT_MAX, Token, TokenKind};
use crate::operators::{ARGUMENT_MAX, BAR_OP, COMMA_OP, Op, OpTable, PRIORITY_MAX};
pub use crate::syntax_error::SyntaxError;
use crate::tree::{NodeId, NodeKind, Tree, TreeVariable};
use num_bigint::BigInt;
use rustc_hash::FxHashMap;
use term::symbol::{BAR, COMMA, DOT, MINUS, NIL};
use term::{Atom, AtomTable};

/// Reads the one term that `text` holds, end token included (see [`crate::lexer::TermScanner`]). `None`:
/// only layout and comments.
pub fn parse_term(text: &[u8], ops: &OpTable, atoms: &AtomTable) -> Result<Option<Tree>, Box<SyntaxError>> {
    limit(text)?;
    Parser::new(text, ops).term(atoms)
}

/// Reads the one term that tokens stand for, end token included. Their places are in `text`, in order: an atom with
/// `(` right after it is a functor, and a variable's text is its name.
pub fn parse_tokens(
    text: &[u8],
    tokens: Vec<Token>,
    ops: &OpTable,
    atoms: &AtomTable,
) -> Result<Option<Tree>, Box<SyntaxError>> {
    limit(text)?;
    let mut parser = Parser::new(text, ops);
    parser.lexer = Lexer::of_tokens(text, tokens);
    parser.term(atoms)
}

fn limit(text: &[u8]) -> Result<(), Box<SyntaxError>> {
    if text.len() > TEXT_MAX {
        return Err(SyntaxError::new("text-too-large", (0, 0), "a term's text is limited to 1 GB"));
    }
    Ok(())
}

/// What encloses the current place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    /// `name(` arguments.
    Arguments,
    /// `[` items.
    Items,
    /// `[..|` tail.
    Tail,
    /// `{`.
    Vector,
    /// `(`.
    Parenthesis,
    /// left operand, operator.
    Infix,
    /// operator.
    Prefix,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: FrameKind,
    /// Functor or operator.
    name: Atom,
    /// First byte.
    start: u32,
    /// One past what opens it.
    opened: u32,
    /// R3.
    base: u32,
    /// Priority of the result.
    priority: u16,
    /// Highest priority allowed where the result stands.
    outer_max: u16,
}

/// Reads term after term from one text.
pub(crate) struct Parser<'a> {
    lexer: Lexer<'a>,
    ops: &'a OpTable,
    tree: Tree,
    values: Vec<NodeId>,
    frames: Vec<Frame>,
    names: FxHashMap<&'a [u8], u32>,
    /// Highest priority allowed at the current place.
    max: u16,
    /// End of the last token taken.
    last_end: u32,
    /// The last token taken was an end token.
    ended: bool,
}

impl<'a> Parser<'a> {
    /// The text has at most [`TEXT_MAX`] bytes.
    pub(crate) fn new(text: &'a [u8], ops: &'a OpTable) -> Self {
        Parser {
            lexer: Lexer::new(text),
            ops,
            tree: Tree::default(),
            values: vec![],
            frames: vec![],
            names: FxHashMap::default(),
            max: PRIORITY_MAX,
            last_end: 0,
            ended: false,
        }
    }

    /// The next term with its end token; `None` at the end of the text. After an error the text up to the
    /// next end token is skipped.
    pub(crate) fn term(&mut self, atoms: &AtomTable) -> Result<Option<Tree>, Box<SyntaxError>> {
        let first = self.lexer.peek(0, atoms);
        let from = first.start as usize;
        if first.kind == TokenKind::EndOfText {
            return Ok(None);
        }
        self.values.clear();
        self.frames.clear();
        self.names.clear();
        self.max = PRIORITY_MAX;
        self.ended = false;
        let result = self.read(atoms);
        let tree = std::mem::take(&mut self.tree);
        match result {
            Ok(()) => Ok(Some(tree)),
            Err(mut error) => {
                if !self.ended {
                    self.lexer.skip_to_end();
                }
                let better = hint(self.lexer.text(), from, &error, self.ops, atoms);
                error.help = better.or(error.help.take());
                Err(error)
            }
        }
    }

    fn read(&mut self, atoms: &AtomTable) -> Result<(), Box<SyntaxError>> {
        loop {
            if !self.operand(atoms)? {
                continue;
            }
            if self.continuation(atoms)? {
                return Ok(());
            }
        }
    }

    fn take(&mut self, atoms: &AtomTable) -> Token {
        let token = self.lexer.next(atoms);
        self.last_end = token.end;
        self.ended = token.kind == TokenKind::End;
        token
    }

    fn push_frame(&mut self, kind: FrameKind, name: Atom, start: u32, priority: u16, max: u16) {
        let base = self.values.len() as u32;
        let (opened, outer_max) = (self.last_end, self.max);
        self.frames.push(Frame { kind, name, start, opened, base, priority, outer_max });
        self.max = max;
    }

    fn push(&mut self, kind: NodeKind, start: u32) {
        let id = self.tree.add(kind, start, self.last_end);
        self.values.push(id);
    }

    /// Is the token `n` ahead the character `byte`? With `at`: does it also start there?
    fn is_punctuation(&mut self, n: usize, byte: u8, at: Option<u32>, atoms: &AtomTable) -> bool {
        let token = self.lexer.peek(n, atoms);
        token.kind == TokenKind::Punctuation(byte) && at.is_none_or(|at| at == token.start)
    }

    /// At the start of a term: takes one primary (`true`), or the opening of one (`false`: an operand must
    /// follow).
    fn operand(&mut self, atoms: &AtomTable) -> Result<bool, Box<SyntaxError>> {
        let applied = {
            let end = self.lexer.peek(0, atoms).end;
            self.is_punctuation(1, b'(', Some(end), atoms)
        };
        let parenthesised = self.is_punctuation(1, b')', None, atoms)
            && self.frames.last().is_some_and(|f| f.kind == FrameKind::Parenthesis);
        let token = self.take(atoms);
        let start = token.start;
        match token.kind {
            TokenKind::Atom(atom) | TokenKind::QuotedAtom(atom) if applied => {
                return self.open_arguments(atom, start, atoms);
            }
            TokenKind::Atom(atom) => return self.atom(atom, start, true, atoms),
            TokenKind::QuotedAtom(atom) => return self.atom(atom, start, false, atoms),
            TokenKind::Variable if applied => {
                return Err(SyntaxError::new(
                    "syntax-error",
                    (start, self.last_end),
                    "a variable cannot be used as a functor",
                )
                .label("not a functor name")
                .help("to call a predicate object write `apply(P,{..})`"));
            }
            TokenKind::Variable => {
                let variable = self.variable(start);
                self.push(NodeKind::Var(variable), start);
            }
            TokenKind::Int(value) => self.push(NodeKind::Int(value), start),
            TokenKind::BigInt(value) => self.push(NodeKind::BigInt(value), start),
            TokenKind::Float(value) => self.push(NodeKind::Float(value), start),
            TokenKind::String(bytes) => {
                let bytes = self.adjacent_strings(bytes, atoms);
                self.push(NodeKind::String(bytes), start);
            }
            TokenKind::Punctuation(byte @ (b',' | b'|')) if parenthesised => {
                self.push(NodeKind::Atom(if byte == b',' { COMMA } else { BAR }), start);
            }
            TokenKind::Punctuation(b'(') => {
                self.push_frame(FrameKind::Parenthesis, NIL, start, 0, PRIORITY_MAX);
                return Ok(false);
            }
            TokenKind::Punctuation(b'[') => return self.bracket(start, atoms),
            TokenKind::Punctuation(b'{') if self.is_punctuation(0, b'}', None, atoms) => {
                self.take(atoms);
                let none = self.tree.add_children(std::iter::empty());
                self.push(NodeKind::Vector(none), start);
            }
            TokenKind::Punctuation(b'{') => {
                self.push_frame(FrameKind::Vector, NIL, start, 0, ARGUMENT_MAX);
                return Ok(false);
            }
            _ => return Err(self.term_expected(token)),
        }
        Ok(true)
    }

    fn bracket(&mut self, start: u32, atoms: &AtomTable) -> Result<bool, Box<SyntaxError>> {
        if !self.is_punctuation(0, b']', None, atoms) {
            self.push_frame(FrameKind::Items, NIL, start, 0, ARGUMENT_MAX);
            return Ok(false);
        }
        let end = self.take(atoms).end;
        if self.is_punctuation(0, b'(', Some(end), atoms) {
            return self.open_arguments(NIL, start, atoms);
        }
        self.push(NodeKind::Atom(NIL), start);
        Ok(true)
    }

    fn open_arguments(
        &mut self,
        name: Atom,
        start: u32,
        atoms: &AtomTable,
    ) -> Result<bool, Box<SyntaxError>> {
        self.take(atoms);
        if self.is_punctuation(0, b')', None, atoms) {
            let end = self.take(atoms).end;
            let text = atoms.name(name).into_owned();
            return Err(SyntaxError::new("syntax-error", (start, end), "an argument list cannot be empty")
                .label("no arguments")
                .help(format!("without arguments write only `{text}`")));
        }
        self.push_frame(FrameKind::Arguments, name, start, 0, ARGUMENT_MAX);
        Ok(false)
    }

    fn adjacent_strings(&mut self, first: Box<[u8]>, atoms: &AtomTable) -> Box<[u8]> {
        let mut bytes = first;
        if matches!(self.lexer.peek(0, atoms).kind, TokenKind::String(_)) {
            let mut all = Vec::from(bytes);
            while let TokenKind::String(more) = &self.lexer.peek(0, atoms).kind {
                all.extend_from_slice(more);
                self.take(atoms);
            }
            bytes = all.into();
        }
        bytes
    }

    fn variable(&mut self, start: u32) -> u32 {
        let name = &self.lexer.text()[start as usize..self.last_end as usize];
        let new = self.tree.variables.len() as u32;
        let index = if name == b"_" { new } else { *self.names.entry(name).or_insert(new) };
        if index == new {
            let name = name.into();
            self.tree.variables.push(TreeVariable { name, start, end: self.last_end, occurrences: 0 });
        }
        self.tree.variables[index as usize].occurrences += 1;
        index
    }

    /// An atom that is not applied: a negative number, a prefix operator, or itself.
    fn atom(
        &mut self,
        atom: Atom,
        start: u32,
        bare: bool,
        atoms: &AtomTable,
    ) -> Result<bool, Box<SyntaxError>> {
        if bare && atom == MINUS && is_number(&self.lexer.peek(0, atoms).kind) {
            let number = match self.take(atoms).kind {
                TokenKind::Int(value) => NodeKind::Int(-value),
                TokenKind::BigInt(value) => match crate::lexer::integer(-*value) {
                    TokenKind::Int(small) => NodeKind::Int(small),
                    TokenKind::BigInt(big) => NodeKind::BigInt(big),
                    _ => NodeKind::BigInt(Box::new(BigInt::ZERO)),
                },
                TokenKind::Float(value) => NodeKind::Float(-value),
                _ => unreachable!("is_number"),
            };
            self.push(number, start);
            return Ok(true);
        }
        if let Some(op) = self.ops.prefix(atom)
            && self.prefix_applies(atom, atoms)
        {
            if op.priority > self.max {
                let place = (start, self.last_end);
                return Err(self.priority_error(atom, op.priority, place, atoms));
            }
            self.push_frame(FrameKind::Prefix, atom, start, op.priority, op.right);
            return Ok(false);
        }
        self.push(NodeKind::Atom(atom), start);
        Ok(true)
    }

    /// After a prefix operator: is what follows its operand (or does the operator stand for itself)?
    fn prefix_applies(&mut self, atom: Atom, atoms: &AtomTable) -> bool {
        let token = self.lexer.peek(0, atoms);
        let end = token.end;
        let next = match token.kind {
            TokenKind::Atom(next) | TokenKind::QuotedAtom(next) => next,
            TokenKind::Punctuation(byte) => return matches!(byte, b'(' | b'[' | b'{'),
            TokenKind::End | TokenKind::EndOfText => return false,
            _ => return true,
        };
        if self.ops.infix(next).is_none() && self.ops.postfix(next).is_none() {
            return true;
        }
        // `module#m`, `spy - 1`: a word before an operator is an operand.
        if !atoms.text(atom).first().is_some_and(|&b| crate::lexer::is_symbol(b)) {
            return false;
        }
        // `- - a`: an operand (that may then need parentheses). `- = x`: the operator stands for itself.
        self.ops.prefix(next).is_some() || self.is_punctuation(1, b'(', Some(end), atoms)
    }

    /// After a term: goes on with an operator (`false`: an operand must follow), or closes what encloses
    /// the term. `true`: the end token was taken.
    fn continuation(&mut self, atoms: &AtomTable) -> Result<bool, Box<SyntaxError>> {
        let mut priority = 0;
        loop {
            if let Some((name, op, postfix)) = self.fitting_operator(priority, atoms) {
                let left = *self.values.last().expect("R3: a term was just finished");
                let start = self.tree.node(left).start;
                self.take(atoms);
                if !postfix {
                    self.push_frame(FrameKind::Infix, name, start, op.priority, op.right);
                    return Ok(false);
                }
                self.build_struct(name, 1, start);
                priority = op.priority;
                continue;
            }
            let Some(&frame) = self.frames.last() else {
                let token = self.take(atoms);
                return match token.kind {
                    TokenKind::End => Ok(true),
                    _ => Err(self.unexpected(None, token, atoms)),
                };
            };
            if !self.close(frame, atoms)? {
                return Ok(false);
            }
            self.frames.pop();
            self.max = frame.outer_max;
            priority = frame.priority;
        }
    }

    /// The next token as an infix or postfix operator (`true`) that may continue a term of this priority
    /// here.
    fn fitting_operator(&mut self, priority: u16, atoms: &AtomTable) -> Option<(Atom, Op, bool)> {
        let (name, infix, postfix) = match self.lexer.peek(0, atoms).kind {
            TokenKind::Atom(name) | TokenKind::QuotedAtom(name) => {
                (name, self.ops.infix(name), self.ops.postfix(name))
            }
            TokenKind::Punctuation(b',') => (COMMA, Some(COMMA_OP), None),
            TokenKind::Punctuation(b'|') => (BAR, Some(BAR_OP), None),
            _ => return None,
        };
        let fits = |op: &Op| op.priority <= self.max && priority <= op.left;
        let infix = infix.filter(fits);
        let postfix = postfix.filter(fits);
        match (infix, postfix) {
            (Some(op), None) => Some((name, op, false)),
            (None, Some(op)) => Some((name, op, true)),
            (Some(infix), Some(postfix)) => {
                let operand = match self.lexer.peek(1, atoms).kind {
                    TokenKind::Punctuation(byte) => matches!(byte, b'(' | b'[' | b'{'),
                    TokenKind::End | TokenKind::EndOfText => false,
                    _ => true,
                };
                Some(if operand { (name, infix, false) } else { (name, postfix, true) })
            }
            (None, None) => None,
        }
    }

    /// Finishes the frame with the value on top (`true`), or goes on inside it after a separator (`false`).
    fn close(&mut self, frame: Frame, atoms: &AtomTable) -> Result<bool, Box<SyntaxError>> {
        let closer = match frame.kind {
            FrameKind::Infix => {
                self.build_struct(frame.name, 2, frame.start);
                return Ok(true);
            }
            FrameKind::Prefix => {
                self.build_struct(frame.name, 1, frame.start);
                return Ok(true);
            }
            FrameKind::Arguments | FrameKind::Parenthesis => b')',
            FrameKind::Items | FrameKind::Tail => b']',
            FrameKind::Vector => b'}',
        };
        let separated = matches!(frame.kind, FrameKind::Arguments | FrameKind::Items | FrameKind::Vector);
        match self.lexer.peek(0, atoms).kind {
            TokenKind::Punctuation(b',') if separated => {
                self.take(atoms);
                self.max = ARGUMENT_MAX;
                return Ok(false);
            }
            TokenKind::Punctuation(b'|') if frame.kind == FrameKind::Items => {
                self.take(atoms);
                self.max = ARGUMENT_MAX;
                let top = self.frames.last_mut().expect("the frame is on the stack");
                top.kind = FrameKind::Tail;
                return Ok(false);
            }
            TokenKind::Punctuation(byte) if byte == closer => {
                self.take(atoms);
            }
            _ => {
                let token = self.take(atoms);
                return Err(self.unexpected(Some(frame), token, atoms));
            }
        }
        let count = self.values.len() - frame.base as usize;
        match frame.kind {
            FrameKind::Arguments => self.build_struct(frame.name, count, frame.start),
            FrameKind::Vector => {
                let items = self.collect(count);
                self.push(NodeKind::Vector(items), frame.start);
            }
            FrameKind::Items | FrameKind::Tail => {
                if frame.kind == FrameKind::Items {
                    let end = self.last_end;
                    let nil = self.tree.add(NodeKind::Atom(NIL), end - 1, end);
                    self.values.push(nil);
                }
                let items = self.collect(self.values.len() - frame.base as usize);
                self.push(NodeKind::List(items), frame.start);
            }
            _ => {}
        }
        Ok(true)
    }

    fn collect(&mut self, count: usize) -> crate::tree::Children {
        let from = self.values.len() - count;
        self.tree.add_children(self.values.drain(from..))
    }

    fn build_struct(&mut self, name: Atom, count: usize, start: u32) {
        let arguments = self.collect(count);
        let kind = if name == DOT && count == 2 {
            NodeKind::List(arguments)
        } else {
            NodeKind::Struct(name, arguments)
        };
        self.push(kind, start);
    }
}

fn is_number(kind: &TokenKind) -> bool {
    matches!(kind, TokenKind::Int(_) | TokenKind::BigInt(_) | TokenKind::Float(_))
}
