use super::word::Sealed;
use super::*;

/// Every operation on the host's word does what is computed for other offsets.
#[test]
fn words_and_values_agree() {
    const OPS: [AtomicOp; 11] = [
        AtomicOp::Add,
        AtomicOp::Sub,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
        AtomicOp::Xchg,
        AtomicOp::Inc,
        AtomicOp::Dec,
        AtomicOp::Min,
        AtomicOp::Max,
        AtomicOp::CompareExchange,
    ];
    macro_rules! agree {
        ($type:ty, $word:ty, $values:expr) => {
            for before in $values {
                for operand in $values {
                    for op in OPS {
                        let word = <$word>::new(bytemuck::cast(before));
                        assert_eq!(<$type>::change(&word, op, operand), before);
                        assert_eq!(bytemuck::cast::<_, $type>(word.into_inner()), before.apply(op, operand), "{op}");
                    }
                }
            }
        };
    }
    agree!(u32, AtomicU32, [0u32, 1, 7, u32::MAX, 1 << 31]);
    agree!(i32, AtomicU32, [0i32, 1, -1, i32::MIN, i32::MAX]);
    agree!(u64, AtomicU64, [0u64, 1, 7, u64::MAX, 1 << 63]);
    agree!(i64, AtomicU64, [0i64, 1, -1, i64::MIN, i64::MAX]);
    let of_floats = [AtomicOp::Add, AtomicOp::Xchg];
    for op in of_floats {
        let word = AtomicU32::new(1.5f32.to_bits());
        assert_eq!(f32::change(&word, op, 2.25), 1.5);
        assert_eq!(f32::from_bits(word.into_inner()), 1.5f32.apply(op, 2.25));
        let word = AtomicU64::new(1.5f64.to_bits());
        assert_eq!(f64::change(&word, op, 2.25), 1.5);
        assert_eq!(f64::from_bits(word.into_inner()), 1.5f64.apply(op, 2.25));
    }
}
