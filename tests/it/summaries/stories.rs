//! The sessions, each in the shape of some real work, made from a seed.

use serde_json::{Value, json};

/// A session being written, and what is true of it.
#[derive(Default)]
pub struct Story {
    pub name: &'static str,
    /// What must be known from the summary and the kept part.
    pub known: Vec<&'static str>,
    /// What must not be in the summary.
    pub absent: Vec<String>,
    /// What Blocked must name. If nothing, it must be empty.
    pub blocked: Vec<&'static str>,
    pub constraints: Vec<&'static str>,
    pub decisions: Vec<&'static str>,
    cwd: String,
    messages: Vec<Value>,
    seed: u64,
    /// The files that were read or edited by name, without those removed since.
    own_files: Vec<String>,
    /// The words of the last request that has some, and the file that it names.
    searched_words: Vec<String>,
    named_file: Option<String>,
}

/// Files of a session that names none so far, and what an agent says before it reads, searches or
/// edits one.
const FILES: [&str; 12] = [
    "src/server/router.ts",
    "src/server/auth.ts",
    "src/db/schema.ts",
    "src/db/migrate.ts",
    "src/cli/output/table.tsx",
    "src/cli/output/form.tsx",
    "src/lib/dates.ts",
    "src/lib/money.ts",
    "test/router.test.ts",
    "test/dates.test.ts",
    "docs/setup.md",
    "package.json",
];
const READ_LEADS: [&str; 4] = ["Perfect! Let me look at the next file:", "", "Good.", ""];
const SEARCH_LEADS: [&str; 3] = ["Let me check where this is used:", "", ""];
const EDIT_LEADS: [&str; 3] = ["Great! Now let me update it:", "", "Good."];

/// Small requests and their answers, which fit any file.
const SMALL_REQUESTS: [[&str; 2]; 6] = [
    [
        "what is around line {line} of {file}? i forgot",
        "A short part that the lines below refer to. It was not changed lately.",
    ],
    [
        "move the part at line {line} of {file} up a bit",
        "It is above the lines that refer to it now.",
    ],
    [
        "looks good, next one",
        "The next one is in {file}: a name had a slip of the pen, which is corrected now.",
    ],
    [
        "the spacing in {file} is odd, can you have a look",
        "There were two empty lines in a row. One is left.",
    ],
    [
        "does anything else refer to {file}?",
        "Only what you have seen so far.",
    ],
    [
        "there is a typo around line {line} of {file}",
        "Two letters were swapped. They are in order now.",
    ],
];
const GERMAN_SMALL_REQUESTS: [[&str; 2]; 6] = [
    [
        "was steht um Zeile {line} von {file}? habs vergessen",
        "Ein kurzer Abschnitt, auf den sich die Zeilen darunter beziehen. Er ist seit Langem unverändert.",
    ],
    [
        "schieb den Abschnitt bei Zeile {line} von {file} etwas nach oben",
        "Er steht jetzt über den Zeilen, die sich auf ihn beziehen.",
    ],
    [
        "gut, das nächste",
        "Das nächste ist in {file}: ein Name war verschrieben und ist berichtigt.",
    ],
    [
        "die Abstände in {file} sind seltsam, schau mal",
        "Da waren zwei leere Zeilen hintereinander. Eine ist geblieben.",
    ],
    [
        "verweist noch etwas anderes auf {file}?",
        "Nur das, was du schon kennst.",
    ],
    [
        "bei Zeile {line} von {file} ist ein Tippfehler",
        "Zwei Buchstaben waren vertauscht. Sie stehen jetzt richtig.",
    ],
];

