//! Cuts lie between characters, lose nothing, and are always the same.

use gadgetry_testing::{Cut, every_cut, every_cut_in_two, split};

use crate::support::panic_of;

const TEXTS: [&str; 6] = [
    "",
    "a",
    "ß",
    "hello, world",
    "日本語 🦀 e\u{301}\r\n",
    "!!!GADGET_START:Fetch:users\n!!!ARG:url\nhttps://example.com/ä\n!!!GADGET_END\n",
];

#[test]
fn nothing_is_lost() {
    let seeded = (0..50).map(Cut::Seeded);
    let every = (0..9).map(Cut::Every);
    let at = [vec![], vec![0], vec![5, 1, 2, 2], vec![usize::MAX, 3]];
    let cuts = seeded
        .chain(every)
        .chain(at.map(Cut::At))
        .chain([Cut::Whole]);
    for cut in cuts {
        for text in TEXTS {
            let chunks = split(text, &cut);
            assert_eq!(chunks.concat(), text, "{cut:?}");
            assert!(chunks.iter().all(|chunk| !chunk.is_empty()), "{cut:?}");
            assert_eq!(chunks, split(text, &cut));
        }
    }
}

#[test]
fn sizes() {
    for size in 1..9 {
        for text in TEXTS {
            let sizes = split(text, &Cut::Every(size))
                .into_iter()
                .map(|it| it.chars().count());
            let sizes: Vec<_> = sizes.collect();
            let (last, full) = sizes.split_last().unwrap_or((&1, &[]));
            assert!(full.iter().all(|chars| *chars == size), "{sizes:?}");
            assert!((1..=size).contains(last), "{sizes:?}");
        }
    }
    assert_eq!(split("ab", &Cut::Every(0)), ["a", "b"]);
}

#[test]
fn seeds() {
    let text = "x".repeat(400);
    let sizes = |seed| -> Vec<usize> {
        let chunks = split(&text, &Cut::Seeded(seed));
        chunks.iter().map(|chunk| chunk.len()).collect()
    };
    // The numbers are part of the promise: they are the same on every machine and in every release.
    assert_eq!(sizes(0)[..6], [16, 1, 20, 5, 8, 11]);
    for seed in 0..50 {
        let sizes_here = sizes(seed);
        let (_, full) = sizes_here.split_last().unwrap();
        assert!(full.iter().all(|size| (1..=20).contains(size)), "{full:?}");
        assert_ne!(sizes_here, sizes(seed + 1));
    }
}

#[test]
fn offsets_inside_a_character_move_to_its_end() {
    let check = |offsets: &[usize], expected: &[&str]| {
        assert_eq!(split("aßc", &Cut::At(offsets.to_vec())), expected);
    };
    check(&[], &["aßc"]);
    check(&[0, 4, 99], &["aßc"]);
    check(&[3, 1], &["a", "ß", "c"]);
    check(&[2], &["aß", "c"]);
    check(&[2, 3], &["aß", "c"]);
}

#[test]
fn every_way() {
    assert_eq!(every_cut("").collect::<Vec<_>>(), [Vec::<&str>::new()]);
    let ways: Vec<_> = every_cut("aß🦀d").collect();
    assert_eq!(ways.len(), 8);
    let distinct: std::collections::BTreeSet<_> = ways.iter().collect();
    assert_eq!(distinct.len(), 8);
    assert!(ways.iter().all(|way| way.concat() == "aß🦀d"));
    assert_eq!(every_cut(&"x".repeat(17)).count(), 1 << 16);
    let words = panic_of(|| every_cut(&"x".repeat(18)).count());
    assert_eq!(
        words,
        "a text of 18 characters can be cut in too many ways; `every_cut` takes at most 17",
    );
}

#[test]
fn every_way_in_two() {
    for (text, ways) in [("", 0), ("ß", 0), ("ab", 1), ("日本語", 2)] {
        let pairs: Vec<_> = every_cut_in_two(text).collect();
        assert_eq!(pairs.len(), ways);
        assert!(pairs.iter().all(|pair| pair.concat() == text));
    }
}
