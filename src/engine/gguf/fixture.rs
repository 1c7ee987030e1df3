//! Builds small GGUF files for tests, right ones and wrong ones.

/// A GGUF file of version 3 in the making. Nothing is checked: tests build broken files with it as well.
#[derive(Debug, Clone, Default)]
pub struct GgufBuilder {
    n_entries: u64,
    entries: Vec<u8>,
    n_tensors: u64,
    tensors: Vec<u8>,
    data: Vec<u8>,
}

impl GgufBuilder {
    /// A file without keys and tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a string.
    pub fn text(self, key: &str, value: &str) -> Self {
        self.entry(key, 8, &string(value.as_bytes()))
    }

    /// Adds a `u32`.
    pub fn u32(self, key: &str, value: u32) -> Self {
        self.entry(key, 4, &value.to_le_bytes())
    }

    /// Adds an `f32`.
    pub fn f32(self, key: &str, value: f32) -> Self {
        self.entry(key, 6, &value.to_le_bytes())
    }

    /// Adds a bool.
    pub fn bool(self, key: &str, value: bool) -> Self {
        self.entry(key, 7, &[value.into()])
    }

    /// Adds an array of strings.
    pub fn strings<S: AsRef<str>>(self, key: &str, values: &[S]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| string(value.as_ref().as_bytes())).collect();
        self.array(key, 8, values.len() as u64, &items)
    }

    /// Adds an array of `i32`.
    pub fn i32s(self, key: &str, values: &[i32]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.array(key, 5, values.len() as u64, &items)
    }

    /// Adds an array of `f32`.
    pub fn f32s(self, key: &str, values: &[f32]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.array(key, 6, values.len() as u64, &items)
    }

    /// Adds an array that says it has `len` items of type `kind`, which are these bytes.
    pub fn array(self, key: &str, kind: u32, len: u64, items: &[u8]) -> Self {
        self.entry(key, 9, &[&kind.to_le_bytes(), len.to_le_bytes().as_slice(), items].concat())
    }

    /// Adds a value that says it has type `kind` and is these bytes.
    pub fn entry(self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.raw_entry(&[&string(key.as_bytes()), kind.to_le_bytes().as_slice(), value].concat())
    }

    /// Adds bytes that are counted as an entry.
    pub fn raw_entry(mut self, bytes: &[u8]) -> Self {
        self.entries.extend(bytes);
        self.n_entries += 1;
        self
    }

    /// Adds a tensor (dimensions innermost first) with its data, aligned to 32 bytes.
    pub fn tensor(mut self, name: &str, type_id: u32, dimensions: &[u64], data: &[u8]) -> Self {
        self.data.resize(self.data.len().next_multiple_of(32), 0);
        let offset = self.data.len() as u64;
        self.data.extend(data);
        self.tensor_at(name, type_id, dimensions, offset)
    }

    /// Adds a tensor (dimensions innermost first) that says its data is at `offset` of the data section.
    pub fn tensor_at(self, name: &str, type_id: u32, dimensions: &[u64], offset: u64) -> Self {
        let dims: Vec<u8> = dimensions.iter().flat_map(|dimension| dimension.to_le_bytes()).collect();
        self.raw_tensor(
            &[
                &string(name.as_bytes()),
                (dimensions.len() as u32).to_le_bytes().as_slice(),
                &dims,
                &type_id.to_le_bytes(),
                &offset.to_le_bytes(),
            ]
            .concat(),
        )
    }

    /// Adds bytes that are counted as a tensor.
    pub fn raw_tensor(mut self, bytes: &[u8]) -> Self {
        self.tensors.extend(bytes);
        self.n_tensors += 1;
        self
    }

    /// Adds zeros to the data section.
    pub fn zeros(mut self, n_bytes: usize) -> Self {
        self.data.resize(self.data.len() + n_bytes, 0);
        self
    }

    /// The file, of version 3, with its data aligned to 32 bytes.
    pub fn build(&self) -> Vec<u8> {
        self.build_with(3, self.n_tensors, self.n_entries)
    }

    /// The file with another version and other counts.
    pub fn build_with(&self, version: u32, n_tensors: u64, n_entries: u64) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(version.to_le_bytes());
        file.extend(n_tensors.to_le_bytes());
        file.extend(n_entries.to_le_bytes());
        file.extend(&self.entries);
        file.extend(&self.tensors);
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(&self.data);
        file
    }
}

/// A string as it lies in the file: a length of 64 bits and the bytes.
pub fn string(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}
