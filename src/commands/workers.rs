//! Many files at once, told in their order.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Does `work` on each item, on this many threads, and hands what it gave to `take` in the order of the
/// items, each as soon as all before it are through. When `take` fails, no further item is begun.
pub fn in_order<I: Send, T: Send, E>(
    items: Vec<I>,
    workers: usize,
    work: impl Fn(I) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let workers = workers.min(items.len());
    if workers < 2 {
        return items.into_iter().try_for_each(|item| take(work(item)));
    }
    let left = Mutex::new(items.into_iter().enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (done, results) = mpsc::channel();
    thread::scope(|scope| {
        let start = |_: &usize| {
            let (done, next, work) = (done.clone(), &next, &work);
            let work = move || {
                while let Some((at, item)) = next() {
                    // Nobody takes any more: something failed.
                    if done.send((at, work(item))).is_err() {
                        break;
                    }
                }
            };
            thread::Builder::new().spawn_scoped(scope, work).is_ok()
        };
        if (0..workers).take_while(start).count() == 0 {
            // No thread can be started: this one does it all.
            return std::iter::from_fn(next).try_for_each(|(_, item)| take(work(item)));
        }
        drop(done);
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        for (at, result) in results {
            early.insert(at, result);
            while let Some(result) = early.remove(&wanted) {
                take(result)?;
                wanted += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_ones_are_told_in_their_place() {
        let slow_first = |item: u64| {
            std::thread::sleep(std::time::Duration::from_millis((8 - item) * 2));
            item
        };
        for workers in [0, 1, 3, 20] {
            let mut told = Vec::new();
            let take = |item| {
                told.push(item);
                Ok::<(), ()>(())
            };
            in_order((0..8).collect(), workers, slow_first, take).unwrap();
            assert_eq!(told, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }

    #[test]
    fn a_failure_ends_it() {
        let items: Vec<u32> = (0..1000).collect();
        let mut told = 0;
        let take = |item| {
            told += 1;
            if item == 3 { Err("full") } else { Ok(()) }
        };
        assert_eq!(in_order(items, 2, |item| item, take), Err("full"));
        assert_eq!(told, 4);
    }
}
