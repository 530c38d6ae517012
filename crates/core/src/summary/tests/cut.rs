use super::super::cut::*;
use super::super::quote::count_utf16;

#[test]
fn a_long_text_keeps_its_ends() {
    let text = format!("Begin {}end.", "middle ".repeat(300));
    let short = cut_middle(&text, 300);
    assert!(
        short.starts_with("Begin middle") && short.ends_with("middle end."),
        "{short}"
    );
    let left = count_utf16(&short.replace(|c: char| !"midle".contains(c), ""));
    assert!(left > 150 && short.contains(" characters left out …]"));
    let missing: usize = short.split(' ').find_map(|word| word.parse().ok()).unwrap();
    assert!((1_790..2_000).contains(&missing), "{missing}");
    assert_eq!(cut_middle(&short, 300), short);
    assert_eq!(cut_middle("short", 300), "short");
    assert!(count_utf16(&cut_middle(&"字".repeat(9_000), 300)) <= 300);
}

/// A message of which only the ends were read counts what is missing of the whole.
#[test]
fn a_shortened_text_counts_what_it_lost() {
    let text = format!("Begin {}end.", "middle ".repeat(30_000));
    let read = cut_message(text.clone(), 20_000);
    assert!(read.len() < 20_100, "{}", read.len());
    assert!(read.starts_with("Begin middle ") && read.ends_with(" middle end."));
    let short = cut_middle(&read, 300);
    let missing: usize = short.split(' ').find_map(|word| word.parse().ok()).unwrap();
    assert_eq!(
        missing,
        cut_middle(&text, 300)
            .split(' ')
            .find_map(|word| word.parse::<usize>().ok())
            .unwrap()
    );
    assert_eq!(cut_message("short".to_owned(), 20_000), "short");
    let wide = "字".repeat(9_000);
    assert!(cut_message(wide, 1_000).len() < 1_100);
}
