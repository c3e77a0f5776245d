use super::*;

#[test]
fn first_use_addresses_look_as_untagged() {
    let tagged = AddressLayout::GLOBAL.encode(1, 0, 0x40).unwrap();
    let untagged = AddressLayout::GLOBAL_UNTAGGED.encode(1, 0, 0x40).unwrap();
    assert_eq!(tagged, untagged);
    assert_eq!(tagged.to_string(), "0x0001_0000_0000_0040");
}
