//! Parallel work on many items, with results in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The number of results per worker that may wait for an earlier one: large enough that one slow item does
/// not block the others, small enough that memory does not grow with the number of items.
const AHEAD: usize = 16;

/// Calls `work` on each item, on `workers` threads, and passes the results to `take` in the order of the
/// items, each as soon as all before it are done. If `take` fails, no further item is started.
pub fn in_order<I: Send, T: Send, E>(
    items: Vec<I>,
    workers: usize,
    work: impl Fn(I) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let mut items = items.into_iter();
    let total = items.len();
    let workers = workers.min(total);
    if workers < 2 {
        return items.try_for_each(|item| take(work(item)));
    }
    let state = State { items, total, taken: 0, begun: VecDeque::new(), is_over: false };
    let queue = Queue { state: Mutex::new(state), changed: Condvar::new(), ahead: workers * AHEAD };
    thread::scope(|scope| {
        let work_off = || {
            let whole = Stop(&queue);
            while let Some((at, item)) = queue.next() {
                queue.finish(at, work(item));
            }
            // Not dropped here: only a panic drops it, which stops the other workers.
            std::mem::forget(whole);
        };
        let start = |_: &usize| thread::Builder::new().spawn_scoped(scope, work_off).is_ok();
        if (0..workers).take_while(start).count() == 0 {
            // If no thread can be started, this one does all the work.
            return std::iter::from_fn(|| queue.next()).try_for_each(|(at, item)| {
                queue.finish(at, work(item));
                queue.take().map_or(Ok(()), &mut take)
            });
        }
        let _stop = Stop(&queue);
        while let Some(result) = queue.take() {
            take(result)?;
        }
        Ok(())
    })
}

struct Queue<I, T> {
    state: Mutex<State<I, T>>,
    changed: Condvar,
    ahead: usize,
}

struct State<I, T> {
    items: I,
    total: usize,
    taken: usize,
    /// The items started but not taken yet: their results, if finished.
    begun: VecDeque<Option<T>>,
    is_over: bool,
}

impl<I: Iterator, T> Queue<I, T> {
    fn lock(&self) -> MutexGuard<'_, State<I, T>> {
        lock(&self.state)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<I, T>>) -> MutexGuard<'a, State<I, T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next item with its number; waits while too many results are pending.
    fn next(&self) -> Option<(usize, I::Item)> {
        let mut state = self.lock();
        while !state.is_over && state.begun.len() >= self.ahead {
            state = self.wait(state);
        }
        if state.is_over {
            return None;
        }
        let item = state.items.next()?;
        let at = state.taken + state.begun.len();
        state.begun.push_back(None);
        Some((at, item))
    }

    fn finish(&self, at: usize, result: T) {
        let mut state = self.lock();
        let place = at - state.taken;
        state.begun[place] = Some(result);
        if place == 0 {
            self.changed.notify_all();
        }
    }

    /// Returns the next result in order; `None` after the last.
    fn take(&self) -> Option<T> {
        let mut state = self.lock();
        while !state.is_over && state.taken < state.total {
            if let Some(result) = state.begun.front_mut().and_then(Option::take) {
                state.begun.pop_front();
                state.taken += 1;
                self.changed.notify_all();
                return Some(result);
            }
            state = self.wait(state);
        }
        None
    }
}

/// Stops the work when dropped: results are no longer taken, or a worker has panicked.
struct Stop<'a, I: Iterator, T>(&'a Queue<I, T>);

impl<I: Iterator, T> Drop for Stop<'_, I, T> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

