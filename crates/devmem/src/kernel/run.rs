//! How the items of a kernel are run.
//!
//! Owns [`Worker`], one thread's part of a launch. A worker takes groups by their numbers until there are none. Items
//! of a group are begun in order; one that ends at its first turn (every one, where the kernel has no barrier) leaves its place
//! to the next, so a group without barriers needs one future's room. The others wait in their places and are polled
//! in turn, from barrier to barrier. Futures of all groups of a worker live in one block.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::Future;
use std::panic::{Location, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;

use super::item::Item;
use super::outcome::{Arrival, Divergence, Failure, Outcome};
use super::who::{Group, Kernel, Party, Who, WorkItem};
use super::{Device, Launch};
use crate::observe::Observer;
use crate::raw::futures::{Futures, filled};
use crate::raw::near::Near;
use crate::{Address, AddressSpace, Fault, Flags, Init, Memory, View};

/// What bytes of local memory hold before an item stores them: not zeros, so that kernels that rely on those fail.
const UNDEFINED: u8 = 0xcd;

/// Times a worker should come for groups, where there are enough, so that all end at about the same time.
const TURNS: u64 = 16;

/// A memory and what the observer keeps with it.
pub(super) struct Watched<O: Observer> {
    pub(super) memory: Memory,
    pub(super) kept: O::OfMemory,
}

/// The private memories of a group's items, by number: each made when it is first asked for.
pub(super) type Privates<O> = Box<[OnceCell<Box<Watched<O>>>]>;

/// What the items of the group that a thread is at can reach.
pub(super) struct Worker<'a, O: Observer> {
    pub(super) device: &'a Device<O>,
    pub(super) launch: &'a O::OfLaunch,
    pub(super) group: Group<'a>,
    pub(super) local: &'a Watched<O>,
    /// Buffers that the launch uses.
    pub(super) near_global: Near<'a>,
    /// The buffers that the launch asked for in the group's local memory.
    pub(super) near_local: Near<'a>,
    locals: RefCell<Vec<Address>>,
    privates: Privates<O>,
    privates_used: Cell<bool>,
}

/// Runs all items of the launch.
pub(super) fn run<O, K>(device: &Device<O>, launch: &Launch, kernel: &K) -> Result<Outcome, Fault>
where
    O: Observer,
    K: AsyncFn(Item<'_, O>) -> Result<(), Fault> + Sync,
{
    let groups = launch.range.groups();
    let workers = device.workers.min(usize::try_from(groups).unwrap_or(usize::MAX)).max(1);
    let number = device.launches.fetch_add(1, Relaxed);
    let (name, range, global_layout) = (launch.name.clone(), launch.range, device.global.layout());
    let identity = Kernel { name, range, launch: number, workers, global_layout };
    let kept = device.observer.kernel_begin(&identity);
    let next = AtomicU64::new(0);
    let batch = (groups / (workers as u64 * TURNS)).max(1);
    let work = |worker| {
        let items = range.group_items();
        let privates = filled(items as usize, OnceCell::new).ok_or_else(|| no_room(items))?;
        let local = Watched::local(device);
        let worker = Worker::new(device, &kept, Group::new(&identity, worker), &local, privates);
        launch.uses.iter().for_each(|buffer| worker.near_global.keep(*buffer));
        worker.run_groups(launch, &next, batch, |local| kernel(Item::new(&worker, local)))
    };
    let outcome = if workers == 1 {
        work(0)
    } else {
        thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
            let results = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            // All are joined before the first failure is returned.
            let results: Vec<_> = results.collect();
            results.into_iter().try_fold(Outcome::default(), |mut sum, outcome| {
                sum.add(outcome?);
                Ok(sum)
            })
        })
    };
    device.observer.kernel_end(&identity, kept);
    outcome.map(Outcome::sorted)
}

/// The host has no memory for what the items of a group need each.
fn no_room(items: u32) -> Fault {
    Fault::HostOutOfMemory { space: AddressSpace::Private, wanted: u64::from(items) }
}

impl<O: Observer> Watched<O> {
    fn new(device: &Device<O>, memory: Memory) -> Self {
        Watched { kept: device.observer.attach(&memory), memory }
    }

    /// Local memory for a worker's groups, one after the other.
    pub(super) fn local(device: &Device<O>) -> Self {
        Self::new(device, Memory::new(AddressSpace::Local, device.local))
    }
}

