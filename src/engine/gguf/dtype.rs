//! The encodings of tensor values: how many values and bytes has a block?

/// An encoding that the engine can load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GgmlType {
    /// 32-bit floats.
    F32,
    /// 16-bit IEEE floats.
    F16,
    /// The upper halves of 32-bit floats.
    BF16,
    /// 4 bits and a scale per 32 values.
    Q4_0,
    /// 4 bits, a scale and a minimum per 32 values.
    Q4_1,
    /// 5 bits and a scale per 32 values.
    Q5_0,
    /// 5 bits, a scale and a minimum per 32 values.
    Q5_1,
    /// 8 bits and a scale per 32 values.
    Q8_0,
    /// 8 bits, a scale and a sum per 32 values.
    Q8_1,
    /// 2 bits, in blocks of 256.
    Q2K,
    /// 3 bits, in blocks of 256.
    Q3K,
    /// 4 bits, in blocks of 256.
    Q4K,
    /// 5 bits, in blocks of 256.
    Q5K,
    /// 6 bits, in blocks of 256.
    Q6K,
    /// 8 bits, in blocks of 256.
    Q8K,
}

/// What the format says of a type.
struct Row {
    dtype: GgmlType,
    /// The number in the file.
    id: u32,
    /// The name in GGML.
    name: &'static str,
    items_per_block: usize,
    bytes_per_block: usize,
}

/// Every type that can be loaded.
const TYPES: [Row; 15] = [
    row(GgmlType::F32, 0, "F32", 1, 4),
    row(GgmlType::F16, 1, "F16", 1, 2),
    row(GgmlType::Q4_0, 2, "Q4_0", 32, 2 + 16),
    row(GgmlType::Q4_1, 3, "Q4_1", 32, 2 + 2 + 16),
    row(GgmlType::Q5_0, 6, "Q5_0", 32, 2 + 4 + 16),
    row(GgmlType::Q5_1, 7, "Q5_1", 32, 2 + 2 + 4 + 16),
    row(GgmlType::Q8_0, 8, "Q8_0", 32, 2 + 32),
    row(GgmlType::Q8_1, 9, "Q8_1", 32, 2 + 2 + 32),
    row(GgmlType::Q2K, 10, "Q2_K", 256, 16 + 64 + 2 + 2),
    row(GgmlType::Q3K, 11, "Q3_K", 256, 32 + 64 + 12 + 2),
    row(GgmlType::Q4K, 12, "Q4_K", 256, 2 + 2 + 12 + 128),
    row(GgmlType::Q5K, 13, "Q5_K", 256, 2 + 2 + 12 + 32 + 128),
    row(GgmlType::Q6K, 14, "Q6_K", 256, 128 + 64 + 16 + 2),
    row(GgmlType::Q8K, 15, "Q8_K", 256, 4 + 256 + 32),
    row(GgmlType::BF16, 30, "BF16", 1, 2),
];

/// The numbers of types that exist in GGML but cannot be loaded.
const UNSUPPORTED: [(u32, &str); 25] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
    (39, "MXFP4"),
];

/// A [`Row`] on one line.
const fn row(dtype: GgmlType, id: u32, name: &'static str, items_per_block: usize, bytes_per_block: usize) -> Row {
    Row { dtype, id, name, items_per_block, bytes_per_block }
}

impl GgmlType {
    /// The type with this number in the file, or what is wrong with the number.
    pub(super) fn from_id(id: u32) -> Result<Self, String> {
        if let Some(row) = TYPES.iter().find(|row| row.id == id) {
            return Ok(row.dtype);
        }
        let known: Vec<&str> = TYPES.iter().map(|row| row.name).collect();
        let name = UNSUPPORTED.iter().find(|(unsupported, _)| *unsupported == id).map_or("unknown", |(_, name)| name);
        Err(format!("has type {id} ({name}), which is not supported; expected one of {}", known.join(", ")))
    }

    /// The name in GGML, such as `Q4_K`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The number of values that are encoded together; a row holds whole blocks.
    pub fn items_per_block(self) -> usize {
        self.row().items_per_block
    }

    /// The bytes that [`Self::items_per_block`] values take.
    pub fn bytes_per_block(self) -> usize {
        self.row().bytes_per_block
    }

    /// What the table says of this type.
    fn row(self) -> &'static Row {
        TYPES.iter().find(|row| row.dtype == self).expect("every type is in the table")
    }
}
