//! Data races of kernels.
//!
//! Owns [`Races`]. For every 32-bit word of global memory that a kernel touches there is a [`cell`] for the time of the
//! launch, for every word of local memory one for that of its worker; cells lie in pages of 1 KiB of memory. A use of
//! part of a word splits it: byte 0 keeps the cell, and the other three get cells in a second page. So a byte costs 2
//! bytes, or 8 where words are used in parts.
//!
//! Cells of global memory are changed by several threads, by compare-and-exchange where a launch has more than one.

mod cell;

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, AtomicUsize};

use parking_lot::Mutex;

use self::cell::{Cell, Conflict, Known, MOST_EPOCHS, MOST_ITEMS, Use, User};
use super::finding::{Actor, Finding, Findings, Other, Problem};
use super::memcheck::event_place;
use crate::kernel::{Group, Kernel, Who, WorkItem};
use crate::observe::{At, Atomic, Event, Observer, Stored};
use crate::raw::shadow::{Buffer, Shadow};
use crate::{Access, Address, AddressLayout, AddressSpace, Memory};

const WORD: u64 = 4;

/// Words in a page.
const WORDS: usize = 256;
/// Their bytes, but for the first of each word.
const BYTES: usize = 3 * WORDS;

/// Finds data races: uses of the same bytes by two work-items, at least one of which changes them, not both by atomic
/// operations, with no barrier in between (which there never is between items of different groups).
///
/// What is right under every schedule is silent; what is a race under some is found under any: the checker looks at the order
/// that barriers make, not at that of the threads. Each word is reported once a launch. Atomic operations and fences
/// order nothing.
///
/// Cost: 2 host bytes for each byte of memory that a kernel touches, 8 where it touches single bytes; 4 to 15 ns a use.
///
/// ```
/// use rimms_devmem::check::{Findings, Problem, Races};
/// use rimms_devmem::{Device, Flags, Init, Launch, NdRange};
///
/// let findings = Findings::default();
/// let device = Device::with_observer(Races::new(&findings));
/// let buffer = device.host().allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
/// let neighbours = |barrier: bool| {
///     device.run(&Launch::new("neighbours", NdRange::linear(8, 8)?), async move |item| {
///         let (global, me) = (item.global(), item.global_id(0));
///         global.store_value(global.element::<u32>(buffer, me), 1u32)?;
///         if barrier {
///             item.barrier().await;
///         }
///         global.load_value::<u32>(global.element::<u32>(buffer, (me + 1) % 8)).map(drop)
///     })?;
///     Ok::<_, Box<dyn std::error::Error>>(())
/// };
/// neighbours(true)?;
/// assert_eq!(findings.count(), 0);
/// neighbours(false)?;
/// assert!(matches!(findings.take()[0].problem, Problem::Race { same_group: true, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Races {
    findings: Findings,
    ignore_same_value: bool,
    /// Of any launch that has ended.
    most_bytes: AtomicUsize,
}

/// The cells of a memory.
pub struct Cells {
    words: Shadow<WORDS>,
    bytes: Shadow<BYTES>,
    splitting: Mutex<()>,
    layout: AddressLayout,
}

impl std::fmt::Debug for Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cells({} bytes)", self.bytes())
    }
}

/// What is kept with a launch.
#[derive(Debug)]
pub struct OfLaunch {
    global: Cells,
    /// Whether one thread alone runs it.
    single: bool,
    checked: bool,
}

/// A use and the words it is checked against.
struct Check<'a> {
    cells: &'a Cells,
    /// Those of words of the buffer, and its index.
    words: &'a Buffer<WORDS>,
    index: u64,
    single: bool,
    user: User,
    /// A store of what was there already.
    same_value: bool,
}

impl Cells {
    fn new(layout: AddressLayout) -> Self {
        let greatest = layout.greatest_index();
        Cells { words: Shadow::new(greatest), bytes: Shadow::new(greatest), splitting: Mutex::default(), layout }
    }

