//! A heap of a few cells: the store of the model.

use crate::store::{ExportId, Full, ImportId, Seen, Shape, Store, StructureId};
use runtime::abroad::FAR;
use std::collections::VecDeque;

/// What a cell holds. Cells are known by their index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Cell {
    Variable {
        marked: bool,
        marks: Vec<ExportId>,
    },
    /// `wanted`: goals wait, or have waited, so it has been told.
    Import {
        import: ImportId,
        wanted: bool,
        marks: Vec<ExportId>,
    },
    Atom(u32),
    Pair(usize, usize),
    Reference(usize),
}

/// What the protocol has to be told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Event {
    Wanted(ImportId),
    Bound(ImportId),
    Marked(ExportId),
    Alias(usize, usize),
    Dead(ImportId),
    Lost(ExportId),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Anchor {
    cell: Option<usize>,
    root: bool,
    distance: u8,
}

/// Rules of stores that tests take away.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum StoreRule {
    /// The cells of queued `bound` and `marked` are roots.
    QueueRoots,
    /// A variable stays marked when its export is freed.
    StaysMarked,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Tiny {
    pub(super) cells: Vec<Cell>,
    anchors: Vec<Option<Anchor>>,
    imports: Vec<Option<Option<usize>>>,
    noted: Vec<(usize, ExportId)>,
    identities: Vec<(usize, StructureId)>,
    pub(super) queue: VecDeque<Event>,
    /// Two different values were unified.
    pub(super) failed: bool,
    /// The protocol broke its promise to the store.
    pub(super) broken: Option<&'static str>,
    /// Goals that came: the predicate says which variable they bring.
    pub(super) came: Vec<(u32, usize)>,
    pub(super) without: Option<StoreRule>,
}

impl Tiny {
    pub(super) fn add(&mut self, cell: Cell) -> usize {
        self.cells.push(cell);
        self.cells.len() - 1
    }

    pub(super) fn at(&self, cell: usize) -> usize {
        let mut cell = cell;
        while let Cell::Reference(next) = self.cells[cell] {
            cell = next;
        }
        cell
    }

    pub(super) fn variable(&mut self) -> usize {
        self.add(Cell::Variable { marked: false, marks: Vec::new() })
    }

    /// Structures of which an export is known.
    pub(super) fn noted(&self) -> usize {
        self.noted.len()
    }
    /// How far an export is.
    pub(super) fn distance(&self, export: ExportId) -> u8 {
        self.anchors[export.0 as usize].as_ref().map_or(0, |anchor| anchor.distance)
    }

    /// A goal waits for this term.
    pub(super) fn wait(&mut self, cell: usize) {
        let cell = self.at(cell);
        if let Cell::Import { import, wanted, .. } = &mut self.cells[cell]
            && !std::mem::replace(wanted, true)
        {
            self.queue.push_back(Event::Wanted(*import));
        }
    }

    /// What keeps cells alive, besides the program.
    fn roots(&self, cells: &mut Vec<usize>) {
        let anchored = |export: &ExportId| self.anchors[export.0 as usize].as_ref().and_then(|a| a.cell);
        let queued = self.without != Some(StoreRule::QueueRoots);
        cells.extend(self.anchors.iter().flatten().filter(|anchor| anchor.root).filter_map(|a| a.cell));
        for event in &self.queue {
            match event {
                Event::Alias(a, b) => cells.extend([*a, *b]),
                Event::Marked(export) if queued => cells.extend(anchored(export)),
                Event::Bound(import) if queued => cells.extend(self.imports[import.0 as usize].flatten()),
                Event::Wanted(import) => cells.extend(self.imports[import.0 as usize].flatten()),
                _ => {}
            }
        }
    }

    /// Which cells these keep alive.
    fn reach(&self, mut open: Vec<usize>) -> Vec<bool> {
        self.roots(&mut open);
        let mut live = vec![false; self.cells.len()];
        self.spread(open, &mut live);
        live
    }

    fn spread(&self, mut open: Vec<usize>, live: &mut [bool]) {
        while let Some(cell) = open.pop() {
            let cell = self.at(cell);
            if !std::mem::replace(&mut live[cell], true)
                && let Cell::Pair(head, tail) = self.cells[cell]
            {
                open.extend([head, tail]);
            }
        }
    }

