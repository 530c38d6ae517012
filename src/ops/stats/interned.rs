//! Interned names: each distinct name is stored once and has a number.

use foldhash::HashMap;
use std::sync::Arc;

/// The number of a name; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name(u32);

/// The names of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    list: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, Name>,
}

impl Names {
    /// Returns the number of a name.
    pub fn of(&mut self, name: &[u8]) -> Name {
        let name = String::from_utf8_lossy(name);
        if let Some(&number) = self.numbers.get(&*name) {
            return number;
        }
        let name: Arc<str> = name.into();
        self.list.push(name.clone());
        let number = Name(self.list.len() as u32);
        self.numbers.insert(name, number);
        number
    }

    /// Returns the name with a number.
    pub fn get(&self, name: Name) -> Option<&str> {
        self.list.get((name.0 as usize).checked_sub(1)?).map(|name| &**name)
    }
}