    /// Host bytes that the cells take.
    pub fn bytes(&self) -> usize {
        self.words.bytes() + self.bytes.bytes()
    }

    #[cold]
    fn begin(&self, memory: &Memory, index: u64, tag: u64, root: Address) {
        let base = Address::from_raw(self.layout.base_of(root.raw()));
        let size = memory.size_of(base).unwrap_or(0);
        let _one_at_a_time = self.splitting.lock();
        if self.of(index, tag, size).is_none() {
            let pages = usize::try_from(size.div_ceil(WORD * WORDS as u64)).unwrap_or(usize::MAX);
            self.bytes.begin(index, tag, pages, 0);
            self.words.begin(index, tag, pages, 0);
        }
    }

    /// The cells of words of a buffer that reaches this far.
    #[inline]
    fn of(&self, index: u64, tag: u64, end: u64) -> Option<&Buffer<WORDS>> {
        let far = |buffer: &&Buffer<WORDS>| buffer.is_of(tag) && end <= buffer.pages() as u64 * WORD * WORDS as u64;
        self.words.buffer(index).filter(far)
    }
}

impl OfLaunch {
    /// The cells that an address has, the tag of its buffer's, and whether they are those of one thread alone; none in
    /// private memory, where no two items meet.
    #[inline(always)]
    fn cells<'a>(
        &'a self,
        space: AddressSpace,
        local: Option<&'a Cells>,
        root: Address,
    ) -> Option<(&'a Cells, u64, bool)> {
        match (space, local) {
            (AddressSpace::Private, _) => None,
            // In local memory a buffer of the next group has the cells of the last one's: they are told apart by the group.
            (AddressSpace::Local, Some(local)) => Some((local, u64::MAX, true)),
            _ => Some((&self.global, self.global.layout.base_of(root.raw()), false)),
        }
    }

    /// Whether a use of whole words can be seen at a glance to be no race, and is then noted. (Otherwise some of the words
    /// may be noted, which does not matter: they are the item's own.)
    #[inline(never)]
    fn passes(
        &self,
        space: AddressSpace,
        local: Option<&Cells>,
        root: Address,
        size: u64,
        item: WorkItem<'_>,
        kind: Use,
    ) -> bool {
        let Some((cells, tag, alone)) = self.cells(space, local, root) else { return true };
        let offset = cells.layout.offset_of(root);
        let user = User::new(item, kind, alone);
        let Some(words) = cells.words.buffer(cells.layout.index_of(root)) else { return false };
        if !(offset | size).is_multiple_of(WORD)
            || size == 0
            || !words.is_of(tag)
            || user.epoch >= MOST_EPOCHS
            || !self.checked
        {
            return false;
        }
        let (mut word, end) = (offset / WORD, offset.saturating_add(size) / WORD);
        while word < end {
            let Some(page) = words.page(word as usize / WORDS) else { return false };
            let at = &page[word as usize % WORDS];
            let before = Cell(at.load(Acquire));
            match before.after_own(&user) {
                Some(after) if replace(at, alone || self.single, before, after).is_ok() => {}
                _ => return false,
            }
            word += 1;
        }
        true
    }
}

