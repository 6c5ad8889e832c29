//! What to write in place of what other languages write: hints for terms that cannot be read.
//!
//! A hint looks at the tokens up to the wrong place only. It never decides whether something is wrong.

mod words;

use crate::habits::DIFFERENCES;
use crate::lexer::{Lexer, Token, TokenKind, is_layout, is_symbol};
use crate::operators::OpTable;
use crate::syntax_error::SyntaxError;
use term::AtomTable;

/// In place of macros of a program's own.
pub(crate) const NO_MACROS: &str =
    "constants are defined by `:- with((Name1 = Constant1, ..)).`; other macros are written out";

/// Longer terms get no hint: they are data, not a slip.
const LOOKED_AT: usize = 1 << 16;

/// Longer runs of symbols are no two operators.
const RUN_MAX: usize = 12;

/// The text of a term up to where it cannot go on.
struct Slip<'a> {
    text: &'a [u8],
    /// The tokens before the wrong one.
    before: Vec<Token>,
    /// Where the wrong one begins and ends.
    start: usize,
    end: usize,
    ops: &'a OpTable,
    atoms: &'a AtomTable,
}

/// What to do about an error in the term that begins at `from`, if it is a known slip.
pub(crate) fn hint(
    text: &[u8],
    from: usize,
    error: &SyntaxError,
    ops: &OpTable,
    atoms: &AtomTable,
) -> Option<String> {
    let (start, end) = (error.start as usize, error.end as usize);
    let mut lexer = Lexer::new(text.get(from..start).filter(|text| text.len() <= LOOKED_AT)?);
    let mut before = Vec::new();
    loop {
        let Token { kind, start, end } = lexer.next(atoms);
        if kind == TokenKind::EndOfText {
            break;
        }
        before.push(Token { kind, start: start + from as u32, end: end + from as u32 });
    }
    let slip = Slip { text, before, start, end, ops, atoms };
    let is_token = !matches!(error.code, "syntax-error" | "operator-priority");
    if is_token {
        return slip.comment();
    }
    slip.comment()
        .or_else(|| slip.quotes())
        .or_else(|| slip.macro_directive())
        .or_else(|| slip.foreign_word())
        .or_else(|| slip.number())
        .or_else(|| slip.melted_operators())
        .or_else(|| slip.blank_before_arguments())
        .or_else(|| slip.comma_for_point())
        .or_else(|| slip.missing_points())
        .or_else(|| slip.remainder())
        .or_else(|| slip.missing_brackets())
}

