//! HTML that is safe by construction: an [`Html`] contains only what this module wrote.
//!
//! Text is escaped, and each element of markup becomes an element of HTML. There is no other way to
//! add to an [`Html`]. All attributes are written here; none runs a script or carries a style.

use super::markup::{Event, Markup, REMAINDER, Tag, make_visible};
use std::borrow::Cow;
use std::fmt;

/// An image that markup refers to.
pub struct NamedImage {
    /// Its name in the markup.
    pub name: String,
    /// Its bytes in base64.
    pub data: String,
}

/// A piece of HTML.
#[derive(Debug, Default)]
pub struct Html(String);

impl Html {
    /// Converts text to HTML. Characters with a meaning in HTML are escaped, including quotes, so
    /// that the result is safe in an attribute. Control and bidirectional characters are made
    /// visible (see [`super::markup::Markup::push_text`]).
    pub fn from_text(text: &str) -> Html {
        let mut html = Html::default();
        html.push_escaped(&make_visible(text));
        html
    }

    /// Escapes and appends text in which invisible characters were made visible before.
    pub(super) fn push_escaped(&mut self, text: &str) {
        let mut unescaped = text;
        while let Some(special) = unescaped.find(['&', '<', '>', '"', '\'']) {
            self.0 += &unescaped[..special];
            self.0 += match unescaped.as_bytes()[special] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            };
            unescaped = &unescaped[special + 1..];
        }
        self.0 += unescaped;
    }

    /// Returns the HTML written so far.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends the opening tag of an element. Attributes with an empty value are left out.
    fn open_element(&mut self, element: &'static str, attributes: &[(&'static str, &str)]) {
        self.begin_opening_tag(element);
        for (name, value) in attributes {
            if !value.is_empty() {
                self.push_attribute(name, value);
            }
        }
        self.end_opening_tag();
    }

    /// Appends `<` and the name of an element. Its attributes follow.
    fn begin_opening_tag(&mut self, element: &'static str) {
        self.push_trusted("<");
        self.push_trusted(element);
    }

    /// Appends an attribute to an opening tag. The value may come from the session, so it is
    /// escaped.
    fn push_attribute(&mut self, name: &'static str, value: &str) {
        self.push_trusted(" ");
        self.push_trusted(name);
        self.push_trusted("=\"");
        self.push_escaped(&make_visible(value));
        self.push_trusted("\"");
    }

    /// Appends the `>` of an opening tag, after its attributes.
    fn end_opening_tag(&mut self) {
        self.push_trusted(">");
    }

    /// Appends HTML as it is. It is `'static`, so it cannot come from a session.
    fn push_trusted(&mut self, html: &'static str) {
        self.0.push_str(html);
    }

    fn close_element(&mut self, element: &'static str) {
        self.0.extend(["</", element, ">"]);
    }

    /// Opens the HTML element of a tag that is not a link or image. Returns the name of the element
    /// to close; `None` for a void element of HTML, such as `<br>`, which has no closing tag.
    fn open_tag(&mut self, tag: Tag, value: &str) -> Option<&'static str> {
        let element = document_element(tag);
        let class = tag.class();
        match tag {
            Tag::Break | Tag::Rule => {
                self.open_element(element, &[]);
                return None;
            }
            // An element that scrolls must be reachable by keys: hence `tabindex`.
            Tag::Block => {
                self.open_element(element, &[("class", class), ("tabindex", "0")]);
            }
            Tag::Table => self.open_element(element, &[("tabindex", "0")]),
            Tag::Output => self.open_element(element, &[("class", class)]),
            Tag::Diff => {
                self.open_element(element, &[("class", class), ("data-counts", value)]);
            }
            Tag::LineNumber => {
                self.open_element(element, &[("class", class), ("data-number", value)]);
            }
            Tag::Task => {
                self.open_element(element, &[("class", class)]);
                self.0 += if value == "x" { "☑ " } else { "☐ " };
            }
            _ => self.open_usual_element(tag, value),
        }
        Some(element)
    }

    /// Opens the HTML element of a tag that [`Self::open_tag`] does not treat specially. It has up
    /// to three attributes: the class, the direction of writing, and the first number of a list.
    fn open_usual_element(&mut self, tag: Tag, value: &str) {
        self.begin_opening_tag(document_element(tag));
        let classes = element_classes(tag, value);
        if !classes.is_empty() {
            self.push_attribute("class", &classes);
        }
        if tag.has_own_direction() {
            self.push_attribute("dir", "auto");
        }
        if tag == Tag::Numbers && is_decimal(value) {
            self.push_attribute("start", value);
        }
        self.end_opening_tag();
    }

    /// Opens a link to an address that the caller has checked. Returns the name of the HTML element
    /// to close.
    fn open_link(&mut self, tag: Tag, address: &str) -> &'static str {
        let attributes = [
            ("class", tag.class()),
            ("href", address),
            ("rel", "noopener noreferrer nofollow"),
        ];
        self.open_element("a", &attributes);
        "a"
    }

    /// Opens a span in place of a link that leads nowhere. Returns the name of the HTML element to
    /// close.
    fn open_span(&mut self, tag: Tag) -> &'static str {
        self.open_element("span", &[("class", tag.class())]);
        "span"
    }

    /// Opens a row of images, a `div`. The row scrolls, so it must be reachable by keys.
    fn open_image_row(&mut self) {
        self.open_element("div", &[("class", "images"), ("tabindex", "0")]);
    }

    /// Opens a figure, and writes its image if `images` has the image. `value` is the value of
    /// [`Tag::Image`]: the type and the name of the image. Returns the name of the HTML element to
    /// close.
    fn open_figure(&mut self, value: &str, images: &[NamedImage]) -> &'static str {
        self.open_element(FIGURE, &[("class", "image")]);
        let (image_type, name) = value.split_once(' ').unwrap_or((value, ""));
        // The type and the data become part of an attribute, so they are checked here, whatever the
        // caller checked.
        if let Some(image) = images.iter().find(|image| image.name == name)
            && IMAGE_TYPES.contains(&image_type)
            && is_base64(&image.data)
        {
            let source = format!("data:{image_type};base64,{}", image.data);
            self.open_element("img", &[("alt", "image of the session"), ("src", &source)]);
        }
        FIGURE
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the HTML element of a tag in a document. A block is a `pre`, which keeps its lines. On
/// the page, where a script builds it, it is a `div`: see [`Tag::element`].
fn document_element(tag: Tag) -> &'static str {
    match tag {
        Tag::Block | Tag::Output | Tag::Diff => "pre",
        _ => tag.element(),
    }
}

