//! Finds where sessions diverge that look alike in a list: copies and forks of one conversation.

use pisess_json::text::Text;

/// Returns, for each conversation, how many of its first entries it shares with the most similar
/// other one. A conversation is given by the ids of its entries.
pub fn shared_lengths(conversations: &[Vec<Text>]) -> Vec<usize> {
    let mut lengths = vec![0; conversations.len()];
    for (index, conversation) in conversations.iter().enumerate() {
        for (other_index, other) in conversations.iter().enumerate() {
            if other_index != index {
                lengths[index] = lengths[index].max(shared_length(conversation, other));
            }
        }
    }
    lengths
}

fn shared_length(one: &[Text], other: &[Text]) -> usize {
    let pairs = one.iter().zip(other);
    pairs
        .take_while(|(of_one, of_other)| of_one == of_other)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_other_conversation_counts() {
        let conversation = |ids: &'static str| ids.split(' ').map(Text::from).collect();
        let lengths = shared_lengths(&[
            conversation("a b c d e"),
            conversation("a b x"),
            conversation("a b c d y z"),
            conversation("a b c d e"),
            conversation("k"),
        ]);
        assert_eq!(lengths, [5, 2, 4, 5, 0]);
    }
}
