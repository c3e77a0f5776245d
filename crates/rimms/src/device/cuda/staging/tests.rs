//! Regions in pieces, and their bytes.

use super::*;

#[test]
fn every_byte_is_in_one_piece_that_fits() {
    for rows in [
        Rows::run(0),
        Rows::run(7),
        Rows::run(64),
        Rows { rows: 5, row_bytes: 6, pitch: 9 },
        Rows { rows: 3, row_bytes: 40, pitch: 41 },
        Rows { rows: 4, row_bytes: 8, pitch: 8 },
    ] {
        let mut next = 0;
        for piece in pieces(&rows, 16) {
            assert_eq!(piece.at, next, "{rows:?}");
            assert!(piece.rows.bytes() <= 16);
            let (row, column) = (piece.at / rows.row_bytes, piece.at % rows.row_bytes);
            assert_eq!(piece.offset, row * rows.pitch + column, "{rows:?}");
            next += piece.rows.bytes();
        }
        assert_eq!(next, rows.bytes());
    }
}

#[test]
fn regions_are_gathered_and_scattered_from_any_byte_on() {
    let bytes: Vec<u8> = (0..40).collect();
    let rows = Rows { rows: 4, row_bytes: 3, pitch: 10 };
    let source = HostSource::rows_of(&bytes, rows).unwrap();
    let mut found = [0; 5];
    gather(&source, 2, &mut found);
    assert_eq!(found, [2, 10, 11, 12, 20]);
    let mut back = [99; 40];
    scatter(&found, &mut HostTarget::rows_of(&mut back, rows).unwrap(), 2);
    assert_eq!((back[2], &back[10..13], back[20], back[3]), (2, &[10, 11, 12][..], 20, 99));
}
