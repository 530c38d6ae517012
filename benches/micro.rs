//! Measures the parts of a read separately: scanning lines, the pass with and without rows, the
//! index of ids, the layout of a tree. Run it with `cargo bench --bench micro`.

#[path = "compare/generate.rs"]
#[allow(
    dead_code,
    reason = "shared with the other benchmark, which uses more of it"
)]
mod generate;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use generate::Shape;
use pisess::agents::row::RowOptions;
use pisess::json::Scanner;
use pisess::load::{LoadOptions, load};
use pisess::ops::tree::{Layout, ViewOptions, build_view};
use pisess::session::Session;
use pisess::store::ReadAt;

fn main() {
    divan::main();
}

fn turns() -> Vec<u8> {
    made(Shape::Turns { percent: 100 }, 2_000)
}

fn chain() -> Vec<u8> {
    made(Shape::Chain, 50_000)
}

fn made(shape: Shape, entries: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate::write(shape, entries, 1, &mut bytes).expect("memory takes everything");
    bytes
}

fn with_rows() -> LoadOptions {
    LoadOptions {
        rows: Some(RowOptions::default()),
        ..LoadOptions::default()
    }
}

fn loaded(bytes: &dyn ReadAt, options: &LoadOptions) -> Session {
    load(bytes, options).expect("the generator makes sessions")
}

/// Finds newlines only: nothing that reads lines can be faster.
#[divan::bench]
fn newlines(bencher: Bencher) {
    let bytes = turns();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench(|| memchr::memchr_iter(b'\n', black_box(&bytes)).count());
}

/// Checks every value, and keeps nothing.
#[divan::bench]
fn scan(bencher: Bencher) {
    let bytes = turns();
    bencher.counter(BytesCount::new(bytes.len())).bench(|| {
        let mut scanner = Scanner::new(black_box(&bytes));
        while scanner.pos() < bytes.len() {
            scanner.skip_value().expect("the generator writes JSON");
            scanner.seek(scanner.pos() + 1);
        }
        scanner.pos()
    });
}

/// Loads envelopes only.
#[divan::bench]
fn envelopes(bencher: Bencher) {
    let bytes = turns();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench(|| loaded(black_box(&bytes), &LoadOptions::default()));
}

/// Loads rows, too.
#[divan::bench]
fn rows(bencher: Bencher) {
    let bytes = turns();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench(|| loaded(black_box(&bytes), &with_rows()));
}

/// Loads tiny entries: the cost of an entry, including its id in the index.
#[divan::bench]
fn index(bencher: Bencher) {
    let bytes = chain();
    bencher
        .counter(ItemsCount::new(50_000_usize))
        .bench(|| loaded(black_box(&bytes), &LoadOptions::default()));
}

/// Looks up every id.
#[divan::bench]
fn find(bencher: Bencher) {
    let session = loaded(&chain(), &LoadOptions::default());
    bencher
        .counter(ItemsCount::new(session.entries.len()))
        .bench(|| {
            session
                .entry_indexes()
                .filter(|&ix| session.find_entry(&session.id(ix)) == Some(ix))
                .count()
        });
}

/// Filters and computes the layout, without printing.
#[divan::bench]
fn layout(bencher: Bencher) {
    let session = loaded(&turns(), &with_rows());
    bencher
        .counter(ItemsCount::new(session.entries.len()))
        .bench(|| {
            let session = black_box(&session);
            let options = ViewOptions {
                layout: Layout::Trunk,
                ..ViewOptions::default()
            };
            build_view(session, session.leaf, options).tree_rows.len()
        });
}
