//! The threads that compute: how is one piece of work shared among cores that others may want too?

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};

/// A fixed set of threads, the caller's among them, that take units of work from one counter.
///
/// A decoder asks for thousands of pieces of work a second, each some microseconds long, so a thread that ran out of
/// work spins for a moment before it sleeps. It spins little, yields in between and is never waited for unless it
/// took a unit: when another program has the cores, the caller does the work alone instead of waiting.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The same threads, to wake them.
    sleepers: Vec<Thread>,
    /// Held by whoever has work done.
    caller: Mutex<()>,
}

/// The numbers of the units that a thread is to compute, handed out one by one.
pub struct Units<'a> {
    next: &'a AtomicUsize,
    n_units: usize,
}

/// What the threads have in common.
struct Shared {
    /// [`State`] in one word, so that entering and closing a job cannot cross.
    state: AtomicU64,
    /// The open job; valid while `state` is open or somebody is inside.
    job: std::cell::UnsafeCell<Option<Job>>,
    next: AtomicUsize,
    n_asleep: AtomicUsize,
    has_panicked: AtomicBool,
    is_over: AtomicBool,
}

// SAFETY: `job` is written only by the caller while the state is closed and nobody is inside, and read only by threads
// that entered; everything else is atomic.
unsafe impl Sync for Shared {}
// SAFETY: the task behind `job` is `Sync`, and the caller outlives the job.
unsafe impl Send for Shared {}

#[derive(Clone, Copy)]
struct Job {
    task: *const (dyn Fn(Units<'_>) + Sync),
    n_units: usize,
}

/// The low bits count the threads inside, the next one says whether the job is open, the rest number the jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State(u64);

impl State {
    const OPEN: u64 = 1 << 15;
    const INSIDE: u64 = Self::OPEN - 1;

    fn is_open(self) -> bool {
        self.0 & Self::OPEN != 0
    }

    fn n_inside(self) -> u64 {
        self.0 & Self::INSIDE
    }

    fn job_number(self) -> u64 {
        self.0 >> 16
    }
}

/// Looks at the state before a thread begins to yield: some ten microseconds.
const SPINS: u32 = 1_000;
/// Yields before an idle thread sleeps, about half a millisecond if nobody else wants the core: longer than a decoder
/// computes alone between two pieces of work. Each lets whoever wants the core have it.
const YIELDS: u32 = 2_000;

impl Pool {
    /// A pool of `n_threads`, at least one: the caller's and `n_threads - 1` more.
    ///
    /// # Panics
    /// If the operating system gives no thread.
    pub fn new(n_threads: usize) -> Self {
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            job: std::cell::UnsafeCell::new(None),
            next: AtomicUsize::new(0),
            n_asleep: AtomicUsize::new(0),
            has_panicked: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let spawn = |idx| {
            let shared = shared.clone();
            let thread = thread::Builder::new().name(format!("kernel-{idx}"));
            thread.spawn(move || shared.serve()).expect("the operating system has a thread")
        };
        let threads: Vec<JoinHandle<()>> = (1..n_threads.clamp(1, State::INSIDE as usize)).map(spawn).collect();
        let sleepers = threads.iter().map(|thread| thread.thread().clone()).collect();
        Self { shared, threads, sleepers, caller: Mutex::new(()) }
    }

    /// Threads, the caller's among them.
    pub fn n_threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Calls `task` on some threads, at least the caller's, with the numbers `0..n_units` dealt out among them.
    /// Returns when all units are computed. A task must not ask the same pool for work: it would wait for itself.
    ///
    /// # Panics
    /// If `task` does, on any thread.
    pub fn run(&self, n_units: usize, task: impl Fn(Units<'_>) + Sync) {
        let shared = &*self.shared;
        // A job that panicked left nothing half done that the next one would see.
        let _caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        shared.next.store(0, Ordering::Relaxed);
        if n_units <= 1 || self.threads.is_empty() {
            return task(Units { next: &shared.next, n_units });
        }
        let task: &(dyn Fn(Units<'_>) + Sync) = &task;
        // SAFETY: only the lifetime changes; `closing` keeps this function from ending, even by a panic, while a thread
        // may still call the task.
        let task: &'static (dyn Fn(Units<'_>) + Sync) = unsafe { std::mem::transmute(task) };
        // SAFETY: the state is closed and nobody is inside, so nobody reads the job; the lock keeps other callers out.
        unsafe { *shared.job.get() = Some(Job { task, n_units }) };
        let closing = Closing(shared);
        let number = State(shared.state.load(Ordering::Relaxed)).job_number() + 1;
        shared.state.store(number << 16 | State::OPEN, Ordering::SeqCst);
        if shared.n_asleep.load(Ordering::SeqCst) > 0 {
            self.sleepers.iter().for_each(Thread::unpark);
        }
        task(Units { next: &shared.next, n_units });
        drop(closing);
        assert!(!shared.has_panicked.swap(false, Ordering::Relaxed), "a thread of the pool panicked");
    }

    /// Cuts `out` into chunks of `chunk_len` (the last may be shorter) and calls `task` with each and its number.
    pub fn for_chunks<T: Send>(&self, out: &mut [T], chunk_len: usize, task: impl Fn(usize, &mut [T]) + Sync) {
        let n_units = out.len().div_ceil(chunk_len);
        let whole = Whole::of(out);
        self.run(n_units, |units| {
            for unit in units {
                let start = unit * chunk_len;
                // SAFETY: each unit is handed out once, and the chunks of different units do not overlap.
                let chunk = unsafe { whole.slice(start, chunk_len.min(whole.len - start)) };
                task(unit, chunk);
            }
        });
    }
}

/// A slice of which several threads write different parts.
pub struct Whole<'a, T> {
    first: *mut T,
    len: usize,
    slice: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: threads get at the elements through `slice` only, whose callers keep to different parts.
unsafe impl<T: Send> Sync for Whole<'_, T> {}

impl<'a, T> Whole<'a, T> {
    /// The whole of a slice.
    pub fn of(slice: &'a mut [T]) -> Self {
        Self { first: slice.as_mut_ptr(), len: slice.len(), slice: std::marker::PhantomData }
    }

    /// A part of it.
    ///
    /// # Panics
    /// If the slice ends before the part does.
    ///
    /// # Safety
    /// No two parts that overlap may be in use at a time.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "that is what the type is for; the caller answers for it")]
    pub unsafe fn slice(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start <= self.len && len <= self.len - start, "the part lies within the slice");
        // SAFETY: it lies within, as just checked, and the caller lets nobody else use it.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(start), len) }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool of {} threads", self.n_threads())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.sleepers.iter().for_each(Thread::unpark);
        for thread in self.threads.drain(..) {
            thread.join().expect("threads catch the panics of tasks");
        }
    }
}

impl Iterator for Units<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let unit = self.next.fetch_add(1, Ordering::Relaxed);
        (unit < self.n_units).then_some(unit)
    }
}

