//! Pseudo-random numbers for tests.

/// Generates numbers from a seed, the same ones on every run.
pub struct Dice(pub u64);

impl Dice {
    /// Returns a number from 0 on that is less than `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    /// Returns `true` once in `count` calls, on average.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}
