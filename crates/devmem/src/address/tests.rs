use proptest::prelude::*;

use super::*;

#[test]
fn first_use_addresses_look_as_untagged() {
    let tagged = AddressLayout::GLOBAL.encode(1, 0, 0x40).unwrap();
    let untagged = AddressLayout::GLOBAL_UNTAGGED.encode(1, 0, 0x40).unwrap();
    assert_eq!(tagged, untagged);
    assert_eq!(tagged.to_string(), "0x0001_0000_0000_0040");
}

#[test]
fn greatest_values_of_the_named_layouts() {
    let of = |layout: AddressLayout| (layout.greatest_index(), layout.generations(), layout.greatest_buffer());
    assert_eq!(of(AddressLayout::GLOBAL), (65_535, 256, 1 << 40));
    assert_eq!(of(AddressLayout::LOCAL), (65_535, 256, 1 << 40));
    assert_eq!(of(AddressLayout::PRIVATE), (1_048_575, 4096, 1 << 32));
    assert_eq!(of(AddressLayout::GLOBAL_UNTAGGED), (65_535, 1, 1 << 48));
    assert_eq!(of(AddressLayout::PRIVATE_UNTAGGED), (u32::MAX.into(), 1, 1 << 32));
}

#[test]
fn layouts_without_index_or_offset_are_refused() {
    for (index_bits, generation_bits) in [(0, 0), (33, 0), (16, 48), (32, 32), (1, u32::MAX), (u32::MAX, 1)] {
        let refused = LayoutError { index_bits, generation_bits };
        assert_eq!(AddressLayout::tagged(index_bits, generation_bits), Err(refused));
    }
    assert_eq!(AddressLayout::tagged(32, 31).unwrap().greatest_buffer(), 2);
}

fn layouts() -> impl Strategy<Value = AddressLayout> {
    (1..=32u32)
        .prop_flat_map(|index_bits| (Just(index_bits), 0..=63 - index_bits))
        .prop_map(|(index_bits, generation_bits)| AddressLayout::tagged(index_bits, generation_bits).unwrap())
}

proptest! {
    #[test]
    fn decoding_and_encoding_are_inverse(layout in layouts(), bits: u64) {
        let address = Address::from_raw(bits);
        let Parts { index, generation, offset } = layout.decode(address);
        prop_assert_eq!(layout.encode(index, generation, offset), Some(address));
        prop_assert_eq!(layout.encode(layout.greatest_index() + 1, generation, offset), None);
        prop_assert_eq!(layout.encode(index, layout.generations(), offset), None);
        prop_assert_eq!(layout.encode(index, generation, layout.greatest_buffer()), None);
    }

    #[test]
    fn arithmetic_stays_in_the_buffer(layout in layouts(), bits: u64, delta: i64, shift in 0..64u32) {
        let (address, delta) = (Address::from_raw(bits), delta >> shift);
        let parts = layout.decode(address);
        let target = i128::from(parts.offset) + i128::from(delta);
        let inside = (0..i128::from(layout.greatest_buffer())).contains(&target);
        let expected = inside.then(|| layout.encode(parts.index, parts.generation, target as u64).unwrap());
        prop_assert_eq!(layout.offset(address, delta), expected);
        if let Ok(bytes) = u64::try_from(delta) {
            prop_assert_eq!(layout.add(address, bytes), expected);
        }
    }

    #[test]
    fn addition_of_anything_stays_in_the_buffer(layout in layouts(), bits: u64, bytes: u64) {
        let address = Address::from_raw(bits);
        let parts = layout.decode(address);
        let target = u128::from(parts.offset) + u128::from(bytes);
        let sum = layout.add(address, bytes);
        prop_assert_eq!(sum.is_some(), target < u128::from(layout.greatest_buffer()));
        if let Some(sum) = sum {
            let found = layout.decode(sum);
            prop_assert_eq!((found.index, found.generation), (parts.index, parts.generation));
        }
    }
}
