//! HTML that is safe by construction: an [`Html`] contains only what this module wrote.
//!
//! Text becomes HTML by being escaped, markup by its own elements; there is no other way in, and all
//! attributes are written here. No attribute runs a script or carries a style.

use super::markup::{CLOSE, OPEN, OPEN_WITH, SECTION, SECTION_END, Tag, VALUE, WORD, WORD_END, visible};
use std::fmt;

/// A piece of HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// Returns HTML from a literal of pisess.
    pub fn own(html: &'static str) -> Html {
        Html(html.to_owned())
    }

    /// Returns text as HTML: characters with a meaning in HTML, even within quotes, are escaped; control and
    /// bidirectional characters are made visible (see [`super::markup::Markup::text`]).
    pub fn text(text: &str) -> Html {
        let mut html = Html::default();
        html.push_text(text);
        html
    }

    /// Appends text, escaped.
    pub fn push_text(&mut self, text: &str) {
        self.push_escaped(&visible(text));
    }

    /// Appends text in which invisible characters are already made visible, and escapes it.
    pub(super) fn push_escaped(&mut self, text: &str) {
        let special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\'');
        let mut rest = text;
        while let Some(at) = rest.find(special) {
            self.0 += &rest[..at];
            self.0 += match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            };
            rest = &rest[at + 1..];
        }
        self.0 += rest;
    }

    /// Appends HTML.
    pub fn push(&mut self, html: &Html) {
        self.0 += &html.0;
    }

    /// Appends HTML from a literal of pisess.
    pub fn push_own(&mut self, html: &'static str) {
        self.0 += html;
    }

    /// Returns the HTML.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn open(&mut self, element: &'static str, class: &str) {
        self.0.push('<');
        self.0 += element;
        if !class.is_empty() {
            self.attribute("class", class);
        }
        self.0.push('>');
    }

    fn attribute(&mut self, name: &'static str, value: &str) {
        self.0.push(' ');
        self.0 += name;
        self.0 += "=\"";
        self.push_escaped(&visible(value));
        self.0.push('"');
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The entries and images that markup may refer to, for a page without scripts.
pub trait Around {
    /// Returns the fragment that links to the entry with this number; `None` if the document does not have it.
    fn address(&self, entry: &str) -> Option<String>;
    /// Returns the image with this name, in base64.
    fn image(&self, name: &str) -> Option<&str>;
}

/// Returns markup as complete HTML: folds contain their content, and sections follow one another.
pub fn html(markup: &str, around: &dyn Around) -> Html {
    written(markup, around, &[])
}

/// Returns only the prose of markup as HTML: no folds, tools and images.
pub fn prose(markup: &str) -> Html {
    struct Alone;
    impl Around for Alone {
        fn address(&self, _: &str) -> Option<String> {
            None
        }
        fn image(&self, _: &str) -> Option<&str> {
            None
        }
    }
    written(markup, &Alone, &[Tag::Fold, Tag::Tool, Tag::Call, Tag::Image])
}

fn written(markup: &str, around: &dyn Around, omitted: &'static [Tag]) -> Html {
    let mut writer = Writer { html: Html::default(), open: Vec::new(), around, omitted };
    let mut rest = markup;
    let marks = [OPEN, OPEN_WITH, CLOSE, SECTION, SECTION_END, WORD, WORD_END];
    while let Some(at) = rest.find(marks) {
        writer.html.push_escaped(&rest[..at]);
        let mark = rest.as_bytes()[at] as char;
        rest = writer.mark(mark, &rest[at + 1..]);
    }
    writer.html.push_escaped(rest);
    writer.html
}

struct Writer<'a> {
    html: Html,
    open: Vec<&'static str>,
    around: &'a dyn Around,
    /// Elements that are left out with their content.
    omitted: &'static [Tag],
}