impl<'a, O: Observer> Worker<'a, O> {
    pub(super) fn new(
        device: &'a Device<O>,
        launch: &'a O::OfLaunch,
        group: Group<'a>,
        local: &'a Watched<O>,
        privates: Privates<O>,
    ) -> Self {
        let (near_global, near_local) = (device.global.near(), local.memory.near());
        let (locals, privates_used) = (RefCell::default(), Cell::new(false));
        Worker { device, launch, group, local, near_global, near_local, locals, privates, privates_used }
    }

    pub(super) fn local_buffer(&self, number: usize) -> Address {
        self.locals.borrow().get(number).copied().unwrap_or(Address::NULL)
    }

    /// The private memory of an item of the group; made when the first item of that number asks.
    pub(super) fn private_of(&self, local: u32) -> &Watched<O> {
        self.privates_used.set(true);
        let make = || Box::new(Watched::new(self.device, Memory::new(AddressSpace::Private, self.device.private)));
        match self.privates.get(local as usize) {
            Some(private) => private.get_or_init(make),
            // An item's number is below the group's size; were it not, local memory is no worse than another's.
            None => self.local,
        }
    }

    fn run_groups<F: Future<Output = Result<(), Fault>>>(
        &self,
        launch: &Launch,
        next: &AtomicU64,
        batch: u64,
        begin: impl Fn(u32) -> F,
    ) -> Result<Outcome, Fault> {
        let mut outcome = Outcome::default();
        let items = launch.range.group_items();
        let mut futures = Futures::new(items as usize).ok_or_else(|| no_room(items))?;
        let mut places = Places::default();
        let groups = launch.range.groups();
        loop {
            let first = next.fetch_add(batch, Relaxed);
            if first >= groups {
                return Ok(outcome);
            }
            for group in first..first.saturating_add(batch).min(groups) {
                self.group.begin(group);
                self.begin_locals(launch)?;
                self.device.observer.group_begin(self.launch, &self.group);
                self.run_group(items, &mut futures, &mut places, &mut outcome, &begin);
                self.device.observer.group_end(self.launch, &self.group);
                self.end_memories();
            }
        }
    }

    fn begin_locals(&self, launch: &Launch) -> Result<(), Fault> {
        let mut locals = self.locals.borrow_mut();
        for (name, size) in &launch.locals {
            let view = self.group_view(self.local);
            let local = view.allocate_named(name, *size, Flags::READ_WRITE, Init::Poison(UNDEFINED))?;
            self.near_local.keep(local);
            locals.push(local);
        }
        Ok(())
    }

    /// Frees what the items of the group allocated in local and private memory.
    pub(super) fn end_memories(&self) {
        self.near_local.clear();
        self.locals.borrow_mut().clear();
        self.free_all(self.local);
        if self.privates_used.take() {
            self.privates.iter().filter_map(OnceCell::get).for_each(|private| self.free_all(private));
        }
    }

    fn free_all(&self, watched: &Watched<O>) {
        // Parts first: each turn frees what nothing holds.
        while watched.memory.live_buffers() > 0 {
            let buffers: Vec<_> = watched.memory.buffers().collect();
            let view = self.group_view(watched);
            if buffers.into_iter().filter(|buffer| view.deallocate(*buffer).is_ok()).count() == 0 {
                return;
            }
        }
    }

    /// A memory of the group, on nobody's behalf.
    fn group_view<'v>(&'v self, watched: &'v Watched<O>) -> View<'v, O> {
        View {
            memory: &watched.memory,
            kept: &watched.kept,
            launch: Some(self.launch),
            observer: &self.device.observer,
            who: Who::Host,
            is_constant: false,
            near: None,
        }
    }

