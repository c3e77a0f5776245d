//! Compiled programs on disk.

use crate::programs::runtime;
use crate::suite::devices;
use fakecuda::Control;
use rimms::device::cuda::Memory;
use std::path::PathBuf;

/// Every program kept on disk is damaged: it is compiled again, and only then.
#[test]
#[ignore = "run by main"]
fn what_is_damaged_is_compiled_anew() {
    let control = Control::load().unwrap();
    let folder = PathBuf::from(std::env::var_os("XDG_CACHE_HOME").unwrap()).join("rimms/cuda");
    let _ = std::fs::remove_dir_all(&folder);
    let compiled = || {
        let before = control.calls("nvrtcCompileProgram");
        let rt = runtime(devices(Memory::Driver)).on("cuda0").unwrap().blocking();
        let mut x = rt.alloc::<f32>(64).unwrap();
        rt.fill(3.0, &mut x).unwrap();
        assert_eq!(x.read().unwrap()[..], [3.0; 64]);
        control.calls("nvrtcCompileProgram") - before
    };
    assert_eq!([compiled(), compiled()], [1, 0]);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    let kept = std::fs::read(&files[0]).unwrap();
    type Damage = fn(&mut Vec<u8>);
    let damages: [Damage; 3] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.iter_mut().rev().take(9).for_each(|b| *b ^= 0x55),
        Vec::clear,
    ];
    for damage in damages {
        let mut bytes = kept.clone();
        damage(&mut bytes);
        std::fs::write(&files[0], &bytes).unwrap();
        assert_eq!([compiled(), compiled()], [1, 0]);
        assert_eq!(std::fs::read(&files[0]).unwrap(), kept);
    }
}

/// PTX that is newer than the driver is of no use to it: it is given the device's own code, which is kept.
#[test]
#[ignore = "run by main"]
fn a_driver_that_does_not_know_the_ptx_is_given_code() {
    let control = Control::load().unwrap();
    let _ = std::fs::remove_dir_all(PathBuf::from(std::env::var_os("XDG_CACHE_HOME").unwrap()));
    let compiled = || {
        let before = control.calls("nvrtcCompileProgram");
        let rt = runtime(devices(Memory::Driver)).on("cuda0").unwrap().blocking();
        let mut x = rt.alloc::<f32>(64).unwrap();
        rt.fill(3.0, &mut x).unwrap();
        assert_eq!(x.read().unwrap()[..], [3.0; 64]);
        control.calls("nvrtcCompileProgram") - before
    };
    assert_eq!([compiled(), compiled()], [2, 0]);
}
