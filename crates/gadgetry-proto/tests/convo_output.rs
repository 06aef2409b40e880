//! Results that are too long are kept aside and announced.

use gadgetry_proto::convo::{OutputStore, char_limit};

#[test]
fn the_notice_of_the_specification() {
    let mut store = OutputStore::default();
    let mut result = "x".repeat(6) + "\n";
    result = result.repeat(4_199);
    result.push_str(&"y".repeat(31_337 - result.len()));
    let notice = store.limit("Search", result, 30_000);
    let id = store.outputs()[0].id.clone();
    let digits = id.strip_prefix("Search_").unwrap();
    assert!(
        digits.len() == 8
            && digits
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
        "{id}"
    );
    assert_eq!(
        notice,
        format!(
            "[Gadget \"Search\" returned too much data: 31,337 bytes, 4,200 lines. \
             Use GadgetOutputViewer with id \"{id}\" to read it]"
        )
    );
}

#[test]
fn a_dense_result_gets_a_tip() {
    let mut store = OutputStore::default();
    let notice = store.limit("Dump", "ä".repeat(5_000) + "\n", 100);
    assert!(
        notice.ends_with(
            " to read it] This output is dense (2 lines; longest line 5000 chars). \
             Try mode: \"character\", limit: \"1-2000\"."
        ),
        "{notice}"
    );
    assert!(notice.contains(": 10,001 bytes, 2 lines."), "{notice}");
}

/// Reading by lines is hopeless if there are few of them and one does not fit at once, or would fill a page.
#[test]
fn few_long_lines_are_dense() {
    let lines = |length: usize, count: usize| vec!["x".repeat(length); count].join("\n");
    for (result, limit, is_dense) in [
        (lines(101, 1), 100, true),
        (lines(101, 3), 100, true),
        (lines(101, 4), 100, false),
        (lines(100, 2), 100, false),
        (lines(3_999, 3), 10_000, false),
        (lines(4_000, 3), 10_000, true),
        (lines(4_000, 4), 10_000, false),
    ] {
        let notice = OutputStore::default().limit("Dump", result, limit);
        assert_eq!(notice.contains("is dense"), is_dense, "{notice}");
    }
}

#[test]
fn sizes_are_grouped_by_three_digits() {
    for (length, size) in [
        (1, ": 1 byte,"),
        (12, ": 12 bytes,"),
        (123, ": 123 bytes,"),
        (1_234, ": 1,234 bytes,"),
        (123_456, ": 123,456 bytes,"),
        (1_234_567, ": 1,234,567 bytes,"),
    ] {
        let notice = OutputStore::default().limit("Dump", "x".repeat(length), 0);
        assert!(notice.contains(size), "{notice}");
    }
}

#[test]
fn limits_count_characters() {
    assert_eq!(char_limit(200_000, 15.0), 120_000);
    assert_eq!(char_limit(1_000, 15.0), 600);
    assert_eq!(char_limit(0, 15.0), 0);
    assert_eq!(char_limit(1_000, -1.0), 0);
    assert_eq!(char_limit(1_000, f64::NAN), 0);
    let mut store = OutputStore::default();
    assert_eq!(store.limit("A", "ääää".to_owned(), 4), "ääää");
    assert_ne!(store.limit("A", "äääää".to_owned(), 4), "äääää");
}

#[test]
fn ids_are_the_same_on_every_machine_and_never_the_same_twice() {
    let mut store = OutputStore::default();
    let mut again = OutputStore::default();
    for n in 0..200 {
        let name = if n % 2 == 0 { "A" } else { "B" };
        assert_eq!(
            store.insert(name, String::new()),
            again.insert(name, String::new())
        );
    }
    assert_eq!(store.outputs()[0].id, "A_1fcd1ac0");
    let mut other = OutputStore::default();
    let ids =
        ["Search", "Search", "Search"].map(|name| other.insert(name, String::new()).to_owned());
    assert_eq!(
        ids,
        ["Search_dcba34ca", "Search_a094816f", "Search_4b9ad965"]
    );
    let mut ids: Vec<&str> = store
        .outputs()
        .iter()
        .map(|output| output.id.as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 200);
    let saved = serde_json::to_string(&store).unwrap();
    let mut loaded: OutputStore = serde_json::from_str(&saved).unwrap();
    assert_eq!(loaded, store);
    assert_eq!(
        loaded.insert("C", String::new()),
        store.insert("C", String::new())
    );
}
