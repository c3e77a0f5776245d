//! The examples are run, not only compiled.
#![allow(missing_docs, unreachable_pub, dead_code)]

#[path = "../examples/axi_fft.rs"]
mod axi_fft;
#[path = "../examples/checked_kernel.rs"]
mod checked_kernel;
#[path = "../examples/listing4.rs"]
mod listing4;
#[cfg(all(feature = "cuda", feature = "opencl"))]
#[path = "../examples/user_op.rs"]
mod user_op;

#[test]
#[cfg(unix)]
fn axi_fft_runs_on_the_imitation_and_says_what_it_misses_on_a_board() {
    axi_fft::run(&[]).unwrap();
    let error = axi_fft::run(&["udmabuf0", "/dev/uio0", "/dev/uio1"]).unwrap_err().to_string();
    assert!(error.contains("there is no DMA buffer `udmabuf0`"), "{error}");
    assert!(axi_fft::run(&["udmabuf0"]).is_err());
}

#[test]
fn listing4_runs() {
    listing4::main().unwrap();
}

#[test]
#[cfg(all(feature = "cuda", feature = "opencl"))]
fn user_op_runs() {
    user_op::main().unwrap();
}

#[test]
fn checked_kernel_leads_to_its_mistakes() {
    let (error, found) = checked_kernel::run().unwrap();
    let wanted = "item (7, 0, 0) of smooth, (7, 0, 0) of group (0, 0, 0): read of 4 bytes at global \
                  0x0002_0000_0000_0020 (buffer 2, offset 32): ends 4 bytes beyond the 32 bytes";
    let error = error.unwrap().to_string();
    assert!(error.contains(wanted) && error.ends_with("buffer \"signal\""), "{error}");
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    // Beyond the end by the last item; and each but the first has written over what the one to its left still reads.
    let beyond = texts.iter().filter(|text| text.contains("ends 4 bytes beyond")).collect::<Vec<_>>();
    assert_eq!(beyond.len(), 1, "{texts:#?}");
    assert!(beyond[0].contains("offset 32") && beyond[0].contains("; buffer \"signal\"; by item (7, 0, 0) of smooth"));
    let races: Vec<_> = texts.iter().filter(|text| text.contains("a race")).collect();
    assert_eq!(races.len(), 6, "{texts:#?}");
    for (me, race) in (1..7).zip(races) {
        let offset =
            format!("write of 4 bytes at global 0x0002_0000_0000_00{:02x} (buffer 2, offset {})", 4 * me, 4 * me);
        let other = format!("with a read in the same group, by item ({}, 0, 0) of smooth", me - 1);
        let who = format!("; buffer \"signal\"; by item ({me}, 0, 0) of smooth");
        assert!([&offset, &other, &who].iter().all(|part| race.contains(*part)), "{race}");
    }
    assert_eq!(checked_kernel::main().unwrap(), std::process::ExitCode::FAILURE);
}
