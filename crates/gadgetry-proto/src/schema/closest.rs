//! Likeness of names, for hints.

/// Maximum number of letters of a name that is compared.
const COMPARED: usize = 64;

/// Maximum number of wrong letters of a name that is a slip for certain.
const SLIP: usize = 2;

/// Returns the `names` that `name` is probably a slip of, the closest first. Case and punctuation do not count, and something
/// of `name` must be left: `x` is not a typo of `y`.
///
/// ```
/// assert_eq!(gadgetry_proto::schema::closest("bel", ["Bell", "Drum"]), ["Bell"]);
/// assert_eq!(gadgetry_proto::schema::closest("durm", ["Bell", "Drum"]), ["Drum"]);
/// ```
pub fn closest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = letters(name);
    if wanted.is_empty() || wanted.len() > COMPARED {
        return Vec::new();
    }
    let near = (wanted.len() / 3).max(1);
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (distance(&wanted, &letters(name)), name))
        .filter(|(distance, _)| *distance <= near && *distance < wanted.len())
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Returns the name that `name` is almost certainly a slip of: at most two letters are wrong, missing, more or swapped, and no other name
/// is as close.
///
/// ```
/// use gadgetry_proto::schema::slip_of;
/// assert_eq!(slip_of("WriteFlie", ["ReadFile", "WriteFile"]), Some("WriteFile"));
/// assert_eq!(slip_of("WriteFile", ["EditFile"]), None);
/// ```
pub fn slip_of<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = letters(name);
    let near = closest(name, names);
    let mut near = near
        .into_iter()
        .map(|it| (distance(&wanted, &letters(it)), it));
    let (first, found) = near.next()?;
    let is_only = near.next().is_none_or(|(second, _)| second > first);
    (first <= SLIP && is_only).then_some(found)
}

/// Returns the letters of a name that are compared.
fn letters(name: &str) -> Vec<char> {
    let all = name.chars().flat_map(char::to_lowercase);
    all.filter(|c| c.is_alphanumeric())
        .take(COMPARED + 1)
        .collect()
}

/// Counts the insertions, deletions, replacements and swaps of neighbours that make one of the other.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for (j, r) in right.iter().enumerate() {
            let replaced = row[j] + usize::from(l != r);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *l == right[j - 1] && left[i - 1] == *r {
                least = least.min(above[j - 1] + 1);
            }
            next.push(least);
        }
        above = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances() {
        let check = |left: &str, right: &str, expected| {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(
                distance(&chars(left), &chars(right)),
                expected,
                "{left} {right}"
            );
        };
        check("", "", 0);
        check("abc", "", 3);
        check("kitten", "sitting", 3);
        check("flaw", "lawn", 2);
    }
}
