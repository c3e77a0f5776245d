//! Changing the tree of fragments, which others may be looking at.
//!
//! Whoever divides or joins a view holds it exclusively, but its datum's blocks may
//! be looked at by others: to evict one is to walk the tree below its region. So a
//! tree is only changed under the datum's lock, and only where no claim stands.
#![allow(unsafe_code)]

use super::claims::Claim;
use super::node::{Node, Region};
use super::plan::uninitialised;
use super::residency::Residency;
use crate::coherence::{ResourceId, ResourceSet, State};
use crate::error::Result;
use crate::trace::Cause;

impl Node {
    /// Divides a leaf into these regions, once nobody looks at it.
    ///
    /// # Errors
    /// As [`divide`](Self::divide).
    ///
    /// # Safety
    /// As for [`divide`](Self::divide), those apart who walk the tree under the datum's lock or a claim.
    pub(crate) unsafe fn split(&self, regions: impl ExactSizeIterator<Item = Region>) -> Result<()> {
        let mut locked = self.datum().lock();
        locked.wait_for(self.everywhere(), self.region())?;
        // SAFETY: as the caller vouches; the others hold neither lock nor claim now.
        unsafe { self.divide(regions) }
    }

    /// Makes the leaves below agree, and the view one leaf again.
    ///
    /// # Errors
    /// Where some leaves were written and others were not; where a copy fails. The view stays divided then.
    ///
    /// # Safety
    /// As for [`split`](Self::split).
    pub(crate) unsafe fn join(&self) -> Result<()> {
        let mut locked = self.datum().lock();
        if let (None, Some(state)) = (locked.if_any(), self.uniform_state()) {
            // No device ever used it.
            // SAFETY: as the caller vouches; claims there are none.
            unsafe { self.undivide(state) };
            return Ok(());
        }
        drop(locked);
        self.forget_lost();
        // Leaves may not agree on them.
        self.wait_for_others(ResourceId::HOST);
        let claim = self.agree_on_copies()?;
        locked = self.datum().lock();
        let state = match self.agreement(locked.get())? {
            Agreement::On(state) => state,
            // The claim has kept it as it was made.
            Agreement::OnHost => State::owned(ResourceId::HOST),
        };
        let removed = locked.get().remove_parts(&self.datum().resources, None, self.region());
        // SAFETY: as the caller vouches; the others hold neither lock nor, beside ours, a claim now.
        unsafe { self.undivide(state) };
        drop(locked);
        drop((claim, removed));
        Ok(())
    }

    /// Claims the view on all resources, and copies what the host does not have where there is nothing else to agree on.
    fn agree_on_copies(&self) -> Result<Claim<'_>> {
        let datum = self.datum();
        let mut locked = datum.lock();
        locked.wait_for(self.everywhere(), self.region())?;
        let agreement = self.agreement(locked.get())?;
        let here = datum.host_span(self.region());
        let plan = match agreement {
            Agreement::On(_) => None,
            Agreement::OnHost => Some(self.plan_read(locked.get(), ResourceId::HOST, &here)?),
        };
        let claim = locked.claim(self.everywhere(), *self.region());
        drop(locked);
        match plan {
            None => Ok(claim),
            Some(plan) => plan.carry_out(datum, Cause::Join).map(|()| claim),
        }
    }

    fn everywhere(&self) -> ResourceSet {
        self.datum().resources.ids().fold(ResourceSet::EMPTY, ResourceSet::with)
    }

    /// What the leaves agree on. A resource counts only where it holds the view in one piece.
    fn agreement(&self, residency: &mut Residency) -> Result<Agreement> {
        let zero_copy = self.datum().is_shared();
        let whole = |r: &ResourceId| r.is_host() || zero_copy || residency.locate(*r, self.region()).is_some();
        let mut common: Option<(ResourceSet, Option<ResourceId>)> = None;
        let mut missing = None;
        let _ = self.each_leaf(&mut |leaf| -> Result<(), ()> {
            let state = leaf.state();
            if state.valid().is_empty() {
                missing = missing.or(Some(leaf));
                return Ok(());
            }
            let (valid, last) = (state.valid(), state.last());
            common = Some(match common {
                None => (valid, last),
                Some((all, same)) => (valid.and(all), if same == last { last } else { None }),
            });
            Ok(())
        });
        match (missing, common) {
            (Some(_), None) => return Ok(Agreement::On(State::UNINITIALISED)),
            (Some(leaf), Some(_)) => {
                return Err(uninitialised(leaf, residency));
            }
            (None, _) => {}
        }
        let (valid, last) = common.unwrap_or_default();
        let valid = valid.iter().filter(whole).fold(ResourceSet::EMPTY, ResourceSet::with);
        let last = last.filter(|l| valid.contains(*l)).or(valid.first());
        let agreed = last.and_then(|last| State::new(valid, last));
        Ok(agreed.map_or(Agreement::OnHost, Agreement::On))
    }
}

enum Agreement {
    On(State),
    /// Nobody has all of it in one piece: the host, once it has copied what it does not have.
    OnHost,
}
