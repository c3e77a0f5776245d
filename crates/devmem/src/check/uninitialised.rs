//! Reads of bytes that nobody has written.
//!
//! Owns [`Uninitialised`]: one bit a byte, set when the byte is defined, in pages that are made when first written to. A
//! buffer is defined from the start, and has no bits, if it was allocated with zeros or given bytes; with poison
//! it is not. Bits belong to the buffer that the bytes belong to, so sub-buffers share them.

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;

use super::finding::{Finding, Findings, Problem};
use super::memcheck::event_place;
use super::ranges::Ranges;
use crate::kernel::{Kernel, Who};
use crate::observe::{Allocated, At, Atomic, Contents, Data, Event, Observer, Stored};
use crate::raw::shadow::{Buffer, Shadow};
use crate::{Access, Address, AddressLayout, AddressSpace, Init, Memory};

/// Bits in a word, and words in a page of bits: those of 4 KiB.
const BITS: u64 = 64;
const WORDS: usize = 64;
const PAGE: u64 = BITS * WORDS as u64;

/// Finds reads by kernels of bytes that nobody has written since their buffer was allocated with [`Init::Poison`]. Copies carry
/// with them what is defined.
///
/// Bytes that were reported count as written from then on.
///
/// ```
/// use rimms_devmem::check::{Findings, Problem, Uninitialised};
/// use rimms_devmem::{Device, Flags, Init, Launch, NdRange};
///
/// let findings = Findings::default();
/// let device = Device::with_observer(Uninitialised::new(&findings));
/// let host = device.host();
/// let buffer = host.allocate(16, Flags::READ_WRITE, Init::Poison(0))?;
/// host.store(buffer, &[1; 6])?;
/// device.run(&Launch::new("read", NdRange::linear(1, 1)?), async |item| {
///     item.global().load_value::<u32>(buffer)?;
///     item.global().load_value::<u64>(buffer).map(drop)
/// })?;
/// let found = findings.take();
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].problem, Problem::Uninitialised { first: 6, bytes: 2 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Uninitialised {
    findings: Findings,
    host_reads: bool,
}

/// Which bytes of a memory are defined.
pub struct Defined {
    shadow: Shadow<WORDS>,
    /// What bytes that were made undefined were said to be.
    names: Ranges,
    /// Held by who gives bits to a buffer that had none.
    beginning: Mutex<()>,
    layout: AddressLayout,
    /// Whether threads may change bits of one word at the same time.
    shared: bool,
}

impl std::fmt::Debug for Defined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Defined({} bytes of bits)", self.shadow.bytes())
    }
}

impl Defined {
    /// Bytes of the host that the bits take.
    pub fn bytes(&self) -> usize {
        self.shadow.bytes()
    }

    fn index(&self, root: Address) -> u64 {
        self.layout.index_of(root)
    }

    fn base(&self, root: Address) -> u64 {
        self.layout.base_of(root.raw())
    }

    /// The bits of the buffer, if it has any.
    #[inline]
    fn bits_of(&self, root: Address) -> Option<&Buffer<WORDS>> {
        self.shadow.buffer(self.index(root)).filter(|buffer| buffer.is_of(self.base(root)))
    }

    /// Whether all bytes are defined.
    #[inline(never)]
    fn is_defined(&self, root: Address, size: u64) -> bool {
        let Some(buffer) = self.bits_of(root) else { return true };
        match self.part(root, size) {
            Some((page, word, mask)) => {
                let bits = buffer.page(page).map_or(buffer.fill(), |page| page[word].load(Relaxed));
                bits & mask == mask
            }
            None => self.undefined(buffer, root, size).is_none(),
        }
    }

    /// Defines the bytes of a buffer that has bits.
    #[inline(never)]
    fn define(&self, root: Address, size: u64) {
        let Some(buffer) = self.bits_of(root) else { return };
        // Most are written more than once.
        if let Some((page, word, mask)) = self.part(root, size)
            && let Some(page) = buffer.page(page)
            && page[word].load(Relaxed) & mask == mask
        {
            return;
        }
        self.set(buffer, root, size, true);
    }

    /// The range as bits of one word, if it is not empty and is that: page, word in it, which bits.
    #[inline(always)]
    fn part(&self, root: Address, size: u64) -> Option<(usize, usize, u64)> {
        let at = self.layout.offset_of(root);
        let bit = at % BITS;
        let fits = size > 0 && size <= BITS - bit;
        fits.then(|| ((at / PAGE) as usize, (at % PAGE / BITS) as usize, (u64::MAX >> (BITS - size)) << bit))
    }

    fn has_bits(&self, root: Address) -> bool {
        self.bits_of(root).is_some()
    }

