use super::*;

#[test]
fn opening_lines() {
    fn check(preamble: &str, expected: Option<(usize, usize)>) {
        let found = opening(preamble).map(|fence| (fence.at, fence.ticks));
        assert_eq!(found, expected, "{preamble:?}");
    }
    check("", None);
    check("\n \n", None);
    check("```", Some((0, 3)));
    check("```\n", Some((0, 3)));
    check("```\r\n\n \n", Some((0, 3)));
    check("`````json x", Some((0, 5)));
    check(" \t```", Some((0, 3)));
    check("text\n```\n", Some((5, 3)));
    check("```\ntext\n", None);
    check("```\n````\n", Some((4, 4)));
    check("``", None);
    check("x```", None);
    check("\u{a0}```", None);
    check("```a`", None);
    check("``` ``` ", None);
    check("~~~", None);
}

#[test]
fn closing_lines() {
    fn check(value: &str, ticks: usize, expected: Option<usize>) {
        assert_eq!(closing(value, ticks, 6), expected, "{value:?}, {ticks}");
    }
    check("", 3, None);
    check("```", 3, Some(0));
    check("1\n```", 3, Some(2));
    check("1\r\n```", 3, Some(3));
    check("é\n```", 3, Some(3));
    check("1\n````", 3, Some(2));
    check("1\n```", 4, None);
    check("1\n \t```\t", 3, Some(2));
    check("1\n```\n", 3, None);
    check("1\n```\r", 3, None);
    check("1\n```x", 3, None);
    check("1 ```", 3, None);
    // As long as the cap, and longer.
    check("1\n   ```", 3, Some(2));
    check("1\n    ```", 3, None);
    check("1\n```````", 3, None);
    // Fences of the value itself: all closed, or one open.
    check("```rust\n1\n```\n```", 3, Some(14));
    check("```rust\n1\n```", 3, None);
    check("  ```\n1\n```", 3, None);
    check("```\n```\n```\n```", 3, None);
    check("```\n```\n```\n```\n```", 3, Some(16));
    // Inside a line three backticks are no fence.
    check("a ```\n```", 3, Some(6));
    // What closes is as long as what opened; what the value counts is three.
    check("```\n````", 4, None);
}

#[test]
fn inside_of_a_pair() {
    fn check(body: &str, expected: &str) {
        assert_eq!(&body[inside(body)], expected, "{body:?}");
    }
    check("", "");
    check(" \n", "");
    check(" {} \n", "{}");
    check("```\n{}\n```", "{}");
    check("\n ```json\r\n {\n}\r\n\t```` \r\n", "{\n}");
    check("````\n```\n````", "```");
    check("```\n```", "");
    check("```\n\n```", "");
    // No pair: all of it.
    check("```", "```");
    check("```\n{}", "```\n{}");
    check("{}\n```", "{}\n```");
    check("````\n{}\n```", "````\n{}\n```");
    check("```\n{}\n```x", "```\n{}\n```x");
    check("```a`\n{}\n```", "```a`\n{}\n```");
    check("```\n{} ```", "```\n{} ```");
    // One pair only.
    check("```\n```\n{}\n```\n```", "```\n{}\n```");
}
