//! dma-heaps: files in a folder, a buffer a file, and what may be wrong with them.

use rimms::device::udma::{DmaHeap, HeapDriver, Udma, UdmaError, UdmaRoot};
use rimms::{Complex32, MemoryMode, Runtime};
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use tempfile::TempDir;

/// Buffers are files in a folder; there is one more only as long as something is left.
#[derive(Debug)]
struct Files(TempDir, usize);

impl HeapDriver for Files {
    fn allocate(&self, _: BorrowedFd<'_>, bytes: usize) -> io::Result<OwnedFd> {
        if bytes > self.1 {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let path = self.0.path().join("buffer");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        file.set_len(bytes as u64)?;
        Ok(file.into())
    }
}

fn root() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("dev/dma_heap")).unwrap();
    std::fs::write(folder.path().join("dev/dma_heap/reserved"), "").unwrap();
    folder
}

fn heap(root: &TempDir, bytes: usize) -> DmaHeap {
    let heap = UdmaRoot::at(root.path()).open_heap("reserved").unwrap();
    heap.with_driver(Files(tempfile::tempdir().unwrap(), bytes))
}

#[test]
fn data_lie_in_a_buffer_of_a_heap() {
    let root = root();
    assert_eq!(UdmaRoot::at(root.path()).heaps(), ["reserved"]);
    let buffer = heap(&root, 1 << 20).allocate(1 << 16, |_| Ok(0x7000_0000)).unwrap();
    assert_eq!((buffer.name(), buffer.bytes(), buffer.physical()), ("reserved", 1 << 16, 0x7000_0000));
    assert!(!buffer.is_maintained(), "by whole buffers would throw away what the CPU has written");
    let device = Udma::new(buffer, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(1).device(device).memory_mode(MemoryMode::ZeroCopy).build().unwrap();
    let (mut x, mut y) = (rt.alloc::<Complex32>(64).unwrap(), rt.alloc::<Complex32>(64).unwrap());
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    rt.fft(&x, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[0].re, 64.0);
    assert!(rt.alloc::<u8>(1 << 16).is_err(), "the buffer holds what it holds");
}

#[test]
fn what_is_wrong_with_a_heap_is_said() {
    let folder = root();
    let root = UdmaRoot::at(folder.path());
    let said = |result: Result<_, UdmaError>| result.map(|_: DmaHeap| ()).unwrap_err().to_string();
    for name in ["system", "../reserved", "", "."] {
        assert!(said(root.open_heap(name)).contains("there are: reserved"), "{name}");
    }
    assert!(said(UdmaRoot::at(folder.path().join("dev")).open_heap("x")).contains("CONFIG_DMABUF_HEAPS"));
    let heap = heap(&folder, 4096);
    let refused = |bytes, physical: fn(BorrowedFd<'_>) -> io::Result<u64>| {
        heap.allocate(bytes, physical).unwrap_err().to_string()
    };
    assert!(refused(8192, |_| Ok(0)).contains("cannot allocate from"));
    assert!(refused(0, |_| Ok(0)).contains("0 bytes"));
    assert!(
        refused(4096, |_| Err(io::Error::other("it is attached to nothing"))).contains("it is attached to nothing")
    );
    // A file that is no heap, asked the kernel's way.
    let plain = root.open_heap("reserved").unwrap();
    assert!(plain.allocate(4096, |_| Ok(0)).unwrap_err().to_string().contains("cannot allocate from"));
}