    /// How far imports are: 1 if the program or the queue has them, else a step more than the anchor that has.
    pub(super) fn distances(&self, program: &[usize]) -> Vec<(ImportId, u8)> {
        let mut open = program.to_vec();
        let mut rootless = self.clone();
        rootless.anchors.iter_mut().flatten().for_each(|anchor| anchor.root = false);
        rootless.roots(&mut open);
        let (mut live, mut distances) = (vec![false; self.cells.len()], vec![0; self.imports.len()]);
        for class in 0..=FAR {
            if class > 0 {
                let there =
                    self.anchors.iter().flatten().filter(|anchor| anchor.root && anchor.distance == class);
                open = there.filter_map(|anchor| anchor.cell).collect();
            }
            self.spread(open, &mut live);
            open = Vec::new();
            for (distance, import) in distances.iter_mut().zip(&self.imports) {
                if let Some(Some(cell)) = import
                    && *distance == 0
                    && live[self.at(*cell)]
                {
                    *distance = (class + 1).min(FAR);
                }
            }
        }
        let numbered = (0..).map(ImportId).zip(distances);
        numbered.filter(|(_, distance)| *distance > 0).collect()
    }

    /// What a collection finds dead, told or not.
    fn dying(&self, program: &[usize]) -> Vec<Event> {
        let live = self.reach(program.to_vec());
        let mut dead = Vec::new();
        for (number, import) in self.imports.iter().enumerate() {
            if let Some(Some(cell)) = import
                && !live[self.at(*cell)]
            {
                dead.push(Event::Dead(ImportId(number as u32)));
            }
        }
        for (number, anchor) in self.anchors.iter().enumerate() {
            if let Some(Anchor { cell: Some(cell), root: false, .. }) = anchor
                && !live[self.at(*cell)]
            {
                dead.push(Event::Lost(ExportId(number as u32)));
            }
        }
        dead
    }

    /// Whether a collection would find anything.
    pub(super) fn would_collect(&self, program: &[usize]) -> bool {
        !self.dying(program).is_empty()
    }

    /// A collection; the program's cells are given.
    pub(super) fn collect(&mut self, program: &[usize]) {
        let dead = self.dying(program);
        let live = self.reach(program.to_vec());
        for event in dead {
            match event {
                Event::Dead(import) => self.imports[import.0 as usize] = Some(None),
                Event::Lost(export) => {
                    if let Some(anchor) = &mut self.anchors[export.0 as usize] {
                        anchor.cell = None;
                    }
                }
                _ => {}
            }
            self.queue.push_back(event);
        }
        let at = |cell: usize| live[self.at(cell)];
        let noted = self.noted.iter().copied().filter(|(cell, _)| at(*cell)).collect();
        let identities = self.identities.iter().copied().filter(|(cell, _)| at(*cell)).collect();
        (self.noted, self.identities) = (noted, identities);
    }

    /// Numbers the cells in the order in which they are met, so that equal heaps are equal; `program` are the cells
    /// that the program has.
    pub(super) fn tidy(&mut self, program: &mut [&mut usize]) {
        let mut way = Renumber { old: std::mem::take(&mut self.cells), ..Renumber::default() };
        way.map.resize(way.old.len(), usize::MAX);
        program.iter_mut().for_each(|cell| way.visit(cell));
        self.anchors
            .iter_mut()
            .flatten()
            .filter_map(|anchor| anchor.cell.as_mut())
            .for_each(|c| way.visit(c));
        self.imports.iter_mut().flatten().flatten().for_each(|cell| way.visit(cell));
        for event in &mut self.queue {
            if let Event::Alias(a, b) = event {
                way.visit(a);
                way.visit(b);
            }
        }
        way.finish();
        let (map, old) = (&way.map, &way.old);
        let moved = |mut cell: usize| {
            while let Cell::Reference(next) = old[cell] {
                cell = next;
            }
            Some(map[cell]).filter(|to| *to != usize::MAX)
        };
        self.noted = self.noted.iter().filter_map(|(cell, export)| Some((moved(*cell)?, *export))).collect();
        let identities = self.identities.iter();
        self.identities = identities.filter_map(|(cell, id)| Some((moved(*cell)?, *id))).collect();
        self.noted.sort_unstable();
        self.identities.sort_unstable_by_key(|(cell, id)| (*cell, id.node, id.serial));
        self.cells = way.new;
    }