impl Check<'_> {
    /// Uses a range of bytes; the first byte that races, and with whom.
    fn range(&self, from: u64, size: u64) -> Option<(u64, Conflict)> {
        let end = from.saturating_add(size);
        let mut at = from;
        let mut found = None;
        while at < end {
            let word = at / WORD;
            let bytes = (WORD - at % WORD).min(end - at);
            let conflict = if bytes == WORD { self.word(word) } else { self.part(word, at % WORD, bytes) };
            if let Some(conflict) = conflict
                && found.is_none()
            {
                found = Some((at - from, conflict));
            }
            at += bytes;
        }
        found
    }

    fn word(&self, word: u64) -> Option<Conflict> {
        let at = &self.cells.words.touch(self.words, word as usize / WORDS)?[word as usize % WORDS];
        match self.use_cell(at, false) {
            Ok(conflict) => conflict,
            Err(Split) => self.part(word, 0, WORD),
        }
    }

    /// Uses some bytes of a word, each by itself.
    #[inline(never)]
    fn part(&self, word: u64, from: u64, count: u64) -> Option<Conflict> {
        let (page, at) = (word as usize / WORDS, word as usize % WORDS);
        let first = &self.cells.words.touch(self.words, page)?[at];
        let bytes = self.cells.bytes.buffer(self.index)?;
        let rest = &self.cells.bytes.touch(bytes, page)?[3 * at..3 * at + 3];
        if !Cell(first.load(Acquire)).is_split() {
            let _one_at_a_time = self.cells.splitting.lock();
            let mut before = first.load(Acquire);
            while !Cell(before).is_split() {
                rest.iter().for_each(|byte| byte.store(before, Relaxed));
                match first.compare_exchange(before, Cell(before).split().0, AcqRel, Acquire) {
                    Ok(_) => break,
                    Err(found) => before = found,
                }
            }
        }
        let mut found = None;
        for byte in from..from + count {
            let cell = if byte == 0 { first } else { &rest[byte as usize - 1] };
            let conflict = self.use_cell(cell, true).unwrap_or(None);
            found = found.or(conflict);
        }
        found
    }

    /// Uses a cell; `Err` if it is split and that was not expected.
    #[inline]
    fn use_cell(&self, at: &AtomicU64, split: bool) -> Result<Option<Conflict>, Split> {
        let mut before = Cell(at.load(Acquire));
        loop {
            if before.is_split() && !split {
                return Err(Split);
            }
            let (after, conflict) = before.after(&self.user);
            // Who writes what was there is no party to a race of writes.
            if self.same_value && conflict.is_some_and(|conflict| conflict.uses & !(Use::Write as u64) == 0) {
                return Ok(None);
            }
            match replace(at, self.single, before, after) {
                Ok(()) => return Ok(conflict),
                Err(found) => before = found,
            }
        }
    }
}

/// Changes a cell, which a `single` thread alone does or several; `Err` with what it is now, if another was faster.
#[inline(always)]
fn replace(at: &AtomicU64, single: bool, before: Cell, after: Cell) -> Result<(), Cell> {
    if after == before {
        return Ok(());
    }
    if single {
        at.store(after.0, Relaxed);
        return Ok(());
    }
    at.compare_exchange(before.0, after.0, AcqRel, Acquire).map(drop).map_err(Cell)
}

/// The bytes of a word have cells of their own.
struct Split;

impl Races {
    /// A checker that writes into this list.
    pub fn new(findings: &Findings) -> Self {
        Races { findings: findings.clone(), ignore_same_value: false, most_bytes: AtomicUsize::new(0) }
    }

    /// The same, but items that write what is there already do not race with those that wrote it.
    pub fn ignoring_same_value_writes(findings: &Findings) -> Self {
        Races { ignore_same_value: true, ..Self::new(findings) }
    }