    /// Defines the bytes or makes them undefined.
    #[inline(never)]
    fn set(&self, buffer: &Buffer<WORDS>, root: Address, size: u64, defined: bool) {
        self.for_each_part(root, size, |page, word, mask| {
            // What is as the page would be made need not make it.
            let there = match buffer.page(page) {
                None if buffer.fill() == if defined { u64::MAX } else { 0 } => return,
                None => self.shadow.touch(buffer, page),
                there => there,
            };
            let Some(bits) = there.map(|page| &page[word]) else { return };
            let before = bits.load(Relaxed);
            let after = if defined { before | mask } else { before & !mask };
            match (before == after, self.shared, defined) {
                (true, ..) => {}
                (_, false, _) => bits.store(after, Relaxed),
                (_, _, true) => drop(bits.fetch_or(mask, Relaxed)),
                (_, _, false) => drop(bits.fetch_and(!mask, Relaxed)),
            }
        });
    }

    /// Of the bytes, which is the first that is undefined, and how many are.
    fn undefined(&self, buffer: &Buffer<WORDS>, root: Address, size: u64) -> Option<(u64, u64)> {
        let (mut done, mut first, mut count) = (0, 0, 0);
        self.for_each_part(root, size, |page, word, mask| {
            let bits = match buffer.page(page) {
                Some(page) => page[word].load(Relaxed),
                None => buffer.fill(),
            };
            let missing = mask & !bits;
            if missing != 0 {
                if count == 0 {
                    first = done + u64::from(missing.trailing_zeros() - mask.trailing_zeros());
                }
                count += u64::from(missing.count_ones());
            }
            done += u64::from(mask.count_ones());
        });
        (count > 0).then_some((first, count))
    }

    /// The range as bits of words: page, word in it, and which bits.
    #[inline]
    fn for_each_part(&self, root: Address, size: u64, mut act: impl FnMut(usize, usize, u64)) {
        let mut at = self.layout.offset_of(root);
        let end = at.saturating_add(size);
        while at < end {
            let bit = at % BITS;
            let bits = (BITS - bit).min(end - at);
            let mask = (u64::MAX >> (BITS - bits)) << bit;
            act((at / PAGE) as usize, (at % PAGE / BITS) as usize, mask);
            at += bits;
        }
    }

    /// Which of the bytes are defined, 64 a word, as they would lie from bit 0 on.
    fn read(&self, root: Address, size: u64) -> Vec<u64> {
        let mut bits = vec![0; size.div_ceil(BITS) as usize];
        let buffer = self.bits_of(root);
        let mut done = 0u64;
        self.for_each_part(root, size, |page, word, mask| {
            let found = match buffer.map(|buffer| (buffer, buffer.page(page))) {
                None => u64::MAX,
                Some((_, Some(page))) => page[word].load(Relaxed),
                Some((buffer, None)) => buffer.fill(),
            };
            let part = (found & mask) >> mask.trailing_zeros();
            let (at, shift) = ((done / BITS) as usize, done % BITS);
            bits[at] |= part << shift;
            if shift > 0 && at + 1 < bits.len() {
                bits[at + 1] |= part >> (BITS - shift);
            }
            done += u64::from(mask.count_ones());
        });
        bits
    }

    fn write(&self, root: Address, size: u64, bits: &[u64]) {
        let Some(buffer) = self.bits_of(root) else { return };
        for (at, word) in (0..).step_by(BITS as usize).zip(bits) {
            let mut done = 0;
            let count = BITS.min(size - at);
            while done < count {
                let rest = word >> done;
                let defined = rest & 1 == 1;
                let run = if defined { rest.trailing_ones() } else { rest.trailing_zeros() };
                let run = u64::from(run).min(count - done);
                self.set(buffer, Address::from_raw(root.raw() + at + done), run, defined);
                done += run;
            }
        }
    }

    fn begin(&self, base: Address, size: u64, defined: bool) {
        let index = self.index(base);
        if defined && self.shadow.buffer(index).is_none() {
            return;
        }
        let pages = usize::try_from(size.div_ceil(PAGE)).unwrap_or(usize::MAX);
        self.shadow.begin(index, base.raw(), pages, if defined { u64::MAX } else { 0 });
    }
}

impl Uninitialised {
    /// A checker that writes into this list.
    pub fn new(findings: &Findings) -> Self {
        Uninitialised { findings: findings.clone(), host_reads: false }
    }

    /// The same, and reads by the host are reported as well (but not its copies).
    pub fn with_host_reads(findings: &Findings) -> Self {
        Uninitialised { findings: findings.clone(), host_reads: true }
    }

