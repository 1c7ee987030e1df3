//! The integration tests, one binary.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

mod admission;
mod cli;
mod docs;
mod embed;
mod golden;
mod hostile;
mod injection;
mod integrity;
mod invariance;
mod judged;
mod matrix;
mod memory;
mod metrics;
mod offline;
mod ragas;
mod real;
mod text_metrics;
mod tidy;
mod weights;

thread_local! {
    /// The bytes that this thread allocated and did not free.
    static LIVE: Cell<usize> = const { Cell::new(0) };
    /// The largest value of `LIVE` since it was last reset.
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which also keeps the largest sum of live bytes of each thread.
struct Counting;

#[expect(unsafe_code, reason = "counting what is allocated takes an allocator of our own")]
// SAFETY: every call is passed on unchanged; the counters are thread-local cells without destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract, which is the system's.
        unsafe { System.alloc(layout) }
    }

    // Without it zeros would be written, to memory that nobody may ever use: caches are gigabytes of them.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps `alloc_zeroed`'s contract, which is the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().saturating_sub(layout.size()));
        // SAFETY: the pointer came from `alloc` above, so from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn count(n_bytes: usize) {
    LIVE.set(LIVE.get() + n_bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that `work` had allocated at a time, on this thread.
fn peak_bytes(work: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    work();
    PEAK.get() - before
}
