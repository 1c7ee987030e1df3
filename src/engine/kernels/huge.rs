//! Memory in large pages: how is the processor kept from looking up every four kilobytes where they lie?

/// Pieces smaller than this are not worth a system call.
const MIN_BYTES: usize = 4 << 20;

/// An empty vector with room for `len` elements, in large pages where the system has them. Decoding reads every weight
/// once a token, and then looking up pages of 4 kB takes a good part of the time.
pub fn vec<T>(len: usize) -> Vec<T> {
    let memory = Vec::with_capacity(len);
    #[cfg(target_os = "linux")]
    if len * size_of::<T>() >= MIN_BYTES {
        advise(memory.as_ptr() as usize, len * size_of::<T>());
    }
    memory
}

/// Asks for large pages for the whole pages of a range. If the system refuses, pages stay small: no harm is done.
#[cfg(target_os = "linux")]
fn advise(start: usize, len: usize) {
    const PAGE_BYTES: usize = 4096;
    let first = start.next_multiple_of(PAGE_BYTES);
    let end = (start + len) / PAGE_BYTES * PAGE_BYTES;
    // SAFETY: the advice changes how the range is backed and never what it holds, and the range is ours.
    unsafe { libc::madvise(first as *mut libc::c_void, end.saturating_sub(first), libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn large_and_small_vectors_hold_what_is_put_into_them() {
        for len in [0, 1, 5000, 3 << 20] {
            let mut numbers: Vec<u32> = super::vec(len);
            numbers.extend(0..len as u32);
            assert!(numbers.iter().enumerate().all(|(idx, &number)| idx as u32 == number));
        }
    }
}
