use super::*;

fn search(start: &str, end: &str, arg: &str) -> MarkerSearch {
    let markers = Markers::new(start, end, arg).unwrap();
    MarkerSearch::new(Some(markers), Anchoring::Anywhere)
}

fn default() -> MarkerSearch {
    MarkerSearch::new(Some(Markers::default()), Anchoring::Anywhere)
}

#[test]
fn leads() {
    fn check([start, end, arg]: [&str; 3], expected: Option<(u8, usize)>) {
        let lead = search(start, end, arg).lead;
        let lead = lead.map(|lead| (lead.byte, lead.len));
        assert_eq!(lead, expected, "{start} {end} {arg}");
    }
    check(["!!!S", "!!!E", "!!!A"], Some((b'!', 3)));
    check(["##S", "##E", "## "], Some((b'#', 2)));
    check(["!S", "!E", "!A"], None);
    check(["!!!S", "!!!E", "!!A"], None);
    check(["!!S", "!!E", "##A"], None);
    check(["!!S", "!!E", "@"], None);
    check(["--S", "--E", "--A"], None);
    check(["__S", "__E", "__A"], None);
    check(["aaS", "aaE", "aaA"], None);
    check(["→S", "→E", "→A"], None);
}

#[test]
fn candidates() {
    fn check(search: &MarkerSearch, text: &str, from: usize, expected: Option<usize>) {
        let found = search.candidate(text.as_bytes(), from);
        assert_eq!(found, expected, "{text:?} from {from}");
    }
    let long = "a text that is longer than what is looked through byte by byte ";
    let shared = default();
    check(&shared, "", 0, None);
    check(&shared, "a!!b", 0, Some(1));
    check(&shared, "a!!b", 2, Some(2));
    check(&shared, "a!!b", 3, None);
    check(&shared, "a!!b", 4, None);
    check(&shared, "a!!b", 5, None);
    check(&shared, "a!", 0, Some(1));
    check(&shared, &format!("{long}!!"), 0, Some(long.len()));
    check(&shared, &format!("{long}!"), 0, Some(long.len()));
    check(&shared, &format!("{long}! {long}"), 0, None);
    check(&shared, long, 0, None);
    // Markers that share no two bytes: the first of any.
    let apart = search("<S", "@E", "#A");
    for first in ["<", "@", "#"] {
        check(
            &apart,
            &format!("{long}{first} {long}"),
            0,
            Some(long.len()),
        );
    }
    check(&apart, long, 0, None);
}

#[test]
fn places() {
    #[track_caller]
    fn check(search: &MarkerSearch, text: &str, expected: Found) {
        assert_eq!(search.any_at(text.as_bytes(), 0), expected, "{text:?}");
    }
    let search = default();
    check(&search, "!!!GADGET_START:A", Found::Whole(Marker::Start));
    check(&search, "!!!GADGET_END", Found::Whole(Marker::End));
    check(&search, "!!!ARG:", Found::Whole(Marker::Arg));
    check(&search, "!!!GADGET_S", Found::Partial(Marker::Start));
    check(&search, "!!!GADGET_EN", Found::Partial(Marker::End));
    check(&search, "!!!ARG", Found::Partial(Marker::Arg));
    check(&search, "!!!ARG ", Found::Nothing);
    check(&search, "!!!!", Found::Nothing);
    check(&search, "!!x", Found::Nothing);
    assert!(matches!(search.any_at(b"!!!", 0), Found::Partial(_)));
    assert!(matches!(search.any_at(b"x!!", 1), Found::Partial(_)));
    // Only what is wanted.
    let found = search.at(b"!!!GADGET_END", 0, &[Marker::Start]);
    assert_eq!(found, Found::Nothing);
}

#[test]
fn skips() {
    fn check(search: &MarkerSearch, text: &str, at: usize, expected: usize) {
        assert_eq!(
            search.skip(text.as_bytes(), at),
            expected,
            "{text:?} at {at}"
        );
    }
    let search_bangs = default();
    check(&search_bangs, "!x", 0, 1);
    check(&search_bangs, "!!x", 0, 2);
    check(&search_bangs, "!!!x", 0, 3);
    check(&search_bangs, "!!!!x", 0, 1);
    check(&search_bangs, "!!!!!!!!!!x", 0, 7);
    check(&search_bangs, "!!!!!!!!!!x", 7, 10);
    check(&search_bangs, "ab", 0, 1);
    // Without a lead it is the next byte.
    check(&search("<S", "@E", "#A"), "<<<<<<", 0, 1);
}

/// A search that was made once is not made again.
#[test]
fn remembered() {
    let mut next = Next::default();
    assert_eq!(next.from(0, || Some(5)), Some(5));
    assert_eq!(next.from(5, || panic!("it is known")), Some(5));
    assert_eq!(next.from(6, || None), None);
    assert_eq!(next.from(7, || panic!("it is known")), None);
}

#[test]
fn line_prefixes() {
    #[track_caller]
    fn check(before: LinePrefix, text: &str, expected: LinePrefix) {
        let found = before.after(text.as_bytes(), text.len(), 3);
        assert_eq!(found, expected, "{before:?} {text:?}");
        let pieces = text
            .bytes()
            .fold(before, |prefix, byte| prefix.after(&[byte], 1, 3));
        assert_eq!(pieces, expected, "{before:?} {text:?} byte by byte");
    }
    use LinePrefix::{Blank, Escaped, Other};
    check(Blank(0), "", Blank(0));
    check(Blank(2), "", Blank(2));
    check(Escaped(1), "", Escaped(1));
    check(Other, "", Other);
    check(Blank(0), " \t", Blank(2));
    check(Blank(1), " \t", Blank(3));
    check(Blank(2), " \t", Other);
    check(Blank(0), " \\\\", Escaped(3));
    check(Escaped(2), "\\", Escaped(3));
    check(Escaped(3), "\\", Other);
    check(Escaped(1), " ", Other);
    check(Blank(0), "\\ \\", Other);
    check(Blank(0), "x", Other);
    check(Blank(0), "\u{a0}", Other);
    check(Blank(0), "\r", Other);
    check(Other, "  ", Other);
    check(Other, "\n", Blank(0));
    check(Other, "x\n ", Blank(1));
    check(Escaped(1), "\r\n\\", Escaped(1));
    check(Blank(0), "\n    ", Other);
    check(Blank(0), "\n \\\\\\", Other);
    check(Blank(0), "a\n\nb", Other);
}