    #[inline(never)]
    fn run_group<F: Future<Output = Result<(), Fault>>>(
        &self,
        items: u32,
        futures: &mut Futures<F>,
        places: &mut Places,
        outcome: &mut Outcome,
        begin: &impl Fn(u32) -> F,
    ) {
        let (observer, launch) = (&self.device.observer, self.launch);
        let context = &mut Context::from_waker(Waker::noop());
        places.clear();
        places.round = Round::default();
        for local in 0..items {
            let item = WorkItem::new(&self.group, local);
            observer.item_begin(launch, item);
            match futures.begin(places.waiting.len(), begin(local), context) {
                Poll::Ready(result) => self.end(item, result, places, outcome),
                Poll::Pending => places.wait(local, self.group.site.take()),
            }
        }
        let taken = places.waiting.len();
        let mut left = taken;
        while left > 0 {
            if !self.all_arrived(places, outcome) {
                futures.clear(taken);
                outcome.items += left as u64;
                return;
            }
            self.group.pass_barrier();
            outcome.barriers += 1;
            observer.barrier(launch, &self.group);
            places.round = Round::default();
            for place in 0..taken {
                let waiting = &mut places.waiting[place];
                let item = WorkItem::new(&self.group, waiting.local);
                if waiting.ended {
                    continue;
                }
                match futures.poll(place, context) {
                    Poll::Pending => {
                        waiting.site = self.group.site.take();
                        places.round.arrive(waiting.site);
                    }
                    Poll::Ready(result) => {
                        waiting.ended = true;
                        left -= 1;
                        self.end(item, result, places, outcome);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn end(&self, item: WorkItem<'_>, fault: Option<Box<Fault>>, places: &mut Places, outcome: &mut Outcome) {
        outcome.items += 1;
        match fault {
            None => places.ended_well += 1,
            Some(fault) => outcome.fail(|| Failure::Fault { item: item.party(), fault: *fault }),
        }
        self.device.observer.item_end(self.launch, item);
    }

    /// Whether all items that wait do so at one barrier, and none has ended well without it. What is wrong otherwise is
    /// told.
    #[inline(always)]
    fn all_arrived(&self, places: &Places, outcome: &mut Outcome) -> bool {
        if places.round.together && places.ended_well == 0 {
            return true;
        }
        self.tell_divergence(places, outcome);
        false
    }

    #[cold]
    fn tell_divergence(&self, places: &Places, outcome: &mut Outcome) {
        let party = |local| WorkItem::new(&self.group, local).party();
        let waiting = || places.waiting.iter().filter(|waiting| !waiting.ended);
        for lost in waiting().filter(|waiting| waiting.site.is_none()) {
            outcome.fail(|| Failure::NoBarrier { item: party(lost.local) });
        }
        let mut divergence = Divergence { waiting: Vec::new(), ended: self.ended(places) };
        for waiting in waiting() {
            let Some(site) = waiting.site else { continue };
            let arrivals = &mut divergence.waiting;
            match arrivals.iter_mut().find(|arrival| arrival.site == site) {
                Some(arrival) => arrival.items.push(party(waiting.local)),
                None => arrivals.push(Arrival { site, items: vec![party(waiting.local)] }),
            }
        }
        let sites = divergence.waiting.len();
        if sites > 1 || sites == 1 && !divergence.ended.is_empty() {
            self.device.observer.diverged(self.launch, &self.group, &divergence);
            outcome.fail(|| Failure::Divergence(divergence));
        }
        for item in waiting() {
            self.device.observer.item_end(self.launch, WorkItem::new(&self.group, item.local));
        }
    }

    /// The items that have ended (with a fault as well: whoever reads of a divergence wants to know).
    fn ended(&self, places: &Places) -> Vec<Party> {
        let waits = |local| places.waiting.iter().any(|waiting| waiting.local == local && !waiting.ended);
        let items = self.group.kernel().range().group_items();
        (0..items).filter(|local| !waits(*local)).map(|local| WorkItem::new(&self.group, local).party()).collect()
    }
}

/// The items of a group that came to a barrier, by the place of their future.
#[derive(Default)]
struct Places {
    waiting: Vec<Waiting>,
    /// Items that ended without a fault.
    ended_well: u64,
    round: Round,
}

/// Whether all that arrived since the last barrier came to one barrier.
struct Round {
    first: Option<&'static Location<'static>>,
    together: bool,
}

impl Default for Round {
    fn default() -> Self {
        Round { first: None, together: true }
    }
}

impl Round {
    #[inline(always)]
    fn arrive(&mut self, site: Option<&'static Location<'static>>) {
        let Some(site) = site else {
            self.together = false;
            return;
        };
        match self.first {
            None => self.first = Some(site),
            Some(first) => self.together &= std::ptr::eq(site, first) || site == first,
        }
    }
}

struct Waiting {
    local: u32,
    ended: bool,
    /// The barrier it waits at.
    site: Option<&'static Location<'static>>,
}

impl Places {
    fn clear(&mut self) {
        self.waiting.clear();
        self.ended_well = 0;
    }

    #[inline(always)]
    fn wait(&mut self, local: u32, site: Option<&'static Location<'static>>) {
        self.round.arrive(site);
        self.waiting.push(Waiting { local, ended: false, site });
    }
}