impl Slip<'_> {
    fn wrong(&self) -> &[u8] {
        &self.text[self.start..self.end]
    }

    fn of(&self, token: &Token) -> &[u8] {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The token right before, blanks or not.
    fn last(&self) -> Option<&Token> {
        self.before.last()
    }

    fn line(&self, token: &Token) -> usize {
        self.text[..token.start as usize].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// Is it the first one of its line?
    fn begins_line(&self, at: usize) -> bool {
        self.text[..at].iter().rev().take_while(|&&byte| byte != b'\n').all(|&byte| is_layout(byte))
    }

    /// `// text`, `# text` and the like on this line, or alone on the one before.
    fn comment(&self) -> Option<String> {
        let line = |at: usize| self.text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut from = line(self.start);
        if self.begins_line(self.start) {
            from = line(from.saturating_sub(1));
        }
        let near = &self.before[self.before.partition_point(|token| (token.start as usize) < from)..];
        // `X := A // B`: a division, though there is none of that name.
        let divides = near.iter().any(|token| self.of(token) == b":=");
        let begins = |token: &Token| {
            let text = self.of(token);
            let first = || self.begins_line(token.start as usize);
            let apart = self.text.get(token.end as usize).is_none_or(|&byte| is_layout(byte));
            match token.kind {
                TokenKind::Atom(_) if text.starts_with(b"//") => !divides || first(),
                TokenKind::Atom(_) if text == b"#" => apart || first(),
                TokenKind::Atom(_) if text.starts_with(b"##") || text.starts_with(b"#!") => first(),
                TokenKind::Atom(_) if text.starts_with(b"--") => apart && first(),
                _ => false,
            }
        };
        // Two `;` are two tokens.
        let lisp =
            |pair: &[Token]| pair.iter().all(|token| self.of(token) == b";") && pair[0].end == pair[1].start;
        let found = near.iter().any(begins) || near.windows(2).any(lisp);
        found.then(|| {
            "a comment begins with `%` and ends with the line, or stands between `/*` and `*/`".into()
        })
    }

    /// `"say "hi""`, and a text that has swallowed lines because a quote is missing.
    fn quotes(&self) -> Option<String> {
        let last = self.last()?;
        if !matches!(last.kind, TokenKind::String(_) | TokenKind::QuotedAtom(_)) {
            return None;
        }
        let text = self.of(last);
        let (quote, line) = (char::from(text[0]), self.line(last));
        if text.contains(&b'\n') {
            return Some(format!("this text begins in line {line}: does a `{quote}` miss there?"));
        }
        let goes_on = self.wrong().first().is_some_and(u8::is_ascii_alphanumeric);
        (goes_on && last.end as usize == self.start)
            .then(|| format!("to have `{quote}` inside a text, write it twice: `{quote}say {quote}{quote}hi{quote}{quote}{quote}`"))
    }

    /// `:- macro_module m`: an operator of PIMOS.
    fn macro_directive(&self) -> Option<String> {
        let [.., arrow, name] = &self.before[..] else { return None };
        let is_one = [&b"macro_module"[..], b"user_macro", b"inherit_macro"].contains(&self.of(name));
        (is_one && self.of(arrow) == b":-").then(|| NO_MACROS.into())
    }

    /// `0x1F`, `1_000`, `.5`: a number, and right behind it what does not belong to one.
    fn number(&self) -> Option<String> {
        let last = self.last().filter(|token| token.end as usize == self.start)?;
        let (digits, wrong) = (self.of(last), self.wrong());
        if self.of(last).ends_with(b".") && wrong.first().is_some_and(u8::is_ascii_digit) {
            return Some(format!("a number has a digit before its point: `0.{}`", shown(wrong)));
        }
        if !matches!(last.kind, TokenKind::Int(_) | TokenKind::BigInt(_) | TokenKind::Float(_)) {
            return None;
        }
        let (&first, rest) = wrong.split_first()?;
        let radix = match first.to_ascii_lowercase() {
            b'x' => 16,
            b'o' => 8,
            b'b' => 2,
            _ => 0,
        };
        if digits == b"0"
            && !rest.is_empty()
            && rest.iter().all(|&d| radix > 0 && char::from(d).is_digit(radix))
        {
            return Some(format!("a number of radix {radix} is written `{radix}'{}`", shown(rest)));
        }
        if let [.., radix, sharp, _] = &self.before[..]
            && self.of(sharp) == b"#"
            && radix.end == sharp.start
            && sharp.end == last.start
        {
            let radix = shown(self.of(radix));
            let digits = shown(&[digits, wrong].concat());
            return Some(format!("a number of radix {radix} is written `{radix}'{digits}`"));
        }
        if first == b'_' && rest.iter().all(|&d| d == b'_' || d.is_ascii_digit()) {
            let all = [digits, wrong].concat();
            let all: Vec<u8> = all.into_iter().filter(|&byte| byte != b'_').collect();
            return Some(format!("the digits of a number stand together: `{}`", shown(&all)));
        }
        (first.is_ascii_alphabetic() || first == b'_').then(|| {
            let (digits, wrong) = (shown(digits), shown(wrong));
            format!("a name begins with a letter; between `{digits}` and `{wrong}` an operator or a comma is missing")
        })
    }

    /// `C=-5`: the longest run of symbols is one name.
    fn melted_operators(&self) -> Option<String> {
        let (wrong, rest) = (self.wrong(), &self.text[self.end..]);
        // `!` is a token of its own.
        if wrong == b"<>" || wrong == b"!" && rest.starts_with(b"=") {
            return Some(DIFFERENCES.into());
        }
        if let Some((b'.', operator)) = wrong.split_last()
            && !operator.is_empty()
            && rest.first().is_some_and(u8::is_ascii_digit)
        {
            let digits: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_digit).collect();
            return Some(format!("a number has a digit before its point: `0.{}`", shown(&digits)));
        }
        let is_operator = self.atoms.lookup(wrong).is_some_and(|name| self.ops.is_operator(name));
        if is_operator || !(2..=RUN_MAX).contains(&wrong.len()) || !wrong.iter().all(|&byte| is_symbol(byte))
        {
            return None;
        }
        let atom = |text: &[u8]| self.atoms.lookup(text);
        let split = (1..wrong.len()).rev().map(|at| wrong.split_at(at)).find(|(operator, rest)| {
            atom(operator).is_some_and(|name| self.ops.infix(name).is_some())
                && atom(rest).is_some_and(|name| self.ops.prefix(name).is_some())
        });
        let (operator, rest) = split?;
        let (operator, rest, all) = (shown(operator), shown(rest), shown(wrong));
        Some(format!(
            "write a blank between them, `{operator} {rest}`: symbols without one are a single name, `{all}`"
        ))
    }

    /// `f (3)`.
    fn blank_before_arguments(&self) -> Option<String> {
        let last = self.last().filter(|_| self.wrong() == b"(")?;
        let name = shown(self.of(last));
        let blank = (last.end as usize) < self.start;
        match last.kind {
            TokenKind::Atom(_) | TokenKind::QuotedAtom(_) if blank => {
                Some(format!("arguments follow their name without a blank: `{name}(`"))
            }
            _ => None,
        }
    }

    /// `3 4 5`: numbers and strings as other languages' programs read them.
    fn missing_points(&self) -> Option<String> {
        let is_value = |byte: &u8| byte.is_ascii_digit() || *byte == b'"';
        let alone = self
            .before
            .iter()
            .all(|token| matches!(&self.text[token.start as usize], byte if is_value(byte) || *byte == b'-'));
        let apart = self.last().is_some_and(|token| (token.end as usize) < self.start);
        (alone && apart && self.wrong().first().is_some_and(is_value))
            .then(|| "each term ends with `.` and a blank or a new line: `1. 2. 3.`".into())
    }

    /// `X % 2`: the rest of the line is a comment.
    fn remainder(&self) -> Option<String> {
        let last = self.last()?;
        let line = self.text[last.end as usize..self.start].split(|&byte| byte == b'\n').next()?;
        let goal = self.before.iter().rev().take_while(|token| token.kind != TokenKind::Punctuation(b','));
        let computes = goal.map(|token| self.of(token)).any(|text| matches!(text, b":=" | b"=:=" | b"=\\="));
        (computes && line.trim_ascii_start().starts_with(b"% "))
            .then(|| "`%` begins a comment; the remainder of a division is `X mod Y`".into())
    }

    /// `f X` and `[1 2]`.
    fn missing_brackets(&self) -> Option<String> {
        let last = self.last()?;
        let between = &self.text[last.end as usize..self.start];
        let first = self.wrong().first()?;
        let is_value = first.is_ascii_alphanumeric() || matches!(first, b'_' | b'"' | b'\'' | b'[' | b'{');
        if !is_value || between.is_empty() || between.contains(&b'\n') {
            return None;
        }
        let (name, wrong) = (shown(self.of(last)), shown(self.wrong()));
        let argument = if first.is_ascii_alphanumeric() { &wrong[..] } else { ".." };
        match last.kind {
            TokenKind::Atom(_) if !name.starts_with(|c: char| c.is_ascii_lowercase()) => None,
            TokenKind::Atom(_) => {
                Some(format!("arguments stand in parentheses, `{name}({argument})`; or is a `,` missing?"))
            }
            _ => Some(format!("a `,` or an operator is missing before `{wrong}`")),
        }
    }

    /// A clause that ends with `,`: the next one, or the end, comes too early.
    fn comma_for_point(&self) -> Option<String> {
        let is_comma = |token: &Token| token.kind == TokenKind::Punctuation(b',');
        let is_arrow = |text: &[u8]| text == b":-" || text == b"-->";
        let wrong = self.wrong();
        if wrong.is_empty() || wrong == b"." {
            let last = self.last().filter(|token| is_comma(token) || self.of(token) == b";")?;
            let (line, sign) = (self.line(last), shown(self.of(last)));
            return Some(match wrong {
                b"" => format!("the last clause ends with `.`, not with the `{sign}` of line {line}"),
                _ => format!("leave out the `{sign}` before the `.` that ends the clause"),
            });
        }
        let earlier = || self.before.iter().any(|token| is_arrow(self.of(token)));
        if !is_arrow(wrong) || !earlier() {
            return None;
        }
        // The head may fill several lines: those within brackets are left out.
        let mut depth = 0;
        let mut starts = self.start;
        for token in self.before.iter().rev() {
            let end = token.end as usize;
            if depth == 0 && self.text[end..starts].contains(&b'\n') {
                let line = self.line(token);
                return Some(match is_comma(token) {
                    true => format!(
                        "a clause ends with `.`: the `,` that ends line {line} joins the next one to it"
                    ),
                    false => format!("a clause ends with `.`: there is none after line {line}"),
                });
            }
            match token.kind {
                TokenKind::Punctuation(b')' | b']' | b'}') => depth += 1,
                TokenKind::Punctuation(b'(' | b'[' | b'{') => depth -= 1,
                _ => {}
            }
            starts = token.start as usize;
        }
        None
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use crate::operators::OpTable;
    use crate::parser::Parser;
    use term::AtomTable;

    /// The help for the first error of a text.
    fn help(text: &str) -> String {
        let atoms = AtomTable::new();
        let ops = OpTable::source_table(&atoms);
        let mut parser = Parser::new(text.as_bytes(), &ops);
        loop {
            match parser.term(&atoms) {
                Ok(Some(_)) => {}
                Ok(None) => return "no error".into(),
                Err(error) => return error.help.unwrap_or_else(|| "no help".into()),
            }
        }
    }

    fn all(texts: &[&str], wanted: &str) {
        for text in texts {
            let help = help(text);
            assert!(help.contains(wanted), "{text}: {help}");
        }
    }

    #[test]
    fn comments_of_other_languages() {
        all(
            &[
                "// adds two numbers\np(X) :- q(X).",
                "p(X) :- q(X). // adds two numbers\nr.",
                "p(X) :- q(X), // adds two\n r(X).",
                "p(X) :- q(X) // adds two\n.",
                "// it's\np.",
                "//\np(X) :- q(X).",
                "# adds two numbers\np(X) :- q(X).",
                "#adds two numbers\np(X) :- q(X).",
                "## adds\np(X) :- q(X).",
                "p. # adds two numbers\nq.",
                "# main\np(X) :- q(X).",
                "-- adds two\np.",
                ";; adds two\np.",
            ],
            "a comment begins with `%`",
        );
        for text in [
            "p(X) :- X = a // b.",
            "p(X) :- X := 3 // 2 Y.",
            "p(X) :- Y = #\"a\" X.",
            "p(X) :- X = a#b c.",
            "p :- a-- b.",
        ] {
            assert!(!help(text).contains("comment"), "{text}: {}", help(text));
        }
    }

    #[test]
    fn conditionals_and_loops_of_other_languages() {
        let texts = [
            "p(X) :- if X > 0 then q else r.",
            "p(X) :- if(X > 0) then q.",
            "p(X) :- if (X > 0) then q.",
            "p(X) :- (X > 0 -> q else r).",
            "p(X) :- if x = 0 then q.",
        ];
        all(&texts, "a conditional is `( X > 0 -> Goals ; otherwise ; true -> Goals )`");
        all(&["p(X) :- while X > 0 do q.", "p(X) :- while (X > 0) q."], "a loop is a predicate");
    }

    #[test]
    fn words_of_other_languages() {
        let opposite = ["p(X) :- not q(X).", "p(X) :- not X = 1 | q.", "p(X) :- !q(X)."];
        all(&opposite, "there is no `not`");
        let loops = [
            "p(L) :- for X in L do q(X).",
            "p(L) :- for (X = 1; X < 3; X += 1) q(X).",
            "p(L) :- for(X in L) { q(X) }.",
            "for x in range(10):\n  q(x)\n",
            "p(X) :- while(X > 0) { q(X) }.",
            "p(X) :- until X > 0 q.",
        ];
        all(&loops, "a loop is a predicate that calls itself");
        let cases = [
            "p(X) :- case X of 1 -> a; 2 -> b end.",
            "p(X,Y) :- Y = case (X) of 1 -> a end.",
            "p(X) :- switch (X) { case 1: q; }.",
            "p(X) :- match X with 1 -> q.",
        ];
        all(&cases, "each case is a clause of its own");
        let values = [
            "p(L,M) :- lists:map(fun(X) -> X*2 end,L,M).",
            "p(L,M) :- lists:map(lambda X: X*2,L,M).",
            "p(L,M) :- lists:map(\\X -> X*2,L,M).",
            "p(L,M) :- lists:map(fun double/2,L,M).",
        ];
        all(&values, "`predicate#(main:double/2)`");
        all(&["p(Y) :- let X = Y+1, q(X).", "p(Y) :- var X = 1."], "a variable begins with a capital letter");
        all(&["def p(x):\n  return x\n", "func p(x int) {}", "p(X) :- return X."], "a result is an argument");
        all(&["p(X) when X > 0 -> q.", "p(X) :- when X > 0, q."], "between `:-` and `|`");
        all(
            &["p :- begin q, r end.", "p(X) { q(X) }.", "p(X) <- q(X)."],
            "the goals of a body stand behind `:-`",
        );
        all(&["p :- receive X -> q(X) end."], "messages are elements of a list");
        all(&["p(P) :- P ! hello."], "a message goes on a stream");
        all(&["p :- try q catch E -> r end."], "`try(Goal,R)`");
        all(&["import lists\np.", "from lists import map\n", "package main\n"], "nothing is imported");
        all(&["class P:\n  pass\n"], "nothing is declared");
        all(&["p(X) :- print X.", "p :- echo \"a\"."], "goes by a stream");
        let conditions =
            ["p(X) :- X > 0 and X < 5 | q.", "p(X) :- X > 0 or X < 5 | q.", "p(X) :- X > 0 || X < 5 | q."];
        all(&conditions, "joined by `,`");
        all(&["p(L,M) :- M = [X*2 || X <- L].", "p(L,M) :- M = [X*2 for X in L]."], "`lists:map(P,Xs,Ys)`");
        all(&["p(L) :- L = [1..10]."], "`lists:range(1,10,L)`");
        all(&["p(V,X) :- X = V[0].", "p(V,X) :- X = V[I]."], "`vector_element(V,0,X)`");
        all(&["p(V,X) :- X = V.name.", "p(X) :- fmt.Println(X)."], "`module:p(X)`");
        all(&["p(A,B) :- q(A ++ B)."], "`strings:concat([A,B],C)`");
        all(&["p(X) :- q(f\"a{X}\")."], "`format:to(");
        all(&["p(X) :- Y := X div 2, q(Y).", "p(X) :- Y := X rem 2, q(Y)."], "`X mod Y`");
        all(&["p(X) :- Y := X % 2, q(Y).\nr(X).", "p(X) :- q, 1 =:= X % 2.\nr."], "`X mod Y`");
        all(&["p(X) :- Y := X & 2, q(Y)."], "`X /\\ Y`");
        all(&["p(X,Y) :- X =/= Y | q."], "`X =\\= Y`");
        all(&["p(X,Y) :- X === Y | q."], "`X =:= Y`");
    }

    #[test]
    fn words_that_are_names_here() {
        // What follows is wrong, and the word is none of another language.
        for text in ["p(X) :- q(from, X Y).", "p(X) :- match(X) q.", "p(X) :- type(X) r.", "p :- (a, b c)."] {
            let help = help(text);
            assert!(help.contains("is missing") || help.contains("parentheses"), "{text}: {help}");
        }
    }

    #[test]
    fn quotes_brackets_and_commas_that_are_missing() {
        all(&["p(X) :- q([1,2)."], "`[` is closed by `]`, not by `)`");
        all(&["p(X) :- q(f(1,2]."], "`(` is closed by `)`, not by `]`");
        all(&["p(X) :- q({1,2]."], "`{` is closed by `}`, not by `]`");
        all(&["p(X) :- q(1,2))."], "nothing is open here that `)` closes");
        all(&["p(X) :- q(\"unclosed).\nr(X) :- s(\"abc\")."], "begins in line 1: does a `\"` miss there?");
        all(&["p(X) :- q('it's).\nr."], "write it twice: `'say ''hi'''`");
        all(&["p :- q(\"say \"hi\"\")."], "write it twice: `\"say \"\"hi\"\"\"`");
        all(&["p :- q(\"abc).\n"], "a string ends with the quote");
        all(&["p :- /* q.\nr."], "ends with `*/`");
        all(&["p(X) :- q([1 2])."], "is missing before `2`");
        all(&["p x = x + 1\n", "p(X) :- q X."], "arguments stand in parentheses");
        all(&["p(X) :- q(X); r(X);\n"], "not with the `;` of line 1");
        all(&["p(X) :- q(X); r(X);.\ns."], "leave out the `;`");
    }

    #[test]
    fn numbers_of_other_languages() {
        all(&["p(0x1F).", "p(0X1F)."], "`16'1F`");
        all(&["p :- X = 0xff, q(X)."], "`16'ff`");
        all(&["p(0b101)."], "`2'101`");
        all(&["p(0o17)."], "`8'17`");
        all(&["p(16#1F)."], "`16'1F`");
        all(&["p(1_000).", "p(1_0_00)."], "`1000`");
        all(&["p(-1_000_000.5)."], "`1000000`");
        all(&["p :- X = .5, q.", "p :- X=.5, q.", "p(.5)."], "`0.5`");
        all(&["p(2nd).", "p(3x).", "p(0xyz).", "p(0b12)."], "a name begins with a letter");
    }

    #[test]
    fn symbols_without_a_blank_between() {
        all(&["p(C) :- C=-5."], "`= -`");
        all(&["p(C) :- X:=-C, q(X)."], "`:= -`");
        all(&["p(C) :- C>=-1 | q."], "`>= -`");
        all(&["p(C) :- C=:=-1 | q."], "`=:= -`");
        all(&["p(C) :- C=#\"a\"."], "`= #`");
        all(&["p(C) :- q(C*-1)."], "`* -`");
        all(&["p:-\\+q."], "`:- \\+`");
        all(&["p(C) :- C!=5 | q.", "p(C) :- C <> 5 | q."], "`X =\\= Y`");
        all(&["p(C) :- C > 1 && C < 5 | q."], "joined by `,`");
    }

    #[test]
    fn values_without_points() {
        all(&["3 4 5\n", "3 4. 5.", "-3 -4\n5\n", "\"a\" 3\n", "1.5 2.5"], "each term ends with `.`");
        assert!(!help("f(3 4).").contains("each term"));
    }

    #[test]
    fn a_blank_before_arguments() {
        all(&["p (X) :- q(X).", "p :- q, p (3)."], "`p(`");
        all(&["p :- m:'A b' (3)."], "`'A b'(`");
        assert!(!help("p(X) :- X (3).").contains("without a blank"));
    }

    #[test]
    fn a_comma_for_the_last_point() {
        let text = "p(X) :- q(X),\n  r(X),\np([X|L],\n  Y) :- q(Y).";
        all(&[text], "the `,` that ends line 2 joins");
        all(&["p :- q,\n:- module m.\n"], "the `,` that ends line 1 joins");
        all(&["p :- q ;\n\nq(X)-S :- r."], "there is none after line 1");
        all(&["p :- q,\n"], "the last clause ends with `.`, not with the `,` of line 1");
        all(&["p :- q,\n.\nr."], "leave out the `,`");
        assert!(!help("p :- q, r :- s.").contains("line"));
    }
}