    /// Unifies two terms but for their parts, which are added to `open`.
    fn unify_outside(&mut self, a: usize, b: usize, open: &mut Vec<(usize, usize)>) {
        let value = |cell: &Cell| matches!(cell, Cell::Atom(_) | Cell::Pair(..));
        let plain = |cell: &Cell| matches!(cell, Cell::Variable { marked: false, .. });
        match (self.cells[a].clone(), self.cells[b].clone()) {
            _ if a == b => {}
            (Cell::Atom(a), Cell::Atom(b)) => self.failed |= a != b,
            (Cell::Pair(head_a, tail_a), Cell::Pair(head_b, tail_b)) => {
                open.extend([(tail_a, tail_b), (head_a, head_b)]);
            }
            (x, y) if value(&x) && value(&y) => self.failed = true,
            (x, _) if value(&x) => open.push((b, a)),
            (x, y) if plain(&x) || value(&y) => {
                if let Cell::Import { import, .. } = x {
                    self.queue.push_back(Event::Bound(import));
                }
                self.bind(a, b);
            }
            (_, y) if plain(&y) => _ = self.bind(b, a),
            _ => self.queue.push_back(Event::Alias(a, b)),
        }
    }

    fn tell(&mut self, marks: Vec<ExportId>) {
        self.queue.extend(marks.into_iter().map(Event::Marked));
    }
}

#[derive(Default)]
struct Renumber {
    old: Vec<Cell>,
    map: Vec<usize>,
    new: Vec<Cell>,
    /// New cells whose parts are still old.
    pairs: usize,
}

impl Renumber {
    fn visit(&mut self, cell: &mut usize) {
        while let Cell::Reference(next) = self.old[*cell] {
            *cell = next;
        }
        if self.map[*cell] == usize::MAX {
            self.map[*cell] = self.new.len();
            self.new.push(self.old[*cell].clone());
        }
        *cell = self.map[*cell];
    }
    fn finish(&mut self) {
        while self.pairs < self.new.len() {
            if let Cell::Pair(mut head, mut tail) = self.new[self.pairs] {
                self.visit(&mut head);
                self.visit(&mut tail);
                self.new[self.pairs] = Cell::Pair(head, tail);
            }
            self.pairs += 1;
        }
    }
}

impl Store for Tiny {
    type Value = usize;

