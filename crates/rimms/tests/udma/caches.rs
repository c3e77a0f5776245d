//! Which cache lines are maintained: those of the bytes that move, in the direction in which they move.

use crate::system;
use rimms::device::udma::Direction::{FromDevice, ToDevice};
use rimms::device::udma::imitation::{Request, System};
use rimms::device::udma::{Side, Udma, axi::AxiFft};
use rimms::{Complex32, HeteData, Runtime};

const N: usize = 64;
/// Bytes of a row of N.
const ROW: u64 = 8 * N as u64;

fn runtime(system: &System) -> Runtime {
    let device = system.device("two-level".parse().unwrap()).unwrap();
    Runtime::builder().cpus(1).device(device).build().unwrap().blocking()
}

fn ones(rt: &Runtime, len: usize) -> HeteData<Complex32> {
    let mut x = rt.alloc(len).unwrap();
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    x
}

fn request(next: Side, direction: rimms::device::udma::Direction, range: std::ops::Range<u64>) -> Request {
    Request { next, direction, range }
}

#[test]
fn a_chain_writes_back_its_input_and_forgets_its_result() {
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let fft = rt.on("fft0").unwrap();
    let x = ones(&rt, N);
    let (mut y, mut z) = (rt.alloc(N).unwrap(), rt.alloc(N).unwrap());
    fft.fft(&x, &mut y).unwrap();
    fft.fft(&y, &mut z).unwrap();
    assert_eq!(system.maintained(), [request(Side::Device, ToDevice, 0..ROW)], "y has never left the buffer");
    assert_eq!(z.read().unwrap()[1], Complex32::new(N as f32, 0.0));
    assert_eq!(system.maintained()[1..], [request(Side::Cpu, FromDevice, 2 * ROW..3 * ROW)]);
}

#[test]
fn of_a_row_that_moves_its_own_lines_alone_are_maintained() {
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let mut x = ones(&rt, 4 * N);
    x.fragment(4).unwrap();
    let mut y = rt.alloc::<Complex32>(4 * N).unwrap();
    y.fragment(4).unwrap();
    rt.on("fft0").unwrap().fft(&x[2], &mut y[1]).unwrap();
    assert_eq!(y[1].read().unwrap()[0].re, N as f32);
    let seen = system.maintained();
    let [up, down] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(*up, request(Side::Device, ToDevice, 2 * ROW..3 * ROW));
    assert_eq!((down.next, down.direction, down.range.end - down.range.start), (Side::Cpu, FromDevice, ROW));
}

#[test]
fn an_inverse_transform_is_divided_by_n_for_the_next_one_to_see() {
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let fft = rt.on("fft0").unwrap();
    let x = ones(&rt, 4 * N);
    let (mut y, mut z) = (rt.alloc(4 * N).unwrap(), rt.alloc(4 * N).unwrap());
    fft.fft_rows(N, &x, &mut y).unwrap();
    fft.ifft_rows(N, &y, &mut z).unwrap();
    fft.fft_rows_in_place(N, &mut z).unwrap();
    let found = z.read().unwrap();
    for (i, row) in found.chunks(N).enumerate() {
        assert_eq!((row[0], row[1]), (Complex32::new(N as f32, 0.0), Complex32::ZERO), "row {i}");
    }
}

#[test]
fn what_shares_a_cache_line_with_its_neighbour_is_written_by_the_cpu() {
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let x = ones(&rt, N);
    let mut y = rt.alloc::<Complex32>(N + 8).unwrap();
    y.fragment_sizes(&[4, N, 4]).unwrap();
    let refused = rt.on("fft0").unwrap().fft(&x, &mut y[1]).unwrap_err().to_string();
    assert!(refused.contains("shares cache lines of 64 bytes"), "{refused}");
    rt.on("fft0,cpu0").unwrap().fft(&x, &mut y[1]).unwrap();
    assert_eq!(y[1].read().unwrap()[0].re, N as f32);
    // Where no caches are maintained there is nothing to share.
    let plain = Udma::new(system.root().open("udmabuf0", Default::default()).unwrap(), Default::default()).unwrap();
    assert!(format!("{plain:?}").contains("udmabuf0"));
}

#[test]
fn a_row_longer_than_the_length_register_counts_is_not_given_to_the_block() {
    let (_folder, system) = system(1 << 20);
    // 14 bits: 16,383 bytes, so 1,024 points.
    let block = AxiFft::new(system.dma_registers(), system.fft_registers());
    let device = Udma::new(system.buffer().unwrap(), Default::default()).unwrap().with("fft0", block);
    let rt = Runtime::builder().cpus(0).device(device).build().unwrap().blocking();
    let (x, mut y) = (ones(&rt, 2048), rt.alloc(2048).unwrap());
    let refused = rt.fft(&x, &mut y).unwrap_err().to_string();
    assert!(refused.contains("lengths from 8 to 1024"), "{refused}");
    rt.fft_rows(1024, &x, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[1024].re, 1024.0);
}

#[test]
fn a_refused_update_of_what_only_the_buffer_has_is_made_elsewhere() {
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let x = ones(&rt, 2 * N);
    let mut y = rt.alloc::<Complex32>(2 * N).unwrap();
    rt.on("fft0").unwrap().fft(&x, &mut y).unwrap();
    y.fragment_sizes(&[4, N, N - 4]).unwrap();
    assert!(rt.on("fft0").unwrap().fft_in_place(&mut y[1]).is_err());
    rt.on("fft0,cpu0").unwrap().fft_in_place(&mut y[1]).unwrap();
    assert_eq!(y[1].read().unwrap()[..], [Complex32::ZERO; N]);
    assert_eq!(y[0].read().unwrap()[0].re, 2.0 * N as f32);
}
