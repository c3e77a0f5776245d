//! Events: what a program has of a call that it does not wait for at once.

use super::Runtime;
use crate::error::{Error, Result};
use crate::order::Ticket;
use smallvec::SmallVec;

/// A call that was accepted. A plain value: it may be copied, kept, or thrown away; the call is done in any case.
///
/// ```
/// # use rimms::{Complex32, Runtime};
/// let rt = Runtime::builder().cpus(2).build()?;
/// let (mut a, mut b) = (rt.alloc::<Complex32>(256)?, rt.alloc::<Complex32>(256)?);
/// let first = rt.fill(Complex32::ONE, &mut a)?; // accepted, not waited for
/// let second = rt.fft(&a, &mut b)?; // comes after the first by itself
/// rt.wait(second)?;
/// assert!(rt.is_done(first) && rt.is_done(second));
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    ticket: Ticket,
    /// Which runtime it belongs to.
    runtime: u64,
}

impl Event {
    /// Of a call that was done when it returned.
    pub(super) const DONE: Self = Self { ticket: Ticket::DONE, runtime: 0 };

    pub(super) const fn new(ticket: Ticket, runtime: u64) -> Self {
        Self { ticket, runtime }
    }

    /// As two numbers, for those who keep it where a Rust value cannot be kept: [`Runtime::event`] is the way back.
    ///
    /// ```
    /// # use rimms::Runtime;
    /// # let rt = Runtime::builder().cpus(1).build()?;
    /// let done = rt.fill(1.0_f32, &mut rt.alloc(64)?)?;
    /// assert_eq!(rt.event(done.to_bits()), Some(done));
    /// assert_eq!(rt.event([1, 2]), None); // no event
    /// # Ok::<(), rimms::Error>(())
    /// ```
    pub fn to_bits(self) -> [u64; 2] {
        [self.runtime, self.ticket.to_bits()]
    }
}

impl Runtime {
    /// The event's ticket, if the event is this runtime's.
    fn ticket(&self, event: Event, operand: usize) -> Result<Ticket> {
        if event.ticket == Ticket::DONE || event.runtime == self.core.id {
            return Ok(event.ticket);
        }
        Err(Error::OtherRuntime { call: "wait".into(), operand })
    }

    /// The event with these [bits](Event::to_bits), if this runtime has accepted such a call.
    #[must_use]
    pub fn event(&self, bits: [u64; 2]) -> Option<Event> {
        let [runtime, ticket] = bits;
        let event = Event::new(Ticket::from_bits(ticket)?, runtime);
        let (queue, place) = (event.ticket.queue(), event.ticket.place());
        let was_issued = || place > 0 && self.core.pes.get(queue).is_some_and(|pe| place <= pe.queue.issued());
        (event == Event::DONE || runtime == self.core.id && was_issued()).then_some(event)
    }

    /// Returns when the call is done, and says what became of it. May be asked again.
    ///
    /// # Errors
    /// Why the call failed; [`Error::OtherRuntime`]; [`Error::WouldDeadlock`] inside a kernel.
    pub fn wait(&self, event: Event) -> Result<()> {
        self.wait_all(&[event])
    }

    /// Returns when all are done.
    ///
    /// # Errors
    /// Why the first of them that failed did, once all are done; and as [`wait`](Self::wait).
    pub fn wait_all(&self, events: &[Event]) -> Result<()> {
        let order = &self.core.resources.order;
        let tickets = self.tickets(events)?;
        for ticket in &tickets {
            order.wait(*ticket)?;
        }
        tickets.iter().try_for_each(|t| order.outcome(*t))?;
        tickets.iter().filter(|t| **t != Ticket::DONE).try_for_each(|t| self.over(t.queue()))
    }

    /// Returns when what the device of this queue's PE was given is over there too.
    fn over(&self, queue: usize) -> Result<()> {
        let resources = &self.core.resources;
        match resources.of_queue(queue) {
            Some(r) if !r.is_host() && !resources.is_lost(r) => {
                let device = resources.device(r);
                device.finish().map_err(|e| resources.failure(e, "a call that was waited for", &device.info().name))
            }
            _ => Ok(()),
        }
    }

    /// Returns the index of one that is done, once there is one. What became of it says [`wait`](Self::wait).
    ///
    /// ```
    /// # use rimms::Runtime;
    /// # let rt = Runtime::builder().cpus(2).build()?;
    /// let (mut a, mut b) = (rt.alloc::<f32>(64)?, rt.alloc::<f32>(64)?);
    /// let mut events = vec![rt.fill(1.0, &mut a)?, rt.fill(2.0, &mut b)?];
    /// while !events.is_empty() {
    ///     let first = rt.wait_any(&events)?;
    ///     rt.wait(events.swap_remove(first))?;
    /// }
    /// # Ok::<(), rimms::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Config`] where there are none; [`Error::OtherRuntime`]; [`Error::WouldDeadlock`] inside a kernel.
    pub fn wait_any(&self, events: &[Event]) -> Result<usize> {
        let order = &self.core.resources.order;
        let tickets = self.tickets(events)?;
        if crate::order::in_kernel() && !tickets.iter().any(|t| order.lines.is_done(*t)) {
            return Err(Error::WouldDeadlock);
        }
        order.lines.wait_any(&tickets).ok_or_else(|| Error::Config("wait_any was given no event to wait for".into()))
    }

    /// Is the call done? Does not wait. An event of another runtime never is.
    pub fn is_done(&self, event: Event) -> bool {
        self.ticket(event, 0).is_ok_and(|t| self.core.resources.order.lines.is_done(t))
    }

    /// Returns when every call that was accepted before, by any handle, is done.
    ///
    /// # Errors
    /// [`Error::WouldDeadlock`] inside a kernel. What became of the calls is told by their events and data.
    pub fn finish(&self) -> Result<()> {
        for (queue, pe) in self.core.pes.iter().enumerate() {
            let issued = pe.queue.issued();
            if issued > 0 {
                self.core.resources.order.wait(Ticket::new(queue, issued))?;
            }
        }
        for queue in 0..self.core.pes.len() {
            // Should a device fail now, the data that it was to write say so.
            let _ = self.over(queue);
        }
        Ok(())
    }

    fn tickets(&self, events: &[Event]) -> Result<SmallVec<[Ticket; 8]>> {
        events.iter().enumerate().map(|(i, e)| self.ticket(*e, i)).collect()
    }
}
