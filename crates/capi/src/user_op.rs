//! Ops of the program's own: declared once with a function of the program's as kernel, then called on data.
#![allow(unsafe_code, non_camel_case_types, non_snake_case)] // exported names, pointers for kernels

use crate::boundary::{array, call, check, store, text};
use crate::error::{Fault, Result, hete_Error};
use crate::event::hete_Event;
use crate::operands::Bytes;
use crate::run::{How, run};
use crate::session::in_kernel;
use crate::slab::hete_Data;
use parking_lot::Mutex;
use rimms::op::{KernelArgs, KernelError, Role, Target, UserOp};
use slotmap::{Key, KeyData, SlotMap, new_key_type};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::LazyLock;

/// What a call does with an operand.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum hete_Role {
    /// It reads it.
    HETE_IN = 0,
    /// It writes every byte, and reads none.
    HETE_OUT = 1,
    /// It reads and writes it.
    HETE_INOUT = 2,
}

/// Where a kernel may run: either, or both together with `|`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum hete_Where {
    /// On a CPU.
    HETE_ON_CPU = 1,
    /// On a simulated accelerator, with the operands in its memory.
    HETE_ON_SIM = 2,
}

/// An operand as a kernel gets it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct hete_Operand {
    /// Its bytes: to be read, or written, as the role says. Aligned as the data is.
    pub data: *mut c_void,
    /// How many.
    pub size: usize,
    /// As declared.
    pub role: hete_Role,
}

/// A kernel: returns 0 if it did its work; anything else fails the call. Runs in any thread, several at a time; it may use
/// the interface for other data than its call's, and what would wait for its own call is an error there. No exception and no
/// `longjmp` leaves it.
pub type hete_Kernel = Option<
    unsafe extern "C" fn(
        operands: *const hete_Operand,
        count: usize,
        params: *const c_void,
        params_size: usize,
        user: *mut c_void,
    ) -> c_int,
>;

/// An op of the program's own: a number, as `hete_OpCreate` gives it. 0 is none.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct hete_Op {
    /// Of the library's own.
    pub id: u64,
}

new_key_type! {
    struct OpKey;
}

static OPS: LazyLock<Mutex<SlotMap<OpKey, UserOp>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// What the kernel that runs here said of its failure.
    static WORDS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The program's function, and what it wants to be told.
struct Function {
    kernel: unsafe extern "C" fn(*const hete_Operand, usize, *const c_void, usize, *mut c_void) -> c_int,
    user: *mut c_void,
}

// SAFETY: the program promises that any thread may run its kernel, several at a time (`hete_OpCreate`).
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    fn run(&self, roles: &[Role], args: &mut KernelArgs<'_>) -> Result<(), KernelError> {
        let mut operands = Vec::with_capacity(roles.len());
        for (i, role) in roles.iter().enumerate() {
            let (data, size, role) = match role {
                Role::In => args.input::<u8>(i).map(|b| (b.as_ptr().cast_mut(), b.len(), hete_Role::HETE_IN))?,
                Role::Out => args.output::<u8>(i).map(|b| (b.as_mut_ptr(), b.len(), hete_Role::HETE_OUT))?,
                Role::InOut => args.output::<u8>(i).map(|b| (b.as_mut_ptr(), b.len(), hete_Role::HETE_INOUT))?,
            };
            operands.push(hete_Operand { data: data.cast(), size, role });
        }
        let params = args.params::<Params>().ok();
        let (at, size) = params.map_or((std::ptr::null(), 0), |p| (p.words.as_ptr().cast(), p.size));
        WORDS.with_borrow_mut(|words| *words = None);
        // SAFETY: operands are slices of this call's, lent until it returns, those that are written exclusively; the program
        // vouches for its function.
        let answer = in_kernel(|| unsafe { (self.kernel)(operands.as_ptr(), operands.len(), at, size, self.user) });
        match (answer, WORDS.with_borrow_mut(Option::take)) {
            (0, _) => Ok(()),
            (_, Some(words)) => Err(words.into()),
            (code, None) => Err(format!("the kernel returned {code}").into()),
        }
    }
}

/// Parameters of a call: a copy, aligned for anything.
struct Params {
    words: Box<[u128]>,
    size: usize,
}

impl Params {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0_u128; bytes.len().div_ceil(size_of::<u128>())].into_boxed_slice();
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, size: bytes.len() }
    }
}

/// Declares an op: a name for messages, the `n` roles of its operands (`hete_Role`), where its kernel may run
/// (`hete_Where`), and the kernel, which is given `user`. Stores what it is called by.
///
/// # Safety
/// `name` is a text, `roles` an array of `n`, `op` a place for one. The kernel may run in any thread, and uses no more than
/// it is given; it and `user` stay valid until the op is destroyed and its calls are done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_OpCreate(
    name: *const c_char,
    roles: *const c_int,
    n: usize,
    places: c_int,
    kernel: hete_Kernel,
    user: *mut c_void,
    op: *mut hete_Op,
) -> hete_Error {
    call(|| {
        check("op", op)?;
        // SAFETY: as the caller vouches.
        let (name, roles) = unsafe { (text("name", name)?, array("roles", roles, n)?) };
        let Some(kernel) = kernel else { return Err(Fault::null("kernel")) };
        let made = declare(name, roles, places, Function { kernel, user })?;
        let id = OPS.lock().insert(made).data().as_ffi();
        // SAFETY: as the caller vouches.
        unsafe { store("op", op, hete_Op { id }) }
    })
}

