//! Files of the page. They are in the program.

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) mime: &'static str,
    pub(crate) text: &'static str,
}

/// The page.
pub(crate) const PAGE: &str = include_str!("../web/index.html");

/// Styles of the page.
pub(crate) const STYLE: Asset = Asset {
    name: "style.css",
    mime: "text/css; charset=utf-8",
    text: include_str!("../web/style.css"),
};

/// Scripts, in the order in which they use each other.
pub(crate) const SCRIPTS: [Asset; 8] = [
    script("format.js", include_str!("../web/format.js")),
    script("fold.js", include_str!("../web/fold.js")),
    script("layout.js", include_str!("../web/layout.js")),
    script("elements.js", include_str!("../web/elements.js")),
    script("details.js", include_str!("../web/details.js")),
    script("timeline.js", include_str!("../web/timeline.js")),
    script("panels.js", include_str!("../web/panels.js")),
    script("app.js", include_str!("../web/app.js")),
];

const fn script(name: &'static str, text: &'static str) -> Asset {
    Asset {
        name,
        mime: "text/javascript; charset=utf-8",
        text,
    }
}

/// The file of this name.
pub(crate) fn named(name: &str) -> Option<&'static Asset> {
    let mut all = SCRIPTS.iter().chain([&STYLE]);
    all.find(|asset| asset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_file_in_order() {
        let named = PAGE.split("<script src=\"").skip(1);
        let named: Vec<&str> = named.filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(named, SCRIPTS.map(|asset| asset.name));
        assert!(PAGE.contains("<link rel=\"stylesheet\" href=\"style.css\">"));
    }

    /// Text of a run must stay text, and nothing is loaded from elsewhere.
    #[test]
    fn scripts_make_no_markup_and_name_no_server() {
        for Asset { name, text, .. } in &SCRIPTS {
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "Function(",
                "http://",
                "https://",
                "setHTMLUnsafe",
                "DOMParser",
                "createContextualFragment",
                "srcdoc",
                "javascript:",
            ] {
                // The namespace of SVG is a name.
                let text = text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(word), "{name} has {word}");
            }
        }
    }
}