impl Writer<'_> {
    /// Writes a mark; returns the text after it.
    fn mark<'a>(&mut self, mark: char, rest: &'a str) -> &'a str {
        let (code, behind) = split_first(rest);
        match mark {
            OPEN | OPEN_WITH if Tag::of(code).is_some_and(|tag| self.omitted.contains(&tag)) => {
                behind_element(behind)
            }
            OPEN => {
                self.open(code, "");
                behind
            }
            OPEN_WITH => {
                let (value, behind) = behind.split_once(VALUE).unwrap_or((behind, ""));
                // A call whose result is in the document is omitted here: it is shown with the result.
                if Tag::of(code) == Some(Tag::Call) && self.around.address(value).is_some() {
                    return behind_element(behind);
                }
                self.open(code, value);
                behind
            }
            CLOSE => {
                self.close();
                rest
            }
            WORD => {
                self.html.open("span", &format!("w-{code}"));
                behind
            }
            WORD_END => {
                self.html.push_own("</span>");
                rest
            }
            _ => rest,
        }
    }

    fn open(&mut self, code: char, value: &str) {
        let Some(tag) = Tag::of(code) else { return self.open.push("") };
        let (element, class) = tag.element();
        match tag {
            Tag::Break | Tag::Rule => {
                self.html.open(element, class);
                self.open.push("");
            }
            Tag::Block | Tag::Output | Tag::Diff => {
                self.html.open("pre", class);
                self.open.push("</pre>");
            }
            Tag::Link | Tag::Entry | Tag::Call => self.link(tag, value),
            Tag::Image => self.image(value),
            Tag::Task => {
                self.html.push_own(if value == "x" { "☑ " } else { "☐ " });
                self.open.push("");
            }
            _ => {
                let class = match (tag, value) {
                    (Tag::Fold | Tag::Tool, value) => format!("{class} {value}"),
                    (Tag::HeadCell | Tag::Cell, value) => value.to_owned(),
                    _ => class.to_owned(),
                };
                self.html.0.push('<');
                self.html.0 += element;
                if !class.trim().is_empty() {
                    self.html.attribute("class", class.trim());
                }
                if tag.has_own_direction() {
                    self.html.attribute("dir", "auto");
                }
                if tag == Tag::Numbers && value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty()
                {
                    self.html.attribute("start", value);
                }
                self.html.0.push('>');
                self.open.push(closing(element));
            }
        }
    }

    fn link(&mut self, tag: Tag, value: &str) {
        let address = match tag {
            Tag::Link => allowed(value).then(|| value.to_owned()),
            _ => self.around.address(value),
        };
        let (_, class) = tag.element();
        match address {
            Some(address) => {
                self.html.0 += "<a";
                if !class.is_empty() {
                    self.html.attribute("class", class);
                }
                self.html.attribute("href", &address);
                self.html.attribute("rel", "noopener noreferrer nofollow");
                self.html.0.push('>');
                self.open.push("</a>");
            }
            None => {
                self.html.open("span", class);
                self.open.push("</span>");
            }
        }
    }

    fn image(&mut self, value: &str) {
        let (kind, name) = value.split_once(' ').unwrap_or((value, ""));
        self.html.open("figure", "image");
        if let (true, Some(data)) = (IMAGE_TYPES.contains(&kind), self.around.image(name))
            && is_base64(data)
        {
            self.html.0 += "<img";
            self.html.attribute("alt", "image of the session");
            self.html.attribute("src", &format!("data:{kind};base64,{data}"));
            self.html.0.push('>');
        }
        self.open.push("</figure>");
    }

    fn close(&mut self) {
        if let Some(closing) = self.open.pop() {
            self.html.push_own(closing);
        }
    }
}

/// The types of images that a page may show.
pub const IMAGE_TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

/// Whether the text is valid base64 and nothing else.
pub fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    data.len() - digits.len() <= 2
        && digits.len() % 4 != 1
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Whether a link may have this address: http, https, mailto, or a fragment of the page. Addresses with
/// control characters and spaces are refused, because browsers ignore these in the scheme.
pub fn allowed(address: &str) -> bool {
    if address.chars().any(|c| c <= ' ' || ('\u{7f}'..='\u{a0}').contains(&c)) {
        return false;
    }
    let lower = address.get(..8.min(address.len())).unwrap_or_default().to_ascii_lowercase();
    ["https://", "http://", "mailto:", "#"].iter().any(|scheme| lower.starts_with(scheme))
}

