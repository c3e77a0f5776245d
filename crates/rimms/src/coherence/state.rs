//! The state word: who holds the newest bytes of a leaf.

use std::fmt;

/// The most resources one runtime can track: one bit each beside an 8-bit last resource.
pub const MAX_RESOURCES: usize = 56;

/// A place that owns memory. 0 is the host; devices follow in the order they were added.
///
/// ```
/// use rimms::ResourceId;
/// assert_eq!(ResourceId::HOST.index(), 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u8);

impl ResourceId {
    /// The host's memory.
    pub const HOST: Self = Self(0);

    /// The resource with this index; `None` from [`MAX_RESOURCES`] on.
    pub const fn new(index: usize) -> Option<Self> {
        if index < MAX_RESOURCES { Some(Self(index as u8)) } else { None }
    }

    /// Position in [`Runtime::resources`](crate::Runtime::resources).
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Is this the host?
    #[inline]
    pub const fn is_host(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_host() { f.write_str("host") } else { write!(f, "resource{}", self.0) }
    }
}

/// A set of resources.
///
/// ```
/// use rimms::{ResourceId, ResourceSet};
/// let acc = ResourceId::new(1).unwrap();
/// let both = ResourceSet::only(ResourceId::HOST).with(acc);
/// assert!(both.contains(acc) && both.len() == 2);
/// assert_eq!(both.without(acc).iter().collect::<Vec<_>>(), [ResourceId::HOST]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ResourceSet(u64);

impl ResourceSet {
    /// No resource.
    pub const EMPTY: Self = Self(0);

    /// Just this one.
    #[inline]
    pub const fn only(r: ResourceId) -> Self {
        Self(1 << r.0)
    }

    /// Is `r` in it?
    #[inline]
    pub const fn contains(self, r: ResourceId) -> bool {
        self.0 >> r.0 & 1 == 1
    }

    /// With `r` added.
    #[inline]
    #[must_use]
    pub const fn with(self, r: ResourceId) -> Self {
        Self(self.0 | 1 << r.0)
    }

    /// With `r` taken out.
    #[inline]
    #[must_use]
    pub const fn without(self, r: ResourceId) -> Self {
        Self(self.0 & !(1 << r.0))
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// How many there are.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Is there none?
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The one with the lowest index.
    pub const fn first(self) -> Option<ResourceId> {
        if self.0 == 0 { None } else { Some(ResourceId(self.0.trailing_zeros() as u8)) }
    }

    /// From the lowest index up.
    pub fn iter(self) -> impl Iterator<Item = ResourceId> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let r = rest.first()?;
            rest = rest.without(r);
            Some(r)
        })
    }
}

impl fmt::Debug for ResourceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The coherence state of one leaf, as one word: the valid set in the low 56
/// bits, the last resource in the 7 above. The highest bit is used by mode
/// `last-resource` alone: the host's bytes are the newest although the flag does
/// not say so, which readers there must not be disturbed by.
///
/// ```
/// use rimms::{ResourceId, State};
/// assert!(State::UNINITIALISED.last().is_none());
/// let s = State::owned(ResourceId::HOST);
/// assert!(s.is_valid_on(ResourceId::HOST));
/// assert_eq!(State::from_bits(s.to_bits()), Some(s));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State(u64);

const LAST_SHIFT: u32 = MAX_RESOURCES as u32;
const VALID_MASK: u64 = (1 << LAST_SHIFT) - 1;
const HOST_HAS_COPY: u64 = 1 << 63;

impl State {
    /// Nobody holds the bytes: never written, or the call that was to write them failed.
    pub const UNINITIALISED: Self = Self(0);

    /// Only `r` holds the newest bytes, and wrote them.
    #[inline]
    pub const fn owned(r: ResourceId) -> Self {
        Self(1 << r.0 | (r.0 as u64) << LAST_SHIFT)
    }

    /// A state from its parts; `None` where `last` is not in `valid`.
    pub const fn new(valid: ResourceSet, last: ResourceId) -> Option<Self> {
        if valid.contains(last) { Some(Self(valid.0 | (last.0 as u64) << LAST_SHIFT)) } else { None }
    }

    /// May `r` be read without a copy? One shift and one bit test.
    #[inline]
    pub const fn is_valid_on(self, r: ResourceId) -> bool {
        self.0 >> r.0 & 1 == 1
    }

    /// The resources that hold the newest bytes.
    #[inline]
    pub const fn valid(self) -> ResourceSet {
        ResourceSet(self.0 & VALID_MASK)
    }

    /// The resource that wrote last; `None` while uninitialised.
    #[inline]
    pub const fn last(self) -> Option<ResourceId> {
        if self.valid().is_empty() { None } else { Some(ResourceId(self.last_bits())) }
    }

    const fn last_bits(self) -> u8 {
        ((self.0 & !HOST_HAS_COPY) >> LAST_SHIFT) as u8
    }

    /// The host's bytes are the newest, but it is not in the valid set (mode `last-resource`).
    #[inline]
    pub(crate) const fn host_has_copy(self) -> bool {
        self.0 & HOST_HAS_COPY != 0
    }

    /// The same from now on.
    pub(super) const fn with_host_copy(self) -> Self {
        if self.is_valid_on(ResourceId::HOST) { self } else { Self(self.0 | HOST_HAS_COPY) }
    }

    /// Does `r` hold the newest bytes too, from now on?
    #[inline]
    pub(crate) const fn shared_with(self, r: ResourceId) -> Self {
        Self(self.0 | 1 << r.0)
    }

    /// `r` no longer holds them. The last resource moves to the lowest that still does.
    pub(super) const fn lost_by(self, r: ResourceId) -> Self {
        let valid = self.valid().without(r);
        match valid.first() {
            None => Self::UNINITIALISED,
            Some(first) => {
                let last = if self.last_bits() == r.0 { first.0 } else { self.last_bits() };
                let copy = if r.is_host() { 0 } else { self.0 & HOST_HAS_COPY };
                Self(valid.0 | (last as u64) << LAST_SHIFT | copy)
            }
        }
    }

    /// The word, for an atomic.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The state that [`to_bits`](Self::to_bits) gave; `None` for any other number.
    pub const fn from_bits(bits: u64) -> Option<Self> {
        let valid = bits & VALID_MASK;
        let last = Self(bits).last_bits();
        let copy = Self(bits).host_has_copy();
        let good = if valid == 0 {
            last == 0 && !copy
        } else {
            (last as usize) < MAX_RESOURCES && valid >> last & 1 == 1 && !(copy && valid & 1 == 1)
        };
        if good { Some(Self(bits)) } else { None }
    }

    /// The same without the check, for words that only [`to_bits`](Self::to_bits) can have written.
    #[inline]
    pub(crate) const fn from_word(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last() {
            None => f.write_str("uninitialised"),
            Some(last) => write!(f, "{:?} last {last:?}", self.valid()),
        }
    }
}