impl Story {
    pub fn new(name: &'static str) -> Self {
        let seed = name
            .bytes()
            .fold(7, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
        Story {
            name,
            seed,
            cwd: "/home/ada/ledger".to_owned(),
            ..Story::default()
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % bound
    }

    pub fn user(&mut self, text: &str) -> &mut Self {
        let words = searched_words(text);
        if !words.is_empty() {
            self.searched_words = words;
            self.named_file = named_file(text);
        }
        self.messages
            .push(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
        self
    }

    fn reply(&mut self, content: Value, stop: &str) {
        self.messages.push(
            json!({"role": "assistant", "content": content, "stopReason": stop, "provider": "p",
            "api": "anthropic-messages", "model": "m", "usage": {"input": 900, "output": 90, "cacheRead": 0,
            "cacheWrite": 0, "totalTokens": 990}}),
        );
    }

    pub fn says(&mut self, text: &str) -> &mut Self {
        self.reply(json!([{"type": "text", "text": text}]), "stop");
        self
    }

    pub fn aborted(&mut self, text: &str) -> &mut Self {
        self.reply(json!([{"type": "text", "text": text}]), "aborted");
        self
    }

    fn tool(
        &mut self,
        said: &str,
        name: &str,
        arguments: Value,
        output: &str,
        is_error: bool,
    ) -> &mut Self {
        let id = format!("call{}", self.messages.len());
        let mut content =
            vec![json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments})];
        if !said.is_empty() {
            content.insert(0, json!({"type": "text", "text": said}));
        }
        self.reply(json!(content), "toolUse");
        self.messages.push(
            json!({"role": "toolResult", "toolCallId": id, "toolName": name, "isError": is_error,
            "content": [{"type": "text", "text": output}]}),
        );
        self
    }

    pub fn bash(&mut self, said: &str, command: &str, output: &str) -> &mut Self {
        let words: Vec<&str> = command.split_whitespace().collect();
        if words.contains(&"rm") || words.contains(&"mv") {
            let is_removed = |file: &String| words.iter().any(|word| file.starts_with(word));
            self.own_files.retain(|file| !is_removed(file));
        }
        self.tool(said, "bash", json!({"command": command}), output, false)
    }

    pub fn fails(&mut self, said: &str, command: &str, output: &str, code: u8) -> &mut Self {
        let output = format!("{output}\n\nCommand exited with code {code}");
        self.tool(said, "bash", json!({"command": command}), &output, true)
    }

    pub fn edit(&mut self, said: &str, path: &str) -> &mut Self {
        self.add_own_file(path);
        self.change(said, path)
    }

    fn change(&mut self, said: &str, path: &str) -> &mut Self {
        let arguments =
            json!({"path": path, "oldText": file_line(path, 6), "newText": file_line(path, 10)});
        self.tool(
            said,
            "edit",
            arguments,
            &format!("Successfully replaced text in {path}."),
            false,
        )
    }

    pub fn read(&mut self, path: &str) -> &mut Self {
        self.add_own_file(path);
        let text = file_text(path, 1, 500);
        self.tool("", "read", json!({"path": path}), &text, false)
    }

    fn add_own_file(&mut self, path: &str) {
        if !self.own_files.iter().any(|file| file == path) {
            self.own_files.push(path.to_owned());
        }
    }

    fn pick_file(&mut self) -> String {
        if self.own_files.is_empty() {
            return FILES[self.below(FILES.len())].to_owned();
        }
        let index = self.below(self.own_files.len());
        self.own_files[index].clone()
    }

    /// Adds a request of which nothing remains to be known, as most requests of a long session are.
    /// `number` is that among such requests.
    pub fn small_request(&mut self, number: usize) -> &mut Self {
        let file = self.pick_file();
        let line = self.below(400).to_string();
        let requests = if self.is_german() {
            &GERMAN_SMALL_REQUESTS
        } else {
            &SMALL_REQUESTS
        };
        let [request, answer] = requests[number % requests.len()]
            .map(|text| text.replace("{file}", &file).replace("{line}", &line));
        self.user(&request).work(1).says(&answer)
    }

    /// Whether the first request is German.
    fn is_german(&self) -> bool {
        let request = self.messages[0]["content"][0]["text"].as_str();
        request.is_some_and(|text| text.contains(" und "))
    }

    /// Adds some reading, searching and editing, as the last request needs: in the files of the
    /// session, for the words of the request. Edited is the file that the request names, or any if
    /// the session has named none.
    pub fn work(&mut self, steps: usize) -> &mut Self {
        let mut words = self.searched_words.clone();
        if words.is_empty() {
            words.push("todo".to_owned());
        }
        let target = self.named_file.clone();
        let may_edit = target.is_some() || self.own_files.is_empty();
        for at in 0..steps {
            let file = self.pick_file();
            let line = 1 + self.below(400);
            let word = &*words[self.below(words.len())];
            match if at % 2 == 0 { 3 } else { self.below(3) } {
                0 if may_edit => {
                    let lead = EDIT_LEADS[self.below(EDIT_LEADS.len())];
                    self.change(lead, target.as_ref().unwrap_or(&file))
                }
                0 | 1 => {
                    let found = format!("{line}: {} {word}", file_line(&file, line).trim());
                    let lead = SEARCH_LEADS[self.below(SEARCH_LEADS.len())];
                    self.bash(lead, &format!("grep -n {word} {file}"), &found)
                }
                2 => {
                    let folder = file.rsplit_once('/').map_or(".", |(folder, _)| folder);
                    let lead = SEARCH_LEADS[self.below(SEARCH_LEADS.len())];
                    self.fails(lead, &format!("grep -rn {word} {folder}"), "", 1)
                }
                _ => {
                    let text = file_text(&file, line, 2_000);
                    let lead = READ_LEADS[self.below(READ_LEADS.len())];
                    self.tool(lead, "read", json!({"path": file}), &text, false)
                }
            };
        }
        self
    }

    /// Adds the summary of an earlier compaction; what follows is newer.
    fn compaction(&mut self, summary: &str) -> &mut Self {
        self.messages.push(json!({"summary": summary}));
        self
    }

    fn knows(&mut self, known: &[&'static str]) -> &mut Self {
        self.known.extend(known);
        self
    }

    /// Returns the session file.
    pub fn file(&self) -> String {
        let time = |at: usize| {
            format!(
                "2026-03-02T{:02}:{:02}:{:02}.000Z",
                8 + at / 3600,
                at / 60 % 60,
                at % 60
            )
        };
        let header = json!({"type": "session", "version": 3, "id": format!("story-{}", self.name),
            "timestamp": time(0), "cwd": self.cwd});
        let mut file = format!("{header}\n");
        let mut parent = Value::Null;
        for (at, message) in self.messages.iter().enumerate() {
            let (id, timestamp) = (format!("{:08x}", 0x51a0_0000 + at), time(at));
            let entry = match message.get("summary") {
                Some(summary) => {
                    json!({"type": "compaction", "id": id, "parentId": parent, "timestamp": timestamp,
                    "summary": summary, "firstKeptEntryId": id, "tokensBefore": 90_000})
                }
                None => {
                    json!({"type": "message", "id": id, "parentId": parent, "timestamp": timestamp,
                    "message": message})
                }
            };
            file += &format!("{entry}\n");
            parent = json!(id);
        }
        file
    }
}

/// Returns the lines of a file from a number on, of about `size` bytes.
fn file_text(path: &str, first_line: usize, size: usize) -> String {
    let mut text = String::new();
    let mut line = first_line;
    while text.len() < size {
        text += &file_line(path, line);
        line += 1;
    }
    text
}

/// Returns a line as a file of this kind could have it.
fn file_line(path: &str, line: usize) -> String {
    let extension = path.rsplit('.').next().unwrap_or_default();
    let value = line * 37 % 101;
    match (extension, line % 4) {
        ("md" | "txt" | "tex" | "html", _) => format!("| {line} | {value}.{} | – |\n", line % 7),
        ("toml" | "yaml" | "yml" | "json" | "csv" | "arb" | "xml", _) => {
            format!("entry_{line}: {value}.{}\n", line % 7)
        }
        ("css", _) => format!(".row-{line} {{ width: {value}px; }}\n"),
        ("py" | "gd", 0) => format!("def step_{line}(value):\n"),
        ("py" | "gd", 1) => format!("    if value > {value}:\n"),
        ("py" | "gd", _) => format!("        value = scale(value, {value})\n"),
        (_, 0) => format!("function step{line}(value) {{\n"),
        (_, 1) => format!("    if (value > {value}) {{\n"),
        (_, 2) => format!("        value = scale(value, {value});\n"),
        (_, _) => "    }\n".to_owned(),
    }
}

/// Returns the words of a request that one would search for: the long ones.
fn searched_words(request: &str) -> Vec<String> {
    let words = request.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().count() >= 5);
    long.map(str::to_lowercase).collect()
}

/// Returns the text that a request asks to write, if it names one.
fn named_file(request: &str) -> Option<String> {
    let words = request.split_whitespace();
    let mut bare = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let file = bare.find(|word| word.ends_with(".md") || word.ends_with(".tex"))?;
    Some(file.to_owned())
}

/// Returns the stories.
pub fn stories() -> Vec<Story> {
    let mut stories = vec![
        release(),
        long_run(),
        corrections(),
        chinese(),
        german(),
        arabic(),
        carried(),
        carried_on(),
        heartbeats(),
        forwarded(),
        credentials(),
        superseded(),
        probes(),
        todo(),
        long_request(),
        options(),
        piped(),
        timeout(),
        worktree(),
    ];
    // The end of each is long enough to be cut off.
    for story in &mut stories {
        if story
            .messages
            .last()
            .is_some_and(|last| last["role"] == "user")
        {
            story.work(14);
        }
    }
    stories
}

/// A push and a pull request that fail for want of access, and a harmless copy after them.
fn release() -> Story {
    let mut s = Story::new("release");
    s.user("Bump the version to 2.4.0, update the changelog from the merged PRs, and open a release PR against main. Don't tag yet.").work(6);
    s.bash("", "npm version 2.4.0 --no-git-tag-version", "v2.4.0")
        .edit("", "CHANGELOG.md");
    s.bash(
        "",
        "git checkout -b release/2.4.0",
        "Switched to a new branch 'release/2.4.0'",
    );
    s.bash(
        "",
        "git add -A && git commit -m 'Release 2.4.0'",
        "[release/2.4.0 3f2a91c] Release 2.4.0",
    );
    s.fails("Now push and open the PR.", "git push -u origin release/2.4.0", "remote: Permission to ada/ledger.git denied to ci-bot.\nfatal: unable to access 'https://github.com/ada/ledger.git/': The requested URL returned error: 403", 128);
    s.fails(
        "",
        "gh pr create --base main --title 'Release 2.4.0' --body-file .github/release.md",
        "To get started with GitHub CLI, please run:  gh auth login",
        4,
    );
    s.bash(
        "I'll leave the notes where you can find them.",
        "cp .github/release.md RELEASE_NOTES.md",
        "",
    );
    s.says("The version bump and changelog are committed on `release/2.4.0` (3f2a91c), but I could not publish it:\n\n- `git push` is refused (403: the token belongs to ci-bot, which has no write access)\n- `gh pr create` needs `gh auth login`\n\nThe PR text is in RELEASE_NOTES.md. Once you fix the access, I can push and open the PR.");
    s.user("ok I'll sort the token out tonight. meanwhile: why does the ledger table jump when I sort by amount? look, don't fix").work(14);
    s.bash(
        "",
        "cat src/cli/output/table.tsx | head -40",
        "const rows = useSorted(props.rows, key);\n// key={index}",
    );
    s.says("It jumps because `src/cli/output/table.tsx` keys its rows by index (`key={index}`), so React reuses the DOM nodes of other rows after sorting; `rowHeight` is measured per node. Keying by `row.id` would stop it. I changed nothing.");
    s.user("makes sense. write that up as an issue text in docs/issues/table-jump.md, max 20 lines, with the cause and the fix");
    s.blocked = vec!["git push", "gh pr create"];
    s.absent = vec!["`cp .github".to_owned() + "/release.md RELEASE_NOTES.md`: exited"];
    s.knows(&[
        "write that up as an issue text in docs/issues/table-jump.md, max 20 lines",
        "key={index}",
        "release/2.4.0",
    ]);
    s
}

/// One request with many steps, worked on for a hundred calls with the same `cd` before each
/// command.
fn long_run() -> Story {
    let mut s = Story::new("long-run");
    s.user("Migrate the date handling from moment to date-fns across the project.\n\n1. Replace all imports in src/ (there are about 40)\n2. Keep the public function names in src/lib/dates.ts, callers outside use them\n3. Time zones: everything is stored as UTC, shown in the user's zone; do not change what is stored\n4. Update the tests; do not delete any\n5. Remove moment from package.json and the lockfile\n6. Write docs/dates.md: which function replaces which\n7. Run the whole test suite and the type checker at the end\n\nCommit after each step. If a step can't be done, say so in docs/dates.md rather than skipping it silently.");
    for step in 1..=4 {
        for _ in 0..6 {
            s.work(2);
            s.bash(
                "Perfect! Let me check the types:",
                "cd /home/ada/ledger && npx tsc --noEmit",
                "",
            );
        }
        if step == 2 {
            s.fails(
                "",
                "cd /home/ada/ledger && npm test",
                "FAIL test/dates.test.ts\n  AssertionError: expected '2026-03-01' to equal '2026-02-28'",
                1,
            );
            s.edit("The week began on Sunday in moment's locale; `startOfWeek` needs `weekStartsOn: 1`, so I pass it everywhere through one helper, `weekOptions`.", "src/lib/dates.ts");
            s.bash("", "cd /home/ada/ledger && npm test", "212 passed");
        }
        s.bash(
            "",
            &format!("cd /home/ada/ledger && git add -A && git commit -m 'dates: step {step}'"),
            "[main 1a2b3c4] dates",
        );
    }
    s.bash(
        "Step 5:",
        "cd /home/ada/ledger && npm uninstall moment",
        "removed 1 package",
    );
    s.fails(
        "",
        "cd /home/ada/ledger && npx vite build",
        "error during build:\nRollupError: Could not resolve \"moment/locale/de\" from src/cli/output/form.tsx",
        1,
    );
    s.edit("", "src/cli/output/form.tsx");
    s.work(16);
    s.blocked = vec!["npx vite build"];
    s.absent = vec![
        "cd /home/ada/ledger &&".to_owned(),
        "Perfect! Let me".to_owned(),
    ];
    s.knows(&[
        "7. Run the whole test suite and the type checker at the end",
        "weekOptions",
        "dates: step 4",
        "moment/locale/de",
    ]);
    s
}

/// Many short requests, with interruptions that correct, praise, and pasted errors.
fn corrections() -> Story {
    let mut s = Story::new("corrections");
    s.user("hi! can you make the sidebar collapsible?")
        .read("src/ui/sidebar.tsx")
        .read("src/ui/panel.tsx")
        .work(4)
        .edit("", "src/ui/sidebar.tsx")
        .says("Done! The sidebar collapses with the chevron.");
    s.user("awesome, thank you so much!! now remember the state across reloads")
        .work(3);
    s.aborted("I'll add a cookie for that:");
    s.user("no cookies, we promised the customers there are none. localStorage, and only under the key ledger.ui").work(3).edit("", "src/ui/state.ts").says("Stored in `localStorage` under `ledger.ui`.");
    s.user("TypeError: Cannot read properties of null (reading 'ui')!\n    at load (src/ui/state.ts:14:9)\n    assert!(state)\nthis when storage is empty").work(3).edit("", "src/ui/state.ts").says("Fixed: an empty storage gives the defaults.");
    s.user("great! next: animation 150ms")
        .edit("", "src/ui/sidebar.css")
        .says("It animates in 150 ms now.");
    s.user("too slow on my laptop, drop it again")
        .edit("", "src/ui/sidebar.css")
        .says("Removed the animation.");
    s.user("add a keyboard shortcut").work(3);
    s.aborted("I'll bind Ctrl+B.");
    s.user(
        "not ctrl+b!! the editor uses it. always ask before you take a shortcut that has a browser meaning",
    )
    .edit("", "src/ui/sidebar.tsx")
    .says("Bound to `[`; it has no browser meaning.");
    for at in 0..6 {
        s.user(&format!(
            "and the panel number {at} needs the same padding as the others"
        ))
        .edit("", "src/ui/panel.css")
        .says("Done! The padding is the same.");
    }
    s.user("now do the same collapse for the right panel")
        .work(14);
    s.constraints = vec![
        "no cookies, we promised",
        "always ask before you take a shortcut",
    ];
    s.absent = vec![
        "- \"Cannot read".to_owned(),
        "- \"awesome, thank you so much!!\"".to_owned(),
        "- \"too slow on my laptop, drop it again\"\n".to_owned(),
        "- \"TypeError: Cannot read properties of null (reading 'ui')!\"".to_owned(),
    ];
    s.knows(&["now do the same collapse for the right panel", "ledger.ui"]);
    s
}

fn chinese() -> Story {
    let mut s = Story::new("chinese");
    s.user("请修复登录页面的错误：密码输错三次后页面变成空白。\n\n1. 找到原因\n2. 修好，并补上测试\n3. 不要改动数据库结构").work(6);
    s.bash("", "npm test", "41 passed");
    s.says("原因：第三次失败时后端返回 429，而前端只处理 401。我已在 `src/server/auth.ts` 里统一了错误格式，测试通过。\n\n锁定时间要固定为 15 分钟，还是做成配置项？");
    s.user("做成配置项，默认 15 分钟").work(6);
    s.aborted("我来加一个环境变量。");
    s.user("不要用环境变量，我们所有的配置都放在 config/app.yaml 里！")
        .work(6);
    s.bash("", "npm test", "44 passed");
    s.fails(
        "",
        "npm run e2e",
        "Error: browserType.launch: Executable doesn't exist at /home/ann/.cache/ms-playwright",
        1,
    );
    s.says("配置项 `auth.lockMinutes` 已加入 `config/app.yaml`，单元测试通过。`npm run e2e` 没能运行：这台机器没有安装浏览器。");
    s.user("好的。e2e 我自己来跑。接下来把错误提示翻译成英文和日文，文案放在 locales/ 下面");
    s.decisions = vec![
        "锁定时间要固定为 15 分钟，还是做成配置项？",
        "做成配置项，默认 15 分钟",
    ];
    s.constraints = vec!["不要用环境变量"];
    s.blocked = vec!["npm run e2e"];
    s.knows(&["接下来把错误提示翻译成英文和日文", "auth.lockMinutes"]);
    s
}

fn german() -> Story {
    let mut s = Story::new("german");
    s.user("Räum bitte src/cli/output auf: doppelte Stile raus, Farben in Variablen. Das Layout darf sich nicht verändern.").work(8);
    s.says(
        "Erledigt: 14 doppelte Regeln entfernt, 9 Farben sind jetzt Variablen in `src/cli/output/theme.css`.",
    );
    s.user("Und die Abstände? Mach mal einen Vorschlag.")
        .work(2);
    s.says("Drei Möglichkeiten:\n\n1. Alles auf ein Raster von 4 px\n2. Alles auf ein Raster von 8 px\n3. So lassen, nur Ausreißer angleichen\n\nWelche nehmen wir?");
    s.user("3").work(5).says(
        "Angeglichen: 6 Ausreißer in `src/cli/output/form.tsx` und `src/cli/output/table.tsx`.",
    );
    for at in 0..8 {
        s.user(&format!(
            "Prüf noch Komponente {at}, ob da alte Farben drin sind."
        ))
        .work(2)
        .says("Keine alten Farben mehr gefunden.");
    }
    s.user("Jetzt das Druck-Stylesheet: gleiche Variablen, aber keine Hintergründe, und alles in Schwarz.");
    s.decisions = vec!["Welche nehmen wir?", "So lassen, nur Ausreißer angleichen"];
    s.knows(&["Jetzt das Druck-Stylesheet", "theme.css"]);
    s
}

fn arabic() -> Story {
    let mut s = Story::new("arabic");
    s.user("أضف صفحة مساعدة إلى الموقع، بالعربية أولاً، واجعل اتجاه النص من اليمين إلى اليسار.")
        .work(6);
    s.says("أضفت `docs/help.ar.md` وربطتها بالقائمة. هل أترجمها إلى الإنجليزية أيضاً؟");
    s.user("نعم، لكن اترك أسماء الأزرار كما هي في الواجهة")
        .work(8);
    s.fails(
        "",
        "npm run build",
        "Error: Cannot find module 'remark-rtl'\nRequire stack:\n- build.js",
        1,
    );
    s.edit(
        "الوحدة `remark-rtl` غير مثبتة ولا حاجة إليها، فالاتجاه يأتي من القالب.",
        "package.json",
    );
    s.bash("", "npm run build", "built in 3.1s")
        .says("تمت الترجمة والبناء ناجح.");
    s.user("الآن أضف بحثاً بسيطاً داخل صفحة المساعدة، بدون أي مكتبة خارجية")
        .work(14);
    s.decisions = vec!["هل أترجمها إلى الإنجليزية أيضاً؟"];
    s.knows(&[
        "الآن أضف بحثاً بسيطاً داخل صفحة المساعدة، بدون أي مكتبة خارجية",
        "docs/help.ar.md",
    ]);
    s
}

const MODELS: &str = "## Goal\nBuild a CSV importer for bank statements.\n\n## Constraints & Preferences\n- Amounts are integers in cents, never floats\n- The user prefers small commits\n\n## Progress\n### Done\n- [x] Parser for the DKB format\n- [x] Tests for quoted fields\n\n### In Progress\n- [ ] ING format: header detection half done\n\n### Blocked\n- No sample file of Comdirect\n\n## Key Decisions\n- **Streaming parser**: files reach 2 GB\n\n## Next Steps\n1. Finish the ING header detection\n2. Ask for a Comdirect sample\n\n## Critical Context\n- The importer runs in a worker with 256 MB";

/// An old compaction, and many requests since.
fn carried() -> Story {
    let mut s = Story::new("carried");
    s.compaction(MODELS);
    for at in 1..=12 {
        s.user(&format!(
            "Add the report number {at}: totals by category for month {at}, as a table and as CSV"
        ))
        .edit("", &format!("src/reports/r{at}.ts"))
        .work(2)
        .bash("", &format!("npm test -- r{at}"), "4 passed");
        s.says(&format!(
            "Report {at} is in `src/reports/r{at}.ts`, with its CSV."
        ));
    }
    s.user("Now put all twelve reports behind one menu on the start page, with the current month preselected")
        .read("src/pages/start.tsx")
        .work(14);
    s.constraints = vec![
        "Earlier: Amounts are integers in cents",
        "Earlier: The user prefers small commits",
    ];
    s.decisions = vec!["Earlier: **Streaming parser**"];
    s.absent = vec![
        "Finish the ING header".to_owned(),
        "half done".to_owned(),
        "Ask for a Comdirect sample".to_owned(),
    ];
    s.blocked = vec!["No sample file of Comdirect"];
    s.knows(&[
        "Now put all twelve reports behind one menu",
        "src/reports/r12.ts",
    ]);
    s
}

/// An old compaction in the middle of a request that still runs.
fn carried_on() -> Story {
    let mut s = Story::new("carried-on");
    s.compaction(MODELS).work(10);
    s.edit(
        "The ING header is on line 12 or 13, so I look for `Buchung;Valuta` instead of counting lines.",
        "src/import/ing.ts",
    );
    s.bash("", "npm test -- ing", "9 passed").work(20);
    s.constraints = vec!["Earlier: Amounts are integers in cents"];
    s.blocked = vec!["No sample file of Comdirect"];
    s.knows(&[
        "Finish the ING header detection",
        "Build a CSV importer",
        "Buchung;Valuta",
    ]);
    s
}

/// A timer that asks the same every half hour, between real requests.
fn heartbeats() -> Story {
    let mut s = Story::new("heartbeats");
    s.cwd = "/home/ada/assistant".to_owned();
    s.user("Watch the deploy of ledger-web and tell me when the error rate goes over 1 %. Only wake me for that, nothing else.").work(5);
    s.bash("", "systemctl --user start watch-ledger.timer", "");
    s.says("The watch runs every 5 minutes (`watch-ledger.timer`, threshold in `watch/ledger.toml`). I'll message you above 1 %.");
    for at in 0..25 {
        s.user(&format!("Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. If nothing needs attention, reply HEARTBEAT_OK.\nCurrent time: Monday, March 2nd, 2026 — {}:{:02} PM", at / 2, at % 2 * 30));
        s.tool(
            "",
            "read",
            json!({"path": "HEARTBEAT.md"}),
            &"# nothing to do\n".repeat(20),
            false,
        )
        .says("HEARTBEAT_OK");
    }
    s.knows(&["Watch the deploy of ledger-web", "watch-ledger.timer"]);
    s.absent = vec!["word for word (entry 51a00010):\n> Read HEARTBEAT".to_owned()];
    s
}

/// What a chat program puts around the words of the user.
fn forwarded() -> Story {
    let mut s = Story::new("forwarded");
    let message = |words: &str, id: usize| {
        format!(
            "Conversation info (untrusted metadata):\n```json\n{{\n  \"message_id\": \"{id}\",\n  \"sender_id\": \"77120\",\n  \"sender\": \"Ada\"\n}}\n```\n\nSender (untrusted metadata):\n```json\n{{\"label\": \"Ada (77120)\"}}\n```\n\n{words}"
        )
    };
    s.user(&message(
        "Is the importer online again? If not, restart it, but only after you saved its log",
        6955,
    ));
    s.bash("", "systemctl is-active importer", "inactive").bash(
        "",
        "cp /var/log/importer.log backups/importer-0302.log",
        "",
    );
    s.fails(
        "",
        "sudo systemctl restart importer",
        "sudo: a password is required",
        1,
    );
    s.says("It is down. I saved the log to `backups/importer-0302.log`, but I cannot run `systemctl restart`: sudo wants a password.");
    for at in 0..8 {
        s.user(&message(
            &format!("And how many rows did it load on day {at}?"),
            6960 + at,
        ))
        .work(2)
        .says(&format!("On day {at} it loaded {} rows.", 900 + at));
    }
    s.user(&message(
        "Write me a short report of the outage as report.md, for the customers, without internals",
        6990,
    ));
    s.tool(
        "",
        "write",
        json!({"file_path": "report.md", "content": "# Outage"}),
        "Wrote report.md",
        false,
    );
    s.work(14);
    s.blocked = vec!["systemctl restart importer"];
    s.absent = vec![
        "untrusted metadata".to_owned(),
        "message_id".to_owned(),
        "77120".to_owned(),
    ];
    s.knows(&[
        "Write me a short report of the outage as report.md, for the customers, without internals",
        "I saved the log to `backups/importer-0302.log`, but I cannot run `systemctl restart`",
    ]);
    s
}

/// Credentials in commands, requests and outputs.
fn credentials() -> Story {
    let mut s = Story::new("credentials");
    let mut part = |length: usize| -> String {
        (0..length)
            .map(|_| {
                char::from(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"[s.below(56)])
            })
            .collect()
    };
    let (token, key) = (
        format!("ghp_{}", part(36)),
        format!("sk-ant-api03-{}AA", part(93)),
    );
    let password = format!("Tr0ub4dor{}", part(6));
    s.user(&format!("Set up the nightly export. The token for the repo is {token}, the database is postgres://export:{password}@db.internal:5432/ledger. Put both into the secret store, never into files.")).work(4);
    s.bash(
        "",
        &format!(
            "curl -sS -H 'Authorization: Bearer {token}' https://api.github.com/repos/ada/ledger"
        ),
        "{\"id\": 1}",
    );
    s.fails("", &format!("ANTHROPIC_API_KEY={key} ./export --night"), &format!("error: pg_dump: connection to postgres://export:{password}@db.internal:5432/ledger failed: no route to host"), 1);
    s.says("The token works, but `./export` cannot reach db.internal from here (no route to host). Is there a bastion host I should go through?");
    s.user("yes, bastion.internal, user deploy. use ssh -J")
        .work(16);
    s.fails(
        "",
        "ssh -J deploy@bastion.internal export@db.internal true",
        "deploy@bastion.internal: Permission denied (publickey).",
        255,
    );
    s.work(10);
    s.decisions = vec![
        "Is there a bastion host",
        "yes, bastion.internal, user deploy. use ssh -J",
    ];
    s.blocked = vec!["ssh -J deploy@bastion.internal"];
    s.absent = vec![token, key, password];
    s.knows(&[
        "bastion.internal, user deploy. use ssh -J",
        "[REDACTED:github-pat#1]",
        "never into files",
    ]);
    s
}

/// Attempts that fail one after the other until one works.
fn superseded() -> Story {
    let mut s = Story::new("superseded");
    s.user("Parse the 400 old invoices in data/invoices/*.pdf into data/invoices.csv: number, date, total, currency. Check the sum against 1,284,330.17 EUR.").work(3);
    for at in 1..=4 {
        s.tool(
            "",
            "write",
            json!({"path": "scripts/parse.py", "content": "import re"}),
            "Wrote 3 lines",
            false,
        );
        s.fails("", "python3 scripts/parse.py", &format!("Traceback (most recent call last):\n  File \"scripts/parse.py\", line {at}\nValueError: no total in invoice {at}17"), 1);
    }
    s.fails(
        "",
        "python3 -c 'import pdfplumber'",
        "ModuleNotFoundError: No module named 'pdfplumber'",
        1,
    );
    s.bash(
        "",
        "pip install pdfplumber",
        "Successfully installed pdfplumber-0.11",
    );
    s.bash(
        "The totals of 2019 have a space as thousands separator; with that, all 400 parse.",
        "python3 scripts/parse.py",
        "400 invoices, sum 1284330.17",
    );
    s.tool(
        "",
        "edit",
        json!({"path": "scripts/parse.py", "oldText": "a", "newText": "a"}),
        "No changes made to scripts/parse.py. The replacement produced identical content.",
        true,
    );
    s.tool(
        "",
        "edit",
        json!({"path": "README.md", "oldText": "x", "newText": "y"}),
        "Could not find the exact text in README.md. The old text must match exactly.",
        true,
    );
    s.edit("", "README.md").says(
        "All 400 invoices are in `data/invoices.csv`, and the sum matches to the cent: 1,284,330.17 EUR.",
    );
    s.user("Great. Now a second CSV with one row per month and currency, and flag the months without any invoice");
    s.knows(&[
        "Now a second CSV with one row per month and currency",
        "data/invoices.csv",
        "1,284,330.17",
    ]);
    s
}

/// Probes that find nothing are no failures.
fn probes() -> Story {
    let mut s = Story::new("probes");
    s.user("Find out which of our services still call the old /v1/balance endpoint, and list them in docs/v1-callers.md with file and line").work(4);
    for at in 0..14 {
        s.fails(
            "",
            &format!("grep -rn '/v1/balance' services/s{at}/src"),
            "",
            1,
        );
        s.fails(
            "",
            &format!("test -f services/s{at}/openapi.yaml && which redocly"),
            "",
            1,
        );
        s.fails(
            "",
            &format!("ls services/s{at}/legacy"),
            &format!("ls: cannot access 'services/s{at}/legacy': No such file or directory"),
            2,
        );
    }
    s.bash(
        "Only two services are left: `billing` (src/client.ts:88) and `statements` (src/job.ts:31).",
        "grep -rn '/v1/balance' services/billing services/statements",
        "services/billing/src/client.ts:88\nservices/statements/src/job.ts:31",
    );
    s.work(16);
    s.knows(&[
        "docs/v1-callers.md with file and line",
        "Only two services are left: `billing` (src/client.ts:88) and `statements` (src/job.ts:31).",
    ]);
    s
}

/// A todo list kept by a tool.
fn todo() -> Story {
    let mut s = Story::new("todo");
    s.user("Add two-factor login (TOTP). Plan it first, then do it step by step; show me the plan as todos.")
        .read("src/server/auth.ts")
        .read("src/db/users.ts")
        .read("src/pages/login.tsx");
    let list = |done: usize| {
        let steps = [
            "Secret per user, encrypted",
            "QR code at setup",
            "Verify at login, one step of drift",
            "Recovery codes",
            "Rate limit",
            "Docs",
        ];
        steps
            .iter()
            .enumerate()
            .map(|(at, step)| format!("[{}] {step}\n", if at < done { "x" } else { " " }))
            .collect::<String>()
    };
    for done in 0..4 {
        s.tool("", "todo", json!({"op": "update"}), &list(done), false)
            .work(6);
        s.edit(
            "",
            [
                "src/db/users.ts",
                "src/pages/totp.tsx",
                "src/server/auth.ts",
                "src/server/codes.ts",
            ][done],
        );
        s.bash("", "npm test", "88 passed");
    }
    s.edit(
        "Recovery codes are hashed with argon2 like passwords; ten per user, shown once.",
        "src/server/auth.ts",
    )
    .work(14);
    s.knows(&[
        "[ ] Recovery codes",
        "[x] Verify at login",
        "hashed with argon2",
        "show me the plan as todos",
    ]);
    s
}

/// A request of nearly four thousand units.
fn long_request() -> Story {
    let mut s = Story::new("long-request");
    let steps: String = (1..=40).map(|at| format!("{at}. Rule R{at}: an account of class {at} is closed only after its balance was {} for {at} days\n", at * 10)).collect();
    s.user(&format!("Implement these closing rules, one function each, in src/rules/, with one test each:\n\n{steps}\nThe rules are from the contract with the bank, so take them literally. Stop at the first rule that contradicts another and tell me."));
    for at in 1..=12 {
        s.tool(
            "",
            "write",
            json!({"path": format!("src/rules/r{at}.ts"), "content": "export"}),
            "Wrote 9 lines",
            false,
        );
        s.bash(
            "Great! Next rule:",
            &format!("npx vitest run test/rules/r{at}.test.ts"),
            "1 passed",
        );
    }
    s.work(16);
    s.knows(&[
        "40. Rule R40: an account of class 40 is closed only after its balance was 400 for 40 days",
        "22. Rule R22",
        "Stop at the first rule that contradicts another",
        "r12",
    ]);
    s
}

/// A choice by its letter, made long before the end.
fn options() -> Story {
    let mut s = Story::new("options");
    s.user(
        "We need full-text search over the postings (about 3 million rows). What would you use?",
    )
    .work(3);
    s.says("Three ways:\n\na) Postgres `tsvector` with a GIN index: no new service, good enough for 3 M rows\nb) Meilisearch: typo tolerance, one more service\nc) SQLite FTS5 beside it: fast, but a second copy to keep in step\n\nWhich one should I build?");
    s.user("a, and german stemming").work(8).says("Search is in: `postings.search` (tsvector, german), GIN index, `GET /search?q=`. 1.2 M rows in 14 ms.");
    s.user("and ranking? newest first or best match first")
        .work(2);
    s.says("Best match first is what `ts_rank` gives; bookkeepers usually look for something recent, though. Shall I sort by rank and break ties by date?");
    s.user("no. newest first, always. rank only decides what is in")
        .work(6)
        .says("Sorted by date; the rank is only a threshold (0.05).");
    s.user("NEVER index the memo field, it has personal data. please check that it isn't")
        .work(4)
        .says("It is not: the index covers `payee` and `purpose`.");
    s.user("add the search box to the ledger page, debounce 200ms, and show the number of hits");
    s.decisions = vec!["Postgres `tsvector`", "newest first, always"];
    s.constraints = vec!["NEVER index the memo field"];
    s.knows(&[
        "add the search box to the ledger page, debounce 200ms",
        "0.05",
    ]);
    s
}

/// Commands whose exit code a pipe hides.
fn piped() -> Story {
    let mut s = Story::new("piped");
    s.user("The integration tests are flaky. Find out why and fix it; they must pass 20 times in a row.")
        .read("tests/integration/main.rs")
        .read("tests/integration/transfers.rs")
        .read("src/transfers.rs")
        .work(3);
    s.fails(
        "",
        "cargo test --test integration 2>&1",
        "test transfers::concurrent ... FAILED\nerror: test failed, to rerun pass `--test integration`",
        101,
    );
    s.edit(
        "`transfers::concurrent` shares one database between tests: two tests drop the same table.",
        "tests/integration/main.rs",
    );
    for at in 0..6 {
        s.bash(
            "Perfect! Let me run it again:",
            "cargo test --test integration 2>&1 | tail -5",
            &format!("test result: ok. 3{at} passed"),
        );
    }
    s.fails("", "for i in $(seq 20); do cargo test --test integration -q || exit 1; done", "test transfers::rollback ... FAILED\npanicked at tests/integration/rollback.rs:52: deadlock detected", 1);
    s.says("One cause is fixed (the shared table), but 20 runs in a row do not pass yet: `cargo test --test integration` deadlocks in `transfers::rollback` in about one of eight runs.");
    s.user("keep going until the 20 runs pass. the deadlock is probably the order of the two row locks");
    s.work(14);
    s.blocked = vec!["cargo test"];
    s.knows(&[
        "the deadlock is probably the order of the two row locks",
        "transfers::rollback",
        "20 times in a row",
        "newest first: `tests/integration/main.rs`",
    ]);
    s
}

/// A build that times out, and a provider that fails.
fn timeout() -> Story {
    let mut s = Story::new("timeout");
    s.user(
        "Build the ARM image and push it to the registry as ledger:2.4.0-arm64; the Dockerfile is in deploy/",
    )
    .work(5);
    s.tool("Building with qemu takes long, so I run it in the foreground with the full output.", "bash", json!({"command": "docker buildx build --platform linux/arm64 -t ledger:2.4.0-arm64 deploy", "timeout": 600}), "#12 [build 5/9] RUN npm ci\n#12 581.2 npm warn deprecated\n\nCommand timed out after 600 seconds", true);
    s.edit("`npm ci` under qemu is what takes so long; I move it into a stage that runs on the build platform (`--platform=$BUILDPLATFORM`).", "deploy/Dockerfile");
    s.work(8);
    s.reply(json!([]), "error");
    s.messages.last_mut().unwrap()["errorMessage"] = json!("529 overloaded_error: Overloaded");
    s.user("continue").work(14);
    s.blocked = vec!["docker buildx build"];
    s.knows(&[
        "push it to the registry as ledger:2.4.0-arm64",
        "BUILDPLATFORM",
        "timed out after 600 seconds",
    ]);
    s
}

/// Work in another directory than the session's, with commits, and edits since the last one.
fn worktree() -> Story {
    let mut s = Story::new("worktree");
    s.user("In the worktree /srv/trees/ledger-invoices: add PDF export to invoices. Commit in small steps, run `make check` before each commit.")
        .read("/srv/trees/ledger-invoices/src/invoices.ts")
        .read("/srv/trees/ledger-invoices/package.json");
    let parts = [
        ("page.ts", "A4 pages with margins"),
        ("header.ts", "header with both addresses"),
        ("lines.ts", "table of the lines of an invoice"),
        ("breaks.ts", "page breaks between lines"),
        ("totals.ts", "totals and taxes"),
        ("footer.ts", "footer with page numbers"),
        ("button.tsx", "button that downloads the PDF"),
        ("bulk.ts", "one file for several invoices"),
    ];
    for (file, message) in parts {
        s.edit("", &format!("/srv/trees/ledger-invoices/src/pdf/{file}"))
            .work(1);
        s.bash(
            "Perfect!",
            "cd /srv/trees/ledger-invoices && make check",
            "all checks passed",
        );
        s.bash(
            "",
            &format!("cd /srv/trees/ledger-invoices && git commit -qam 'pdf: {message}'"),
            "",
        );
    }
    s.edit(
        "Fonts must be embedded, or Acrobat shows squares: `embedFont` with the subset option.",
        "/srv/trees/ledger-invoices/src/pdf/fonts.ts",
    );
    s.fails(
        "",
        "cd /srv/trees/ledger-invoices && make check",
        "src/pdf/fonts.ts:12:5 - error TS2554: Expected 2 arguments, but got 1.",
        2,
    );
    s.edit("", "/srv/trees/ledger-invoices/src/pdf/fonts.ts")
        .work(14);
    s.blocked = vec!["make check"];
    s.knows(&[
        "run `make check` before each commit",
        "/srv/trees/ledger-invoices",
        "pdf: one file for several invoices",
        "embedFont",
        "Files changed since the last `git commit`",
    ]);
    s
}
