//! `pisess context --as anthropic|openai|openai-responses|google`: the body of a request.

use crate::sandbox::{Sandbox, hazards};
use serde_json::{Value, json};
use std::collections::HashSet;

const TARGETS: [&str; 4] = ["anthropic", "openai", "openai-responses", "google"];
/// The models for which bodies are made if the session names none.
const PROFILES: [&str; 4] = [
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.1",
    "openai/gpt-5.1",
    "google/gemini-3.1-pro-preview",
];

/// Returns a session of messages, one after the other.
fn session(messages: &[Value]) -> String {
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-04T12:00:00.000Z", "cwd": "/p"}),
    ];
    for (at, message) in messages.iter().enumerate() {
        let parent = at.checked_sub(1).map(|before| format!("e{before:07}"));
        lines.push(json!({"type": "message", "id": format!("e{at:07}"), "parentId": parent, "timestamp": "2026-05-04T12:00:00.000Z", "message": message}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn body_of(lines: &str, options: &str) -> Value {
    let s = Sandbox::new();
    let done = s
        .pisess(&format!("context -q - {options}"))
        .stdin(lines)
        .done();
    serde_json::from_str(&done.quiet()).unwrap()
}

/// Returns the body for `target` and its fixed model.
fn body(target: &str, messages: &[Value]) -> Value {
    let at = TARGETS.iter().position(|known| *known == target).unwrap();
    body_of(
        &session(messages),
        &format!("--as {target} --model {}", PROFILES[at]),
    )
}

/// Returns the list of messages in a body, without the system prompt.
fn list(body: &Value) -> Vec<Value> {
    let list = ["messages", "input", "contents"]
        .iter()
        .find_map(|key| body.get(key))
        .unwrap();
    let is_prompt =
        |item: &&Value| !["developer", "system"].contains(&item["role"].as_str().unwrap_or(""));
    list.as_array()
        .unwrap()
        .iter()
        .filter(is_prompt)
        .cloned()
        .collect()
}

fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into(), "timestamp": 1})
}

/// Returns an assistant message of claude-opus-4-5.
fn turn(content: Value) -> Value {
    json!({"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-5", "stopReason": "stop", "timestamp": 2})
}

fn with(message: Value, members: Value) -> Value {
    let mut message = message;
    for (key, value) in members.as_object().unwrap() {
        message[key] = value.clone();
    }
    message
}

/// Returns an assistant message of a target's fixed model.
fn own_turn(target: &str, content: Value) -> Value {
    let (api, at) = match target {
        "anthropic" => ("anthropic-messages", 0),
        "openai" => ("openai-completions", 1),
        "openai-responses" => ("openai-responses", 2),
        _ => ("google-generative-ai", 3),
    };
    let (provider, model) = PROFILES[at].split_once('/').unwrap();
    with(
        turn(content),
        json!({"api": api, "provider": provider, "model": model}),
    )
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "x"}})
}

fn result(id: &str, content: Value) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": content, "isError": false, "timestamp": 3})
}

fn image() -> Value {
    json!({"type": "image", "mimeType": "image/png", "data": "AAAA"})
}

/// Asserts the list of messages for each target.
fn expect(name: &str, messages: &[Value], wanted: [Value; 4]) {
    for (target, wanted) in TARGETS.iter().zip(wanted) {
        assert_eq!(
            json!(list(&body(target, messages))),
            wanted,
            "{name}, {target}"
        );
    }
}

fn refused(lines: &str, target: &str) {
    let s = Sandbox::new();
    let done = s
        .pisess(&format!("context - --as {target}"))
        .stdin(lines)
        .done();
    assert_eq!(done.stdout, b"");
    assert_eq!(done.fails(1), "the context has no message to send");
}

#[test]
fn blank_questions() {
    refused(&session(&[user("")]), "anthropic");
    for blank in ["", "   "] {
        assert_eq!(
            list(&body("openai", &[user(blank)])),
            [json!({"role": "user", "content": blank})]
        );
        let input = json!({"role": "user", "content": [{"type": "input_text", "text": blank}]});
        assert_eq!(list(&body("openai-responses", &[user(blank)])), [input]);
        assert_eq!(
            list(&body("google", &[user(blank)])),
            [json!({"parts": [{"text": blank}], "role": "user"})]
        );
    }
    let two = [user(json!([text(" \n"), text("x")]))];
    assert_eq!(
        list(&body("anthropic", &two)),
        [json!({"role": "user", "content": [text("x")]})]
    );
    assert_eq!(
        list(&body("openai", &two)),
        [json!({"role": "user", "content": [text(" \n"), text("x")]})]
    );
    refused(&session(&[user(json!([text("")]))]), "openai");
    let empty = json!({"role": "user", "content": [{"type": "input_text", "text": ""}]});
    assert_eq!(
        list(&body("openai-responses", &[user(json!([text("")]))])),
        [empty]
    );
}

#[test]
fn texts_of_an_answer() {
    let answer = turn(json!([text("one"), text("two"), text(""), text("  ")]));
    let item = |id: &str, words: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words, "annotations": []}], "status": "completed", "id": id});
    expect(
        "texts",
        &[user("q"), answer],
        [
            json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": [text("one"), text("two")]}]),
            json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "onetwo"}]),
            json!([
                {"role": "user", "content": [{"type": "input_text", "text": "q"}]},
                item("msg_pi_1", "one"), item("msg_pi_1_1", "two"), item("msg_pi_1_2", ""), item("msg_pi_1_3", "  "),
            ]),
            json!([{"parts": [{"text": "q"}], "role": "user"}, {"parts": [{"text": "one"}, {"text": "two"}], "role": "model"}]),
        ],
    );
}

