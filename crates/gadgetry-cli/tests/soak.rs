//! The rule of `cargo xtask soak` for memory that does not grow. The target `soak` itself has no tests: it is one.

#[path = "../soak/flat.rs"]
mod flat;

use flat::{is_flat, medians};

#[test]
fn growth_is_found_and_noise_is_not() {
    let check = |samples: &[u64], expected: Option<bool>| {
        let flat = medians(samples).map(|it| is_flat(it, 2));
        assert_eq!(flat, expected, "{samples:?}");
    };
    check(&[1; flat::FEWEST - 1], None);
    check(&[10, 50, 90, 100, 101, 99, 100, 900, 101], Some(true));
    check(&[100, 110, 120, 130, 140, 150, 160, 170, 180], Some(false));
    check(&[7, 7, 7, 7, 7, 7, 9, 9, 9], Some(true));
    check(&[7, 7, 7, 7, 7, 7, 10, 10, 10], Some(false));
}
