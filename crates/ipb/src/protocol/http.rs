//! Heads of HTTP/1.1 messages, whose total length includes the head.

/// Length in bytes above which a request has a body.
const MAX_GET_BYTES: u64 = 4096;

/// Returns the head of a request and the length of its body. Together they have `request_bytes`, or the
/// length of the shortest head; the request states a reply of `reply_bytes`.
pub fn request_head(request_bytes: u32, reply_bytes: u32) -> (Vec<u8>, u64) {
    let request_bytes = u64::from(request_bytes);
    if request_bytes > MAX_GET_BYTES {
        let start = format!("POST /{reply_bytes} HTTP/1.1\r\nHost: netflow\r\n");
        return with_length(start, request_bytes);
    }
    const REST: &str = " HTTP/1.1\r\nHost: netflow\r\n\r\n";
    let mut head = format!("GET /{reply_bytes}").into_bytes();
    let padding = (request_bytes as usize).saturating_sub(head.len() + REST.len());
    if padding > 0 {
        head.push(b'?');
        head.resize(head.len() + padding - 1, b'p');
    }
    head.extend_from_slice(REST.as_bytes());
    (head, 0)
}

/// Returns the head of a reply and the length of its body. Together they have `reply_bytes`, or the
/// length of the shortest head.
pub fn reply_head(reply_bytes: u32) -> (Vec<u8>, u64) {
    with_length("HTTP/1.1 200 OK\r\n".to_owned(), u64::from(reply_bytes))
}

/// Completes a head with the length of its body. If one more digit shortens the body by one digit, the
/// length gets a leading zero, so that every total length is possible.
fn with_length(start: String, whole_bytes: u64) -> (Vec<u8>, u64) {
    const NAME: &str = "Content-Length: ";
    const END: &str = "\r\n\r\n";
    let fixed = (start.len() + NAME.len() + END.len()) as u64;
    let mut digits = 1;
    let mut most = 10;
    let mut body = whole_bytes.saturating_sub(fixed + digits);
    while body >= most {
        digits += 1;
        most *= 10;
        body = whole_bytes.saturating_sub(fixed + digits);
    }
    let width = digits as usize;
    let head = format!("{start}{NAME}{body:0width$}{END}");
    (head.into_bytes(), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length from the shortest head on, including those where the number of digits changes.
    #[test]
    fn lengths_are_exact() {
        let shortest = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".len() as u64;
        for reply in (1..12_000).chain([99_999, 100_037, 100_038, 1 << 30, u32::MAX]) {
            let (head, body) = reply_head(reply);
            let whole = head.len() as u64 + body;
            assert_eq!(whole, u64::from(reply).max(shortest));
        }
        let shortest = "GET /7 HTTP/1.1\r\nHost: netflow\r\n\r\n".len() as u64;
        for request in (1..20_000).chain([100_100, 1 << 30]) {
            let (head, body) = request_head(request, 7);
            assert_eq!(
                head.len() as u64 + body,
                u64::from(request).max(shortest),
                "{request}"
            );
        }
    }
}
