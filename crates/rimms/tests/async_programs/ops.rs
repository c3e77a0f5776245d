//! The calls that programs make: every combination of roles, each with what it means.
#![allow(unsafe_code)] // for kernels in OpenCL C

use rimms::op::{Call, ClLaunch, Element, Fill, KernelArgs, KernelError, Role, Shape, UserOp};
use std::sync::LazyLock;

/// What a call does. The number makes each call different, so that a result of another is not taken for its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Out
    Fill(u32),
    /// In, Out
    Copy,
    /// InOut
    Bump(u32),
    /// In, In, Out
    Mix(u32),
    /// In, Out, Out
    Fork(u32),
    /// In, InOut
    Blend(u32),
    /// InOut, Out
    Split(u32),
    /// In, Out: writes, then says that it has failed
    Refuse,
}

/// What a kernel that refuses says.
pub(crate) const REFUSAL: &str = "refuses on purpose";

const fn bump(x: u32, v: u32) -> u32 {
    x.wrapping_mul(3).wrapping_add(v)
}

const fn mix(a: u32, b: u32, v: u32) -> u32 {
    a.wrapping_mul(5).wrapping_sub(b) ^ v
}

const fn fork(a: u32, v: u32) -> (u32, u32) {
    (a.wrapping_add(v), a.rotate_left(7) ^ v)
}

const fn blend(a: u32, y: u32, v: u32) -> u32 {
    y.wrapping_mul(9).wrapping_add(a).wrapping_add(v)
}

const fn split(x: u32, v: u32) -> (u32, u32) {
    (x.wrapping_mul(11) ^ v, x.wrapping_sub(v))
}

type Kernel = fn(&mut KernelArgs<'_>) -> Result<(), KernelError>;

/// The op, and what it does with element `i` in OpenCL C: its operands are `a`, `b` and `c` there, the number is `v`.
fn declare(name: &str, roles: &[Role], kernel: Kernel, item: &str) -> UserOp {
    let builder = roles.iter().fold(UserOp::builder(name), |builder, role| builder.operand::<u32>(*role));
    let same = |lens: &[usize]| lens.iter().all(|len| *len == lens[0]).then_some(()).ok_or("lengths differ".to_owned());
    // Without a rule types are all that a call is checked for.
    let builder = if roles.len() > 1 { builder.shape(same) } else { builder };
    let pointer =
        |(role, name): (&Role, char)| format!("global {} *{name}, ", if role.writes() { "uint" } else { "const uint" });
    let pointers: String = roles.iter().zip('a'..).map(pointer).collect();
    let source = format!("kernel void op({pointers}uint v) {{ size_t i = get_global_id(0); {item} }}");
    let launch = move |c: &rimms::op::ClCall<'_>| match c.params::<u32>() {
        Ok(v) => Ok(ClLaunch::over([c.len(0)]).value(*v)),
        Err(_) => Err(REFUSAL.into()),
    };
    // SAFETY: an item for each element of operands that are all of one length.
    let builder = unsafe { builder.on_opencl(&source, "op", launch) };
    builder.on_cpu(kernel).on_sim(kernel).build().unwrap()
}

use Role::{In, InOut, Out};

static BUMP: LazyLock<UserOp> = LazyLock::new(|| {
    declare(
        "bump",
        &[InOut],
        |k| {
            let v = *k.params::<u32>()?;
            k.output::<u32>(0)?.iter_mut().for_each(|x| *x = bump(*x, v));
            Ok(())
        },
        "a[i] = a[i] * 3 + v;",
    )
});

static MIX: LazyLock<UserOp> = LazyLock::new(|| {
    declare(
        "mix",
        &[In, In, Out],
        |k| {
            let (v, a, b) = (*k.params::<u32>()?, k.input::<u32>(0)?, k.input::<u32>(1)?);
            k.output::<u32>(2)?.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = mix(*a, *b, v));
            Ok(())
        },
        "c[i] = (a[i] * 5 - b[i]) ^ v;",
    )
});