/// Calls `work` on each item, on `workers` threads including the calling one, and `take` on each result in the order of
/// the items. The thread that computed a result also takes it, when its turn comes; until then it computes at most `kept`
/// further results. Each result has a buffer, created by `new`. After the result is taken, the buffer is reused without
/// being cleared: few buffers stay in the processor's cache.
///
/// # Errors
/// If a call fails; of several errors, any one. Calls already begun are completed. Earlier results may not have been
/// taken.
pub fn in_turns<I, B, T, E: Send>(
    items: impl Iterator<Item = I> + Send,
    workers: usize,
    kept: usize,
    new: impl Fn() -> B + Sync,
    work: impl Fn(&mut B, I) -> Result<T, E> + Sync,
    take: impl FnMut(&mut B, T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let items = Mutex::new(items.fuse().enumerate());
    let turns = Turns { current: AtomicUsize::new(0), take: Mutex::new(take), changed: Condvar::new() };
    let work_off = || {
        let end = End(&turns);
        let (mut waiting, mut buffers) = (VecDeque::new(), Vec::new());
        loop {
            let next = if turns.is_over() { None } else { lock(&items).next() };
            let most = if next.is_some() { kept } else { 0 };
            if let Some((turn, item)) = next {
                let mut buffer = buffers.pop().unwrap_or_else(&new);
                let result = work(&mut buffer, item)?;
                waiting.push_back((turn, buffer, result));
            } else if waiting.is_empty() {
                break;
            }
            while waiting.front().is_some_and(|&(turn, ..)| waiting.len() > most || turns.has_come(turn)) {
                let (turn, mut buffer, result) = waiting.pop_front().expect("there is a front");
                let Some(mut take) = turns.wait(turn) else { return Ok(()) };
                take(&mut buffer, result)?;
                turns.pass(turn + 1, take);
                buffers.push(buffer);
            }
        }
        // Not dropped here: only a failure or a panic drops it, which stops the other workers.
        std::mem::forget(end);
        Ok(())
    };
    thread::scope(|scope| {
        // If no further thread can be started, the existing ones do the work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work_off).ok();
        let others: Vec<_> = (1..workers).map_while(start).collect();
        let mine = work_off();
        others.into_iter().map(wait_for).fold(mine, Result::and)
    })
}

/// Whose turn it is to take a result.
struct Turns<F> {
    current: AtomicUsize,
    /// Locked during a turn.
    take: Mutex<F>,
    changed: Condvar,
}

impl<F> Turns<F> {
    /// The value of `current` after a failure.
    const OVER: usize = usize::MAX;
    /// How often to check before sleeping: the turn usually comes soon, and waking a thread takes long.
    const SPINS: usize = 20_000;

    /// Whether a worker has failed.
    fn is_over(&self) -> bool {
        self.has_come(Self::OVER)
    }

    /// Whether a turn has come, or a worker has failed.
    fn has_come(&self, turn: usize) -> bool {
        self.current.load(Ordering::Acquire) >= turn
    }

    /// Waits for a turn; returns `None` if a worker has failed.
    fn wait(&self, turn: usize) -> Option<MutexGuard<'_, F>> {
        for _ in 0..Self::SPINS {
            if self.has_come(turn) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut take = lock(&self.take);
        while !self.has_come(turn) {
            take = self.changed.wait(take).unwrap_or_else(PoisonError::into_inner);
        }
        (self.current.load(Ordering::Acquire) == turn).then_some(take)
    }

    /// Ends a turn, and starts the next one.
    fn pass(&self, next: usize, take: MutexGuard<F>) {
        // The maximum, because after a failure it must stay `OVER`.
        self.current.fetch_max(next, Ordering::Release);
        drop(take);
        self.changed.notify_all();
    }
}

/// Ends all turns when dropped, which happens only if a worker failed.
struct End<'a, F>(&'a Turns<F>);

impl<F> Drop for End<'_, F> {
    fn drop(&mut self) {
        self.0.pass(Turns::<F>::OVER, lock(&self.0.take));
    }
}

/// Calls both functions, and returns their results. If `is_parallel`, `second` runs on another thread.
pub fn both<A, B: Send>(
    is_parallel: bool,
    first: impl FnOnce() -> A,
    second: impl Fn() -> B + Sync,
) -> (A, B) {
    thread::scope(|scope| {
        let start = || thread::Builder::new().spawn_scoped(scope, &second).ok();
        let other = is_parallel.then(start).flatten();
        let first = first();
        // Without another thread, this one calls both.
        let second = other.map_or_else(&second, wait_for);
        (first, second)
    })
}

