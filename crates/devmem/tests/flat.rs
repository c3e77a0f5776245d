//! Long kernels do not grow the memory of the host. A test binary of its own: it looks at the whole process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

use std::num::NonZeroUsize;

use rimms_devmem::{AtomicOp, Device, Flags, Init, Launch, NdRange};

/// The most memory the process has had, KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_hundred_million_turns_of_a_loop() {
    let device = Device::new().workers(NonZeroUsize::MIN);
    let host = device.host();
    let buffer = host.allocate(1024 * 4, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let run = |turns: u64| {
        let launch = Launch::new("long", NdRange::linear(1, 1).unwrap()).uses(&[buffer]).local("l", 64);
        let outcome = device.run(&launch, async |item| {
            let global = item.global();
            for turn in 0..turns {
                let at = global.element::<u32>(buffer, turn % 1024);
                global.store_value(at, global.load_value::<u32>(at)?.wrapping_add(1))?;
                if turn % 1000 == 0 {
                    // What comes and goes in between is not kept either.
                    let private = item.private();
                    let mine = private.allocate(100, Flags::READ_WRITE, Init::Zeroed)?;
                    private.atomic(mine, AtomicOp::Inc, 0u32)?;
                    private.deallocate(mine)?;
                    item.barrier().await;
                }
            }
            Ok(())
        });
        assert!(outcome.unwrap().is_clean());
    };
    run(1_000_000);
    let before = peak();
    run(100_000_000);
    let grown = peak() - before;
    assert!(grown < 4096, "{grown} KiB more after a hundred times the turns");
    let sum: u64 = (0..1024).map(|i| u64::from(host.load_value::<u32>(host.element::<u32>(buffer, i)).unwrap())).sum();
    assert_eq!(sum, 101_000_000);
}
