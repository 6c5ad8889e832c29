//! Classes of objects: what the collector and messages must know of them. Nothing else in the runtime's core
//! knows classes by name except those of `term::layout`.

use term::layout::{self, ClassId};

/// Which payload words of an object hold tagged words (the collector follows them); the others are raw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// All payload words are values (or, for records of suspension, VAR words).
    Tagged,
    /// No payload word is.
    Raw,
    /// The first `n` payload words are, the rest are raw.
    TaggedPrefix(usize),
}

/// A class.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name in messages and for `generic:new`.
    pub name: &'static str,
    /// What the collector follows.
    pub contents: Contents,
}

/// Payload words after which an object's words are raw, by class: `usize::MAX` for none. What the collector reads.
pub(crate) type TaggedWords = [usize; 256];

/// The class table.
#[derive(Clone, Debug)]
pub struct Classes {
    list: Vec<Class>,
}

impl Default for Classes {
    fn default() -> Self {
        use Contents::{Raw, Tagged, TaggedPrefix};
        let list = [
            ("suspension", Tagged),
            ("hook", Tagged),
            ("generator", Tagged),
            ("vector", Tagged),
            ("store", Tagged),
            ("string", Tagged),
            ("bytes", Raw),
            ("float", Raw),
            ("bigint", TaggedPrefix(1)),
            ("predicate", Tagged),
            ("module", Tagged),
            ("merger", Tagged),
        ];
        debug_assert_eq!(list.len(), layout::FIRST_FREE.0 as usize);
        Classes { list: list.map(|(name, contents)| Class { name, contents }).to_vec() }
    }
}

impl Classes {
    /// Adds a class. Panics after 256.
    pub fn add(&mut self, name: &'static str, contents: Contents) -> ClassId {
        let id = ClassId(u8::try_from(self.list.len()).expect("at most 256 classes"));
        self.list.push(Class { name, contents });
        id
    }
    /// A class by number.
    #[inline(always)]
    pub fn get(&self, id: ClassId) -> &Class {
        &self.list[id.0 as usize]
    }
    /// Number of classes.
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// Never true: the classes of `term::layout` are always there.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// How many payload words of each class are tagged.
    pub(crate) fn tagged_words(&self) -> TaggedWords {
        let mut table = [usize::MAX; 256];
        for (words, class) in table.iter_mut().zip(&self.list) {
            debug_assert!(!matches!(class.contents, Contents::TaggedPrefix(0)), "F4: {} is raw", class.name);
            *words = match class.contents {
                Contents::Tagged => usize::MAX,
                Contents::Raw => 0,
                Contents::TaggedPrefix(words) => words,
            };
        }
        table
    }
    /// A class by name.
    pub fn lookup(&self, name: &str) -> Option<ClassId> {
        self.list.iter().position(|class| class.name == name).map(|n| ClassId(n as u8))
    }
}
