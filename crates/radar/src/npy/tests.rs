use std::fs;
use std::io::Write;

use npyz::WriterBuilder;
use num_complex::{Complex32, Complex64};
use proptest::prelude::*;
use tempfile::{NamedTempFile, TempDir};

use super::*;

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// A version-1 file with this header text and these bytes after it.
fn npy(header: &str, data: &[u8]) -> NamedTempFile {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    file(&bytes)
}

fn message(file: &NamedTempFile) -> String {
    let error = NpyFile::open(file.path()).and_then(NpyFile::read).unwrap_err();
    let message = error.to_string();
    assert!(!message.contains('\n'), "one line: {message:?}");
    assert!(message.contains(&file.path().display().to_string()), "{message}");
    message
}

fn ramp(len: usize) -> Vec<Complex32> {
    (0..len).map(|i| Complex32::new(i as f32, -0.5 * i as f32)).collect()
}

#[test]
fn another_implementation_reads_what_is_written() {
    let folder = TempDir::new().unwrap();
    for dims in [vec![12], vec![3, 4], vec![12, 1], vec![1, 12]] {
        let path = folder.path().join("a.npy");
        write(&path, &dims, &ramp(12)).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!((bytes.len() - 12 * 8) % 64, 0, "NumPy aligns the data to 64 bytes");
        let theirs = npyz::NpyFile::new(&bytes[..]).unwrap();
        assert_eq!(theirs.shape(), dims.iter().map(|d| *d as u64).collect::<Vec<_>>());
        assert_eq!(theirs.into_vec::<Complex32>().unwrap(), ramp(12));
        let ours = NpyFile::open(&path).unwrap();
        assert_eq!(ours.read().unwrap(), ramp(12));
    }
    assert!(write(folder.path().join("b.npy"), &[3, 5], &ramp(12)).is_err());
    assert!(write(folder.path().join("b.npy"), &[usize::MAX, 2], &ramp(12)).is_err());
}

#[test]
fn what_another_implementation_writes_is_read() {
    // Row after row, 2×3: 0 1 2 / 3 4 5. In Fortran order that is stored as 0 3 1 4 2 5.
    let stored = |fortran: bool| -> Vec<usize> { if fortran { vec![0, 3, 1, 4, 2, 5] } else { (0..6).collect() } };
    for fortran in [false, true] {
        for big in [false, true] {
            for double in [false, true] {
                let name = format!("{}c{}", if big { '>' } else { '<' }, if double { 16 } else { 8 });
                let order = if fortran { npyz::Order::Fortran } else { npyz::Order::C };
                let mut bytes = Vec::new();
                let options = npyz::WriteOptions::<Complex64>::new();
                let single = npyz::WriteOptions::<Complex32>::new();
                let dtype = npyz::DType::Plain(name.parse().unwrap());
                if double {
                    let mut writer =
                        options.dtype(dtype).shape(&[2, 3]).order(order).writer(&mut bytes).begin_nd().unwrap();
                    let wide = |i| Complex64::new(i as f64, -0.5 * i as f64);
                    writer.extend(stored(fortran).into_iter().map(wide)).unwrap();
                    writer.finish().unwrap();
                } else {
                    let mut writer =
                        single.dtype(dtype).shape(&[2, 3]).order(order).writer(&mut bytes).begin_nd().unwrap();
                    writer.extend(stored(fortran).into_iter().map(|i| ramp(6)[i])).unwrap();
                    writer.finish().unwrap();
                }
                let file = file(&bytes);
                let ours = NpyFile::open(file.path()).unwrap();
                assert_eq!(ours.dims(), &[2, 3]);
                assert_eq!(ours.read().unwrap(), ramp(6), "{name} fortran {fortran}");
            }
        }
    }
}

#[test]
fn headers_as_numpy_and_others_write_them() {
    for header in [
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }          \n",
        "{\"shape\":(1L,),\"fortran_order\":True,\"descr\":\"<c8\"}",
        " { 'shape' : ( 1 , 1 ) , 'descr' : '<c8' , 'fortran_order' : False } ",
    ] {
        let file = npy(header, &[0; 8]);
        assert_eq!(NpyFile::open(file.path()).unwrap().read().unwrap(), [Complex32::ZERO]);
    }
}

