//! What a datum means: its elements, how it is divided, and which parts were written. Knows nothing of devices.

/// Bytes of a leaf are there for sure, or only if nothing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trust {
    /// A call that is still to be waited for writes them, this one; or a call has failed that may have spared them.
    Doubt(u64),
    /// A call that has succeeded wrote them: they may be on its device only.
    Done,
    /// The host has them: no device that fails, or goes, takes them away.
    Host,
}

impl Trust {
    pub(crate) const DOUBT: Self = Self::Doubt(0);

    /// What is known of two parts together.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Doubt(_), _) | (_, Self::Doubt(_)) => Self::DOUBT,
            _ => Self::Done,
        }
    }
}

/// What is known of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaf {
    /// Nobody wrote it, or who was to write it has failed.
    Missing,
    /// Its elements are those of the model.
    There(Trust),
}

/// A view: which elements it consists of, row by row, and its fragments.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) elements: Vec<usize>,
    pub(crate) leaf: Leaf,
    pub(crate) parts: Vec<Part>,
}

/// The way from a datum to a view: which fragment of which fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Path {
    depth: u8,
    at: [u8; Path::DEEPEST],
}

impl Path {
    /// Data are divided this often, one inside the other.
    pub(crate) const DEEPEST: usize = 2;

    pub(crate) fn steps(&self) -> impl Iterator<Item = usize> {
        self.at.into_iter().take(self.depth.into()).map(usize::from)
    }

    pub(crate) fn is_deepest(&self) -> bool {
        usize::from(self.depth) == Self::DEEPEST
    }

    fn child(mut self, i: usize) -> Self {
        self.at[usize::from(self.depth)] = i as u8;
        self.depth += 1;
        self
    }
}

impl Part {
    pub(crate) fn leaves<'a>(&'a self, f: &mut dyn FnMut(&'a Part)) {
        if self.parts.is_empty() { f(self) } else { self.parts.iter().for_each(|part| part.leaves(f)) }
    }

    pub(crate) fn leaves_mut(&mut self, f: &mut dyn FnMut(&mut Part)) {
        if self.parts.is_empty() { f(self) } else { self.parts.iter_mut().for_each(|part| part.leaves_mut(f)) }
    }

    pub(crate) fn any_leaf(&self, is: impl Fn(Leaf) -> bool) -> bool {
        let mut any = false;
        self.leaves(&mut |part| any |= is(part.leaf));
        any
    }

    pub(crate) fn set(&mut self, leaf: Leaf) {
        self.leaves_mut(&mut |part| part.leaf = leaf);
    }

    /// Rows and elements of a row, as the runtime sees them: one row where the elements follow each other.
    pub(crate) fn shape(&self) -> (usize, usize) {
        let rows = 1 + self.elements.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count();
        (rows, self.elements.len() / rows)
    }

    /// Divides it, as rows of as many elements as the widths make up, into tiles. It is a leaf.
    pub(crate) fn divide(&mut self, heights: &[usize], widths: &[usize]) {
        let columns: usize = widths.iter().sum();
        let mut top = 0;
        for h in heights {
            let mut left = 0;
            for w in widths {
                let rows = (top..top + h).flat_map(|r| (left..left + w).map(move |c| r * columns + c));
                let elements = rows.map(|i| self.elements[i]).collect();
                self.parts.push(Part { elements, leaf: self.leaf, parts: Vec::new() });
                left += w;
            }
            top += h;
        }
    }

    /// It is a leaf again, of which this is known.
    pub(crate) fn join(&mut self, leaf: Leaf) {
        self.parts.clear();
        self.leaf = leaf;
    }

    fn each_view(&self, here: Path, f: &mut dyn FnMut(&Part, Path)) {
        f(self, here);
        for (i, part) in self.parts.iter().enumerate() {
            part.each_view(here.child(i), f);
        }
    }
}

/// A datum as a program means it.
#[derive(Clone, Debug)]
pub(crate) struct Meaning {
    pub(crate) values: Vec<u32>,
    pub(crate) root: Part,
}

impl Meaning {
    pub(crate) fn fresh(len: usize) -> Self {
        let root = Part { elements: (0..len).collect(), leaf: Leaf::Missing, parts: Vec::new() };
        Self { values: vec![0; len], root }
    }

    pub(crate) fn part(&self, path: Path) -> &Part {
        path.steps().fold(&self.root, |part, i| &part.parts[i])
    }

    pub(crate) fn part_mut(&mut self, path: Path) -> &mut Part {
        path.steps().fold(&mut self.root, |part, i| &mut part.parts[i])
    }

    /// The views for which this is so: all that can be named.
    pub(crate) fn views(&self, is: impl Fn(&Part) -> bool) -> Vec<Path> {
        let mut found = Vec::new();
        self.root.each_view(Path::default(), &mut |part, path| {
            if is(part) {
                found.push(path);
            }
        });
        found
    }

    pub(crate) fn read(&self, path: Path) -> Vec<u32> {
        self.part(path).elements.iter().map(|&e| self.values[e]).collect()
    }

    pub(crate) fn write(&mut self, path: Path, new: &[u32]) {
        let Self { values, root } = self;
        let part = path.steps().fold(&*root, |part, i| &part.parts[i]);
        part.elements.iter().zip(new).for_each(|(&e, &v)| values[e] = v);
    }
}
