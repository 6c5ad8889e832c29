//! The paper's three programs, as far as it describes them: KL1 in its representations. They are not printed; sizes are
//! ours.

use crate::Scale;
use crate::report::Kind;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A program of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Puzzle,
    Kl1cmp,
    Triangle,
}

impl Program {
    pub(super) const ALL: [Program; 3] = [Program::Puzzle, Program::Kl1cmp, Program::Triangle];

    pub(super) fn name(self) -> &'static str {
        match self {
            Program::Puzzle => "puzzle",
            Program::Kl1cmp => "kl1cmp",
            Program::Triangle => "triangle",
        }
    }
    /// What it is, for reports.
    pub(super) fn about(self) -> &'static str {
        match self {
            Program::Puzzle => {
                "packings of a box of 5 x 4 x 3 cells by eight pieces; the pieces that are left are a list"
            }
            Program::Kl1cmp => {
                "a compiler of clauses; 14 predicates, 5 K words, which one goal holds to the end; tables are vectors, \
                 copied at each update"
            }
            Program::Triangle => {
                "triangle solitaire after the third move; 36 goals a position, the board is 15 arguments; 133 solutions"
            }
        }
    }
    /// What its figures are, if nothing else is said of them: triangle lost a list of jumps, of which the paper says
    /// nothing, after its first runs had been seen.
    pub(super) fn kind(self) -> Kind {
        if self == Program::Triangle { Kind::Fitted } else { Kind::Measured }
    }
    /// What `go/1` gives: solutions, or a checksum of code.
    pub(super) fn answer(self, scale: Scale) -> i64 {
        match (self, scale) {
            (Program::Puzzle, Scale::Full) => 4,
            (Program::Puzzle, Scale::Small) => 0,
            (Program::Kl1cmp, Scale::Full) => 316_113,
            (Program::Kl1cmp, Scale::Small) => 787_712,
            (Program::Triangle, Scale::Full) => 133,
            (Program::Triangle, Scale::Small) => 45,
        }
    }
    /// Its text; `go/1` gives the answer, an integer.
    pub(super) fn text(self, scale: Scale) -> String {
        match (self, scale) {
            (Program::Puzzle, Scale::Full) => puzzle(0),
            (Program::Puzzle, Scale::Small) => puzzle(FULL_HALF),
            (Program::Kl1cmp, Scale::Full) => kl1cmp(14, 18),
            (Program::Kl1cmp, Scale::Small) => kl1cmp(5, 3),
            (Program::Triangle, scale) => triangle(scale, false),
        }
    }
    /// Triangle as it was before its first runs: each position has the list of its jumps.
    pub(super) fn listed(scale: Scale) -> String {
        triangle(scale, true)
    }
}

/// Elements of a table of kl1cmp: fitted, for ten collections on one processor.
const TABLE: usize = 140;

fn kl1cmp(predicates: u32, rounds: u32) -> String {
    let text = include_str!("kl1cmp.kl1").replace("ROUNDS", &rounds.to_string());
    let table = vec!["0"; TABLE].join(",");
    text.replace("PREDICATES", &predicates.to_string()).replace("TABLE", &table)
}

/// Lines of three holes.
const LINES: [[usize; 3]; 18] = [
    [4, 5, 6],
    [7, 8, 9],
    [8, 9, 10],
    [11, 12, 13],
    [12, 13, 14],
    [13, 14, 15],
    [1, 2, 4],
    [2, 4, 7],
    [4, 7, 11],
    [3, 5, 8],
    [5, 8, 12],
    [6, 9, 13],
    [1, 3, 6],
    [3, 6, 10],
    [6, 10, 15],
    [2, 5, 9],
    [5, 9, 14],
    [4, 8, 13],
];

/// A position looks row by row whether one peg is left, and makes a goal for each jump: 42 reductions, as the paper's
/// 666 K of 15,945 positions. With a list of jumps, a solution is that list.
fn triangle(scale: Scale, is_listed: bool) -> String {
    let empty: &[usize] = match scale {
        Scale::Full => &[6, 8, 9, 14],
        Scale::Small => &[1, 3, 6, 8, 9, 14],
    };
    let list = |text: &str| if is_listed { format!("{text},") } else { String::new() };
    let (none, jumped, unused) = (list("[]"), list("H"), list("_"));
    let solution = if is_listed { "H" } else { "solution" };
    let board = |of: &dyn Fn(usize) -> String| (1..=15).map(of).collect::<Vec<_>>().join(",");
    let start = board(&|hole| u32::from(!empty.contains(&hole)).to_string());
    let cells = board(&|hole| format!("P{hole}"));
    let mut text = format!(
        ":- module main.\ngo(N) :- position({start},{none}S,[]), count(S,0,N).\n\
         count([],A,N) :- N = A.\ncount([_|S],A,N) :- count(S,~(A+1),N).\n\
         position({cells},{jumped}S0,S) :- row1({cells},0,{jumped}S0,S1)"
    );
    let mut clauses = String::new();
    let jumps = LINES.iter().flat_map(|&[a, b, c]| [[a, b, c], [c, b, a]]);
    for (number, [from, over, to]) in (1..).zip(jumps) {
        let next = if number == 36 { "S".into() } else { format!("S{}", number + 1) };
        let more = list(&format!("[{{{from},{to}}}|H]"));
        let _ = write!(text, ",\n    jump{number}({cells},{more}S{number},{next})");
        let is_one = |hole| hole == from || hole == over;
        let before = board(&|hole| match hole {
            hole if is_one(hole) => "1".into(),
            hole if hole == to => "0".into(),
            hole => format!("P{hole}"),
        });
        let after = board(&|hole| match hole {
            hole if is_one(hole) => "0".into(),
            hole if hole == to => "1".into(),
            hole => format!("P{hole}"),
        });
        let others = vec!["_"; 15].join(",");
        let _ = write!(
            clauses,
            "jump{number}({before},{jumped}S,T) :- position({after},{jumped}S,T).\n\
             otherwise.\njump{number}({others},{unused}S,T) :- S = T.\n"
        );
    }
    text += ".\n";
    for row in 1..=5 {
        let first = row * (row - 1) / 2 + 1;
        let names = |from: usize| (from..=15).map(|hole| format!("P{hole}")).collect::<Vec<_>>().join(",");
        let sum = (first..first + row).map(|hole| format!("P{hole}")).collect::<Vec<_>>().join("+");
        let head = format!("row{row}({},N,{jumped}S,T)", names(first));
        let _ = if row < 5 {
            let next = names(first + row);
            writeln!(text, "{head} :- row{}({next},~(N+{sum}),{jumped}S,T).", row + 1)
        } else {
            let other = head.replace(",H,", ",_,");
            writeln!(
                text,
                "{head} :- N+{sum} =:= 1 | S = [{solution}|T].\n{other} :- N+{sum} =\\= 1 | S = T."
            )
        };
    }
    text + &clauses
}