#[test]
fn every_kind_of_damage_is_named() {
    let plain = |shape: &str| format!("{{'descr': '<c8', 'fortran_order': False, 'shape': {shape}}}");
    for (header, data, part) in [
        (plain("(2,)"), 8, "2 complex samples wanted (its own header says so), 1 found"),
        (plain("(2,)"), 24, "2 complex samples wanted (its own header says so), 3 found"),
        (plain("(2,)"), 17, "bytes after the last sample"),
        (plain("()"), 8, "0 dimensions"),
        (plain("(1, 1, 1)"), 8, "3 dimensions"),
        (plain("(0, 5)"), 0, "empty"),
        (plain("(0, 1152921504606846976)"), 0, "empty"),
        (plain("(4294967296, 4294967296)"), 8, "more than can be addressed"),
        (plain("(2305843009213693952,)"), 8, "more than can be addressed"),
        (plain("(99999999999999999999,)"), 8, "a dimension wanted"),
        (plain("(-1,)"), 8, "a dimension wanted"),
        (plain("(1"), 8, "`)` wanted"),
        (plain("(1,),"), 7, "1 complex samples wanted"),
        (plain("(1,)").replace("<c8", "<f4"), 8, "`<f4`; complex64"),
        (plain("(1,)").replace("<c8", "|O"), 8, "`|O`"),
        (plain("(1,)").replace("<c8", ""), 8, "``; complex64"),
        (plain("(1,)").replace("<c8", "é"), 8, "`'` wanted"),
        (plain("(1,)").replace("'<c8'", "[('re', '<f4'), ('im', '<f4')]"), 8, "array of records"),
        (plain("(1,)").replace("False", "0"), 8, "True or False wanted"),
        (plain("(1,)").replace("'shape'", "'form'"), 8, "`form` is unknown"),
        ("{'descr': '<c8', 'fortran_order': False}".to_owned(), 8, "no `shape`"),
        ("{}".to_owned(), 8, "no `descr`"),
        ("(".repeat(60_000), 8, "`{` wanted"),
        (format!("{{{}", "'descr':".repeat(8000)), 8, "elements of type `descr`"),
        (plain("(1,)") + "x", 8, "its end wanted"),
        (String::new(), 8, "`{` wanted"),
    ] {
        let found = message(&npy(&header, &vec![0; data]));
        assert!(found.contains(part), "{part:?} not in {found:?}");
    }
}

#[test]
fn what_is_no_numpy_file_is_refused_before_anything_is_allocated() {
    for (bytes, part) in [
        (&b""[..], "ends within its header"),
        (b"\x93NUMPY\x01\x00", "ends within its header"),
        (b"\x93NUMPY\x01\x00\xFF\xFF{}", "ends within its header"),
        (b"\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{}", "4294967295 bytes"),
        (b"\x93NUMPY\x04\x00\x02\x00{}    ", "version 4.0"),
        (b"PK\x03\x04 and so on", "does not start with"),
        (&[0xFF; 100], "does not start with"),
    ] {
        let found = message(&file(bytes));
        assert!(found.contains(part), "{part:?} not in {found:?}");
    }
    assert!(matches!(NpyFile::open("there/is/no/such.npy"), Err(Error::Io { .. })));
}

#[test]
fn numbers_that_are_not_finite_are_named_by_their_index() {
    let header = |order, descr| format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': (2, 3)}}");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e39] {
        let mut data = vec![0_u8; 6 * 16];
        data[4 * 16 + 8..5 * 16].copy_from_slice(&bad.to_le_bytes());
        assert!(message(&npy(&header("False", "<c16"), &data)).contains("sample [1, 1] is not"));
        assert!(message(&npy(&header("True", "<c16"), &data)).contains("sample [0, 2] is not"));
    }
    let mut data = vec![0_u8; 6 * 8];
    data[0..4].copy_from_slice(&f32::NAN.to_be_bytes());
    assert!(message(&npy(&header("False", ">c8"), &data)).contains("sample [0, 0] is not"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A good file with some bytes of its header changed is read or refused, never worse.
    #[test]
    fn damaged_headers_never_panic(changes in prop::collection::vec((0_usize..80, any::<u8>()), 1..6)) {
        let mut bytes = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
        bytes.extend(format!("{:<69}\n", "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }").bytes());
        bytes.extend([0; 48]);
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let file = file(&bytes);
        if let Ok(samples) = NpyFile::open(file.path()).and_then(NpyFile::read) {
            prop_assert!(samples.len() <= 6);
        }
    }
}