/// Returns the classes of the HTML element of a tag, separated by spaces; empty if it has none.
fn element_classes(tag: Tag, value: &str) -> Cow<'_, str> {
    let class = tag.class();
    match tag {
        // The value is the kind of the fold or tool: a second class.
        Tag::Fold | Tag::Tool if !value.is_empty() => Cow::Owned(format!("{class} {value}")),
        // The value is the alignment of the column; empty for none.
        Tag::HeadCell | Tag::Cell => Cow::Borrowed(value),
        _ => Cow::Borrowed(class),
    }
}

/// Whether a value is a number without a sign.
fn is_decimal(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// The HTML element of an image. No other tag has this element.
const FIGURE: &str = "figure";

/// Converts markup to complete HTML: folds contain their content, and sections follow one another.
///
/// `is_in_document` returns whether the document contains the entry with a given number. `images`
/// are the images that the markup refers to by name.
pub fn full_html(
    markup: &Markup,
    is_in_document: &dyn Fn(&str) -> bool,
    images: &[NamedImage],
) -> Html {
    // A call whose result is in the document is omitted here: it is shown with the result.
    let is_omitted = |tag, value: &str| tag == Tag::Call && is_in_document(value);
    html_of_events(markup.events_without(is_omitted), is_in_document, images)
}

/// Converts the prose of markup to HTML, without tools, images and folds. Only the fold that hides
/// the remainder of a long typed text is kept.
pub fn prose_html(markup: &Markup) -> Html {
    let is_omitted = |tag, value: &str| match tag {
        Tag::Fold => value != REMAINDER,
        _ => matches!(tag, Tag::Tool | Tag::Call | Tag::Image),
    };
    html_of_events(markup.events_without(is_omitted), &|_| false, &[])
}

/// Converts events of markup to HTML. A link becomes a span if its address is not allowed, or if
/// `is_in_document` is false for its entry.
fn html_of_events<'m>(
    events: impl Iterator<Item = Event<'m>>,
    is_in_document: &dyn Fn(&str) -> bool,
    images: &[NamedImage],
) -> Html {
    let mut converter = EventConverter {
        html: Html::default(),
        is_in_document,
        images,
        open_elements: Vec::new(),
        has_open_row: false,
    };
    for event in events {
        converter.update_image_row(event);
        converter.convert(event);
    }
    converter.close_image_row();
    converter.html
}

