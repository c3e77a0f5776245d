//! Observers made of others: none, one that may be there, a pair.

use super::{Allocated, At, Atomic, Event, Observer, Stored};
use crate::kernel::{Divergence, Group, Kernel, Who, WorkItem};
use crate::{Address, Fault, Mapping, Memory, Rows};

/// Watches nothing.
impl Observer for () {
    type OfMemory = ();
    type OfLaunch = ();

    #[inline]
    fn attach(&self, _: &Memory) {}

    #[inline]
    fn kernel_begin(&self, _: &Kernel) {}
}

/// Each hook by its name and parameters, for both ways of composition. In line, however many there are: a call would have
/// the event put into memory for it, at each use.
macro_rules! each_hook {
    ($with_at:ident, $with_launch:ident) => {
        $with_at!(allocated(buffer: &Allocated<'_>));
        $with_at!(deallocated(who: Who<'_>, memory: &Memory, address: Address));
        $with_at!(refused(who: Who<'_>, memory: &Memory, fault: &Fault));
        $with_at!(undefined(event: &Event<'_>, name: Option<&str>));
        $with_at!(load(event: &Event<'_>));
        $with_at!(store(event: &Event<'_>, stored: Stored<'_>));
        $with_at!(load_rows(event: &Event<'_>, rows: Rows));
        $with_at!(store_rows(event: &Event<'_>, rows: Rows, stored: Stored<'_>));
        $with_at!(atomic(event: &Event<'_>, atomic: Atomic));
        $with_at!(mapped(who: Who<'_>, memory: &Memory, mapping: &Mapping));
        $with_at!(unmapped(who: Who<'_>, memory: &Memory, mapping: &Mapping));
        $with_launch!(group_begin(group: &Group<'_>));
        $with_launch!(group_end(group: &Group<'_>));
        $with_launch!(item_begin(item: WorkItem<'_>));
        $with_launch!(item_end(item: WorkItem<'_>));
        $with_launch!(barrier(group: &Group<'_>));
        $with_launch!(diverged(group: &Group<'_>, divergence: &Divergence));
    };
}

/// A hook that gets what both keep with the memory.
macro_rules! both_at {
    ($name:ident($($argument:ident: $type:ty),*)) => {
        #[inline(always)]
        fn $name(&self, at: At<'_, Self>, $($argument: $type),*) {
            self.0.$name(at.first(), $($argument),*);
            self.1.$name(at.second(), $($argument),*);
        }
    };
}

/// A hook that gets what both keep with the launch.
macro_rules! both_launch {
    ($name:ident($($argument:ident: $type:ty),*)) => {
        #[inline(always)]
        fn $name(&self, launch: &Self::OfLaunch, $($argument: $type),*) {
            self.0.$name(&launch.0, $($argument),*);
            self.1.$name(&launch.1, $($argument),*);
        }
    };
}

macro_rules! maybe_at {
    ($name:ident($($argument:ident: $type:ty),*)) => {
        #[inline(always)]
        fn $name(&self, at: At<'_, Self>, $($argument: $type),*) {
            if let (Some(observer), Some(at)) = (self, at.inner()) {
                observer.$name(at, $($argument),*);
            }
        }
    };
}

macro_rules! maybe_launch {
    ($name:ident($($argument:ident: $type:ty),*)) => {
        #[inline(always)]
        fn $name(&self, launch: &Self::OfLaunch, $($argument: $type),*) {
            if let (Some(observer), Some(launch)) = (self, launch) {
                observer.$name(launch, $($argument),*);
            }
        }
    };
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    type OfMemory = (A::OfMemory, B::OfMemory);
    type OfLaunch = (A::OfLaunch, B::OfLaunch);

    const COMPARES_STORES: bool = A::COMPARES_STORES || B::COMPARES_STORES;

    #[inline(always)]
    fn compares_stores(&self) -> bool {
        self.0.compares_stores() || self.1.compares_stores()
    }

    fn attach(&self, memory: &Memory) -> Self::OfMemory {
        (self.0.attach(memory), self.1.attach(memory))
    }

    fn kernel_begin(&self, kernel: &Kernel) -> Self::OfLaunch {
        (self.0.kernel_begin(kernel), self.1.kernel_begin(kernel))
    }

    fn kernel_end(&self, kernel: &Kernel, launch: Self::OfLaunch) {
        self.0.kernel_end(kernel, launch.0);
        self.1.kernel_end(kernel, launch.1);
    }

    fn copied(&self, from: At<'_, Self>, load: &Event<'_>, to: At<'_, Self>, store: &Event<'_>) {
        self.0.copied(from.first(), load, to.first(), store);
        self.1.copied(from.second(), load, to.second(), store);
    }

    each_hook!(both_at, both_launch);
}

impl<'a, A: Observer, B: Observer> At<'a, (A, B)> {
    #[inline(always)]
    fn first(self) -> At<'a, A> {
        At { memory: &self.memory.0, launch: self.launch.map(|launch| &launch.0) }
    }

    #[inline(always)]
    fn second(self) -> At<'a, B> {
        At { memory: &self.memory.1, launch: self.launch.map(|launch| &launch.1) }
    }
}

/// Watches when it is there.
impl<O: Observer> Observer for Option<O> {
    type OfMemory = Option<O::OfMemory>;
    type OfLaunch = Option<O::OfLaunch>;

    const COMPARES_STORES: bool = O::COMPARES_STORES;

    #[inline(always)]
    fn compares_stores(&self) -> bool {
        self.as_ref().is_some_and(O::compares_stores)
    }

    fn attach(&self, memory: &Memory) -> Self::OfMemory {
        self.as_ref().map(|observer| observer.attach(memory))
    }

    fn kernel_begin(&self, kernel: &Kernel) -> Self::OfLaunch {
        self.as_ref().map(|observer| observer.kernel_begin(kernel))
    }

    fn kernel_end(&self, kernel: &Kernel, launch: Self::OfLaunch) {
        if let (Some(observer), Some(launch)) = (self, launch) {
            observer.kernel_end(kernel, launch);
        }
    }

    fn copied(&self, from: At<'_, Self>, load: &Event<'_>, to: At<'_, Self>, store: &Event<'_>) {
        if let (Some(observer), Some(from), Some(to)) = (self, from.inner(), to.inner()) {
            observer.copied(from, load, to, store);
        }
    }

    each_hook!(maybe_at, maybe_launch);
}

impl<'a, O: Observer> At<'a, Option<O>> {
    #[inline(always)]
    fn inner(self) -> Option<At<'a, O>> {
        Some(At { memory: self.memory.as_ref()?, launch: self.launch.and_then(Option::as_ref) })
    }
}
