use super::super::answers::*;

#[test]
fn an_answer_that_is_cut_keeps_the_sentences_with_most_values() {
    let long = "The old list was read line by line, as people did it when the island had no \
                power.";
    let answer = format!(
        "The search is faster. {long} Before, it took 47 ms. {long} Now it is 47 ms -> 31 ms \
         at 1,200 rows. See `search.c`."
    );
    assert_eq!(
        quote_answer(&answer, 150),
        "\"The search is faster. … Before, it took 47 ms. … Now it is 47 ms -> 31 ms at 1,200 \
         rows. See `search.c`.\""
    );
    // The start has the values.
    let answer = format!("It took 47 ms, now it takes 31 ms. {long} {long}");
    assert!(quote_answer(&answer, 110).starts_with("\"It took 47 ms, now it takes 31 ms. The old"));
    assert_eq!(quote_answer("Done, 3 of 4.", 60), "\"Done, 3 of 4.\"");
}

#[test]
fn a_table_is_quoted_after_the_first_sentence_and_cut_between_rows() {
    let mut answer =
        "Measured with `fio`. The disks were idle.\n\n| disk | MB/s |\n|---|---:|\n".to_owned();
    for number in 1..=9 {
        answer.push_str(&format!("| north {number} | {number}12 |\n"));
    }
    answer.push_str("\nShall I measure the others, too?");
    assert_eq!(size_of_answer(&answer, 90), 400);
    assert_eq!(
        quote_answer(&answer, 90),
        "\"Measured with `fio`. / disk | MB/s / north 1 | 112 / north 2 | 212 / north 3 | 312 / \
         north 4 | 412…\""
    );
    let whole = quote_answer(&answer, 400);
    assert!(whole.contains(" / north 9 | 912 / Shall I"), "{whole}");
    assert_eq!(size_of_answer("| a | b |\n|---|---|\n| c | d |", 90), 90);
    assert_eq!(size_of_answer("Use `a | b`: 3.", 90), 90);
}