#[test]
fn thinking_survives_for_its_own_model_only() {
    let thinking = json!({"type": "thinking", "thinking": "plan", "thinkingSignature": "c2ln"});
    let redacted = json!({"type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "ZW5j", "redacted": true});
    let last = |target: &str, turn: Value| {
        list(&body(target, &[user("q"), turn]))
            .last()
            .unwrap()
            .clone()
    };
    for block in [&thinking, &redacted] {
        let foreign = turn(json!([block, text("hi")]));
        assert_eq!(
            last("anthropic", foreign.clone())["content"],
            json!([text("hi")])
        );
        assert_eq!(last("openai", foreign.clone())["content"], "hi");
        assert_eq!(last("openai-responses", foreign.clone())["type"], "message");
        assert_eq!(last("google", foreign)["parts"], json!([{"text": "hi"}]));
    }
    let own =
        |target: &str, block: &Value| last(target, own_turn(target, json!([block, text("hi")])));
    assert_eq!(
        own("anthropic", &thinking)["content"][0],
        json!({"type": "thinking", "thinking": "plan", "signature": "c2ln"})
    );
    assert_eq!(
        own("anthropic", &redacted)["content"][0],
        json!({"type": "redacted_thinking", "data": "ZW5j"})
    );
    assert_eq!(
        own("google", &thinking)["parts"][0],
        json!({"text": "plan", "thought": true, "thoughtSignature": "c2ln"})
    );
    assert_eq!(
        own("google", &redacted)["parts"][0],
        json!({"text": "[Reasoning redacted]", "thought": true, "thoughtSignature": "ZW5j"})
    );
    // pi sends no request at all for a signature that is not JSON.
    assert_eq!(own("openai-responses", &thinking)["type"], "message");
    let named =
        json!({"type": "thinking", "thinking": "plan", "thinkingSignature": "reasoning_content"});
    assert_eq!(
        own("openai", &named),
        json!({"role": "assistant", "content": "hi", "reasoning_content": "plan"})
    );
    let unsigned = json!({"type": "thinking", "thinking": "plan"});
    assert_eq!(
        own("anthropic", &unsigned)["content"],
        json!([text("plan"), text("hi")])
    );
}

/// The prefix is not the one that the model saw: the system prompt comes first, and effort is left
/// out.
#[test]
fn bound_thinking_goes_with_leave_to_drop_it() {
    let thinking = json!({"type": "thinking", "thinking": "plan", "thinkingSignature": "c2ln"});
    let sent = |model: &str, blocks: Value| {
        let mut answer = own_turn("anthropic", blocks);
        answer["model"] = json!(model);
        let lines = session(&[user("q"), answer, user("go on")]);
        body_of(&lines, "--as anthropic")
    };
    let bound = sent("claude-opus-5", json!([thinking, text("hi")]));
    assert_eq!(list(&bound)[1]["content"][0]["signature"], "c2ln");
    assert_eq!(
        bound["thinking"],
        json!({"type": "adaptive", "display": "summarized", "block_binding": {"prefix_mismatch_behavior": "drop_block"}})
    );
    let unbound = sent("claude-opus-4-8", json!([thinking, text("hi")]));
    assert_eq!(list(&unbound)[1]["content"][0]["signature"], "c2ln");
    assert_eq!(unbound.get("thinking"), None);
    let silent = sent("claude-opus-5", json!([text("hi")]));
    assert_eq!(silent.get("thinking"), None);
}

#[test]
fn blank_signatures_leave_no_blank_block() {
    let thinking = |text: &str, redacted: bool| json!({"type": "thinking", "thinking": text, "thinkingSignature": " ", "redacted": redacted});
    let blocks = json!([
        thinking("[Reasoning redacted]", true),
        thinking(" ", false),
        thinking("plan", false),
        text("hi")
    ]);
    let sent = list(&body(
        "anthropic",
        &[user("q"), own_turn("anthropic", blocks)],
    ));
    assert_eq!(sent[1]["content"], json!([text("plan"), text("hi")]));
    let blocks = json!([{"type": "redactedThinking", "data": " "}, text("hi")]);
    let lines = omp_session(&[user("q"), own_turn("anthropic", blocks)]);
    let sent = list(&body_of(&lines, "--as anthropic"));
    assert_eq!(sent[1]["content"], json!([text("hi")]));
}

#[test]
fn reasoning_items_are_sent_once_and_before_another_item() {
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"});
    let signed =
        json!({"type": "thinking", "thinking": "", "thinkingSignature": reasoning.to_string()});
    let own = |blocks: Value| own_turn("openai-responses", blocks);
    let messages = [
        user("q"),
        own(
            json!([signed, {"type": "text", "text": "a", "textSignature": r#"{"v":1,"id":"msg_1","phase":"commentary"}"#}]),
        ),
        own(json!([signed, {"type": "text", "text": "b", "textSignature": "msg_1"}])),
        own(json!([signed])),
        user("z"),
    ];
    let list = list(&body("openai-responses", &messages));
    let kinds: Vec<_> = list
        .iter()
        .map(|item| (item["type"].as_str(), item["id"].as_str()))
        .collect();
    let wanted = [
        (None, None),
        (Some("reasoning"), Some("rs_1")),
        (Some("message"), Some("msg_1")),
        (Some("message"), Some("msg_pi_2")),
        (None, None),
    ];
    assert_eq!(kinds, wanted);
    assert_eq!(list[2]["phase"], "commentary");
}

/// What follows an answer may leave nothing to send.
#[test]
fn an_answer_before_empty_messages_is_trimmed_as_the_last_one() {
    let signed_end = json!([{"type": "thinking", "thinking": "plan", "thinkingSignature": "c2ln"}]);
    for empty in [
        user(" "),
        own_turn("anthropic", json!([])),
        own_turn("anthropic", signed_end),
    ] {
        let messages = [user("q"), turn(json!([text("a \u{a0}")])), empty];
        let sent = list(&body("anthropic", &messages));
        assert_eq!(sent.len(), 2, "{sent:?}");
        assert_eq!(sent[1]["content"], json!([text("a")]));
    }
}

/// The reasoning at the end of a turn is not sent, so its id is free for that of a later turn.
#[test]
fn reasoning_that_is_left_out_leaves_its_id_to_a_later_one() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let signed =
        json!({"type": "thinking", "thinking": "", "thinkingSignature": reasoning.to_string()});
    let own = |blocks: Value| own_turn("openai-responses", blocks);
    let messages = [
        user("q"),
        own(json!([text("a"), signed])),
        own(json!([signed, text("b")])),
        user("z"),
    ];
    let sent = list(&body("openai-responses", &messages));
    let types: Vec<_> = sent.iter().map(|item| item["type"].as_str()).collect();
    assert_eq!(
        types,
        [
            None,
            Some("message"),
            Some("reasoning"),
            Some("message"),
            None
        ]
    );
}

/// Anthropic's API refuses a failed result without content, so oh-my-pi gives it one.
#[test]
fn a_failed_result_of_oh_my_pi_has_a_text() {
    for (content, sent_text) in [
        (json!([]), "Tool failed with no output."),
        (json!([text(" \n")]), "Tool failed with no output."),
        (json!([text("no such file")]), "no such file"),
    ] {
        let failed = with(result("c1", content), json!({"isError": true}));
        let messages = [user("q"), turn(json!([call("c1")])), failed, user("go on")];
        let sent = list(&body_of(&omp_session(&messages), "--as anthropic"));
        assert_eq!(sent[2]["content"][0]["content"], sent_text);
    }
}

#[test]
fn each_call_has_one_answer_directly_after_it() {
    let two = [
        user("q"),
        turn(json!([call("c1"), call("c2")])),
        result("c2", json!([text("two")])),
        user("go on"),
    ];
    let answered = |id: &str, content: &str, is_error: bool| json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error});
    let results = |messages: &[Value]| list(&body("anthropic", messages))[2]["content"].clone();
    let both = json!([
        answered("c2", "two", false),
        answered("c1", "No result provided", true)
    ]);
    assert_eq!(results(&two), both);
    let openai = list(&body("openai", &two));
    assert_eq!(
        openai[2],
        json!({"role": "tool", "content": "two", "tool_call_id": "c2"})
    );
    assert_eq!(
        openai[3],
        json!({"role": "tool", "content": "No result provided", "tool_call_id": "c1"})
    );
    let late = [
        two.as_slice(),
        &[
            result("c1", json!([text("late")])),
            result("c9", json!([text("orphan")])),
        ],
    ]
    .concat();
    assert_eq!(
        list(&body("anthropic", &late)).len(),
        4,
        "a second result and one without a call are left out"
    );
    let aborted = with(turn(json!([call("c1")])), json!({"stopReason": "aborted"}));
    assert_eq!(
        list(&body(
            "anthropic",
            &[user("q"), aborted, result("c1", json!([]))]
        ))
        .len(),
        1
    );
    let errored = with(turn(json!([text("x")])), json!({"stopReason": "error"}));
    let behind = [
        user("q"),
        turn(json!([call("c1")])),
        errored,
        result("c1", json!([text("late")])),
    ];
    assert_eq!(
        results(&behind),
        json!([answered("c1", "No result provided", true)])
    );
}

#[test]
fn ids_have_the_form_of_the_api() {
    let id_of = |target: &str, id: &str, source: Value| {
        let messages = [
            user("q"),
            with(turn(json!([call(id)])), source),
            result(id, json!([text("r")])),
            user("z"),
        ];
        let list = list(&body(target, &messages));
        let (call, result) = match target {
            "anthropic" => (
                &list[1]["content"][0]["id"],
                &list[2]["content"][0]["tool_use_id"],
            ),
            "openai" => (&list[1]["tool_calls"][0]["id"], &list[2]["tool_call_id"]),
            "google" => (
                &list[1]["parts"][0]["functionCall"]["id"],
                &list[2]["parts"][0]["functionResponse"]["id"],
            ),
            _ => (&list[1]["call_id"], &list[2]["call_id"]),
        };
        assert_eq!(call, result, "{target} {id}");
        (
            call.as_str().unwrap().to_owned(),
            list[1]["id"].as_str().map(str::to_owned),
        )
    };
    let copilot =
        json!({"provider": "github-copilot", "api": "openai-responses", "model": "gpt-5.2"});
    let plain = |id: &str| (id.to_owned(), None);
    assert_eq!(
        id_of("anthropic", "call_A|fc_B", copilot.clone()),
        plain("call_A_fc_B")
    );
    assert_eq!(
        id_of("openai", "call_A|fc_B", copilot.clone()),
        plain("call_A_fc_B")
    );
    assert_eq!(
        id_of("openai-responses", "call_A|fc_B", copilot.clone()),
        ("call_A".into(), Some("fc_1hsjkgpfe8a8q".into()))
    );
    let long = format!("call_{}|{}", "x".repeat(60), "y".repeat(60));
    assert_eq!(
        id_of("openai", &long, copilot.clone()),
        plain("call_xxxxxxxxxxxxxxxxxxxxxxxxxx_qiqwzm1m")
    );
    // pi removes the whole id of the call, and sends another id with the result.
    assert_eq!(id_of("openai-responses", "é", json!({})), plain("call"));
    assert_eq!(id_of("anthropic", "a😀b", json!({})), plain("a__b"));
    assert_eq!(id_of("google", "a😀b", json!({})), plain("a__b"));
    assert_eq!(id_of("openai", "a😀b", json!({})), plain("a😀b"));
    assert_eq!(id_of("openai-responses", "a_____", json!({})), plain("a"));
    let gpt = json!({"provider": "openai", "api": "openai-responses", "model": "gpt-5.2"});
    assert_eq!(
        id_of("openai-responses", "call_A|fc_B", gpt.clone()),
        plain("call_A")
    );
    let own = json!({"provider": "openai", "api": "openai-responses", "model": "gpt-5.1"});
    assert_eq!(
        id_of("openai-responses", "call_A|fc_B", own),
        ("call_A".into(), Some("fc_B".into()))
    );
}

#[test]
fn an_id_of_two_calls_is_renamed() {
    let own = own_turn("anthropic", json!([call("a.b")]));
    let messages = [
        user("q"),
        turn(json!([call("a.b"), call("a:b"), call("")])),
        result("a.b", json!([text("1")])),
        result("a:b", json!([text("2")])),
        result("", json!([text("3")])),
        own,
        result("a.b", json!([text("4")])),
    ];
    let list = list(&body("anthropic", &messages));
    let ids = |at: usize, key: &str| -> Vec<String> {
        list[at]["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block[key].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(1, "id"), ["a_b", "a_b_2", "call"]);
    assert_eq!(ids(2, "tool_use_id"), ["a_b", "a_b_2", "call"]);
    assert_eq!(ids(2, "content"), ["1", "2", "3"]);
    assert_eq!(
        (ids(3, "id"), ids(4, "tool_use_id"), ids(4, "content")),
        (vec!["a_b_3".into()], vec!["a_b_3".into()], vec!["4".into()])
    );
}

#[test]
fn images_of_results() {
    let messages = |content: Value| {
        [
            user("q"),
            turn(json!([call("c1")])),
            result("c1", content),
            user("z"),
        ]
    };
    let only = messages(json!([image()]));
    let anthropic = list(&body("anthropic", &only));
    let source = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    assert_eq!(
        anthropic[2]["content"][0]["content"],
        json!([text("(see attached image)"), source])
    );
    let openai = list(&body("openai", &only));
    assert_eq!(openai[2]["content"], "(see attached image)");
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    assert_eq!(
        openai[3],
        json!({"role": "user", "content": [text("Attached image(s) from tool result:"), url]})
    );
    let input =
        json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"});
    assert_eq!(
        list(&body("openai-responses", &only))[2]["output"],
        json!([input])
    );
    let inline = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let response = json!({"name": "read", "response": {"output": "(see attached image)"}, "parts": [inline], "id": "c1"});
    assert_eq!(
        list(&body("google", &only))[2]["parts"][0]["functionResponse"],
        response
    );
    let older = body_of(&session(&only), "--as google --model google/gemini-2.5-pro");
    let older = list(&older);
    assert_eq!(
        older[2]["parts"],
        json!([{"functionResponse": {"name": "read", "response": {"output": "(see attached image)"}}}])
    );
    assert_eq!(
        older[3]["parts"],
        json!([{"text": "Tool result image:"}, inline])
    );
    assert_eq!(
        older[1]["parts"],
        json!([{"functionCall": {"name": "read", "args": {"path": "x"}}}])
    );

    let none = messages(json!([]));
    assert_eq!(
        list(&body("anthropic", &none))[2]["content"][0]["content"],
        ""
    );
    assert_eq!(
        list(&body("openai", &none))[2]["content"],
        "(no tool output)"
    );
    assert_eq!(
        list(&body("openai-responses", &none))[2]["output"],
        "(no tool output)"
    );
    assert_eq!(
        list(&body("google", &none))[2]["parts"][0]["functionResponse"]["response"],
        json!({"output": ""})
    );

    let error = with(
        result("c1", json!([text("no"), image(), image()])),
        json!({"isError": true}),
    );
    let error = list(&body(
        "anthropic",
        &[user("q"), turn(json!([call("c1")])), error],
    ));
    let lead = text("Images from the error result of tool call c1 (read):");
    let said = json!({"type": "tool_result", "tool_use_id": "c1", "content": "no\n(image attached after the tool results)", "is_error": true});
    assert_eq!(error[2]["content"], json!([said, lead, source, source]));
}

#[test]
fn an_image_without_its_data_is_named() {
    let blob = json!({"type": "image", "mimeType": "image/png", "data": "blob:sha256:00"});
    let list = list(&body(
        "anthropic",
        &[user(json!([blob, {"type": "video"}, text("see")]))],
    ));
    assert_eq!(
        list[0]["content"],
        json!([
            text("(image omitted: its data is not in the session)"),
            text("see")
        ])
    );
}

fn system(content: &str, members: Value) -> Value {
    with(
        json!({"role": "system", "content": content, "timestamp": 0}),
        members,
    )
}

#[test]
fn system_messages_become_one() {
    let messages = [
        system("Base", json!({"sections": {"a": "A", "b": "B"}})),
        user("q"),
        turn(json!([call("c1")])),
        system("update", json!({"sections": {"a": null, "c": "C"}})),
        result("c1", json!([text("r")])),
        user("z"),
    ];
    let prompt = "Base\n\nupdate\n\nB\n\nC";
    assert_eq!(
        body("anthropic", &messages)["system"],
        json!([text(prompt)])
    );
    assert_eq!(
        body("openai", &messages)["messages"][0],
        json!({"role": "developer", "content": prompt})
    );
    assert_eq!(
        body("openai-responses", &messages)["input"][0],
        json!({"role": "developer", "content": prompt})
    );
    assert_eq!(
        body("google", &messages)["systemInstruction"],
        json!({"parts": [{"text": prompt}], "role": "user"})
    );
    let other = body_of(&session(&messages), "--as openai --model groq/llama");
    assert_eq!(
        other["messages"][0],
        json!({"role": "system", "content": prompt})
    );
    assert_eq!(list(&body("anthropic", &messages)).len(), 4);
}

#[test]
fn tools_have_the_form_of_the_api() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "mode": {"const": "fast"}}, "required": ["path"], "x": 1});
    let read = json!({"name": "read", "description": "Reads", "parameters": schema});
    let edit = json!({"name": "edit", "description": "Edits", "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}, "constrainedSampling": {"type": "json_schema", "strict": "prefer"}});
    let grammar = json!({"name": "patch", "description": "Patches", "parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}, "constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "start: /x/"}}});
    let added =
        json!({"toolsAdded": [read, edit, grammar, {"description": "nameless"}, {"name": "bare"}]});
    let gone = json!({"toolsRemoved": [{"name": "bare"}]});
    let messages = [
        system("", added),
        user("q"),
        turn(
            json!([{"type": "toolCall", "id": "p", "name": "patch", "arguments": {"input": "x"}}]),
        ),
        system("", gone),
        user("z"),
    ];
    let strict = json!({"type": "object", "properties": {"n": {"anyOf": [{"type": "number"}, {"type": "null"}]}}, "required": ["n"], "additionalProperties": false});

    let anthropic = body("anthropic", &messages)["tools"].clone();
    assert_eq!(
        anthropic[0],
        json!({"name": "read", "description": "Reads", "eager_input_streaming": true, "input_schema": {"type": "object", "properties": schema["properties"], "required": ["path"]}})
    );
    assert_eq!(
        anthropic[1],
        json!({"name": "edit", "description": "Edits", "eager_input_streaming": true, "strict": true, "input_schema": strict})
    );
    assert_eq!(anthropic.as_array().unwrap().len(), 3);
    let openai = body("openai", &messages);
    assert_eq!(
        openai["tools"][0],
        json!({"type": "function", "function": {"name": "read", "description": "Reads", "parameters": schema, "strict": false}})
    );
    assert_eq!(
        openai["tools"][1]["function"],
        json!({"name": "edit", "description": "Edits", "parameters": strict, "strict": true})
    );
    assert_eq!(
        openai["tools"][2],
        json!({"type": "custom", "custom": {"name": "patch", "description": "Patches", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /x/"}}}})
    );
    assert_eq!(
        list(&openai)[1]["tool_calls"][0],
        json!({"id": "p", "type": "custom", "custom": {"name": "patch", "input": "x"}})
    );
    let other = body_of(&session(&messages), "--as openai --model groq/llama");
    assert_eq!(
        other["tools"][1]["function"],
        json!({"name": "edit", "description": "Edits", "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}})
    );
    assert_eq!(
        list(&other)[1]["tool_calls"][0]["function"],
        json!({"name": "patch", "arguments": r#"{"input":"x"}"#})
    );
    let responses = body("openai-responses", &messages);
    assert_eq!(
        responses["tools"][1],
        json!({"type": "function", "name": "edit", "description": "Edits", "parameters": strict, "strict": true})
    );
    assert_eq!(
        responses["tools"][2],
        json!({"type": "custom", "name": "patch", "description": "Patches", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}})
    );
    assert_eq!(list(&responses)[1]["type"], "custom_tool_call");
    assert_eq!(list(&responses)[2]["type"], "custom_tool_call_output");
    let google = body("google", &messages);
    let declared = &google["tools"][0]["functionDeclarations"];
    assert_eq!(
        declared[0]["parametersJsonSchema"]["properties"]["mode"],
        json!({"enum": ["fast"]})
    );
    assert_eq!(declared[1]["parametersJsonSchema"], strict);
    assert_eq!(
        google["toolConfig"],
        json!({"functionCallingConfig": {"mode": "VALIDATED"}})
    );
}

#[test]
fn calls_of_a_tool_that_was_removed_have_no_grammar() {
    let patch = json!({"name": "patch", "parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}, "constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "start: /x/"}}});
    let messages = [
        system("", json!({"toolsAdded": [patch]})),
        user("q"),
        turn(
            json!([{"type": "toolCall", "id": "p", "name": "patch", "arguments": {"input": "x"}}]),
        ),
        system("", json!({"toolsRemoved": [{"name": "patch"}]})),
        user("z"),
    ];
    let function = json!({"name": "patch", "arguments": r#"{"input":"x"}"#});
    let openai = list(&body("openai", &messages));
    assert_eq!(
        openai[1]["tool_calls"],
        json!([{"id": "p", "type": "function", "function": function}])
    );
    let responses = list(&body("openai-responses", &messages));
    assert_eq!(responses[1]["type"], "function_call");
    assert_eq!(responses[1]["arguments"], function["arguments"]);
    assert_eq!(responses[2]["type"], "function_call_output");
}

#[test]
fn calls_without_any_tool_define_it_for_anthropic() {
    let messages = [user("q"), turn(json!([call("c1"), call("c2")])), user("z")];
    let any = json!([{"name": "read", "input_schema": {"type": "object", "properties": {}, "required": []}}]);
    assert_eq!(body("anthropic", &messages)["tools"], any);
    assert_eq!(body("openai", &messages).get("tools"), None);
    assert_eq!(body("anthropic", &[user("q")]).get("tools"), None);
}

#[test]
fn as_anthropic_and_google_mend_invalid_messages() {
    let odd = json!([
        {"type": "toolCall", "id": "c1", "name": "", "arguments": {}},
        {"type": "toolCall", "id": "c2", "name": "a b", "arguments": [1]},
        {"type": "unknown"}, 7, null,
        {"type": "text"},
    ]);
    let messages = [
        turn(odd),
        result("c1", json!("string")),
        result("c2", json!("string")),
        json!({"role": "alien", "content": "x"}),
        user("z"),
    ];
    let anthropic = list(&body("anthropic", &messages));
    assert_eq!(
        anthropic[0],
        json!({"role": "user", "content": "(no earlier message)"})
    );
    assert_eq!(
        anthropic[1]["content"],
        json!([{"type": "tool_use", "id": "c2", "name": "a_b", "input": {}}])
    );
    assert_eq!(
        anthropic[2]["content"],
        json!([{"type": "tool_result", "tool_use_id": "c2", "content": "string", "is_error": false}])
    );
    assert_eq!(anthropic.len(), 4);
    assert_eq!(
        list(&body("google", &messages))[0]["parts"][0]["text"],
        "(no earlier message)"
    );
    let thinking = json!({"type": "thinking", "thinking": "t", "thinkingSignature": "c2ln"});
    let ends = [
        user("q"),
        own_turn("anthropic", json!([text("a \n"), thinking])),
    ];
    assert_eq!(
        list(&body("anthropic", &ends))[1]["content"],
        json!([text("a")])
    );
    assert_eq!(
        list(&body(
            "anthropic",
            &[user("q"), turn(Value::Null), turn(json!("plain"))]
        ))[1]["content"],
        json!([text("plain")])
    );
}

#[test]
fn half_pairs_leave_texts_and_stay_in_arguments() {
    let lines = session(&[
        user("a~z"),
        turn(json!([{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"k~": "e~"}}])),
        user("z"),
    ])
    .replace('~', r"\ud83d");
    let text_of = |target: &str| {
        let s = Sandbox::new();
        s.pisess(&format!("context -q - --as {target}"))
            .stdin(lines.clone())
            .done()
            .quiet()
    };
    for target in TARGETS {
        let written = text_of(target);
        let whole: Value = serde_json::from_str(&written).unwrap();
        assert!(written.contains("az"), "{target}: {written}");
        let list = list(&whole);
        match target {
            "anthropic" => assert_eq!(list[1]["content"][0]["input"], json!({"k": "e"})),
            "google" => assert_eq!(
                list[1]["parts"][0]["functionCall"]["args"],
                json!({"k": "e"})
            ),
            "openai" => {
                assert_eq!(
                    list[1]["tool_calls"][0]["function"]["arguments"],
                    r#"{"k\ud83d":"e\ud83d"}"#
                )
            }
            _ => assert_eq!(list[1]["arguments"], r#"{"k\ud83d":"e\ud83d"}"#),
        }
    }
}

#[test]
fn texts_of_half_pairs_are_blank() {
    let messages = [
        user(json!([text("~"), text("q")])),
        turn(json!([text(" ~"), text("hi")])),
        turn(json!([text("~")])),
        user("z"),
    ];
    let lines = session(&messages).replace('~', r"\ud83d");
    let sent = |at: usize| {
        list(&body_of(
            &lines,
            &format!("--as {} --model {}", TARGETS[at], PROFILES[at]),
        ))
    };
    let (anthropic, openai, google) = (sent(0), sent(1), sent(3));
    assert_eq!(anthropic[0]["content"], json!([text("q")]));
    assert_eq!(anthropic[1]["content"], json!([text("hi")]));
    assert_eq!(openai[0]["content"], json!([text("q")]));
    assert_eq!(openai[1]["content"], "hi");
    assert_eq!(google[1]["parts"], json!([{"text": "hi"}]));
    assert_eq!([anthropic.len(), openai.len(), google.len()], [3; 3]);
}

#[test]
fn the_model_is_the_one_given_or_of_the_last_answer_or_a_fixed_one() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let part = |options: &str, key: &str| {
        let body: Value =
            serde_json::from_str(&s.run(&format!("context -q ./tour.jsonl --as {options}")))
                .unwrap();
        body[key].clone()
    };
    assert_eq!(part("openai", "model"), "gpt-5.1");
    assert_eq!(part("openai", "max_completion_tokens"), 128_000);
    assert_eq!(
        part("openai --model deepseek/chat --max-tokens 5", "max_tokens"),
        5
    );
    assert_eq!(
        part("openai --model groq/llama", "max_completion_tokens"),
        Value::Null
    );
    assert_eq!(
        part("openai-responses --max-tokens 5", "max_output_tokens"),
        16
    );
    assert_eq!(part("openai-responses", "store"), false);
    assert_eq!(part("anthropic", "max_tokens"), 64_000);
    assert_eq!(
        part("anthropic --model openrouter/anthropic/claude", "model"),
        "anthropic/claude"
    );
    assert_eq!(
        part(
            "anthropic --model openrouter/anthropic/claude",
            "max_tokens"
        ),
        32_000
    );
    assert_eq!(
        part("google --max-tokens 7", "generationConfig"),
        json!({"maxOutputTokens": 7})
    );
    let lines = session(&[user("q"), turn(json!([text("a")])), user("z")]);
    assert_eq!(
        body_of(&lines, "--as anthropic")["model"],
        "claude-opus-4-5"
    );
    assert_eq!(body_of(&lines, "--as google").get("model"), None);
}

#[test]
fn options_of_requests_need_one() {
    let s = Sandbox::with(&["tour.jsonl"]);
    for options in ["--model a/b", "--as llm --max-tokens 5"] {
        let error = s
            .pisess(&format!("context ./tour.jsonl {options}"))
            .done()
            .fails(2);
        assert!(
            error.contains("applies only to requests (hint: add --as anthropic, openai,"),
            "{error}"
        );
    }
    s.pisess("context ./tour.jsonl --as google --model nothing")
        .done()
        .fails(2);
    s.pisess("context ./tour.jsonl --as google --max-tokens 0")
        .done()
        .fails(2);
    s.pisess("context ./tour.jsonl --as google --tokens")
        .done()
        .fails(2);
}

#[test]
fn an_answer_at_the_end_is_noted_on_a_terminal() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for target in TARGETS {
        let line = format!("context ./two-branches.jsonl --as {target}");
        assert_eq!(
            s.pisess(&line).terminal(200).done().stderr,
            "pisess: note: the context ends with a reply of the model; if the API refuses that, append a user message first\n"
        );
        s.pisess(&line).done().quiet();
        s.pisess(&format!(
            "context ./two-branches.jsonl '@^{{user}}' --as {target}"
        ))
        .done()
        .quiet();
    }
}

/// Returns the calls and results of a body, in order: each id, and whether it is that of a call.
fn exchanges(target: &str, body: &Value) -> Vec<Vec<(bool, String)>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of_item = |item: &Value| -> Vec<(bool, String)> {
        let blocks = |key: &str| item[key].as_array().cloned().unwrap_or_default();
        let call = |id: &Value| (true, text(id));
        let result = |id: &Value| (false, text(id));
        match target {
            "anthropic" => blocks("content")
                .iter()
                .filter_map(|block| match block["type"].as_str()? {
                    "tool_use" => Some(call(&block["id"])),
                    "tool_result" => Some(result(&block["tool_use_id"])),
                    _ => None,
                })
                .collect(),
            "openai" if item["role"] == "tool" => vec![result(&item["tool_call_id"])],
            "openai" => blocks("tool_calls")
                .iter()
                .map(|block| call(&block["id"]))
                .collect(),
            "google" => blocks("parts")
                .iter()
                .filter_map(|part| {
                    let call_id = part.get("functionCall").map(|made| call(&made["id"]));
                    call_id.or(part.get("functionResponse").map(|made| result(&made["id"])))
                })
                .collect(),
            _ => match item["type"].as_str() {
                Some("function_call") => vec![call(&item["call_id"])],
                Some("function_call_output") => vec![result(&item["call_id"])],
                _ => Vec::new(),
            },
        }
    };
    list(body).iter().map(of_item).collect()
}

/// Asserts that each call is answered once, directly after its turn, and that the API accepts the
/// ids.
fn assert_paired(target: &str, body: &Value, name: &str) {
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for item in exchanges(target, body) {
        let has_results = item.iter().any(|(is_call, _)| !is_call);
        let has_calls = item.iter().any(|(is_call, _)| *is_call);
        // In the Responses API, the calls of a turn are items of their own.
        let goes_on = has_results || target == "openai-responses" && has_calls;
        assert!(
            open.is_empty() || goes_on,
            "{name}, {target}: {open:?} not answered"
        );
        for (is_call, id) in item {
            let fits = match target {
                "openai" => id.encode_utf16().count() <= 40 && !id.is_empty(),
                _ => {
                    (1..=64).contains(&id.len())
                        && id
                            .bytes()
                            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
                }
            };
            assert!(fits, "{name}, {target}: {id}");
            if is_call {
                assert!(seen.insert(id.clone()), "{name}, {target}: {id} twice");
                open.push(id);
            } else {
                let at = open.iter().position(|known| *known == id);
                open.remove(
                    at.unwrap_or_else(|| panic!("{name}, {target}: result {id} without a call")),
                );
            }
        }
    }
    assert!(open.is_empty(), "{name}, {target}: {open:?} not answered");
}

#[test]
fn every_fixture_gives_a_body_that_holds_together() {
    let files = [
        "tour.jsonl",
        "two-branches.jsonl",
        "omp.jsonl",
        "omp-no-slot.jsonl",
        "v1.jsonl",
        "v2.jsonl",
        "draft-tree.jsonl",
    ];
    let hazards: Vec<String> = hazards()
        .iter()
        .map(|name| format!("hazards/{name}.jsonl"))
        .collect();
    let mut bodies = 0;
    for name in files.into_iter().map(str::to_owned).chain(hazards) {
        let s = Sandbox::with(&[&name]);
        let file = name.rsplit('/').next().unwrap();
        for target in TARGETS {
            let done = s
                .pisess(&format!("context -q ./{file} --as {target}"))
                .done();
            if done.code == 0 {
                let body: Value = serde_json::from_slice(&done.stdout).unwrap();
                assert_paired(target, &body, &name);
                bodies += 1;
            } else {
                assert!(
                    [1, 2].contains(&done.code) && done.stdout.is_empty(),
                    "{name}, {target}: {}",
                    done.code
                );
            }
        }
    }
    assert!(bodies > 100, "{bodies}");
}

/// Returns a session of oh-my-pi with these messages.
fn omp_session(messages: &[Value]) -> String {
    let title = format!(
        "{{\"type\":\"title\",\"v\":1,\"title\":\"t\",\"updatedAt\":\"2026-05-04T12:00:00.000Z\",\"pad\":\"{}\"}}\n",
        " ".repeat(100)
    );
    title + &session(messages)
}

#[test]
fn oh_my_pi_moves_late_results_and_quotes_lost_ones() {
    let called = with(turn(json!([call("c1")])), json!({"stopReason": "toolUse"}));
    let lost = with(result("c9", json!([text("old")])), json!({"isError": true}));
    let messages = [
        lost,
        user("q"),
        called,
        user("wait"),
        result("c1", json!([text("late")])),
        user("z"),
    ];
    let sent = list(&body_of(&omp_session(&messages), "--as openai"));
    let words: Vec<_> = sent
        .iter()
        .map(|item| item["content"].as_str().unwrap_or("-"))
        .collect();
    let quoted =
        "<stale-tool-result tool=\"read\" id=\"c9\" is-error=\"true\">\nold\n</stale-tool-result>";
    assert_eq!(words, [quoted, "q", "-", "late", "wait", "z"]);
    assert_eq!(sent[3]["role"], "tool");
}

#[test]
fn oh_my_pi_sends_the_thinking_of_others_as_text() {
    let thinking = json!({"type": "thinking", "thinking": "plan", "thinkingSignature": "c2ln"});
    let gpt = json!({"provider": "openai", "api": "openai-completions", "model": "gpt-5.2"});
    let first = |options: &str, source: Value| {
        let messages = [
            user("q~"),
            with(turn(json!([thinking, text("hi")])), source),
            user("z"),
        ];
        let lines = omp_session(&messages).replace('~', r"\ud83d");
        let sent = list(&body_of(&lines, options));
        (sent[0].to_string().contains("q\u{fffd}"), sent[1].clone())
    };
    let (is_marked, turn) = first("--as anthropic --model anthropic/claude-x", gpt.clone());
    assert!(is_marked);
    assert_eq!(turn["content"], json!([text("plan"), text("hi")]));
    let (_, turn) = first("--as anthropic --model anthropic/claude-x", json!({}));
    assert_eq!(
        turn["content"][0],
        json!({"type": "thinking", "thinking": "plan", "signature": "c2ln"})
    );
    let (_, turn) = first("--as google", gpt.clone());
    assert_eq!(turn["parts"][0], json!({"text": "```thinking\nplan\n```"}));
    let (_, turn) = first("--as openai-responses", gpt);
    assert_eq!(turn["content"][0]["text"], "<think>\nplan\n</think>");
}

#[test]
fn depth_and_repetition_cost_no_stack_and_no_time() {
    let deep = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
    let calls: Vec<_> = (0..5_000).map(|_| call("same")).collect();
    let lines = session(&[
        user("q"),
        turn(json!(calls)),
        turn(
            json!([{"type": "toolCall", "id": "d", "name": "read", "arguments": {"deep": "DEEP"}}]),
        ),
        user("z"),
    ]);
    let lines = lines.replace("\"DEEP\"", &deep);
    let s = Sandbox::new();
    for target in TARGETS {
        let written = s
            .pisess(&format!("context -q - --as {target}"))
            .stdin(lines.clone())
            .done()
            .quiet();
        assert!(
            written.contains("same_5000") && written.contains(&"[".repeat(50_000)),
            "{target}"
        );
    }
}
