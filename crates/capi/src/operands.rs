//! What a call wants: handles, each with its role and the type of its elements.
//!
//! Operands of the built-in calls are tuples of [`In`], [`Out`] and [`InOut`], so that what becomes of them is known when the
//! call is compiled; those of the program's own ops are a list, of bytes.
#![allow(unsafe_code)] // what is admitted is lent

use crate::admit::Admitted;
use crate::error::Result;
use crate::place::Place;
use crate::slab::hete_Data;
use bytemuck::Pod;
use rimms::op::{Call, Role};
use rimms::{Arg, Event, Runtime};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A handle, and what is done with its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) handle: usize,
    pub(crate) role: Role,
}

/// Operands of a call, and places for as many.
pub(crate) trait Operands: Sized {
    /// What holds a place for each.
    type Places: AsRef<[NonNull<Place>]> + AsMut<[NonNull<Place>]>;

    /// Operand `i` of those that there are.
    fn get(&self, i: usize) -> Operand;

    /// As many as there are operands, of nothing yet.
    fn places(&self) -> Self::Places;

    fn list(&self) -> SmallVec<[Operand; 4]> {
        (0..self.places().as_ref().len()).map(|i| self.get(i)).collect()
    }

    /// Makes a call on them.
    ///
    /// # Safety
    /// Nobody else uses what is admitted meanwhile.
    unsafe fn call(admitted: &Admitted<Self>, runtime: &Runtime, call: &Call) -> Result<Event>;
}

/// One operand: its elements, role and handle.
pub(crate) trait Used {
    type Element: Pod;
    const ROLE: Role;
    fn handle(&self) -> usize;
}

macro_rules! used {
    ($($name:ident)*) => {$(
        pub(crate) struct $name<T>(usize, PhantomData<T>);

        impl<T> $name<T> {
            #[inline(always)]
            pub(crate) fn of(handle: *const hete_Data) -> Self {
                Self(handle.addr(), PhantomData)
            }
        }

        impl<T: Pod> Used for $name<T> {
            type Element = T;
            const ROLE: Role = Role::$name;

            #[inline(always)]
            fn handle(&self) -> usize {
                self.0
            }
        }
    )*};
}
used!(In Out InOut);

macro_rules! operands {
    ($n:literal: $($i:tt $name:ident)*) => {
        impl<$($name: Used),*> Operands for ($($name,)*) {
            type Places = [NonNull<Place>; $n];

            #[inline(always)]
            fn get(&self, i: usize) -> Operand {
                [$(Operand { handle: self.$i.handle(), role: $name::ROLE }),*][i]
            }

            #[inline(always)]
            fn places(&self) -> Self::Places {
                [NonNull::dangling(); $n]
            }

            #[inline(always)]
            #[allow(unused_variables)] // of no operands
            unsafe fn call(admitted: &Admitted<Self>, runtime: &Runtime, call: &Call) -> Result<Event> {
                // SAFETY: each once, for a call that ends before `admitted` does; else as the caller vouches.
                Ok(runtime.call(call, &mut [$(unsafe { admitted.lend::<$name::Element>($i) }?),*])?)
            }
        }
    };
}
operands!(1: 0 A);
operands!(2: 0 A 1 B);
operands!(3: 0 A 1 B 2 C);

/// None there are.
const NONE: Operand = Operand { handle: 0, role: Role::In };

impl Operands for () {
    type Places = [NonNull<Place>; 0];

    #[inline(always)]
    fn get(&self, _: usize) -> Operand {
        NONE
    }

    #[inline(always)]
    fn places(&self) -> Self::Places {
        []
    }

    unsafe fn call(_: &Admitted<Self>, runtime: &Runtime, call: &Call) -> Result<Event> {
        Ok(runtime.call(call, &mut [])?)
    }
}

/// Any number of handles, and as many roles, of bytes.
pub(crate) struct Bytes<'a> {
    pub(crate) handles: &'a [*mut hete_Data],
    pub(crate) roles: &'a [Role],
}

impl Operands for Bytes<'_> {
    type Places = SmallVec<[NonNull<Place>; 8]>;

    fn get(&self, i: usize) -> Operand {
        let both = self.handles.get(i).zip(self.roles.get(i));
        both.map_or(NONE, |(handle, role)| Operand { handle: handle.addr(), role: *role })
    }

    fn places(&self) -> Self::Places {
        SmallVec::from_elem(NonNull::dangling(), self.handles.len().min(self.roles.len()))
    }

    unsafe fn call(admitted: &Admitted<Self>, runtime: &Runtime, call: &Call) -> Result<Event> {
        let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
        for i in 0..admitted.len() {
            // SAFETY: as above.
            args.push(unsafe { admitted.lend::<u8>(i) }?);
        }
        Ok(runtime.call(call, &mut args)?)
    }
}