    fn follow(&self, value: usize) -> usize {
        self.at(value)
    }
    fn look(&self, value: usize) -> Seen {
        match self.cells[self.at(value)] {
            Cell::Variable { marked, .. } => Seen::Variable { marked },
            Cell::Import { import, .. } => Seen::Import(import),
            Cell::Atom(atom) => Seen::Atom(atom),
            Cell::Pair(..) => Seen::List,
            Cell::Reference(_) => unreachable!("followed"),
        }
    }
    fn bytes(&self, _: usize) -> Vec<u8> {
        unreachable!("there are no strings")
    }
    fn limbs(&self, _: usize) -> (bool, Vec<u64>) {
        unreachable!("there are no large integers")
    }
    fn part(&self, value: usize, number: usize) -> usize {
        match self.cells[self.at(value)] {
            Cell::Pair(head, tail) => [head, tail][number],
            _ => unreachable!("only pairs have parts"),
        }
    }
    fn make(&mut self, shape: Shape<'_, usize>) -> Option<usize> {
        Some(match shape {
            Shape::Atom(atom) => self.add(Cell::Atom(atom)),
            Shape::List(&[ref heads @ .., tail]) => {
                heads.iter().rev().fold(tail, |tail, &head| self.add(Cell::Pair(head, tail)))
            }
            _ => return None,
        })
    }
    fn room(&mut self, words: usize) -> Result<(), Full> {
        if words < 1 << 16 { Ok(()) } else { Err(Full) }
    }
    fn text(&self, atom: u32) -> Option<&[u8]> {
        // Atom 1 is one that the other nodes may not know.
        (atom == 1).then_some(b"one")
    }
    fn atom(&mut self, text: &[u8]) -> Option<u32> {
        (text == b"one").then_some(1)
    }
    fn anchor(&mut self, export: ExportId, value: usize) {
        let number = export.0 as usize;
        self.anchors.resize(self.anchors.len().max(number + 1), None);
        if self.anchors[number].replace(Anchor { cell: Some(value), root: true, distance: 1 }).is_some() {
            self.broken = Some("an export that was in use got another term");
        }
    }
    fn hold(&mut self, export: ExportId, root: bool) {
        match &mut self.anchors[export.0 as usize] {
            Some(anchor) => anchor.root = root,
            None => self.broken = Some("an export that is free was to be held"),
        }
    }
    fn anchored(&self, export: ExportId) -> Option<usize> {
        self.anchors.get(export.0 as usize)?.as_ref()?.cell
    }
    fn set_distance(&mut self, export: ExportId, distance: u8) {
        match &mut self.anchors[export.0 as usize] {
            Some(anchor) => anchor.distance = distance,
            None => self.broken = Some("an export that is free was to be far"),
        }
    }
    fn release(&mut self, export: ExportId) {
        let Some(anchor) = self.anchors.get_mut(export.0 as usize).and_then(Option::take) else {
            self.broken = Some("an export was freed twice");
            return;
        };
        self.noted.retain(|(_, noted)| *noted != export);
        if self.without == Some(StoreRule::StaysMarked)
            && let Some(cell) = anchor.cell.map(|cell| self.at(cell))
            && let Cell::Variable { marked, marks } = &mut self.cells[cell]
        {
            marks.retain(|mark| *mark != export);
            *marked = !marks.is_empty();
        }
    }
    fn mark(&mut self, value: usize, export: ExportId) {
        let value = self.at(value);
        match &mut self.cells[value] {
            Cell::Variable { marked, marks } => {
                *marked = true;
                marks.push(export);
            }
            Cell::Import { wanted, marks, .. } => {
                *wanted = true;
                marks.push(export);
            }
            _ => self.broken = Some("a value was to be marked"),
        }
    }
    fn note(&mut self, value: usize, export: ExportId, _must: bool) {
        self.noted.push((self.at(value), export));
    }
    fn exported(&self, value: usize) -> Option<ExportId> {
        let value = self.at(value);
        match &self.cells[value] {
            Cell::Variable { marks, .. } | Cell::Import { marks, .. } => marks.first().copied(),
            _ => self.noted.iter().find(|(cell, _)| *cell == value).map(|(_, export)| *export),
        }
    }
    fn import(&mut self, import: ImportId) -> usize {
        let number = import.0 as usize;
        self.imports.resize(self.imports.len().max(number + 1), None);
        let cell = self.add(Cell::Import { import, wanted: false, marks: Vec::new() });
        if self.imports[number].replace(Some(cell)).is_some() {
            self.broken = Some("an import that was in use got another variable");
        }
        cell
    }
    fn cell(&self, import: ImportId) -> Option<usize> {
        self.imports.get(import.0 as usize).copied().flatten().flatten()
    }
    fn forget(&mut self, import: ImportId) {
        self.imports[import.0 as usize] = None;
    }
    fn bind(&mut self, variable: usize, to: usize) -> bool {
        let (variable, to) = (self.at(variable), self.at(to));
        let marks = match &mut self.cells[variable] {
            Cell::Variable { marks, .. } | Cell::Import { marks, .. } => std::mem::take(marks),
            _ => {
                self.broken = Some("a variable was bound twice");
                return true;
            }
        };
        if variable == to {
            self.broken = Some("a variable was bound to itself");
            return true;
        }
        self.tell(marks);
        self.cells[variable] = Cell::Reference(to);
        true
    }
    fn unify(&mut self, a: usize, b: usize) {
        let mut open = vec![(a, b)];
        for _ in 0..1_000 {
            let Some((a, b)) = open.pop() else { return };
            self.unify_outside(self.at(a), self.at(b), &mut open);
        }
        self.broken = Some("a unification does not end");
    }
    fn unbound(&mut self, _import: ImportId) {}
    fn spawn(&mut self, _priority: i64, predicate: u32, arguments: &[usize]) -> bool {
        self.came.extend(arguments.iter().map(|&argument| (predicate, argument)));
        arguments.len() == 1
    }
    fn identity(&self, value: usize) -> Option<StructureId> {
        let value = self.at(value);
        self.identities.iter().find(|(cell, _)| *cell == value).map(|(_, identity)| *identity)
    }
    fn identify(&mut self, value: usize, identity: StructureId) {
        let value = self.at(value);
        if matches!(self.cells[value], Cell::Pair(..)) {
            self.identities.push((value, identity));
        }
    }
    fn copy(&self, identity: StructureId) -> Option<usize> {
        self.identities.iter().find(|(_, known)| *known == identity).map(|(cell, _)| *cell)
    }
}
