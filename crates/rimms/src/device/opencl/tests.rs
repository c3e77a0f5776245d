//! With whatever drivers are here: what is told of commands that fail.

use super::raw::Event;
use super::*;
use cl3::event::{create_user_event, set_user_event_status};

/// Something fails that was queued at a block: whoever fetches the block is told, and not given the old bytes for new ones.
#[test]
fn a_copy_out_tells_of_what_failed_at_its_block() {
    // Of a slab the copy goes behind what failed, in one queue: PoCL, up to 3.1 at least, ends the process there.
    for device in find_with(Memory::Driver).devices.into_iter().filter(|device| device.driver.facts.waits_for_others) {
        let name = &device.info.name;
        let span = Span::run(device.allocate(64).unwrap(), 64);
        device.upload(&HostSource::from_slice(&[1; 64]), &span).unwrap();
        let event = || Event::new(create_user_event(device.driver.context.raw())).unwrap();
        let ([first, second], queue) = ([event(), event()], &device.driver.queue);
        let command = queue.barrier(&first).unwrap();
        let place = device.memory.locate(&device.info, Operation::Download, &span).unwrap();
        place.storage.last_use.note(command);
        // Something else is queued behind it, which ends in the end.
        queue.barrier(&second).unwrap();
        set_user_event_status(first.raw(), codes::CL_OUT_OF_RESOURCES).unwrap();
        let told = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(100));
                set_user_event_status(second.raw(), 0)
            });
            device.download(&span, &mut HostTarget::from_slice(&mut [0; 64]))
        });
        assert_eq!(told.unwrap_err().kind, DeviceErrorKind::Lost, "{name}");
    }
}
