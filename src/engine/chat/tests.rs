//! Tests of chat templates, small ones and ones made to do harm.

use std::fs;
use std::time::{Duration, Instant};

use super::*;
use crate::engine::gguf::fixture::GgufBuilder;

/// Qwen 2.5's template without its tools.
const CHATML: &str = "{%- if messages[0]['role'] == 'system' %}\n    \
    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}\n{%- else %}\n    \
    {{- '<|im_start|>system\\nYou are Qwen.<|im_end|>\\n' }}\n{%- endif %}\n{%- for message in messages %}\n    \
    {%- if (message.role == \"user\") or (message.role == \"system\" and not loop.first) %}\n        \
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n    {%- endif %}\n\
    {%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n";
/// Llama 3's template.
const LLAMA3: &str = "{% set loop_messages = messages %}{% for message in loop_messages %}\
    {% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + \
    '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}\
    {% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}";
/// Gemma 2's template.
const GEMMA: &str = "{{ bos_token }}{% if messages[0]['role'] == 'system' %}\
    {{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}\
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\
    {{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}\
    {% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}\
    {% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}\
    {% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}";

/// A file whose vocabulary has a first token of this text, and `<eos>`.
fn vocabulary(bos: &str) -> GgufBuilder {
    GgufBuilder::new()
        .strings("tokenizer.ggml.tokens", &["a", bos, "<eos>"])
        .u32("tokenizer.ggml.bos_token_id", 1)
        .u32("tokenizer.ggml.eos_token_id", 2)
}

/// The template of a file.
fn open(file: &GgufBuilder) -> Result<ChatTemplate> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("model.gguf");
    fs::write(&path, file.build()).expect("the folder is new");
    ChatTemplate::from_gguf(&Gguf::open(&path)?)
}

/// The template of a file that holds this one.
fn template(source: &str) -> Result<ChatTemplate> {
    open(&vocabulary("<bos>").text("tokenizer.chat_template", source))
}

/// Checks the text before and after the message.
fn check(source: &str, system: &str, before: &str, after: &str) {
    let frame = template(source).and_then(|template| template.frame(system)).expect("the template is right");
    assert_eq!(frame, Frame { before: before.to_owned(), after: after.to_owned() });
}

/// Checks that a template fails within a second, and a part of the message.
fn check_refused(source: &str, expected: &str) {
    let start = Instant::now();
    let result = template(source).and_then(|template| template.frame("system text"));
    let message = result.expect_err("the template is broken").to_string();
    assert!(message.contains(expected), "{message}");
    assert!(start.elapsed() < Duration::from_secs(1), "took {:?}", start.elapsed());
}

#[test]
fn chatml_has_the_system_text_or_its_own() {
    let after = "<|im_end|>\n<|im_start|>assistant\n";
    check(CHATML, "Judge.", "<|im_start|>system\nJudge.<|im_end|>\n<|im_start|>user\n", after);
    check(CHATML, "", "<|im_start|>system\nYou are Qwen.<|im_end|>\n<|im_start|>user\n", after);
}

#[test]
fn llama_3_starts_with_the_first_token_of_the_vocabulary() {
    check(
        LLAMA3,
        "Judge.",
        "<bos><|start_header_id|>system<|end_header_id|>\n\nJudge.<|eot_id|>\
         <|start_header_id|>user<|end_header_id|>\n\n",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    );
}

#[test]
fn a_refused_system_text_heads_the_users_turn() {
    let after = "<end_of_turn>\n<start_of_turn>model\n";
    check(GEMMA, "Judge.", "<bos><start_of_turn>user\nJudge.\n\n", after);
    check(GEMMA, "", "<bos><start_of_turn>user\n", after);
}

#[test]
fn a_system_text_that_is_left_out_heads_the_users_turn() {
    let source = "{% for m in messages %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]{% endif %}{% endfor %}";
    check(source, "Judge.", "[INST]Judge.\n\n", "[/INST]");
}

#[test]
fn a_model_without_a_template_has_the_plain_layout() {
    let plain = open(&vocabulary("<bos>")).expect("the plain layout is right");
    let frame = plain.frame("Judge.").expect("the plain layout is right");
    assert_eq!(frame, Frame { before: "Judge.\n\n".to_owned(), after: "\nAnswer:".to_owned() });
    let frame = plain.frame("").expect("the plain layout is right");
    assert_eq!(frame, Frame { before: String::new(), after: "\nAnswer:".to_owned() });
}

#[test]
fn a_system_text_with_braces_and_private_characters_stays_as_it_is() {
    let system = "{{ 1 }} {% if %} \u{f8fe}0\u{f8ff}";
    check("{{ messages[0].content }}|{{ messages[1].content }}|", system, &format!("{system}|"), "|");
}

/// Checks what an expression gives.
fn check_expression(expression: &str, expected: &str) {
    check(&format!("{{{{ messages[-1].content }}}}{{{{ {expression} }}}}"), "", "", expected);
}

