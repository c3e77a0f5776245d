//! Memory: allocation, transfers, exhaustion, threads.

use crate::device::{Device, DeviceErrorKind, HostSource, HostTarget, Rows, Span, Usage};

/// Bytes that differ from place to place and from seed to seed.
fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add((i >> 8) as u8) ^ seed).collect()
}

fn upload(device: &dyn Device, bytes: &[u8], to: &Span) {
    // A span of several rows takes its bytes row by row from a source of equal shape without gaps.
    let row = to.rows.row_bytes;
    for i in 0..to.rows.rows {
        let part = HostSource::from_slice(&bytes[i * row..(i + 1) * row]);
        device.upload(&part, &Span::run(to.row(i), row)).unwrap();
    }
}

fn download(device: &dyn Device, from: &Span) -> Vec<u8> {
    let mut bytes = vec![0; from.rows.bytes()];
    let row = from.rows.row_bytes;
    for i in 0..from.rows.rows {
        let mut part = HostTarget::from_slice(&mut bytes[i * row..(i + 1) * row]);
        device.download(&Span::run(from.row(i), row), &mut part).unwrap();
    }
    bytes
}

/// The usage apart from the marking system's own bytes, which may grow with use.
fn occupied(device: &dyn Device) -> Usage {
    Usage { metadata: 0, ..device.usage() }
}

/// Blocks do not overlap, keep what is stored, are counted, and are given back once.
pub fn memory(device: &dyn Device) {
    let name = &device.info().name;
    let before = occupied(device);
    let sizes = [1_usize, 2, 3, 7, 8, 63, 64, 65, 100, 1000, 4096, 10_000];
    let blocks: Vec<(u64, usize)> = sizes.iter().map(|&s| (device.allocate(s as u64).unwrap(), s)).collect();
    assert_eq!(occupied(device).blocks, before.blocks + sizes.len() as u64, "{name}: live blocks are counted");
    assert!(
        occupied(device).used >= before.used + sizes.iter().sum::<usize>() as u64,
        "{name}: used bytes are counted"
    );
    for (i, (a, len)) in blocks.iter().enumerate() {
        for (b, other) in &blocks[i + 1..] {
            let apart = a + *len as u64 <= *b || b + *other as u64 <= *a;
            assert!(apart, "{name}: blocks {a:#x} of {len} and {b:#x} of {other} overlap");
        }
    }
    for (i, &(address, len)) in blocks.iter().enumerate() {
        upload(device, &pattern(len, i as u8), &Span::run(address, len));
    }
    for (i, &(address, len)) in blocks.iter().enumerate() {
        assert_eq!(download(device, &Span::run(address, len)), pattern(len, i as u8), "{name}: block {i} of {len}");
    }
    for &(address, _) in &blocks {
        device.free(address).unwrap();
    }
    assert_eq!(occupied(device), before, "{name}: everything was given back");
    assert!(device.free(blocks[0].0).is_err(), "{name}: a double free is refused");
    assert!(device.free(u64::MAX - 7).is_err(), "{name}: a foreign address is refused");
    assert_eq!(occupied(device), before, "{name}: a refused free changes nothing");
}

/// Plain, offset and strided transfers move exactly the bytes they name.
pub fn transfers(device: &dyn Device) {
    let name = device.info().name.clone();
    let len = 4096;
    let (a, b) = (device.allocate(len as u64).unwrap(), device.allocate(len as u64).unwrap());
    let (whole_a, whole_b) = (Span::run(a, len), Span::run(b, len));
    let cases = [
        Rows::run(1),
        Rows::run(5),
        Rows::run(len / 2),
        Rows { rows: 3, row_bytes: 16, pitch: 16 },
        Rows { rows: 7, row_bytes: 12, pitch: 100 },
        Rows { rows: 5, row_bytes: 1, pitch: 3 },
    ];
    for rows in cases {
        for offset in [0, 1, 4, 100] {
            let inside = |i: usize| {
                let at = i.checked_sub(offset);
                at.is_some_and(|at| {
                    at < rows.extent() && at % rows.pitch < rows.row_bytes && at / rows.pitch < rows.rows
                })
            };
            let span = |base: u64| Span { address: base + offset as u64, rows };
            let host = pattern(len, 7);
            let strided = strided_source(&host, rows);

            upload(device, &pattern(len, 1), &whole_a);
            device.upload(&strided, &span(a)).unwrap();
            let found = download(device, &whole_a);
            for (i, &byte) in found.iter().enumerate() {
                let want = if inside(i) { host[i - offset] } else { pattern(len, 1)[i] };
                assert_eq!(byte, want, "{name}: upload of {rows:?} at {offset}, byte {i}");
            }

            upload(device, &pattern(len, 2), &whole_b);
            device.copy_within(&span(a), &span(b)).unwrap();
            let copied = download(device, &whole_b);
            for (i, &byte) in copied.iter().enumerate() {
                let want = if inside(i) { found[i] } else { pattern(len, 2)[i] };
                assert_eq!(byte, want, "{name}: copy of {rows:?} at {offset}, byte {i}");
            }

            let mut back = pattern(len, 3);
            device.download(&span(b), &mut strided_target(&mut back, rows)).unwrap();
            for (i, &byte) in back.iter().enumerate() {
                let want = if inside(i + offset) { copied[i + offset] } else { pattern(len, 3)[i] };
                assert_eq!(byte, want, "{name}: download of {rows:?} at {offset}, byte {i}");
            }
        }
    }
    between_layouts(device, a, b);
    mismatched(device, a, b);
    device.free(a).unwrap();
    device.free(b).unwrap();
}

