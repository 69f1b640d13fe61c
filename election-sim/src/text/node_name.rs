//! The names of the nodes, by number.

/// `a` to `z`, then `n26`, `n27`, …
pub(crate) fn node_name(node: usize) -> String {
    match u8::try_from(node) {
        Ok(n) if n < 26 => char::from(b'a' + n).to_string(),
        _ => format!("n{node}"),
    }
}