#[test]
fn templates_find_what_python_has() {
    check_expression("{'a': [1, 'é\"<'], 'b': {}} | tojson", r#"{"a": [1, "é\"<"], "b": {}}"#);
    check_expression("[1, []] | tojson(indent=2, ensure_ascii=false)", "[\n  1,\n  []\n]");
    check_expression("strftime_now('%d %b %Y, %A')", "26 Jul 2024, Friday");
    check_expression("' a '.strip().upper()", "A");
    check_expression("tools is none", "True");
    check_expression("namespace(a=1).a", "1");
    check("{% for m in messages[::-1] %}{{ m.role }}:{{ m.content }} {% endfor %}", "s", "user:", " system:s ");
    check("a\n  {% if true %}\n{{ messages[0].content }}\n  {% endif %}\nb\n", "", "a\n", "\nb");
    check("a {%- generation -%} {{ messages[0].content }} {%- endgeneration %}.", "", "a", ".");
    check("{% for m in messages %}{{ m.content }}{% break %}{% endfor %}", "", "", "");
}

#[test]
fn a_template_that_does_not_show_the_message_once_is_refused() {
    check_refused("hello", "its chat template shows the user's message 0 times, expected once");
    check_refused("{{ messages }}{{ messages[-1].content }}", "shows the user's message 2 times, expected once");
}

#[test]
fn a_template_that_fails_is_refused() {
    check_refused("{{ raise_exception('no') }}", "its chat template refuses a user's message: no");
    check_refused("{{ missing.attribute }}", "its chat template fails: undefined value");
    check_refused("{{ strftime_now('%Q') }}", "`%Q` is a date format that is not known here");
    check_refused("{{ 1 | tojson(sort_keys=true) }}", "its chat template fails: too many arguments");
    check_refused("{% if %}", "its chat template cannot be parsed: syntax error");
    check_refused("{% include 'other' %}", "its chat template fails: template not found");
    check_refused(&" ".repeat(MAX_TEMPLATE_BYTES + 1), "its chat template has 65537 bytes, expected 65536 at most");
}

#[test]
fn a_template_without_end_is_stopped() {
    let endless = "runs without end or fills the memory";
    let loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    let doubling =
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}";
    check_refused(loops, endless);
    check_refused(doubling, endless);
    check_refused("{{ ('a' * 99999999) | length }}", endless);
    check_refused("{{ '%099999999d' | format(1) | length }}", "its chat template");
    check_refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "its chat template fails");
    check_refused("{% include 'chat_template' %}", "its chat template fails");
}

#[test]
fn a_template_that_writes_too_much_is_stopped() {
    let line = "x".repeat(4000);
    check_refused(&format!("{{% for i in range(2000) %}}{line}{{% endfor %}}"), "writes more than 1048576 bytes");
}

/// Each recurses in another place of the template engine.
#[test]
fn a_template_that_is_nested_deeply_does_not_overflow_the_stack() {
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{'a':", "1", "}"),
        ("f(", "1", ")"),
        ("not ", "1", ""),
        ("-", "1", ""),
        ("1 if ", "1", ""),
        ("", "a", ".a"),
        ("", "a", "|a"),
        ("", "a", "[0]"),
        ("", "a", "()"),
        ("", "1", "+1"),
        ("", "1", "**1"),
        ("", "1", " is a"),
        ("", "1", " and 1"),
        ("", "1", " if 1 else 1"),
    ] {
        let n = (MAX_TEMPLATE_BYTES - middle.len() - 6) / (open.len() + close.len());
        let source = format!("{{{{ {}{middle}{} }}}}", open.repeat(n), close.repeat(n));
        let _ = template(&source).and_then(|template| template.frame("s"));
    }
    let _ = template(&"{% if 1 %}".repeat(6000));
    let _ = template(&format!("{{% if 1 %}}{}{{% endif %}}", "{% elif 1 %}".repeat(5000)));
}

#[test]
fn a_value_that_is_nested_deeply_does_not_overflow_the_stack() {
    let nest = "{% set ns = namespace(x=[]) %}{% for i in range(20000) %}{% set ns.x = [ns.x] %}{% endfor %}";
    for end in ["{{ messages[-1].content }}", "{{ ns.x }}", "{{ ns.x | tojson }}", "{{ ns.x == [ns.x] }}"] {
        let _ = template(&format!("{nest}{end}")).and_then(|template| template.frame("s"));
    }
}

#[test]
fn the_fingerprint_depends_on_the_template_and_the_tokens() {
    let fingerprint = |file: &GgufBuilder| open(file).expect("the template is right").sha256();
    let plain = fingerprint(&vocabulary("<bos>"));
    assert_eq!(plain.len(), 64);
    assert_eq!(plain, fingerprint(&vocabulary("<bos>")));
    assert_ne!(plain, fingerprint(&vocabulary("<s>")));
    assert_ne!(plain, fingerprint(&vocabulary("<bos>").text("tokenizer.chat_template", CHATML)));
}

#[test]
fn a_token_number_outside_of_the_vocabulary_is_refused() {
    let file = GgufBuilder::new().strings("tokenizer.ggml.tokens", &["a"]).u32("tokenizer.ggml.bos_token_id", 1);
    let message = open(&file).expect_err("there is no token 1").to_string();
    assert!(message.ends_with("key `tokenizer.ggml.bos_token_id` is 1, but there are only 1 tokens"), "{message}");
}