fn declare(name: &str, roles: &[c_int], places: c_int, function: Function) -> Result<UserOp> {
    let refuse = |why: String| Err(Fault::new(hete_Error::HETE_ERROR_ARGUMENT, format!("op `{name}`: {why}")));
    let mut builder = UserOp::builder(name);
    let mut known = Vec::new();
    for (i, role) in roles.iter().enumerate() {
        // In the order of `hete_Role`.
        let role = usize::try_from(*role).ok().and_then(|at| [Role::In, Role::Out, Role::InOut].get(at).copied());
        let Some(role) = role else {
            return refuse(format!("role {i} is {}: HETE_IN, HETE_OUT or HETE_INOUT is wanted", roles[i]));
        };
        builder = builder.operand::<u8>(role);
        known.push(role);
    }
    let all = [(hete_Where::HETE_ON_CPU, Target::Cpu), (hete_Where::HETE_ON_SIM, Target::Sim)];
    let is_known = places > 0 && places & !all.iter().fold(0, |bits, (place, _)| bits | *place as c_int) == 0;
    if !is_known {
        return refuse(format!("it is to run on {places}: HETE_ON_CPU, HETE_ON_SIM or both is wanted"));
    }
    let shared = std::sync::Arc::new((function, known));
    for (_, target) in all.into_iter().filter(|(place, _)| places & *place as c_int != 0) {
        let shared = shared.clone();
        builder = builder.kernel(target, move |args| shared.0.run(&shared.1, args));
    }
    Ok(builder.build()?)
}

fn find(op: hete_Op) -> Result<UserOp> {
    OPS.lock().get(OpKey::from(KeyData::from_ffi(op.id))).cloned().ok_or_else(|| no_such(op))
}

#[cold]
fn no_such(op: hete_Op) -> Box<Fault> {
    let why = format!("there is no op {}: it was destroyed, or hete_OpCreate never gave it out", op.id);
    Fault::new(if op.id == 0 { hete_Error::HETE_ERROR_NULL } else { hete_Error::HETE_ERROR_HANDLE }, why)
}

/// Destroys an op. Calls of it that were accepted are done all the same.
#[unsafe(no_mangle)]
pub extern "C" fn hete_OpDestroy(op: hete_Op) -> hete_Error {
    call(|| OPS.lock().remove(OpKey::from(KeyData::from_ffi(op.id))).map(drop).ok_or_else(|| no_such(op)))
}

/// Calls an op on `n` operands, in the order of its roles, with `params_size` bytes of parameters, which are copied. Returns
/// when it is done; `HETE_ERROR_KERNEL` where the kernel failed.
///
/// # Safety
/// `operands` is an array of `n`, `params` NULL or that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Call(
    op: hete_Op,
    operands: *const *mut hete_Data,
    n: usize,
    params: *const c_void,
    params_size: usize,
) -> hete_Error {
    // SAFETY: as the caller vouches.
    call(|| unsafe { call_op(op, operands, n, params, params_size, How::Blocking) })
}

/// `hete_Call`, not waited for.
///
/// # Safety
/// As there; `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Call_nb(
    op: hete_Op,
    operands: *const *mut hete_Data,
    n: usize,
    params: *const c_void,
    params_size: usize,
    event: *mut hete_Event,
) -> hete_Error {
    // SAFETY: as the caller vouches.
    call(|| unsafe { call_op(op, operands, n, params, params_size, How::Queued(event)) })
}

/// # Safety
/// As for `hete_Call_nb`.
unsafe fn call_op(
    op: hete_Op,
    operands: *const *mut hete_Data,
    n: usize,
    params: *const c_void,
    params_size: usize,
    how: How,
) -> Result<()> {
    // SAFETY: as the caller vouches.
    let (operands, params) =
        unsafe { (array("operands", operands, n)?, array("params", params.cast::<u8>(), params_size)?) };
    let op = find(op)?;
    let call = if params.is_empty() { op.call() } else { op.with(Params::new(params)) };
    if operands.len() != call.roles().len() {
        let why = format!("{}: {} operands are wanted, {n} were given", op.name(), call.roles().len());
        return Err(Fault::new(hete_Error::HETE_ERROR_SHAPE, why));
    }
    run(Bytes { handles: operands, roles: call.roles() }, how, |_| call.clone())
}

/// Said by a kernel before it returns something other than 0: why. Elsewhere it does nothing.
///
/// # Safety
/// `why` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_KernelFailed(why: *const c_char) -> hete_Error {
    call(|| {
        // SAFETY: as the caller vouches.
        let why = unsafe { text("why", why) }?.to_owned();
        WORDS.with_borrow_mut(|words| *words = Some(why));
        Ok(())
    })
}