    #[inline(always)]
    fn check(&self, at: At<'_, Self>, event: &Event<'_>, access: Access) {
        let Ok(root) = event.outcome else { return };
        let is_of_interest = self.host_reads || matches!(event.who, Who::Item(_));
        if is_of_interest && !at.memory.is_defined(root, event.size) {
            self.tell(at.memory, *event, root, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell(&self, defined: &Defined, event: Event<'_>, root: Address, access: Access) {
        let Some(buffer) = defined.bits_of(root) else { return };
        if let Some((first, bytes)) = defined.undefined(buffer, root, event.size) {
            let (problem, place) = (Problem::Uninitialised { first, bytes }, event_place(&event, access));
            let finding = Finding::of_use(problem, event.who, event.memory, Some(place));
            let said = || defined.names.name_of(Address::from_raw(root.raw().saturating_add(first)));
            self.findings.add(Finding { name: finding.name.clone().or_else(said), ..finding });
            defined.set(buffer, root, event.size, true);
        }
    }

    #[inline(always)]
    fn define(at: At<'_, Self>, event: &Event<'_>) {
        if let Ok(root) = event.outcome
            && event.size > 0
        {
            at.memory.define(root, event.size);
        }
    }
}

impl Observer for Uninitialised {
    type OfMemory = Defined;
    type OfLaunch = ();

    fn attach(&self, memory: &Memory) -> Defined {
        let layout = memory.layout();
        let shared = matches!(memory.space(), AddressSpace::Global | AddressSpace::Constant);
        let shadow = Shadow::new(layout.greatest_index());
        Defined { shadow, names: Ranges::default(), beginning: Mutex::default(), layout, shared }
    }

    fn kernel_begin(&self, _: &Kernel) {}

    fn allocated(&self, at: At<'_, Self>, buffer: &Allocated<'_>) {
        match buffer.contents {
            Contents::Own(Init::Poison(_)) => at.memory.begin(buffer.address, buffer.size, false),
            Contents::Own(_) | Contents::Host(_) => at.memory.begin(buffer.address, buffer.size, true),
            Contents::Part(_) => {}
        }
    }

    fn deallocated(&self, at: At<'_, Self>, _: Who<'_>, memory: &Memory, address: Address) {
        at.memory.names.set(address, memory.layout().greatest_buffer(), None);
    }

    fn undefined(&self, at: At<'_, Self>, event: &Event<'_>, name: Option<&str>) {
        let Ok(root) = event.outcome else { return };
        if event.size == 0 {
            return;
        }
        at.memory.names.set(root, event.size, name);
        if !at.memory.has_bits(root) {
            let _one_at_a_time = at.memory.beginning.lock();
            if !at.memory.has_bits(root) {
                let base = Address::from_raw(at.memory.base(root));
                let pages = event.memory.size_of(base).unwrap_or(0).div_ceil(PAGE);
                let pages = usize::try_from(pages).unwrap_or(usize::MAX);
                at.memory.shadow.begin(at.memory.index(root), base.raw(), pages, u64::MAX);
            }
        }
        if let Some(buffer) = at.memory.bits_of(root) {
            at.memory.set(buffer, root, event.size, false);
        }
    }

    #[inline(always)]
    fn load(&self, at: At<'_, Self>, event: &Event<'_>) {
        self.check(at, event, Access::Read);
    }

    #[inline(always)]
    fn store(&self, at: At<'_, Self>, event: &Event<'_>, stored: Stored<'_>) {
        if !matches!(stored.data, Data::Copy) {
            Self::define(at, event);
        }
    }

    fn copied(&self, from: At<'_, Self>, load: &Event<'_>, to: At<'_, Self>, store: &Event<'_>) {
        let (Ok(source), Ok(target)) = (load.outcome, store.outcome) else { return };
        if load.size == 0 || !from.memory.has_bits(source) && !to.memory.has_bits(target) {
            return;
        }
        let bits = from.memory.read(source, load.size);
        let all = (0..).zip(&bits).all(|(i, word)| word.count_ones() as u64 == BITS.min(load.size - i * BITS));
        match (all, to.memory.has_bits(target)) {
            (true, _) => Self::define(to, store),
            (false, true) => to.memory.write(target, store.size, &bits),
            (false, false) => {
                self.undefined(to, store, None);
                to.memory.write(target, store.size, &bits);
            }
        }
    }

    #[inline(always)]
    fn atomic(&self, at: At<'_, Self>, event: &Event<'_>, atomic: Atomic) {
        self.check(at, event, Access::Atomic);
        if atomic.stored {
            Self::define(at, event);
        }
    }
}
