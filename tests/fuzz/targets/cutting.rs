//! Takes numbers out of an input, and cuts an input into pieces.

/// Removes a number from the front of an input; returns zero at the end.
pub fn number(bytes: &mut &[u8]) -> usize {
    bytes.split_off_first().map_or(0, |byte| usize::from(*byte))
}

/// Cuts bytes into pieces of 1 to 61 bytes; `shape` decides the lengths.
pub fn pieces(bytes: &[u8], shape: usize) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    let mut length = shape % 61;
    while !rest.is_empty() {
        length = (length * 7 + shape) % 61;
        pieces.extend(rest.split_off(..(length + 1).min(rest.len())));
    }
    pieces
}
