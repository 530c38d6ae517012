//! Parallel work on many items, with results in order.

use std::collections::VecDeque;
use std::iter::Fuse;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// The number of items per worker that may be begun before the next result is taken. It is large
/// enough that one slow item does not block the other workers, and limits the results in memory.
const AHEAD: usize = 4;

/// Calls `work` with each item, on `workers` threads, of which the calling thread is one. Passes
/// the results to `take` on the calling thread, in the order of the items.
///
/// A result is taken as soon as all results before it are taken. While the next result is not
/// ready, the calling thread works on items, too. If `take` fails, no further item is begun.
pub fn in_order<I, T: Send, E, S>(
    items: S,
    workers: usize,
    work: impl Fn(I) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E>
where
    S: IntoIterator<Item = I>,
    S::IntoIter: Send,
{
    let items = items.into_iter();
    // No more threads than items, if their number is known.
    let most_items = items.size_hint().1.unwrap_or(workers);
    let threads = workers.min(most_items).max(1);
    let state = State {
        items: items.fuse(),
        taken: 0,
        begun: VecDeque::new(),
        is_over: false,
    };
    let queue = Queue {
        state: Mutex::new(state),
        changed: Condvar::new(),
        max_begun: threads * AHEAD,
    };
    thread::scope(|scope| {
        let help = || {
            let stop = Stop(&queue);
            while let Turn::Work(begun) = queue.next_turn(MayTake::No) {
                queue.finish(begun.number, work(begun.item));
            }
            // A worker that has nothing left to do must not stop the others. Only a panic above
            // drops the guard.
            std::mem::forget(stop);
        };
        // If `take` fails or panics, the other threads must not wait for their results to be taken.
        let _stop = Stop(&queue);
        for _ in 1..threads {
            // If no thread can be started, this one does all the work.
            if thread::Builder::new().spawn_scoped(scope, help).is_err() {
                break;
            }
        }
        loop {
            match queue.next_turn(MayTake::Yes) {
                Turn::Take(result) => take(result)?,
                Turn::Work(begun) => queue.finish(begun.number, work(begun.item)),
                Turn::Over => return Ok(()),
            }
        }
    })
}

/// The items and the results, shared by all threads.
struct Queue<I, T> {
    state: Mutex<State<I, T>>,
    /// Notified when a thread that waits may have something to do.
    changed: Condvar,
    /// The maximum number of items that are begun and whose results are not taken.
    max_begun: usize,
}

struct State<I, T> {
    /// The items that are not begun.
    items: Fuse<I>,
    /// The number of results that were taken.
    taken: usize,
    /// The items that are begun and not taken, in order: the result of each, or `None` while it is
    /// not finished.
    begun: VecDeque<Option<T>>,
    /// Whether the work has stopped: `take` has failed, or a thread has panicked.
    is_over: bool,
}

/// Whether a thread takes results: only the calling thread does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MayTake {
    Yes,
    No,
}

/// What a thread does next.
enum Turn<I, T> {
    /// Take a result: only the calling thread.
    Take(T),
    /// Work on this item.
    Work(BegunItem<I>),
    /// Nothing: all items are begun, and for the calling thread, all results are taken as well. Or
    /// the work has stopped.
    Over,
}

/// An item for one thread to work on. [`Queue::finish`] takes the result, with the number.
struct BegunItem<I> {
    /// The number of items before this one, taken or begun.
    number: usize,
    item: I,
}

impl<I: Iterator, T> State<I, T> {
    /// Takes the result of the first item that is begun, so that another item may begin. `None` if
    /// that result is not finished: results are taken in the order of the items.
    fn take_first_result(&mut self) -> Option<T> {
        let result = self.begun.front_mut()?.take()?;
        self.begun.pop_front();
        self.taken += 1;
        Some(result)
    }

    /// Begins the next item. `None` if all items are begun.
    fn begin_next_item(&mut self) -> Option<BegunItem<I::Item>> {
        let item = self.items.next()?;
        let number = self.taken + self.begun.len();
        // The place of the result, which is not finished.
        self.begun.push_back(None);
        Some(BegunItem { number, item })
    }
}

impl<I: Iterator, T> Queue<I, T> {
    fn lock(&self) -> MutexGuard<'_, State<I, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the result of the item with this number until it is taken.
    fn finish(&self, number: usize, result: T) {
        let mut state = self.lock();
        let index = number - state.taken;
        state.begun[index] = Some(result);
        // Only the first result can be taken now. Any other one waits for the results before it.
        if index == 0 {
            self.changed.notify_all();
        }
    }

    /// Returns what a thread does next. Taking a result comes before work, so that few results
    /// wait.
    ///
    /// If there is neither a result nor an item for this thread, waits until there is: too many
    /// results are not taken yet, or for the calling thread, the next result is not ready.
    fn next_turn(&self, may_take: MayTake) -> Turn<I::Item, T> {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return Turn::Over;
            }
            if may_take == MayTake::Yes
                && let Some(result) = state.take_first_result()
            {
                // A thread may wait because too many results were not taken.
                self.changed.notify_all();
                return Turn::Take(result);
            }

