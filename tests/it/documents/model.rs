//! A model behind HTTP, as a server on this machine: it replies with what it received.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Starts listening, and returns the URL.
pub fn listen() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap());
        }
    });
    format!("http://{address}")
}

fn answer(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    let mut asks_messages = false;
    for line in reader.by_ref().lines() {
        let line = line.unwrap();
        asks_messages |= line.starts_with("POST /v1/messages ");
        if let Some((name, value)) = line
            .split_once(':')
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value.trim().parse().unwrap_or_else(|_| panic!("{name}"));
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let messages = asked["messages"].as_array().expect("messages");
    let last = text_of(&messages.last().expect("one at least")["content"]);
    let said = format!("You gave me {} messages. The last: {last}", messages.len());
    let body = if asks_messages {
        assert!(
            asked["max_tokens"].is_u64() && asked["model"].is_string(),
            "{asked}"
        );
        json!({"role": "assistant", "content": [{"type": "text", "text": said}]})
    } else {
        json!({"choices": [{"message": {"role": "assistant", "content": said}}]})
    };
    let body = body.to_string();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).unwrap();
}

/// Returns the text of a content: a string, or blocks.
fn text_of(content: &Value) -> String {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    content.as_array().map_or_else(
        || text(content),
        |blocks| blocks.iter().map(|block| text(&block["text"])).collect(),
    )
}