/// Converts events of markup to HTML, one after the other.
struct EventConverter<'a> {
    /// The HTML of the events so far.
    html: Html,
    is_in_document: &'a dyn Fn(&str) -> bool,
    images: &'a [NamedImage],
    /// The HTML element of each open tag, outermost first; `None` if it has no closing tag.
    open_elements: Vec<Option<&'static str>>,
    /// Whether a row of images is open, which has no tag in the markup.
    has_open_row: bool,
}

impl EventConverter<'_> {
    fn convert(&mut self, event: Event) {
        match event {
            Event::Text(text) => self.html.push_escaped(text),
            Event::Open(tag, value) => self.open(tag, value),
            Event::Close => self.close(),
            Event::Word(code) => {
                let class = format!("w-{code}");
                self.html.open_element("span", &[("class", &class)]);
            }
            Event::WordEnd => self.html.close_element("span"),
            // Sections follow one another.
            Event::Section | Event::SectionEnd => {}
        }
    }

    /// Opens the HTML element of a tag. Each tag has at most one, which [`Self::close`] closes.
    fn open(&mut self, tag: Tag, value: &str) {
        let element = if tag == Tag::Image {
            Some(self.html.open_figure(value, self.images))
        } else {
            match link_target(tag, value, self.is_in_document) {
                LinkTarget::Address(address) => Some(self.html.open_link(tag, &address)),
                LinkTarget::Nowhere => Some(self.html.open_span(tag)),
                LinkTarget::NotALink => self.html.open_tag(tag, value),
            }
        };
        self.open_elements.push(element);
    }

    /// Closes the HTML element of the tag opened last.
    fn close(&mut self) {
        let opened_last = self.open_elements.pop().flatten();
        if let Some(element) = opened_last {
            self.html.close_element(element);
        }
    }

    /// Opens a row before its first image, and closes it before the first event that is not part of
    /// an image: images that follow one another are in one row.
    fn update_image_row(&mut self, next_event: Event) {
        let begins_image = matches!(next_event, Event::Open(Tag::Image, _));
        let is_inside_image = self.open_elements.last() == Some(&Some(FIGURE));
        if begins_image && !self.has_open_row {
            self.html.open_image_row();
            self.has_open_row = true;
        } else if !begins_image && !is_inside_image {
            self.close_image_row();
        }
    }

    /// Closes the row of images, if one is open.
    fn close_image_row(&mut self) {
        if self.has_open_row {
            self.html.close_element("div");
            self.has_open_row = false;
        }
    }
}

/// Where the element of a tag links to.
enum LinkTarget<'v> {
    NotALink,
    /// To nothing that the document may or can link to.
    Nowhere,
    Address(Cow<'v, str>),
}

/// Returns where an element links to. The value of a [`Tag::Link`] is an address. The value of a
/// [`Tag::Entry`] or [`Tag::Call`] is the number of an entry, whose element in the document has the
/// id `eNUMBER`.
fn link_target<'v>(
    tag: Tag,
    value: &'v str,
    is_in_document: &dyn Fn(&str) -> bool,
) -> LinkTarget<'v> {
    match tag {
        Tag::Link => {
            if is_allowed_address(value) {
                LinkTarget::Address(Cow::Borrowed(value))
            } else {
                LinkTarget::Nowhere
            }
        }
        Tag::Entry | Tag::Call => {
            if is_in_document(value) {
                LinkTarget::Address(Cow::Owned(format!("#e{value}")))
            } else {
                LinkTarget::Nowhere
            }
        }
        _ => LinkTarget::NotALink,
    }
}

/// The types of images that a page may show.
pub const IMAGE_TYPES: [&str; 5] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
];

