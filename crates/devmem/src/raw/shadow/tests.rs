use super::*;

#[test]
fn only_touched_pages_cost() {
    let shadow = Shadow::<8>::new(65_535);
    assert!(!shadow.is_of(7, 70) && shadow.touch(7, 0).is_none());
    shadow.begin(7, 70, 1000, 5);
    assert!(shadow.is_of(7, 70) && shadow.page(7, 999).is_none());
    assert_eq!((shadow.bytes(), shadow.fill(7)), (0, Some(5)));
    shadow.touch(7, 999).unwrap()[3].store(9, Relaxed);
    let words = shadow.page(7, 999).unwrap();
    assert!((0..8).all(|i| words[i].load(Relaxed) == if i == 3 { 9 } else { 5 }));
    assert_eq!(shadow.bytes(), 64);
    // The next buffer of the index.
    shadow.begin(7, 71, 10, 6);
    assert!(shadow.is_of(7, 71) && shadow.touch(7, 999).unwrap()[3].load(Relaxed) == 6);
    // A larger one; what was touched before stays until the end.
    shadow.begin(7, 72, 1025, 0);
    assert!(shadow.page(7, 999).is_none() && shadow.touch(7, 2047).is_some() && shadow.touch(7, 2048).is_none());
    assert_eq!(shadow.bytes(), 128);
    assert!(shadow.touch(70_000, 0).is_none());
}

#[test]
fn many_threads_touch_the_same_page() {
    let shadow = Shadow::<8>::new(10);
    shadow.begin(1, 1, 64, 0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..64).for_each(|page| assert!(shadow.touch(1, page).unwrap()[0].fetch_add(1, Relaxed) < 4))
            });
        }
    });
    assert!((0..64).all(|page| shadow.page(1, page).unwrap()[0].load(Relaxed) == 4));
    assert_eq!(shadow.bytes(), 64 * 64);
}