fn closing(element: &str) -> &'static str {
    const CLOSING: [&str; 24] = [
        "</p>",
        "</h3>",
        "</h4>",
        "</h5>",
        "</ul>",
        "</ol>",
        "</li>",
        "</span>",
        "</blockquote>",
        "</em>",
        "</strong>",
        "</del>",
        "</code>",
        "</a>",
        "</table>",
        "</tr>",
        "</th>",
        "</td>",
        "</div>",
        "</ins>",
        "</details>",
        "</summary>",
        "</section>",
        "</b>",
    ];
    let is_closing = |closing: &&&str| closing[2..].strip_suffix('>') == Some(element);
    CLOSING.iter().find(is_closing).copied().unwrap_or("")
}

/// Returns the text after an element; `rest` starts inside it.
fn behind_element(rest: &str) -> &str {
    let mut open = 1;
    for (at, mark) in rest.match_indices([OPEN, OPEN_WITH, CLOSE]) {
        if mark.starts_with(CLOSE) {
            open -= 1;
        } else {
            open += 1;
        }
        if open == 0 {
            return &rest[at + 1..];
        }
    }
    ""
}

fn split_first(text: &str) -> (char, &str) {
    let mut chars = text.chars();
    (chars.next().unwrap_or('\0'), chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::markup::{Markup, Word};

    struct Nothing;

    impl Around for Nothing {
        fn address(&self, entry: &str) -> Option<String> {
            (entry == "1").then(|| "#e1".to_owned())
        }

        fn image(&self, name: &str) -> Option<&str> {
            Some(if name == "good" { "AAAA" } else { "AA\" onerror=" })
        }
    }

    fn written(make: impl FnOnce(&mut Markup)) -> String {
        let mut markup = Markup::new();
        make(&mut markup);
        html(&markup.finish(), &Nothing).to_string()
    }

    #[test]
    fn text_is_escaped_wherever_it_stands() {
        let hostile = "</pre><script>alert(1)</script>\" onclick='x";
        let found = written(|m| {
            m.text(hostile);
            m.element_with(Tag::Fold, hostile, |m| m.words(Tag::Summary, hostile));
            m.element_with(Tag::Link, &format!("https://x/{hostile}"), |m| m.text(hostile));
            m.element_with(Tag::Block, hostile, |m| m.section(|m| m.word(Some(Word::String), hostile)));
        });
        assert!(
            !found.contains("<script") && !found.contains("\" onclick") && !found.contains("'x"),
            "{found}"
        );
        assert_eq!(found.matches("<details").count(), found.matches("</details>").count());
    }

    #[test]
    fn every_element_is_closed() {
        for row in Tag::table().lines() {
            let tag = Tag::of(row.chars().next().unwrap()).unwrap();
            let found = written(|m| m.words(tag, "x"));
            if !matches!(tag, Tag::Break | Tag::Rule | Tag::Task) {
                assert!(found.contains("</"), "{row}: {found}");
            }
        }
    }

    #[test]
    fn links_lead_only_to_where_they_may() {
        for good in ["https://a.b/c?d", "HTTP://a", "mailto:a@b", "#x"] {
            assert!(allowed(good), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "java\nscript:x",
            " https://a",
            "data:text/html,x",
            "vbscript:x",
            "//a",
            "/a",
            "",
            "file:///etc/passwd",
            "https ://a",
            "\u{a0}http://a",
            "httpsé",
        ] {
            assert!(!allowed(bad), "{bad}");
        }
        let link = |to: &str| written(|m| m.element_with(Tag::Link, to, |m| m.text("x")));
        assert_eq!(link("javascript:x"), "<span>x</span>");
        assert!(link("https://a").starts_with("<a href=\"https://a\""));
    }

    #[test]
    fn images_are_data_of_known_types() {
        assert!(is_base64("AAAA") && is_base64("AAA=") && is_base64("AA"));
        assert!(!is_base64("index") && !is_base64("A===") && !is_base64("AA\nA"));
        let image = |value: &str| written(|m| m.element_with(Tag::Image, value, |_| ()));
        assert!(image("image/png good").contains("src=\"data:image/png;base64,AAAA\""));
        for bad in ["image/svg+xml good", "text/html good", "image/png bad", "image/png\" good"] {
            assert!(!image(bad).contains("<img"), "{bad}");
        }
    }
}