    /// The most host bytes that the cells of global memory have taken, of all launches that have ended.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes.load(Relaxed)
    }

    #[inline(always)]
    fn check(&self, at: At<'_, Self>, event: &Event<'_>, kind: Use, same_value: bool) {
        let (Ok(root), Who::Item(item), Some(launch)) = (event.outcome, event.who, at.launch) else { return };
        let (space, local) = (event.memory.space(), at.memory.as_ref());
        if !launch.passes(space, local, root, event.size, item, kind) {
            self.check_slowly(at, *event, kind, same_value);
        }
    }

    #[inline(never)]
    fn check_slowly(&self, at: At<'_, Self>, event: Event<'_>, kind: Use, same_value: bool) {
        let (Ok(root), Who::Item(item), Some(launch)) = (event.outcome, event.who, at.launch) else { return };
        if event.size == 0 || !launch.checked || item.group().epoch() >= MOST_EPOCHS {
            return;
        }
        let Some((cells, tag, alone)) = launch.cells(event.memory.space(), at.memory.as_ref(), root) else { return };
        let (index, offset) = (cells.layout.index_of(root), cells.layout.offset_of(root));
        let end = offset.saturating_add(event.size);
        if cells.of(index, tag, end).is_none() {
            cells.begin(event.memory, index, tag, root);
        }
        // Freed in between.
        let Some(words) = cells.of(index, tag, end) else { return };
        let user = User::new(item, kind, alone);
        let (single, same_value) = (alone || launch.single, same_value && self.ignore_same_value);
        let check = Check { cells, words, index, single, user, same_value };
        if let Some((first, conflict)) = check.range(offset, event.size) {
            self.tell(&event, item, kind, first, conflict);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell(&self, event: &Event<'_>, item: WorkItem<'_>, kind: Use, first: u64, conflict: Conflict) {
        let atomics = Use::Atomic32 as u64 | Use::Atomic64 as u64;
        let kernel = item.group().kernel();
        let other = match conflict.who {
            Known::Item(number) => Other::Item(kernel.party(number)),
            Known::GroupOf(number) => Other::OfGroup(kernel.party(number).group),
            Known::Other => Other::OfOtherGroups,
        };
        let has = |kinds: u64| conflict.uses & kinds != 0;
        let is_atomic = kind as u64 & atomics != 0;
        let access = match kind {
            Use::Read => Access::Read,
            Use::Write => Access::Write,
            Use::Atomic32 | Use::Atomic64 => Access::Atomic,
        };
        let problem = if is_atomic && conflict.uses & !atomics == 0 {
            Problem::MixedAtomics { first, other }
        } else {
            let access = match () {
                () if has(Use::Write as u64) => Access::Write,
                () if has(atomics) => Access::Atomic,
                () => Access::Read,
            };
            Problem::Race { first, access, other, same_group: conflict.same_group }
        };
        let place = event_place(event, access);
        self.findings.add(Finding::of_use(problem, event.who, event.memory, Some(place)));
    }
}

impl Observer for Races {
    /// The cells of a local memory.
    type OfMemory = Option<Cells>;
    type OfLaunch = OfLaunch;

    const COMPARES_STORES: bool = true;

    fn attach(&self, memory: &Memory) -> Option<Cells> {
        (memory.space() == AddressSpace::Local).then(|| Cells::new(memory.layout()))
    }

    fn kernel_begin(&self, kernel: &Kernel) -> OfLaunch {
        let checked = kernel.range().items() <= MOST_ITEMS;
        let launch = OfLaunch { global: Cells::new(kernel.global_layout()), single: kernel.workers() == 1, checked };
        if !checked {
            self.tell_unchecked(kernel.party(0));
        }
        launch
    }

    fn kernel_end(&self, _: &Kernel, launch: OfLaunch) {
        self.most_bytes.fetch_max(launch.global.bytes(), Relaxed);
    }

    #[inline(always)]
    fn load(&self, at: At<'_, Self>, event: &Event<'_>) {
        self.check(at, event, Use::Read, false);
    }

    #[inline(always)]
    fn store(&self, at: At<'_, Self>, event: &Event<'_>, stored: Stored<'_>) {
        self.check(at, event, Use::Write, !stored.changes);
    }

    #[inline(always)]
    fn atomic(&self, at: At<'_, Self>, event: &Event<'_>, _: Atomic) {
        self.check(at, event, if event.size == 8 { Use::Atomic64 } else { Use::Atomic32 }, false);
    }

    fn barrier(&self, _: &OfLaunch, group: &Group<'_>) {
        if group.epoch() == MOST_EPOCHS {
            self.tell_unchecked(group.kernel().party(group.number()));
        }
    }
}

impl Races {
    fn tell_unchecked(&self, who: crate::kernel::Party) {
        self.findings.add(Finding { problem: Problem::Unchecked, who: Actor::Item(who), place: None, name: None });
    }
}
