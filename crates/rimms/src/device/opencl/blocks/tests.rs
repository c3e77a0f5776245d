//! What is known of a block's last use.

use super::*;

#[test]
fn a_use_that_is_noted_late_hides_none_that_came_after() {
    let last = LastUse::default();
    assert_eq!(last.get(), 0);
    last.note(5);
    last.note(3);
    assert_eq!(last.known(), Some(5));
    last.lose_track();
    last.note(7);
    assert_eq!((last.known(), last.get()), (None, u64::MAX));
}