type Point = [i32; 3];

/// The eight pieces, unit cells. The box was cut at random until the search took about as
/// many reductions as the paper's.
const PIECES: [&[Point]; 8] = [
    &[[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 1, 2], [0, 2, 0], [0, 2, 1], [0, 2, 2], [0, 3, 0]],
    &[[0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 0, 1], [1, 0, 2], [1, 1, 0], [1, 1, 1]],
    &[[0, 3, 1], [0, 3, 2], [1, 1, 2], [1, 2, 0], [1, 2, 2], [1, 3, 0], [1, 3, 1], [1, 3, 2]],
    &[[1, 2, 1], [2, 0, 1], [2, 1, 1], [2, 2, 0], [2, 2, 1], [2, 2, 2], [2, 3, 1]],
    &[[2, 0, 0], [2, 1, 0], [2, 1, 2], [3, 1, 0], [3, 1, 1], [3, 1, 2], [3, 2, 0], [3, 2, 1]],
    &[[2, 0, 2], [3, 0, 0], [3, 0, 1], [3, 0, 2], [4, 0, 0], [4, 0, 2], [4, 1, 2]],
    &[[2, 3, 0], [2, 3, 2], [3, 2, 2], [3, 3, 0], [3, 3, 1], [3, 3, 2], [4, 2, 2], [4, 3, 0]],
    &[[4, 0, 1], [4, 1, 0], [4, 1, 1], [4, 2, 0], [4, 2, 1], [4, 3, 1], [4, 3, 2]],
];

/// The cells with X of 2 and more: a board of which 24 cells are left.
const FULL_HALF: u64 = ((1 << 60) - 1) & !((1 << 24) - 1);

/// With these cells covered before.
fn puzzle(board: u64) -> String {
    let mut pieces = String::new();
    for (number, piece) in PIECES.iter().enumerate() {
        let places: Vec<String> = orientations(piece).iter().map(|cells| place(cells)).collect();
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(pieces, "{comma}\n    p({number},[{}])", places.join(","));
    }
    let list = format!("[{pieces}]");
    // The comment of the text names the words that are replaced, too.
    let program = include_str!("puzzle.kl1").split_once(":- module").map_or("", |(_, program)| program);
    format!(":- module{}", program.replace("BOARD", &board.to_string()).replace("PIECES", &list))
}

/// A piece turned in all ways, its cells in the order of their numbers, from the first on.
fn orientations(piece: &[Point]) -> BTreeSet<Vec<Point>> {
    let turns: [fn(Point) -> Point; 2] = [|[x, y, z]| [x, -z, y], |[x, y, z]| [y, -x, z]];
    let mut known = BTreeSet::new();
    let mut work = vec![piece.to_vec()];
    while let Some(mut cells) = work.pop() {
        cells.sort_unstable();
        let [x0, y0, z0] = cells[0];
        cells.iter_mut().for_each(|[x, y, z]| (*x, *y, *z) = (*x - x0, *y - y0, *z - z0));
        if known.insert(cells.clone()) {
            work.extend(turns.iter().map(|turn| cells.iter().map(|&cell| turn(cell)).collect()));
        }
    }
    known
}

fn place(cells: &[Point]) -> String {
    let least = |axis: usize| cells.iter().map(|cell| cell[axis]).min().unwrap_or(0);
    let most = |axis: usize| cells.iter().map(|cell| cell[axis]).max().unwrap_or(0);
    let fits = most(0) < 5 && most(1) - least(1) < 4 && most(2) - least(2) < 3;
    // A place that fits nowhere would not be a set of 60 bits; X of 5 sticks out of the box.
    let mask =
        if fits { cells.iter().fold(0_i64, |mask, [x, y, z]| mask | 1 << (12 * x + 3 * y + z)) } else { 0 };
    let x = if fits { most(0) } else { 5 };
    format!("o({x},{},{},{},{},{mask})", least(1), most(1), least(2), most(2))
}