static FORK: LazyLock<UserOp> = LazyLock::new(|| {
    declare(
        "fork",
        &[In, Out, Out],
        |k| {
            let (v, a) = (*k.params::<u32>()?, k.input::<u32>(0)?);
            k.output::<u32>(1)?.iter_mut().zip(a).for_each(|(y, a)| *y = fork(*a, v).0);
            k.output::<u32>(2)?.iter_mut().zip(a).for_each(|(z, a)| *z = fork(*a, v).1);
            Ok(())
        },
        "b[i] = a[i] + v; c[i] = rotate(a[i], 7u) ^ v;",
    )
});

static BLEND: LazyLock<UserOp> = LazyLock::new(|| {
    declare(
        "blend",
        &[In, InOut],
        |k| {
            let (v, a) = (*k.params::<u32>()?, k.input::<u32>(0)?);
            k.output::<u32>(1)?.iter_mut().zip(a).for_each(|(y, a)| *y = blend(*a, *y, v));
            Ok(())
        },
        "b[i] = b[i] * 9 + a[i] + v;",
    )
});

static SPLIT: LazyLock<UserOp> = LazyLock::new(|| {
    declare(
        "split",
        &[InOut, Out],
        |k| {
            let v = *k.params::<u32>()?;
            let (x, y) = (k.output::<u32>(0)?, k.output::<u32>(1)?);
            x.iter_mut().zip(y).for_each(|(x, y)| (*x, *y) = split(*x, v));
            Ok(())
        },
        "uint x = a[i]; a[i] = (x * 11) ^ v; b[i] = x - v;",
    )
});

static REFUSE: LazyLock<UserOp> = LazyLock::new(|| {
    declare(
        "refuse",
        &[In, Out],
        |k| {
            k.output::<u32>(1)?.fill(0xdead);
            Err(REFUSAL.into())
        },
        "",
    )
});

impl Op {
    pub(crate) fn roles(self) -> &'static [Role] {
        match self {
            Self::Fill(_) => &[Out],
            Self::Copy | Self::Refuse => &[In, Out],
            Self::Bump(_) => &[InOut],
            Self::Mix(_) => &[In, In, Out],
            Self::Fork(_) => &[In, Out, Out],
            Self::Blend(_) => &[In, InOut],
            Self::Split(_) => &[InOut, Out],
        }
    }

    /// The call, on views of `len` elements.
    pub(crate) fn call(self, len: usize) -> Call {
        let element = Element::of::<u32>();
        match self {
            Self::Fill(v) => Call::Fill(Fill { pattern: bytemuck::bytes_of(&v).into(), element, len }),
            Self::Copy => Call::Copy(Shape::new(len, element)),
            Self::Bump(v) => BUMP.with(v),
            Self::Mix(v) => MIX.with(v),
            Self::Fork(v) => FORK.with(v),
            Self::Blend(v) => BLEND.with(v),
            Self::Split(v) => SPLIT.with(v),
            Self::Refuse => REFUSE.call(),
        }
    }

    /// What its operands are afterwards; those that it only reads stay.
    pub(crate) fn apply(self, operands: &mut [Vec<u32>]) {
        match (self, operands) {
            (Self::Fill(v), [y]) => y.fill(v),
            (Self::Copy, [a, y]) => y.copy_from_slice(a),
            (Self::Bump(v), [x]) => x.iter_mut().for_each(|x| *x = bump(*x, v)),
            (Self::Mix(v), [a, b, y]) => {
                y.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = mix(*a, *b, v));
            }
            (Self::Fork(v), [a, y, z]) => {
                y.iter_mut().zip(z).zip(a).for_each(|((y, z), a)| (*y, *z) = fork(*a, v));
            }
            (Self::Blend(v), [a, y]) => y.iter_mut().zip(a).for_each(|(y, a)| *y = blend(*a, *y, v)),
            (Self::Split(v), [x, y]) => x.iter_mut().zip(y).for_each(|(x, y)| (*x, *y) = split(*x, v)),
            (Self::Refuse, _) => {}
            (op, operands) => unreachable!("{op:?} of {} operands", operands.len()),
        }
    }
}