            let may_begin = state.begun.len() < self.max_begun;
            if may_begin {
                if let Some(begun) = state.begin_next_item() {
                    return Turn::Work(begun);
                }
                // There are no more items. A worker is done, although others may still work. The
                // calling thread stays until it has taken all results.
                if may_take == MayTake::No || state.begun.is_empty() {
                    return Turn::Over;
                }
            }
            // Waits until a result is finished or taken, or the work stops.
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
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

/// Values that workers reuse, such as buffers. The value that was put back last is used first, so
/// that it is likely to be in the processor's cache.
#[derive(Debug)]
pub struct Pool<B, F> {
    new: F,
    free: Mutex<Vec<B>>,
}

impl<B, F: Fn() -> B> Pool<B, F> {
    /// Returns an empty pool, whose values are made by `new`.
    pub fn new(new: F) -> Self {
        Pool {
            new,
            free: Mutex::new(Vec::new()),
        }
    }

    /// Returns a value that was put back, in the state in which it was put back, or a new one.
    pub fn get(&self) -> B {
        let free = self
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        free.unwrap_or_else(&self.new)
    }

    /// Puts a value back.
    pub fn put(&self, value: B) {
        self.free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(value);
    }

    /// Calls `work` with a value that is not in use.
    pub fn with<T>(&self, work: impl FnOnce(&mut B) -> T) -> T {
        let mut value = self.get();
        let done = work(&mut value);
        self.put(value);
        done
    }
}

/// Results that are no longer needed. Each is dropped by the thread that made it, as long as that
/// thread makes more.
///
/// Memory that one thread frees while the thread that allocated it allocates more makes both wait
/// for the same lock of the allocator.
#[derive(Debug)]
pub struct Spent<T> {
    /// The results, each with the thread that made it. There are few: a thread drops its own before
    /// it makes the next one.
    results: Mutex<Vec<(ThreadId, T)>>,
}

impl<T> Spent<T> {
    /// Returns an empty collection.
    pub fn new() -> Self {
        Spent {
            results: Mutex::new(Vec::new()),
        }
    }

    /// Keeps a result until `maker` calls [`drop_own`](Spent::drop_own), or the collection is
    /// dropped.
    pub fn put(&self, maker: ThreadId, result: T) {
        self.lock().push((maker, result));
    }

    /// Drops the results that this thread made.
    pub fn drop_own(&self) {
        let this_thread = thread::current().id();
        let is_own = |(maker, _): &mut (ThreadId, T)| *maker == this_thread;
        let own: Vec<_> = self.lock().extract_if(.., is_own).collect();
        // The lock is free again, so other threads do not wait meanwhile.
        drop(own);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(ThreadId, T)>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Spent<T> {
    fn default() -> Self {
        Spent::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
            in_order(0..8, workers, slow_first, take).unwrap();
            assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }

    #[test]
    fn a_failure_ends_it() {
        for workers in [1, 2, 5] {
            let (mut begun, mut taken) = (0, 0);
            let take = |item| {
                taken += 1;
                if item == 3 { Err("full") } else { Ok(()) }
            };
            assert_eq!(
                in_order(
                    (0..1000).inspect(|_| begun += 1),
                    workers,
                    |item| item,
                    take
                ),
                Err("full")
            );
            assert_eq!(taken, 4);
            assert!(begun <= 4 + workers * AHEAD, "{begun} {workers}");
        }
    }

    /// The first item waits until as many others as allowed are done; without a limit, all of them
    /// would be.
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
        in_order(0..1000, 3, work, take).unwrap();
        assert_eq!(first, Some(3 * AHEAD - 1));
    }

    /// Whichever thread panics, in whichever function, the others end.
    #[test]
    fn a_panic_is_handed_on() {
        for workers in [1, 2, 5] {
            let five = |item: u32| assert!(item != 5, "five");
            let in_work = || in_order(0..1000, workers, five, |()| Ok::<(), ()>(()));
            let in_take = || {
                in_order(
                    0..1000,
                    workers,
                    |item| item,
                    |item| {
                        five(item);
                        Ok::<(), ()>(())
                    },
                )
            };
            assert!(std::panic::catch_unwind(in_work).is_err());
            assert!(std::panic::catch_unwind(in_take).is_err());
        }
    }

    #[test]
    fn values_are_used_again() {
        let pool = Pool::new(Vec::new);
        pool.with(|value| value.push(1));
        assert_eq!((pool.get(), pool.get()), (vec![1], vec![]));
    }

    #[test]
    fn spent_results_are_dropped_by_their_maker() {
        let (own, other) = (Arc::new(()), Arc::new(()));
        let spent = Spent::new();
        spent.put(thread::current().id(), Arc::clone(&own));
        thread::scope(|scope| {
            let maker = scope.spawn(|| thread::current().id()).join().unwrap();
            spent.put(maker, Arc::clone(&other));
        });

        spent.drop_own();
        assert_eq!(Arc::strong_count(&own), 1);
        assert_eq!(Arc::strong_count(&other), 2);
    }
}
