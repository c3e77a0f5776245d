use super::*;

/// A word of the shadow of index 7 (or 1), touched.
fn word<const WORDS: usize>(shadow: &Shadow<WORDS>, index: u64, page: usize, word: usize) -> Option<&AtomicU64> {
    Some(&shadow.touch(shadow.buffer(index)?, page)?[word])
}

#[test]
fn only_touched_pages_cost() {
    let shadow = Shadow::<8>::new(65_535);
    let is_of = |tag| shadow.buffer(7).is_some_and(|buffer| buffer.is_of(tag));
    let is_there = |page| shadow.buffer(7).unwrap().page(page).is_some();
    assert!(shadow.buffer(7).is_none());
    shadow.begin(7, 70, 1000, 5);
    assert!(is_of(70) && !is_there(999));
    assert_eq!((shadow.bytes(), shadow.buffer(7).unwrap().fill()), (0, 5));
    word(&shadow, 7, 999, 3).unwrap().store(9, Relaxed);
    assert!((0..8).all(|i| word(&shadow, 7, 999, i).unwrap().load(Relaxed) == if i == 3 { 9 } else { 5 }));
    assert_eq!(shadow.bytes(), 64);
    // The next buffer of the index.
    shadow.begin(7, 71, 10, 6);
    assert!(is_of(71) && word(&shadow, 7, 999, 3).unwrap().load(Relaxed) == 6);
    // A larger one; what was touched before stays until the end.
    shadow.begin(7, 72, 1025, 0);
    assert!(is_of(72) && !is_there(999) && word(&shadow, 7, 2047, 0).is_some() && word(&shadow, 7, 2048, 0).is_none());
    assert_eq!((shadow.bytes(), shadow.buffer(7).unwrap().pages()), (128, 2048));
    shadow.begin(70_000, 1, 1, 0);
    assert!(shadow.buffer(70_000).is_none());
}

#[test]
fn many_threads_touch_the_same_page() {
    let shadow = Shadow::<8>::new(10);
    shadow.begin(1, 1, 64, 0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..64).for_each(|page| assert!(word(&shadow, 1, page, 0).unwrap().fetch_add(1, Relaxed) < 4))
            });
        }
    });
    assert!((0..64).all(|page| word(&shadow, 1, page, 0).unwrap().load(Relaxed) == 4));
    assert_eq!(shadow.bytes(), 64 * 64);
}