/// Closes the job when dropped, and waits for those inside.
struct Closing<'a>(&'a Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!State::OPEN, Ordering::SeqCst);
        let mut n_looks = 0u32;
        while State(self.0.state.load(Ordering::Acquire)).n_inside() > 0 {
            pause(n_looks);
            n_looks = n_looks.saturating_add(1);
        }
    }
}

/// Waits a moment: by spinning at first, then by giving the core away.
fn pause(n_looks: u32) {
    if n_looks < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
}

impl Shared {
    /// A thread's life: wait for a job, take part in it, until the pool is over.
    fn serve(&self) {
        let mut last_job = 0;
        while let Some(number) = self.enter(last_job) {
            last_job = number;
            // SAFETY: this thread is inside, so the caller neither changes the job nor returns.
            let job = unsafe { *self.job.get() }.expect("the job was set before it was opened");
            let units = Units { next: &self.next, n_units: job.n_units };
            // SAFETY: as above, the task is alive.
            let task = std::panic::AssertUnwindSafe(|| unsafe { (*job.task)(units) });
            if std::panic::catch_unwind(task).is_err() {
                self.has_panicked.store(true, Ordering::Relaxed);
            }
            self.state.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for an open job other than the last one and enters it; `None` when the pool is over.
    fn enter(&self, last_job: u64) -> Option<u64> {
        let mut n_looks = 0u32;
        loop {
            let state = State(self.state.load(Ordering::SeqCst));
            if state.is_open() && state.job_number() != last_job {
                let entered = state.0 + 1;
                if self.state.compare_exchange(state.0, entered, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return Some(state.job_number());
                }
                continue;
            }
            if self.is_over.load(Ordering::SeqCst) {
                return None;
            }
            if n_looks < SPINS + YIELDS {
                pause(n_looks);
                n_looks += 1;
            } else {
                self.sleep(last_job);
                n_looks = 0;
            }
        }
    }

    /// Sleeps until it is woken, unless a job was opened meanwhile.
    fn sleep(&self, last_job: u64) {
        self.n_asleep.fetch_add(1, Ordering::SeqCst);
        let state = State(self.state.load(Ordering::SeqCst));
        let is_wanted = state.is_open() && state.job_number() != last_job || self.is_over.load(Ordering::SeqCst);
        if !is_wanted {
            thread::park();
        }
        self.n_asleep.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_computed_once() {
        for n_threads in [1, 2, 5] {
            let pool = Pool::new(n_threads);
            for n_units in [0, 1, 2, 3, 100, 1000] {
                let counts: Vec<AtomicUsize> = (0..n_units).map(|_| AtomicUsize::new(0)).collect();
                for _ in 0..20 {
                    pool.run(n_units, |units| {
                        for unit in units {
                            counts[unit].fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 20), "{n_threads}, {n_units}");
            }
        }
    }

    #[test]
    fn chunks_cover_the_slice() {
        let mut out = vec![0; 10];
        Pool::new(2).for_chunks(&mut out, 4, |unit, chunk| chunk.fill(unit + 1));
        assert_eq!(out, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
    }

    #[test]
    fn panic_of_a_task_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Pool::new(2);
        let task = |units: Units<'_>| units.for_each(|unit| assert!(unit != 7, "seven"));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.run(100, task)));
        assert!(outcome.is_err());
        let mut out = vec![0; 100];
        pool.for_chunks(&mut out, 1, |unit, chunk| chunk[0] = unit);
        assert!(out.iter().enumerate().all(|(idx, &x)| idx == x));
    }

    #[test]
    fn sleeping_threads_wake_up() {
        let pool = Pool::new(3);
        let mut out = vec![0; 1000];
        // No sleep in a test: as many yields as make the threads of the pool sleep.
        (0..100_000).for_each(|_| thread::yield_now());
        pool.for_chunks(&mut out, 1, |_, chunk| chunk[0] = 1);
        assert_eq!(out.iter().sum::<usize>(), 1000);
    }
}
