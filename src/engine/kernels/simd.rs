//! Vectors of sixteen lanes: how does one source give the same bits on every processor?
//!
//! A kernel is written once, over the trait [`Simd`], and compiled for each [`Tier`]. The lanes are sixteen on every
//! tier and each operation rounds once as IEEE 754 says, so the tiers differ in speed and in nothing else: `scalar`
//! is the plain one that the others are tested against. A new instruction set is a file and a line in [`run`].

/// The methods of a tier with instructions of its own: the token in `self` proves that the processor has them, and
/// references to arrays prove that the memory is there.
#[cfg(target_arch = "x86_64")]
macro_rules! operations {
    ($(fn $name:ident($me:ident $(, $arg:ident: $ty:ty)*) $(-> $out:ty)? $body:block)*) => {
        $(#[inline(always)]
        fn $name($me $(, $arg: $ty)*) $(-> $out)? {
            // SAFETY: `self` exists only where the processor has the instructions, and what is read and written lies
            // within the arrays that the arguments point to.
            unsafe { $body }
        })*
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

/// Lanes of a vector.
pub const LANES: usize = 16;

/// Weights of one step: four for each of sixteen columns.
pub const STEP_BYTES: usize = 4 * LANES;

/// An instruction set that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Plain Rust: the reference.
    Scalar,
    /// AVX2, FMA and F16C: processors since 2013.
    Avx2,
    /// AVX-512 with VNNI: Ice Lake, Zen 4 and later.
    Avx512,
}

impl Tier {
    /// All tiers that this processor has, the best one last.
    pub fn available() -> Vec<Self> {
        let mut tiers = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") && has!("f16c") {
                tiers.push(Self::Avx2);
                if has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512vnni") {
                    tiers.push(Self::Avx512);
                }
            }
        }
        tiers
    }

    /// The fastest tier that this processor has.
    pub fn best() -> Self {
        *Self::available().last().expect("every processor has the scalar tier")
    }
}

/// Work for one tier. `run` and all it calls must be `#[inline(always)]`, so that it is compiled with the tier's
/// instructions.
pub trait Task {
    /// What it gives.
    type Output;

    /// Does the work.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs a task on a tier.
///
/// # Panics
/// If the processor does not have the tier.
pub fn run<T: Task>(tier: Tier, task: T) -> T::Output {
    match tier {
        Tier::Scalar => task.run(scalar::Scalar),
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => avx2::run(task),
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => avx512::run(task),
        #[cfg(not(target_arch = "x86_64"))]
        Tier::Avx2 | Tier::Avx512 => panic!("{tier:?} is a tier of x86-64"),
    }
}

/// How weights are coded in a tile: `value = scale * (code - offset)`, or `scale * code - minimum`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Bits of a code: 4, 5, 6 or 8.
    pub bits: u32,
    /// What is taken from each code.
    pub offset: i32,
}

impl Code {
    /// A middle of the codes, taken from them where sums would not fit 16 bits otherwise.
    #[inline(always)]
    const fn centre(self) -> i32 {
        if self.bits == 4 { 0 } else { 1 << (self.bits - 1) }
    }
}

/// The operations of a tier. A value of the type exists only on a processor that has its instructions.
pub trait Simd: Copy + Send + Sync {
    /// Rows of activations that a kernel multiplies at a time: as many as there are registers for.
    const GROUP: usize;
    /// Panels of sixteen columns that it multiplies at a time.
    const PANELS: usize;
    /// Rows of floats that a kernel multiplies with that many panels at a time.
    const ROWS: usize;

    /// Sixteen f32.
    type F32: Copy;
    /// Sixteen i32.
    type I32: Copy;
    /// The weights of a step, as read from a tile.
    type Weights: Copy;
    /// Sums of products over the steps of a sub-block, not reduced yet.
    type Sum: Copy;
    /// Integer scales of sixteen columns.
    type Scales: Copy;
    /// Two integers of each of sixteen columns.
    type Pairs: Copy;

    /// All lanes `x`.
    fn splat(self, x: f32) -> Self::F32;
    /// Sixteen floats of memory.
    fn load(self, from: &[f32; LANES]) -> Self::F32;
    /// Sixteen half-precision floats of memory, widened.
    fn load_f16(self, from: &[u16; LANES]) -> Self::F32;
    /// Sixteen brain floats of memory, widened.
    fn load_bf16(self, from: &[u16; LANES]) -> Self::F32;
    /// Writes the lanes to memory.
    fn store(self, x: Self::F32, to: &mut [f32; LANES]);
    /// a + b
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a - b
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a * b
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a / b
    fn div(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a * b + c, rounded once.
    fn fma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// -(a * b) + c, rounded once.
    fn fnma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// The smaller of a and b; `b` where one is not a number.
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The larger of a and b; `b` where one is not a number.
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The largest lane; lanes that are not numbers may count or not.
    fn max_lanes(self, x: Self::F32) -> f32;
    /// The nearest integers, ties to even; any integer for what does not fit.
    fn round(self, x: Self::F32) -> Self::I32;
    /// 2^n for -126 <= n <= 127.
    fn exp2(self, n: Self::I32) -> Self::F32;

    /// All lanes `x`.
    fn splat_int(self, x: i32) -> Self::I32;
    /// a + b
    fn add_int(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// a * b, the low half.
    fn mul_int(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// The nearest floats.
    fn to_float(self, x: Self::I32) -> Self::F32;

    /// Sixteen rounded floats of -127..=127 as bytes, and the sums of bytes 0, 1 (mod 4) and of bytes 2, 3 (mod 4).
    fn to_codes(self, x: Self::F32) -> ([i8; LANES], [i16; 2]);

    /// Splits the codes of two steps, packed as nibbles: the low ones are the first step's.
    fn unpack(self, packed: &[u8; STEP_BYTES], to: &mut [[u8; STEP_BYTES]; 2]);
    /// Adds `value` to those codes of a step whose bit is set.
    fn add_plane(self, codes: &mut [u8; STEP_BYTES], bits: u64, value: u8);
    /// The weights of a step: byte `4 c + j` is the code of column `c` for element `j`.
    fn weights(self, code: Code, step: &[u8; STEP_BYTES]) -> Self::Weights;
    /// Integer scales of -128..=127, or of 0..=63.
    fn scales(self, from: &[i8; LANES]) -> Self::Scales;
    /// The sum over no steps of a sub-block; `pairs` are the sums that [`Simd::to_codes`] gave for the elements of it.
    fn begin(self, code: Code, pairs: [i16; 2]) -> Self::Sum;
    /// Adds the products of a step: four activations, the same for every column.
    fn step(self, code: Code, sum: Self::Sum, weights: Self::Weights, activations: [i8; 4]) -> Self::Sum;
    /// The sum of (code - offset) * activation over the sub-block.
    fn end(self, code: Code, sum: Self::Sum, pairs: [i16; 2]) -> Self::I32;
    /// [`Simd::end`] times a scale of each column.
    fn end_scaled(self, code: Code, sum: Self::Sum, pairs: [i16; 2], scales: Self::Scales) -> Self::I32;
    /// Two numbers of every column, which stand side by side.
    fn pairs(self, coded: &[u8; 2 * LANES]) -> Self::Pairs;
    /// sum + a * x + b * y for the pair a, b of each column.
    fn add_pairs(self, sum: Self::I32, ab: Self::Pairs, xy: [i16; 2]) -> Self::I32;
    /// Asks for memory that will be read soon.
    fn prefetch(self, at: *const u8);
}
