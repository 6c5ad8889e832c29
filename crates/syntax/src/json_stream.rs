//! Where values in JSON end, in a text that comes piece by piece.

/// Finds where values end in texts that come piece by piece, one value behind the other. It looks at quotes, brackets
/// and blanks only: what is no value is found out by [`read`](crate::json::read).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cutter {
    /// Brackets that are open.
    depth: u64,
    within: Within,
}

/// What is between the brackets at the end of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Nothing,
    /// A number or an atom.
    Word,
    Quotes,
    /// In quotes, behind a backslash.
    Escape,
}

impl Cutter {
    /// One number for all it knows: 0 at the beginning, and while only blanks came since the last value.
    pub fn number(self) -> u64 {
        self.depth << 2 | self.within as u64
    }
    /// From that number.
    pub fn from_number(number: u64) -> Cutter {
        let within = [Within::Nothing, Within::Word, Within::Quotes, Within::Escape];
        Cutter { depth: number >> 2, within: within[(number & 3) as usize] }
    }
    /// Ends of values in the next piece: bytes before which one ends.
    pub fn ends(&mut self, piece: &[u8]) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            match self.within {
                Within::Escape => self.within = Within::Quotes,
                Within::Quotes => {
                    // The parts without quotes are long.
                    let end = |byte: &u8| matches!(byte, b'"' | b'\\');
                    let Some(next) = piece[at..].iter().position(end) else { break };
                    at += next;
                    if piece[at] == b'\\' {
                        self.within = Within::Escape;
                    } else {
                        self.within = Within::Nothing;
                        ends.extend((self.depth == 0).then_some(at + 1));
                    }
                }
                Within::Word if self.depth == 0 && b" \n\t\r\"[{,]}:".contains(&byte) => {
                    self.within = Within::Nothing;
                    ends.push(at);
                    // The byte itself begins what comes next.
                    continue;
                }
                Within::Nothing | Within::Word => match byte {
                    b'"' => self.within = Within::Quotes,
                    b'[' | b'{' => self.depth = self.depth.saturating_add(1).min(u64::MAX >> 4),
                    b']' | b'}' if self.depth > 0 => {
                        self.depth -= 1;
                        ends.extend((self.depth == 0).then_some(at + 1));
                    }
                    b' ' | b'\n' | b'\t' | b'\r' => {}
                    _ if self.depth == 0 => self.within = Within::Word,
                    _ => {}
                },
            }
            at += 1;
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a text that comes in these pieces, as texts; what is left begins no value, or one more.
    fn cut(pieces: &[&str]) -> Vec<String> {
        let (mut values, mut begun, mut cutter) = (Vec::new(), String::new(), Cutter::default());
        for piece in pieces {
            let mut from = 0;
            for end in cutter.ends(piece.as_bytes()) {
                values.push(std::mem::take(&mut begun) + &piece[from..end]);
                from = end;
            }
            begun += &piece[from..];
            assert_eq!(Cutter::from_number(cutter.number()), cutter);
        }
        values.extend((cutter != Cutter::default()).then_some(begun));
        values.iter().map(|value| value.trim().to_string()).collect()
    }

    #[test]
    fn values_end_where_they_end_however_the_text_is_cut() {
        let text = r#" 1 "a\"]\\" [1,{"b]":2}]{"c":"}"}true"d"-2.5e1 [] "#;
        let values = ["1", r#""a\"]\\""#, r#"[1,{"b]":2}]"#, r#"{"c":"}"}"#, "true", "\"d\"", "-2.5e1", "[]"];
        assert_eq!(cut(&[text]), values);
        for at in 1..text.len() {
            assert_eq!(cut(&[&text[..at], &text[at..]]), values, "{at}");
        }
        let single: Vec<&str> = text.split("").collect();
        assert_eq!(cut(&single), values);
        // What is no value is handed on.
        assert_eq!(cut(&["1,2 ]"]), ["1", ",2", "]"]);
        assert_eq!(cut(&["[1"]), ["[1"]);
        assert_eq!(cut(&["  \n"]), [""; 0]);
    }
}