/// Waits for a thread, and returns its result. Panics if it panicked.
pub fn wait_for<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: usize = 2;

    #[test]
    fn slow_ones_keep_their_place() {
        let slow_first = |item: u64| {
            std::thread::sleep(std::time::Duration::from_millis((8 - item) * 2));
            item
        };
        for workers in [0, 1, 3, 20] {
            let mut taken = Vec::new();
            let take = |item| {
                taken.push(item);
                Ok::<(), ()>(())
            };
            let items: Vec<u64> = (0..8).collect();
            in_order(items, workers, slow_first, take).unwrap();
            assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }

    #[test]
    fn a_failure_ends_it() {
        let items: Vec<u32> = (0..1000).collect();
        let mut taken = 0;
        let take = |item| {
            taken += 1;
            if item == 3 { Err("full") } else { Ok(()) }
        };
        assert_eq!(in_order(items, 2, |item| item, take), Err("full"));
        assert_eq!(taken, 4);
    }

    /// The first item waits until as many others as allowed are done; without a limit, all of them would be.
    #[test]
    fn few_results_wait() {
        let done = AtomicUsize::new(0);
        let work = |item: usize| {
            while item == 0 && done.load(Ordering::SeqCst) < 3 * AHEAD - 1 {
                std::thread::yield_now();
            }
            if item == 0 {
                std::thread::sleep(std::time::Duration::from_millis(20));
                return done.load(Ordering::SeqCst);
            }
            done.fetch_add(1, Ordering::SeqCst);
            0
        };
        let mut first = None;
        let take = |result| {
            first.get_or_insert(result);
            Ok::<(), ()>(())
        };
        let items: Vec<usize> = (0..1000).collect();
        in_order(items, 3, work, take).unwrap();
        assert_eq!(first, Some(3 * AHEAD - 1));
    }

    #[test]
    fn turns_come_in_order() {
        for workers in [0, 1, 3, 20] {
            let buffers = AtomicUsize::new(0);
            let new = || buffers.fetch_add(1, Ordering::SeqCst);
            let slow_first = |_: &mut usize, item: u64| {
                std::thread::sleep(std::time::Duration::from_millis((8 - item) * 2));
                Ok::<_, ()>(item)
            };
            let mut taken = Vec::new();
            let take = |_: &mut usize, item| {
                taken.push(item);
                Ok(())
            };
            in_turns(0..8, workers, KEPT, new, slow_first, take).unwrap();
            assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6, 7]);
            assert!(buffers.into_inner() <= workers.max(1) * (KEPT + 1));
        }
    }

    #[test]
    fn a_failure_ends_all_turns() {
        for workers in [1, 2, 5] {
            let (mut begun, mut taken) = (0, 0);
            let items = (0..1000).inspect(|_| begun += 1);
            let take = |(): &mut (), item| {
                taken += 1;
                if item == 3 { Err("full") } else { Ok(()) }
            };
            assert_eq!(in_turns(items, workers, KEPT, || (), |(), item| Ok(item), take), Err("full"));
            assert_eq!(taken, 4);
            assert!(begun <= 4 + workers * (KEPT + 1), "{begun} {workers}");
            let work = |(): &mut (), item| if item == 500 { Err("unreadable") } else { Ok(()) };
            let done = in_turns(0..1000, workers, KEPT, || (), work, |(), ()| Ok(()));
            assert_eq!(done, Err("unreadable"));
        }
    }

    /// Whichever thread panics, in whichever function, the others end.
    #[test]
    fn a_panic_ends_all_turns() {
        for workers in [1, 2, 5] {
            let five = |(): &mut (), item| {
                assert!(item != 5, "five");
                Ok::<u32, ()>(item)
            };
            let new = || ();
            let in_work = || in_turns(0..1000, workers, KEPT, new, five, |(), _| Ok(()));
            let in_take = || {
                in_turns(
                    0..1000,
                    workers,
                    KEPT,
                    new,
                    |(), item| Ok(item),
                    |(), item| five(&mut (), item).map(drop),
                )
            };
            for panic in [std::panic::catch_unwind(in_work), std::panic::catch_unwind(in_take)] {
                assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"five"));
            }
        }
    }

    #[test]
    fn both_results_arrive() {
        for is_parallel in [false, true] {
            let mut called = 0;
            let results = both(is_parallel, || called += 1, || std::thread::current().id());
            assert_eq!(results.1 == std::thread::current().id(), !is_parallel);
            assert_eq!(called, 1);
        }
    }

    #[test]
    #[should_panic(expected = "second")]
    fn a_panic_of_the_other_thread_is_passed_on() {
        both(true, || (), || panic!("second"));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_handed_on() {
        let items: Vec<u32> = (0..1000).collect();
        let work = |item| assert!(item != 5, "five");
        let _ = in_order(items, 2, work, |()| Ok::<(), ()>(()));
    }
}
