//! Sums of tails of a row of numbers that grows, shrinks and changes.

/// Numbers in a row with the sums of its tails (a Fenwick tree): each step takes a time that grows
/// with the logarithm of their count.
#[derive(Debug, Default)]
pub struct Sums {
    numbers: Vec<u64>,
    /// `tree[at]` is the sum of the numbers in the stretch that ends with place `at`.
    tree: Vec<u64>,
}

impl Sums {
    /// Places in the stretch that ends with place `at`.
    fn stretch(at: usize) -> usize {
        1 << (at + 1).trailing_zeros()
    }

    /// Adds a number behind the others.
    pub fn push(&mut self, number: u64) {
        let at = self.numbers.len();
        self.numbers.push(number);
        self.tree.push(number + self.up_to(at) - self.up_to(at + 1 - Sums::stretch(at)));
    }

    /// Takes the last number away.
    pub fn pop(&mut self) {
        self.numbers.pop();
        self.tree.pop();
    }

    /// Replaces a number; the one before.
    pub fn set(&mut self, place: usize, number: u64) -> u64 {
        let before = std::mem::replace(&mut self.numbers[place], number);
        let mut at = place;
        while let Some(sum) = self.tree.get_mut(at) {
            *sum = *sum + number - before;
            at += Sums::stretch(at);
        }
        before
    }

    /// The sum of the numbers before a place.
    fn up_to(&self, mut place: usize) -> u64 {
        let mut sum = 0;
        while place > 0 {
            sum += self.tree[place - 1];
            place -= Sums::stretch(place - 1);
        }
        sum
    }

    /// The sum of the numbers from a place on.
    pub fn from(&self, place: usize) -> u64 {
        self.up_to(self.numbers.len()) - self.up_to(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_numbers() {
        let (mut sums, mut plain) = (Sums::default(), Vec::<u64>::new());
        for step in 0..2000_u64 {
            match step * 7919 % 10 {
                0..=5 => {
                    sums.push(step);
                    plain.push(step);
                }
                6 | 7 if !plain.is_empty() => {
                    let at = (step * 31) as usize % plain.len();
                    assert_eq!(sums.set(at, step), std::mem::replace(&mut plain[at], step));
                }
                _ => {
                    sums.pop();
                    plain.pop();
                }
            }
            let at = (step * 17) as usize % (plain.len() + 1);
            assert_eq!(sums.from(at), plain[at..].iter().sum::<u64>(), "step {step}");
        }
    }
}
