//! Mode `zero-copy`: data lie in the buffer, and caches are all that is seen to.

use crate::system;
use rimms::device::udma::Direction::{FromDevice, ToDevice};
use rimms::device::udma::Side;
use rimms::device::udma::imitation::{Request, System};
use rimms::{Complex32, Error, MemoryMode, ResourceId, Runtime};

const N: usize = 64;
const ROW: u64 = 8 * N as u64;

fn runtime(system: &System) -> Runtime {
    let device = system.device("two-level".parse().unwrap()).unwrap();
    let builder = Runtime::builder().cpus(1).device(device).memory_mode(MemoryMode::ZeroCopy);
    builder.build().unwrap().blocking()
}

fn buffer() -> ResourceId {
    ResourceId::new(1).unwrap()
}

/// What was asked for, as direction and bytes.
fn asked(requests: &[Request]) -> Vec<(Side, rimms::device::udma::Direction, u64)> {
    requests.iter().map(|r| (r.next, r.direction, r.range.end - r.range.start)).collect()
}

#[test]
fn a_chain_of_host_and_accelerator_moves_no_byte() {
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let block = rt.on("fft0").unwrap();
    let mut x = rt.alloc::<Complex32>(N).unwrap();
    let mut y = rt.alloc::<Complex32>(N).unwrap();
    assert_eq!(rt.usage(buffer()).unwrap().blocks, 2, "data lie in the buffer");
    // The CPU has written both, so that y's lines are dirty when the block writes there.
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    y.overwrite().unwrap().fill(Complex32::ONE * 7.0).unwrap();
    block.fft(&x, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[..2], [Complex32::new(N as f32, 0.0), Complex32::ZERO]);
    let (flush, forget) = ((Side::Device, ToDevice, ROW), (Side::Device, FromDevice, ROW));
    let invalidate = (Side::Cpu, FromDevice, ROW);
    assert_eq!(asked(&system.maintained()), [flush, forget, invalidate]);
    // Read again: nothing. In place, once the CPU has updated it: written back, and seen again.
    assert_eq!(y.read().unwrap()[1], Complex32::ZERO);
    y.update().unwrap().iter_mut().for_each(|z| *z += Complex32::ONE);
    block.fft_in_place(&mut y).unwrap();
    assert_eq!(y.read().unwrap()[0].re, 2.0 * N as f32);
    assert_eq!(asked(&system.maintained()[3..]), [flush, invalidate]);
    assert_eq!((rt.counters().copies(), rt.counters().bytes()), (0, 0));
    drop((x, y));
    assert_eq!(rt.usage(buffer()).unwrap().blocks, 0);
}

#[test]
fn a_full_buffer_is_an_error_and_what_is_there_lives_on() {
    let (_folder, system) = system(1 << 12);
    let rt = runtime(&system);
    let mut x = rt.alloc::<Complex32>(N).unwrap();
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    let refused = rt.alloc::<u8>(3700).unwrap_err();
    assert!(matches!(refused, Error::Full { .. }), "{refused}");
    assert!(matches!(rt.alloc::<u8>(1 << 13).unwrap_err(), Error::NeverFits { .. }));
    assert_eq!(x.read().unwrap()[..], [Complex32::ONE; N]);
}

#[test]
fn fragments_are_maintained_by_themselves() {
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let block = rt.on("fft0").unwrap();
    let (mut x, mut y) = (rt.alloc::<Complex32>(4 * N).unwrap(), rt.alloc::<Complex32>(4 * N).unwrap());
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    x.fragment(4).unwrap();
    y.fragment(4).unwrap();
    for i in 0..4 {
        block.fft(&x[i], &mut y[i]).unwrap();
    }
    assert_eq!(y[3].read().unwrap()[0].re, N as f32);
    let seen = asked(&system.maintained());
    assert!(seen.iter().all(|(_, _, bytes)| *bytes == ROW) && seen.len() == 9, "{seen:?}");
    // The CPU updates one: its lines alone are written back.
    x[1].update().unwrap()[0] = Complex32::ZERO;
    block.fft(&x[1], &mut y[1]).unwrap();
    assert_eq!(y[1].read().unwrap()[0].re, N as f32 - 1.0);
}

#[test]
fn elements_that_want_more_than_a_cache_line_get_it() {
    #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C, align(256))]
    struct Wide([u8; 256]);
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let one = rt.alloc::<u8>(64).unwrap();
    let data: Vec<_> = (0..4).map(|_| rt.alloc::<Wide>(3).unwrap()).collect();
    for wide in &data {
        assert!(wide.address_on(ResourceId::HOST).unwrap().is_multiple_of(256));
    }
    drop((one, data));
    assert_eq!(rt.usage(buffer()).unwrap().blocks, 0);
}
