//! With whatever driver is here, as a device that shares no memory.

use super::super::driver::Facts;
use super::super::raw::{self, Context};
use super::*;
use std::sync::Arc;

fn driver() -> Option<Driver> {
    let device = raw::platforms().unwrap_or_default().into_iter().find_map(|p| p.devices().ok()?.into_iter().next());
    let Some(device) = device else {
        println!("left out: there is no OpenCL device");
        return None;
    };
    let context = Arc::new(Context::of(&[device]).unwrap());
    Some(Driver::new(device, Facts { is_unified: false, ..Facts::of(device) }, context, Arc::default()).unwrap())
}

#[test]
fn what_goes_in_through_a_few_slots_comes_out_through_a_few() {
    let Some(driver) = driver() else { return };
    let [mut inward, mut outward, mut beside] = <[Staging; 3]>::default();
    let most = 3 * SLOTS * SLOT + 17;
    let buffer = driver.context.buffer(most).unwrap();
    for (seed, len) in [1, SLOT - 1, SLOT, SLOT + 1, most].into_iter().enumerate() {
        let place = At { buffer: &buffer, offset: most - len, pitch: len };
        let bytes: Vec<u8> = (0..len).map(|i| (i % 251 + seed) as u8).collect();
        inward.write(&driver, &bytes, place).unwrap();
        let mut found = vec![0; len];
        outward.read(&driver, &driver.queue, place, &mut found).unwrap();
        assert!(found == bytes, "{len} bytes");
        // What was put in is over now.
        let Some(aside) = driver.aside() else { continue };
        found.fill(0);
        beside.read(&driver, aside, place, &mut found).unwrap();
        assert!(found == bytes, "{len} bytes by the second queue");
    }
    assert!(outward.slots.len() <= SLOTS && inward.slots.len() <= SLOTS);
    assert!(!outward.slots.is_empty(), "copies out are staged");
    assert_eq!(beside.slots.is_empty(), driver.aside().is_none());
}