/// Whether the text is valid base64 and nothing else.
pub fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let padding_len = data.len() - digits.len();
    // One digit has 6 bits, so a group of four needs at least two for a byte.
    if padding_len > 2 || digits.len() % 4 == 1 {
        return false;
    }
    digits
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Whether a link may have this address: http, https, mailto, or a fragment of the page (`#e1`). An
/// address with a space or a control character is refused: browsers ignore these in the scheme.
pub fn is_allowed_address(address: &str) -> bool {
    const PREFIXES: [&str; 4] = ["https://", "http://", "mailto:", "#"];

    let has_ignored_char = address
        .chars()
        .any(|c| c <= ' ' || ('\u{7f}'..='\u{a0}').contains(&c));
    if has_ignored_char {
        return false;
    }
    for prefix in PREFIXES {
        if let Some(start) = address.get(..prefix.len())
            && start.eq_ignore_ascii_case(prefix)
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::WordKind;

    fn written(make: impl FnOnce(&mut Markup)) -> String {
        let images = [("good", "AAAA"), ("bad", "AA\" onerror=")].map(|(name, data)| NamedImage {
            name: name.to_owned(),
            data: data.to_owned(),
        });
        full_html(&Markup::from_fn(make), &|entry| entry == "1", &images).to_string()
    }

    #[test]
    fn text_is_escaped_wherever_it_stands() {
        let hostile = "</pre><script>alert(1)</script>\" onclick='x";
        let found = written(|m| {
            m.push_text(hostile);
            m.push_element_with(Tag::Fold, hostile, |m| {
                m.push_text_element(Tag::Summary, hostile)
            });
            m.push_element_with(Tag::Link, &format!("https://x/{hostile}"), |m| {
                m.push_text(hostile)
            });
            m.push_element_with(Tag::Block, hostile, |m| {
                m.push_section(|m| m.push_word(Some(WordKind::STRING), hostile))
            });
        });
        assert!(
            !found.contains("<script") && !found.contains("\" onclick") && !found.contains("'x"),
            "{found}"
        );
        assert_eq!(
            found.matches("<details").count(),
            found.matches("</details>").count()
        );
    }

    #[test]
    fn images_that_follow_one_another_are_in_one_row() {
        let image = |m: &mut Markup| m.push_element_with(Tag::Image, "image/png good", |_| ());
        let row = "<div class=\"images\" tabindex=\"0\">";
        let img = "<figure class=\"image\"><img alt=\"image of the session\" src=\"data:image/png;base64,AAAA\"></figure>";
        let found = written(|m| {
            image(m);
            image(m);
            m.push_text_element(Tag::Paragraph, "between");
            m.push_element(Tag::Tool, |m| {
                m.push_section(|m| image(m));
            });
            image(m);
        });
        assert_eq!(
            found,
            format!(
                "{row}{img}{img}</div><p dir=\"auto\">between</p>\
                 <section class=\"tool\">{row}{img}</div></section>{row}{img}</div>"
            )
        );
    }

    #[test]
    fn every_element_is_closed() {
        for row in Tag::table().lines() {
            let tag = Tag::from_code(row.chars().next().unwrap()).unwrap();
            let found = written(|m| m.push_text_element(tag, "x"));
            if !matches!(tag, Tag::Break | Tag::Rule) {
                assert!(found.contains("</"), "{row}: {found}");
            }
        }
    }

    #[test]
    fn links_lead_only_to_where_they_may() {
        for good in [
            "https://a.b/c?d",
            "HTTP://a",
            "http://é.b",
            "mailto:a@b",
            "#x",
        ] {
            assert!(is_allowed_address(good), "{good}");
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
            assert!(!is_allowed_address(bad), "{bad}");
        }
        let link = |to: &str| written(|m| m.push_element_with(Tag::Link, to, |m| m.push_text("x")));
        assert_eq!(link("javascript:x"), "<span>x</span>");
        assert!(link("https://a").starts_with("<a href=\"https://a\""));
    }

    #[test]
    fn images_are_data_of_known_types() {
        assert!(is_base64("AAAA") && is_base64("AAA=") && is_base64("AA"));
        assert!(!is_base64("index") && !is_base64("A===") && !is_base64("AA\nA"));
        let image = |value: &str| written(|m| m.push_element_with(Tag::Image, value, |_| ()));
        assert!(image("image/png good").contains("src=\"data:image/png;base64,AAAA\""));
        for bad in [
            "image/svg+xml good",
            "text/html good",
            "image/png bad",
            "image/png\" good",
        ] {
            assert!(!image(bad).contains("<img"), "{bad}");
        }
    }
}
