//! All of a memory, for people to read.

use std::fmt;

use super::Memory;
use crate::{Access, Address};

/// Bytes in a line.
const LINE: usize = 16;

/// Prints every live buffer of a memory: a line that says what it is, then its bytes, 16 a line. Bytes that cannot be
/// loaded are left out. Lines of which all bytes are those of the line before are printed once, as by `hexdump`.
///
/// ```
/// use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
///
/// let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// memory.allocate_named("greeting", 18, Flags::READ_ONLY, Init::Bytes(b"hello from device "))?;
/// memory.allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
/// assert_eq!(
///     memory.dump().to_string(),
///     "global 0x0001_0000_0000_0000: 18 bytes \"greeting\"\n\
///      \x20 00000000  68 65 6c 6c 6f 20 66 72 6f 6d 20 64 65 76 69 63\n\
///      \x20 00000010  65 20\n\
///      global 0x0002_0000_0000_0000: 64 bytes\n\
///      \x20 00000000  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n\
///      \x20 *\n"
/// );
/// # Ok::<(), Fault>(())
/// ```
pub struct Dump<'a>(&'a Memory);

impl Memory {
    /// All live buffers, to be printed.
    pub fn dump(&self) -> Dump<'_> {
        Dump(self)
    }

    /// The starts of all live buffers, by index. Buffers that come or go during the call may be missing.
    pub fn buffers(&self) -> impl Iterator<Item = Address> + '_ {
        (1..self.table.end()).filter_map(|index| {
            let pinned = self.table.pin::<0>(self.layout.base(index, 0))?;
            pinned.block().is_live().then(|| Address::from_raw(pinned.block().base()))
        })
    }
}

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dump(memory) = self;
        for buffer in memory.buffers() {
            let Ok(size) = memory.size_of(buffer) else { continue };
            write!(f, "{} {buffer}: {size} bytes", memory.space)?;
            if let Some(name) = memory.name_of(buffer) {
                write!(f, " {name:?}")?;
            }
            writeln!(f)?;
            if memory.check(buffer, size, Access::Read).is_ok() {
                write_bytes(f, memory, buffer, size)?;
            }
        }
        Ok(())
    }
}

fn write_bytes(f: &mut fmt::Formatter<'_>, memory: &Memory, buffer: Address, size: u64) -> fmt::Result {
    let mut before = None;
    let mut repeated = false;
    for offset in (0..size).step_by(LINE) {
        let mut line = [0; LINE];
        let line = &mut line[..(size - offset).min(LINE as u64) as usize];
        let loaded = memory.layout.add(buffer, offset).map(|address| memory.load(address, line));
        // Freed while we print.
        let Some(Ok(())) = loaded else { return Ok(()) };
        if before.as_deref() == Some(&*line) {
            if !repeated {
                writeln!(f, "  *")?;
            }
            repeated = true;
            continue;
        }
        repeated = false;
        write!(f, "  {offset:08x} ")?;
        line.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
        writeln!(f)?;
        before = Some(line.to_vec());
    }
    Ok(())
}