/// Rows may lie at another distance where they go to: those of a tile are without gaps once it has a block of its own.
fn between_layouts(device: &dyn Device, a: u64, b: u64) {
    let name = &device.info().name;
    for (from, to) in [(16, 48), (48, 16), (20, 28)] {
        let [from, to] = [from, to].map(|pitch| Rows { rows: 6, row_bytes: 12, pitch });
        upload(device, &pattern(512, 8), &Span::run(a, 512));
        upload(device, &pattern(512, 9), &Span::run(b, 512));
        device.copy_within(&Span { address: a + 4, rows: from }, &Span { address: b + 8, rows: to }).unwrap();
        let mut wanted = pattern(512, 9);
        for i in 0..6 {
            let (source, at) = (4 + i * from.pitch, 8 + i * to.pitch);
            wanted[at..at + 12].copy_from_slice(&pattern(512, 8)[source..source + 12]);
        }
        assert_eq!(download(device, &Span::run(b, 512)), wanted, "{name}: copy of {from:?} to {to:?}");
    }
}

/// A transfer whose ends differ in shape is refused, and moves nothing.
fn mismatched(device: &dyn Device, a: u64, b: u64) {
    let name = &device.info().name;
    let span = |base, rows, row_bytes| Span { address: base, rows: Rows { rows, row_bytes, pitch: 32 } };
    let (whole_a, whole_b) = (Span::run(a, 256), Span::run(b, 256));
    upload(device, &pattern(256, 4), &whole_a);
    upload(device, &pattern(256, 5), &whole_b);
    let mut host = pattern(256, 6);
    for (rows, row_bytes) in [(1, 8), (3, 16), (2, 17), (0, 16), (2, 0)] {
        let (two, other) = (Rows { rows: 2, row_bytes: 16, pitch: 32 }, Rows { rows, row_bytes, pitch: 32 });
        assert!(device.upload(&strided_source(&host, two), &span(a, rows, row_bytes)).is_err(), "{name}: {other:?}");
        assert!(device.upload(&strided_source(&host, other), &span(a, 2, 16)).is_err(), "{name}: {other:?}");
        assert!(device.copy_within(&span(a, 2, 16), &span(b, rows, row_bytes)).is_err(), "{name}: {other:?}");
        assert!(device.copy_within(&span(a, rows, row_bytes), &span(b, 2, 16)).is_err(), "{name}: {other:?}");
        assert!(device.download(&span(a, 2, 16), &mut strided_target(&mut host, other)).is_err(), "{name}: {other:?}");
        assert!(device.download(&span(a, rows, row_bytes), &mut strided_target(&mut host, two)).is_err(), "{name}");
    }
    assert_eq!(download(device, &whole_a), pattern(256, 4), "{name}: a refused transfer wrote");
    assert_eq!(download(device, &whole_b), pattern(256, 5), "{name}: a refused transfer wrote");
    assert_eq!(host, pattern(256, 6), "{name}: a refused transfer wrote");
}

fn strided_source(bytes: &[u8], rows: Rows) -> HostSource<'_> {
    HostSource::rows_of(bytes, rows).unwrap()
}

fn strided_target(bytes: &mut [u8], rows: Rows) -> HostTarget<'_> {
    HostTarget::rows_of(bytes, rows).unwrap()
}

/// A full memory says so, and how; once empty again it is as good as new. For devices with a known capacity.
pub fn exhaustion(device: &dyn Device) {
    let Some(capacity) = device.info().capacity else { return };
    let name = device.info().name.clone();
    let before = occupied(device);
    let never = device.allocate(capacity + 1).unwrap_err();
    assert!(matches!(never.kind, DeviceErrorKind::NeverFits { .. }), "{name}: {never}");
    let never = device.allocate(u64::MAX).unwrap_err();
    assert!(matches!(never.kind, DeviceErrorKind::NeverFits { .. }), "{name}: {never}");
    let piece = capacity / 8;
    let mut blocks = Vec::new();
    let full = loop {
        match device.allocate(piece) {
            Ok(block) => blocks.push(block),
            Err(e) => break e,
        }
        assert!(blocks.len() <= 8, "{name}: more was handed out than there is");
    };
    assert!(blocks.len() >= 7, "{name}: only {} of 8 eighths could be used", blocks.len());
    assert!(
        matches!(full.kind, DeviceErrorKind::Full { .. } | DeviceErrorKind::Fragmented { .. }),
        "{name}: a full memory is called {full}"
    );
    // Every other one back: enough in all, but not in one piece.
    for i in (0..blocks.len()).rev().step_by(2) {
        device.free(blocks.swap_remove(i)).unwrap();
    }
    match device.allocate(piece * 3) {
        // A device that maps memory piece by piece does not mind.
        Ok(block) => device.free(block).unwrap(),
        Err(apart) => assert!(matches!(apart.kind, DeviceErrorKind::Fragmented { .. }), "{name}: {apart}"),
    }
    for block in blocks {
        device.free(block).unwrap();
    }
    assert_eq!(occupied(device), before, "{name}: full recovery");
    let all = device.allocate(capacity).unwrap();
    device.free(all).unwrap();
}

/// Several threads allocate, transfer and free at once, each its own blocks.
pub fn threads(device: &dyn Device) {
    let before = occupied(device);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            scope.spawn(move || {
                for round in 0..200_u8 {
                    let len = 16 + usize::from(round) * 5;
                    let block = device.allocate(len as u64).unwrap();
                    let bytes = pattern(len, thread.wrapping_mul(61) ^ round);
                    upload(device, &bytes, &Span::run(block, len));
                    assert_eq!(download(device, &Span::run(block, len)), bytes, "{}", device.info().name);
                    device.free(block).unwrap();
                }
            });
        }
    });
    assert_eq!(occupied(device), before, "{}: everything was given back", device.info().name);
}
