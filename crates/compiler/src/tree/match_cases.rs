//! The partition of all terms that several rows' tests of one value make: what one `Match` tells apart.

use crate::ir::Pattern;
use crate::program::values::{Fact, Shape};
use rustc_hash::FxHashMap;

/// What a row asks of one value.
pub(crate) enum Wish {
    /// Only this specific pattern.
    Only(Pattern),
    /// Something else, or nothing at all.
    Other,
}

pub(crate) fn is_specific(pattern: Pattern) -> bool {
    !matches!(pattern, Pattern::AnyInt | Pattern::AnyAtom | Pattern::AnyStruct | Pattern::AnyObject)
}

pub(crate) const BIGINT: Pattern = Pattern::Object(term::layout::BIGINT.0);

/// Whether a shape is that of a specific pattern, or of anything else.
pub(crate) fn names_specific(shape: Shape) -> bool {
    matches!(shape, Shape::Is(pattern) | Shape::IsNot(pattern) if is_specific(pattern))
}

pub(crate) fn wish(mut shapes: impl Iterator<Item = Shape>) -> Wish {
    let specific = shapes.find_map(|shape| match shape {
        Shape::Is(pattern) if is_specific(pattern) => Some(pattern),
        _ => None,
    });
    specific.map_or(Wish::Other, Wish::Only)
}

/// Whether a value like `cell` has the shape; a cell of a whole kind stands for what has no cell of its own.
pub(crate) fn accepts(cell: Pattern, shape: Shape) -> bool {
    Fact::Like(cell).decides(shape).unwrap_or(matches!(shape, Shape::IsNot(_)))
}

/// Whether a value of a kind that no cell stands for has the shape.
pub(crate) fn other_accepts(shape: Shape) -> bool {
    matches!(shape, Shape::Bound | Shape::IsNot(_))
}

/// The partition of all terms that the rows' wishes make.
pub(crate) struct Cells {
    /// Specific patterns with the rows that want only them.
    pub(crate) specific: Vec<(Pattern, Vec<usize>)>,
    /// Whole kinds.
    pub(crate) general: Vec<Pattern>,
    /// Rows that are to be asked for each cell.
    pub(crate) others: Vec<usize>,
}

impl Cells {
    pub(crate) fn new(shapes: &[Vec<Shape>], wishes: &[Wish], prior: Fact) -> Cells {
        let mut cells = Cells { specific: Vec::new(), general: Vec::new(), others: Vec::new() };
        let mut numbers: FxHashMap<Pattern, usize> = FxHashMap::default();
        let possible = |pattern: Pattern| prior.decides(Shape::Is(pattern)) != Some(false);
        for (row, wish) in wishes.iter().enumerate() {
            for shape in &shapes[row] {
                let wanted: &[Pattern] = match shape {
                    Shape::Is(pattern) | Shape::IsNot(pattern) => &[*pattern],
                    Shape::Integer => &[Pattern::AnyInt, BIGINT],
                    Shape::Atomic => &[Pattern::AnyInt, BIGINT, Pattern::AnyAtom],
                    Shape::Bound => &[],
                };
                for &pattern in wanted.iter().filter(|pattern| possible(**pattern)) {
                    if is_specific(pattern) && pattern != BIGINT {
                        numbers.entry(pattern).or_insert_with(|| {
                            cells.specific.push((pattern, Vec::new()));
                            cells.specific.len() - 1
                        });
                    } else if !cells.general.contains(&pattern) {
                        cells.general.push(pattern);
                    }
                }
            }
            match wish {
                Wish::Only(pattern) if *pattern != BIGINT => {
                    if let Some(&number) = numbers.get(pattern)
                        && shapes[row].iter().all(|shape| accepts(*pattern, *shape))
                    {
                        cells.specific[number].1.push(row);
                    }
                }
                _ => cells.others.push(row),
            }
        }
        // A class is more special than any object.
        cells.general.sort_by_key(|pattern| *pattern == Pattern::AnyObject);
        cells
    }
}
