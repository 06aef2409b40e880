//! `gadgetry demo`, whole.

use super::workshop::{Ended, Workshop, masked};

/// Times are masked, bars are left out, and the lines are sorted: how long a disk takes is not ours to say.
#[test]
fn the_demo_shows_everything() {
    let workshop = Workshop::new("");
    let ended = Ended::of(&mut workshop.command(&["demo"]));
    ended.check(&ended.stdout, "", 0);
    let lines: Vec<String> = masked(&ended.stdout).lines().map(plain).collect();
    let mut expected: Vec<&str> = EXPECTED.lines().collect();
    expected.sort_unstable();
    assert_eq!(comparable(&ended.stdout), expected);

    let at = |line: &str| lines.iter().position(|it| it == line);
    let order = [
        "[1] calling model",
        "> ReadFile orders {\"filePath\":\"orders.csv\"}",
        ". orders starts",
        "+ orders done in N ms: tea,2 bread,3 jam,1",
        ". invoice starts",
        "+ invoice done in N ms: {\"file\":\"invoice.txt\",\"total\":25.4}",
        "[2] calling model",
        "Timeline",
        "2 replies, $0.01",
    ];
    assert!(order.is_sorted_by_key(|line| at(line)), "{}", ended.stdout);
}

/// What is the same in every run: the lines without times and bars, sorted.
pub(crate) fn comparable(printed: &str) -> Vec<String> {
    let mut lines: Vec<String> = masked(printed).lines().map(plain).collect();
    lines.sort_unstable();
    lines
}

/// The words of a line, without the bar.
fn plain(line: &str) -> String {
    let parts: Vec<&str> = line.split('|').collect();
    let words = match parts[..] {
        [name, _, fate] => format!("{name} {fate}"),
        _ => line.to_owned(),
    };
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

const EXPECTED: &str = r#"A scripted model, real gadgets on real files in a temporary folder; no key, no network.

User: What is the total of the order? Use the discounts if there are any.

[1] calling model
<plan> Read the lists at the same time, then write the invoice from both.
I'll read the order and the prices side by side, and the discounts while I am at it.

> ReadFile orders {"filePath":"orders.csv"}
. orders starts
> ReadFile prices {"filePath":"prices.csv"}
. prices starts
> Invoice invoice after orders, prices {"orders":"${orders}","prices":"${prices}"}
> ReadFile discounts {"filePath":"discounts.csv"}
. discounts starts
> Discount discounted after invoice, discounts {"total":"${invoice/total}","discounts":"${discounts}"}
+ orders done in N ms: tea,2 bread,3 jam,1
+ prices done in N ms: bread,2.80 jam,4.50 tea,6.25
. invoice starts
+ invoice done in N ms: {"file":"invoice.txt","total":25.4}
x discounts failed: discounts.csv: No such file or directory (os error 2)
- discounted skipped: discounts.csv: No such file or directory (os error 2)
[2] calling model
The total of the order is 25.40. There is no list of discounts, so nothing was taken off.

Timeline
ReadFile orders N ms + N ms done
ReadFile prices N ms + N ms done
Invoice invoice N ms + N ms done
ReadFile discounts N ms + N ms failed
Discount discounted N ms + N ms skipped

2 replies, $0.01"#;

#[test]
fn a_reader_who_goes_is_no_error() {
    let workshop = Workshop::new("");
    let mut child = workshop.command(&["demo"]).spawn().expect("it starts");
    drop(child.stdout.take());
    Ended::wait(child).check("", "", 0);
}
