//! Long paths in a request that is quoted in short: the name of the file says most, and the folders
//! before it would take the place of the words.

use super::words::compile_expression;
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// An absolute path with at least three folders. Its last name is a group.
const LONG_PATH: &str = r#"(?x)
    (?<before>^|[\s'"`(@])
    (~|[A-Za-z]:)?([/\\][^\s/\\'"`:;,)]+){3,}[/\\](?<name>[^\s/\\'"`:;,)]+)"#;

/// Replaces the folders of long paths by `…`: `/home/ada/charts/north/map.svg` becomes `…/map.svg`.
pub(super) fn shorten_paths(request: &str) -> Cow<'_, str> {
    static PATH: LazyLock<Regex> = LazyLock::new(|| compile_expression(LONG_PATH));
    if !request.contains(['/', '\\']) {
        return Cow::Borrowed(request);
    }
    PATH.replace_all(request, "${before}…/${name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_absolute_paths_are_shortened() {
        for (request, expected) in [
            (
                "mend /home/ada/charts/north/map.svg: the pier",
                "mend …/map.svg: the pier",
            ),
            (
                r"in X:\charts\north\old\map.svg, draw",
                "in …/map.svg, draw",
            ),
            ("see '~/charts/a/b/c.png'", "see '…/c.png'"),
            ("see src/charts/a/b/c.png", "see src/charts/a/b/c.png"),
            ("see /tmp/a/c.png", "see /tmp/a/c.png"),
            ("https://example.org/a/b/c/d", "https://example.org/a/b/c/d"),
            ("", ""),
        ] {
            assert_eq!(shorten_paths(request), expected);
        }
    }
}
