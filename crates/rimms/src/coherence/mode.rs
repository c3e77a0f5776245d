//! The memory modes: how a leaf's state answers each event.

use super::{ResourceId, State};
use std::fmt;
use std::str::FromStr;

/// How the runtime keeps copies coherent. One program, four modes, so that the
/// gain of each idea can be measured.
///
/// | mode | a read elsewhere | after a write on `r` |
/// | --- | --- | --- |
/// | `reference` | copied from the host before every call | copied back to the host |
/// | `last-resource` | copied from the last resource at every read | `r` is the last resource (paper §3.2.2) |
/// | `valid-set` | copied once per resource, then shared | `r` alone is valid |
/// | `zero-copy` | no bytes move; caches are maintained | `r` alone is up to date |
///
/// ```
/// use rimms::MemoryMode;
/// let mode: MemoryMode = "last-resource".parse()?;
/// assert_eq!(mode, MemoryMode::LastResource);
/// assert_eq!(MemoryMode::default().to_string(), "valid-set");
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum MemoryMode {
    /// Copy in and out around every call: what a program without coherence does.
    Reference,
    /// The paper's text: one flag, set by outputs only, so an input owned elsewhere is copied at every read.
    LastResource,
    /// Ours: the set of resources that hold the newest bytes.
    #[default]
    ValidSet,
    /// Host and device share the memory: nothing is copied, only made visible.
    ZeroCopy,
}

/// What happens to a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A call or guard on the resource is about to read.
    Read(ResourceId),
    /// A call or guard is about to write every byte (Out): nothing is copied
    /// in, and until it has succeeded the leaf is uninitialised.
    BeginWrite(ResourceId),
    /// A call or guard that has read (`Read` came first) is about to write too
    /// (InOut): until it has succeeded, the resource may hold half a result.
    BeginUpdate(ResourceId),
    /// The write or update succeeded. Its failure needs no event: the state already tells the truth.
    EndWrite(ResourceId),
    /// The resource's copy is given up (its block is freed).
    Drop(ResourceId),
}

/// Bytes to move, or to make visible, before the event may go on (after it, for `EndWrite`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// Copy the leaf's bytes.
    Copy {
        /// Who holds them.
        from: ResourceId,
        /// Who needs them.
        to: ResourceId,
    },
    /// Same bytes, other caches: flush on `from`, invalidate on `to`.
    Maintain {
        /// Who wrote them.
        from: ResourceId,
        /// Who needs them.
        to: ResourceId,
    },
}

/// The answer to an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The state once the transfer is done. Where the transfer fails, the old state stays.
    pub state: State,
    /// What to move first.
    pub transfer: Option<Transfer>,
}

/// The event reads bytes that nobody has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uninitialised;

impl MemoryMode {
    /// All modes, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Reference, Self::LastResource, Self::ValidSet, Self::ZeroCopy];

    /// What `event` does to a leaf in `state`.
    ///
    /// # Errors
    /// [`Uninitialised`] where a read finds an empty valid set.
    #[inline]
    pub fn step(self, state: State, event: Event) -> Result<Step, Uninitialised> {
        match event {
            Event::Read(r) => self.read(state, r),
            Event::BeginWrite(_) => Ok(Step { state: State::UNINITIALISED, transfer: None }),
            Event::EndWrite(r) => Ok(match self {
                Self::Reference if !r.is_host() => Step {
                    state: State::owned(ResourceId::HOST),
                    transfer: Some(Transfer::Copy { from: r, to: ResourceId::HOST }),
                },
                _ => Step { state: State::owned(r), transfer: None },
            }),
            // Its half result is what all have.
            Event::BeginUpdate(_) if self == Self::ZeroCopy => Ok(Step { state: State::UNINITIALISED, transfer: None }),
            Event::BeginUpdate(r) | Event::Drop(r) => Ok(Step { state: state.lost_by(r), transfer: None }),
        }
    }

    #[inline]
    fn read(self, state: State, r: ResourceId) -> Result<Step, Uninitialised> {
        let Some(last) = state.last() else { return Err(Uninitialised) };
        let stay = |transfer| Ok(Step { state, transfer });
        match self {
            // The host always holds the newest bytes, and no call trusts an earlier copy.
            Self::Reference if r.is_host() => stay(None),
            Self::Reference => stay(Some(Transfer::Copy { from: ResourceId::HOST, to: r })),
            // Reading does not set the flag: the next read copies again.
            Self::LastResource if last == r => stay(None),
            Self::LastResource if r.is_host() => {
                Ok(Step { state: state.with_host_copy(), transfer: Some(Transfer::Copy { from: last, to: r }) })
            }
            Self::LastResource => stay(Some(Transfer::Copy { from: last, to: r })),
            _ if state.is_valid_on(r) => stay(None),
            Self::ValidSet => {
                Ok(Step { state: state.shared_with(r), transfer: Some(Transfer::Copy { from: last, to: r }) })
            }
            Self::ZeroCopy => {
                Ok(Step { state: state.shared_with(r), transfer: Some(Transfer::Maintain { from: last, to: r }) })
            }
        }
    }

    /// The name used on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::LastResource => "last-resource",
            Self::ValidSet => "valid-set",
            Self::ZeroCopy => "zero-copy",
        }
    }
}

impl fmt::Display for MemoryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MemoryMode {
    type Err = crate::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| crate::Error::Unknown {
            what: "memory mode",
            name: name.into(),
            known: Self::ALL.map(Self::name).join(", ").into(),
        })
    }
}
