//! Markers in untrusted text are broken.

use std::borrow::Cow;

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::escape_markers;
use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

#[test]
fn markers_are_escaped_at_any_position() {
    let markers = Markers::default();
    for (input, expected) in [
        ("a!!!GADGET_START:x", "a!\u{200B}!!GADGET_START:x"),
        (
            "\\!!!ARG:x\r\n!!!ARG:y",
            "\\!\u{200B}!!ARG:x\r\n!\u{200B}!!ARG:y",
        ),
        (
            "!!!GADGET_!!!GADGET_ENDEND",
            "!!!GADGET_!\u{200B}!!GADGET_ENDEND",
        ),
        ("!!!!GADGET_END", "!!\u{200B}!!GADGET_END"),
    ] {
        assert_eq!(escape_markers(input, &markers), expected);
    }
    for plain in [
        "",
        "plain",
        "!!!GADGET_STAR",
        "!!!gadget_start:",
        "!!GADGET_END",
    ] {
        assert!(matches!(escape_markers(plain, &markers), Cow::Borrowed(same) if same == plain));
    }
}

#[test]
fn unusual_markers_are_escaped_too() {
    let markers = Markers::new("aaa", "§", "x\u{200B}y").unwrap();
    assert_eq!(
        escape_markers("aaaaa § x\u{200B}y é", &markers),
        "a\u{2060}a\u{2060}a\u{2060}aa \u{2060} x\u{2060}\u{200B}y é"
    );
}

fn markers() -> impl Strategy<Value = Markers> {
    let any = ("[ab!:]{1,5}", "[ab!:]{1,5}", "[ab!:\u{200B}]{1,5}")
        .prop_filter_map("no markers", |(start, end, arg)| {
            Markers::new(start, end, arg).ok()
        });
    prop_oneof![any, prop::strategy::Just(Markers::default())]
}

proptest! {
    #[test]
    fn neutral_text_has_no_markers_and_stays_as_it_is(
        pieces in prop::collection::vec("[ab!:\u{200B}\n\\\\]{0,9}|!!!GADGET_START:|!!!GADGET_END|!!!ARG:|!!!GADGET_", 0..12),
        markers in markers(),
    ) {
        let text = pieces.concat();
        let neutral = escape_markers(&text, &markers);
        let named = [markers.start(), markers.end(), markers.arg()];
        for marker in named {
            prop_assert!(!neutral.contains(marker), "{:?} in {:?}", marker, neutral);
        }
        if !named.iter().any(|marker| text.contains(marker)) {
            prop_assert!(matches!(&neutral, Cow::Borrowed(_)));
        }
        prop_assert!(matches!(escape_markers(&neutral, &markers), Cow::Borrowed(_)));
        if named.iter().all(|marker| marker.chars().count() > 1 && !marker.contains('\u{200B}')) {
            prop_assert_eq!(neutral.replace('\u{200B}', ""), text.replace('\u{200B}', ""));
        }
    }
}
