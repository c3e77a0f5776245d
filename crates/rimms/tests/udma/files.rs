//! The driver's files: both spellings of the class, what sysfs says, what it is asked for, and what may be wrong with it.

use rimms::device::udma::{Caching, Udma, UdmaRoot};
use rimms::device::{Device, HostSource, HostTarget, Rows, Span};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A root with one buffer of 64 KiB in this class.
fn root(class: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let class = folder.path().join("sys/class").join(class).join("udmabuf3");
    fs::create_dir_all(&class).unwrap();
    fs::create_dir_all(folder.path().join("dev")).unwrap();
    fs::write(folder.path().join("dev/udmabuf3"), vec![0; 1 << 16]).unwrap();
    for (name, text) in [("phys_addr", "0x38400000\n"), ("size", "65536\n"), ("sync_mode", "1\n")] {
        fs::write(class.join(name), text).unwrap();
    }
    for name in ["sync_for_cpu", "sync_for_device"] {
        fs::write(class.join(name), "").unwrap();
    }
    (folder, class)
}

fn open(folder: &Path, caching: Caching) -> Result<Udma, String> {
    let buffer = UdmaRoot::at(folder).open("udmabuf3", caching).map_err(|e| e.to_string())?;
    Udma::new(buffer, Default::default()).map_err(|e| e.to_string())
}

/// A tile of two rows is copied in and out.
fn use_it(device: &Udma) {
    let block = device.allocate(512).unwrap();
    assert!(block >= 0x3840_0000, "addresses are physical ones");
    let bytes: Vec<u8> = (0..128).collect();
    let place = Span { address: block + 64, rows: Rows { rows: 2, row_bytes: 64, pitch: 256 } };
    let source = HostSource::rows_of(&bytes, Rows { rows: 2, row_bytes: 64, pitch: 64 }).unwrap();
    device.upload(&source, &place).unwrap();
    let mut found = vec![0; 128];
    let mut target = HostTarget::rows_of(&mut found, Rows { rows: 2, row_bytes: 64, pitch: 64 }).unwrap();
    device.download(&place, &mut target).unwrap();
    assert_eq!(found, bytes);
    device.free(block).unwrap();
}

#[test]
fn each_row_is_asked_for_by_one_word() {
    for class in ["u-dma-buf", "udmabuf"] {
        let (folder, class) = root(class);
        assert_eq!(UdmaRoot::at(folder.path()).buffers(), ["udmabuf3"]);
        use_it(&open(folder.path(), Caching::Cached).unwrap());
        let asked = |name| fs::read_to_string(class.join(name)).unwrap();
        // Offset in the upper half, then 64 bytes, the direction (1 to the device, 2 from it) two bits up, and one.
        assert_eq!(asked("sync_for_device"), "0x0000004000000045\n0x0000014000000045\n");
        assert_eq!(asked("sync_for_cpu"), "0x0000004000000049\n0x0000014000000049\n");
    }
}

#[test]
fn who_is_coherent_or_uncached_asks_for_nothing() {
    let (folder, class) = root("u-dma-buf");
    use_it(&open(folder.path(), Caching::Uncached).unwrap());
    fs::write(class.join("dma_coherent"), "1\n").unwrap();
    use_it(&open(folder.path(), Caching::Cached).unwrap());
    for name in ["sync_for_cpu", "sync_for_device"] {
        assert_eq!(fs::read_to_string(class.join(name)).unwrap(), "");
    }
}

#[test]
fn what_is_wrong_is_said_with_the_file_it_is_in() {
    let said = |change: &dyn Fn(&Path, &Path), caching| {
        let (folder, class) = root("u-dma-buf");
        change(folder.path(), &class);
        open(folder.path(), caching).unwrap_err()
    };
    let cached = |change: &dyn Fn(&Path, &Path)| said(change, Caching::Cached);
    let write = |name: &'static str, text: &'static str| {
        move |_: &Path, class: &Path| fs::write(class.join(name), text).unwrap()
    };
    assert!(cached(&write("phys_addr", "somewhere")).contains("phys_addr: a number is wanted, it says \"somewhere\""));
    assert!(cached(&write("phys_addr", "0x38400010")).contains("inside a cache line"));
    assert!(cached(&write("phys_addr", "0xffffffffffffff00")).contains("beyond all addresses"));
    assert!(cached(&write("size", "0")).contains("size: a size above 0 is wanted"));
    assert!(cached(&write("size", "-4")).contains("a number is wanted"));
    assert!(said(&write("sync_mode", "0"), Caching::Uncached).contains("keeps the caches on"));
    assert!(cached(&|_, class| fs::remove_file(class.join("size")).unwrap()).contains("cannot read"));
    assert!(
        cached(&|_, class| fs::remove_file(class.join("sync_for_cpu")).unwrap()).contains("cannot open for writing")
    );
    assert!(cached(&|folder, _| fs::remove_file(folder.join("dev/udmabuf3")).unwrap()).contains("cannot open"));
    let (folder, _) = root("u-dma-buf");
    for name in ["udmabuf4", "../../etc", "", "/", ".."] {
        let error = UdmaRoot::at(folder.path()).open(name, Caching::Cached).unwrap_err().to_string();
        assert!(error.contains("there are: udmabuf3"), "{name}: {error}");
    }
    assert!(UdmaRoot::at(folder.path().join("dev")).buffers().is_empty());
}
