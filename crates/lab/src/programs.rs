//! The KL1 programs that experiments run, with their answers.

use crate::Scale;

/// A KL1 program and its two sizes.
#[derive(Debug)]
pub struct Program {
    /// Its module file's name without extension.
    pub name: &'static str,
    /// What it computes.
    pub about: &'static str,
    /// Its text.
    pub text: &'static str,
    full: Size,
    small: Size,
}

/// Arguments and the answer to them.
#[derive(Debug)]
pub struct Size {
    /// The program's arguments.
    pub arguments: &'static [&'static str],
    /// Its standard output, without the last newline.
    pub answer: &'static str,
}

impl Program {
    /// What a scale means for it.
    pub fn size(&self, scale: Scale) -> &Size {
        match scale {
            Scale::Full => &self.full,
            Scale::Small => &self.small,
        }
    }
}

/// Packing a box with solid pieces.
pub static PUZZLE: Program = Program {
    name: "puzzle3d",
    about: "all packings of a 5 x 4 x 3 box by eleven solid pieces of our choice (small: the Soma cube)",
    text: include_str!("../../../benches/puzzle3d.kl1"),
    full: Size { arguments: &["puzzle"], answer: "4196" },
    small: Size { arguments: &["soma"], answer: "11520" },
};
/// A compiler.
pub static KL1CMP: Program = Program {
    name: "kl1cmp",
    about: "a compiler of our own: a grammar of 40,000 symbols to code of a bottom-up parser (small: 400 symbols)",
    text: include_str!("../../../benches/kl1cmp.kl1"),
    full: Size { arguments: &["1000"], answer: "[19192276,20022393196]" },
    small: Size { arguments: &["10"], answer: "[191796,201082609]" },
};
/// Triangle solitaire.
pub static TRIANGLE: Program = Program {
    name: "triangle",
    about: "triangle solitaire with 15 holes, all games from every first hole (small: the paper's, after the third \
        move)",
    text: include_str!("../../../benches/triangle.kl1"),
    full: Size { arguments: &[], answer: "[438984,16654065]" },
    small: Size { arguments: &["third"], answer: "[133,15945]" },
};
/// Covering a board with pentominoes.
pub static PENTOMINO: Program = Program {
    name: "pentomino",
    about: "all coverings of 8 x 5 squares by ten of the pentominoes (small: 4 x 5 by all twelve); a dealer puts down \
        three pieces (small: two) in each way, and deals the boards, with the list of pieces that are left, to all \
        nodes in turn, itself included",
    text: include_str!("../../../benches/multipsi_pentomino.kl1"),
    full: Size { arguments: &["8", "5", "3", "1", "2"], answer: "2812" },
    small: Size { arguments: &["4", "5", "2", "1", "0"], answer: "200" },
};
/// The same by a program whose nodes have all pieces: many dealers can deal at once.
pub static DEALERS: Program = Program {
    name: "dealers",
    about: "all coverings of 5 x 6 squares by pentominoes (small: 4 x 5), dealt to the other nodes in turn",
    text: include_str!("../../../benches/nodes_pentomino.kl1"),
    full: Size { arguments: &["5", "6", "3"], answer: "2164" },
    small: Size { arguments: &["4", "5", "2"], answer: "200" },
};
/// Cheapest ways through a grid.
pub static BESTPATH: Program = Program {
    name: "bestpath",
    about: "the cheapest ways from a corner of a grid of 330 x 330 squares (small: 40 x 40) to all others; a square \
        is a process, each node has 16 blocks of them (small: 4), and news for another node is a goal that is thrown",
    text: include_str!("../../../benches/nodes_bestpath.kl1"),
    full: Size { arguments: &["330", "4"], answer: "[16900,994667992]" },
    small: Size { arguments: &["40", "2"], answer: "[2317,1978057]" },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_full_size_stand_in_the_programs() {
        for program in [&PUZZLE, &KL1CMP, &TRIANGLE, &PENTOMINO, &DEALERS, &BESTPATH] {
            let line = format!("% stdout: {}\n", program.full.answer);
            assert!(program.text.contains(&line), "{}", program.name);
        }
    }
}
