use super::*;

/// One header after another, read as one reply's: name, id, dependencies.
#[track_caller]
fn check(rows: &[(&str, &str, &str, &[&str])]) {
    let mut header = BlockHeader::default();
    let mut auto_ids = 0;
    for (line, name, id, dependencies) in rows {
        header.read(line, &mut auto_ids);
        let read: Vec<&str> = header.dependencies().collect();
        assert_eq!(
            (
                header.gadget_name(),
                header.invocation_id(),
                read.as_slice()
            ),
            (*name, *id, *dependencies),
            "{line:?}"
        );
    }
}

#[test]
fn parts() {
    check(&[
        ("Read:r1", "Read", "r1", &[]),
        ("Read:r1:a", "Read", "r1", &["a"]),
        ("Read:r1:a,b", "Read", "r1", &["a", "b"]),
        ("Read:r1:a:b,c", "Read", "r1", &["a", "b", "c"]),
        ("get user.é/x:r", "get user.é/x", "r", &[]),
        // A comma separates nothing before the dependencies.
        ("A,B:c,d:e", "A,B", "c,d", &["e"]),
    ]);
}

#[test]
fn trimmed() {
    check(&[
        (" Read : r1 : a , b \r", "Read", "r1", &["a", "b"]),
        ("\tA\t:\u{a0}b\u{3000}:\rc", "A", "b", &["c"]),
        ("a b: c d : e f ", "a b", "c d", &["e f"]),
    ]);
}

#[test]
fn automatic_ids() {
    check(&[
        ("A", "A", "gadget_1", &[]),
        ("A:", "A", "gadget_2", &[]),
        ("A:own", "A", "own", &[]),
        ("A: :x", "A", "gadget_3", &["x"]),
        ("A::x:y", "A", "gadget_4", &["x", "y"]),
        // One that was written is not given again.
        ("A:gadget_5", "A", "gadget_5", &[]),
        ("A", "A", "gadget_6", &[]),
        ("A:gadget_2", "A", "gadget_2", &[]),
        ("A:gadget_x", "A", "gadget_x", &[]),
        ("A", "A", "gadget_7", &[]),
    ]);
}

#[test]
fn dependencies_without_empty_ones_and_repetitions() {
    check(&[
        ("A:a:", "A", "a", &[]),
        ("A:a: , ,:: ,", "A", "a", &[]),
        ("A:a:,x,,y,", "A", "a", &["x", "y"]),
        ("A:a:x, x :y:x,y", "A", "a", &["x", "y"]),
        ("A:a:x,X,a", "A", "a", &["x", "X", "a"]),
    ]);
}

#[test]
fn empty_headers_get_a_numbered_id() {
    check(&[
        ("", "", "gadget_1", &[]),
        (" \r", "", "gadget_2", &[]),
        (":", "", "gadget_3", &[]),
        (":a", "", "a", &[]),
        ("::x", "", "gadget_4", &["x"]),
        // Nothing of the one before stays.
        ("A:a:x", "A", "a", &["x"]),
        ("", "", "gadget_5", &[]),
    ]);
}
