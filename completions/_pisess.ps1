
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'pisess' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'pisess'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'pisess' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'List the commands, with those that programs on the PATH add')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('migrate', 'migrate', [CompletionResultType]::ParameterValue, 'Bring old session files to version 3')
            [CompletionResult]::new('tree', 'tree', [CompletionResultType]::ParameterValue, 'Draw the conversation as a tree')
            [CompletionResult]::new('path', 'path', [CompletionResultType]::ParameterValue, 'List the entries from the root to an entry')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show entries in full')
            [CompletionResult]::new('label', 'label', [CompletionResultType]::ParameterValue, 'Set, clear or list labels')
            [CompletionResult]::new('append', 'append', [CompletionResultType]::ParameterValue, 'Add entries: messages, notes, settings, a name')
            [CompletionResult]::new('edit', 'edit', [CompletionResultType]::ParameterValue, 'Change what the model sees of an entry, and leave the entry as it is')
            [CompletionResult]::new('pick', 'pick', [CompletionResultType]::ParameterValue, 'Copy entries to the leaf, or onto another entry')
            [CompletionResult]::new('fork', 'fork', [CompletionResultType]::ParameterValue, 'Copy the path to an entry, or the whole tree, into a new session')
            [CompletionResult]::new('compact', 'compact', [CompletionResultType]::ParameterValue, 'Summarise the older part of the conversation and go on from there')
            [CompletionResult]::new('summarize', 'summarize', [CompletionResultType]::ParameterValue, 'Go to another entry and leave a summary of the branch behind')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Bring another branch back as a summary at the leaf')
            [CompletionResult]::new('branches', 'branches', [CompletionResultType]::ParameterValue, 'List the branches')
            [CompletionResult]::new('grep', 'grep', [CompletionResultType]::ParameterValue, 'Search the text of sessions')
            [CompletionResult]::new('stats', 'stats', [CompletionResultType]::ParameterValue, 'Count tokens, cost, messages, tools and time')
            [CompletionResult]::new('switch', 'switch', [CompletionResultType]::ParameterValue, 'Go on from another entry')
            [CompletionResult]::new('pop', 'pop', [CompletionResultType]::ParameterValue, 'Take the last question back, and leave a summary of what came after it')
            [CompletionResult]::new('context', 'context', [CompletionResultType]::ParameterValue, 'Print what the model would see at an entry')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Export a session as a page or a document')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Tell what is wrong with session files, and repair it')
            [CompletionResult]::new('redact', 'redact', [CompletionResultType]::ParameterValue, 'Write a copy of a session without its secrets')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pisess;migrate' {
            [CompletionResult]::new('--backup', '--backup', [CompletionResultType]::ParameterName, 'Keep the old file too, with SUFFIX behind its name')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Change nothing, only tell what is to be migrated (then exit 1)')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Look into folders of folders, too')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Look into folders of folders, too')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;tree' {
            [CompletionResult]::new('--filter', '--filter', [CompletionResultType]::ParameterName, 'Which entries to show: their kind')
            [CompletionResult]::new('--search', '--search', [CompletionResultType]::ParameterName, 'Which entries to show: those with all these words in their text, arguments or results')
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'Draw as if this entry were the leaf')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--unfold', '--unfold', [CompletionResultType]::ParameterName, 'Show each tool row, however many follow each other')
            [CompletionResult]::new('--ascii', '--ascii', [CompletionResultType]::ParameterName, 'Draw with ASCII characters only')
            [CompletionResult]::new('--no-ids', '--no-ids', [CompletionResultType]::ParameterName, 'Leave the ids out')
            [CompletionResult]::new('--times', '--times', [CompletionResultType]::ParameterName, 'Show when each entry was written, in local time')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object per row')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;path' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--ids', '--ids', [CompletionResultType]::ParameterName, 'Print the ids only')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the entries themselves, as version 3 stores them')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;show' {
            [CompletionResult]::new('--renderer', '--renderer', [CompletionResultType]::ParameterName, 'Command that turns custom entries of TYPE into Markdown')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--children', '--children', [CompletionResultType]::ParameterName, 'List the entries directly under each REF instead')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the entries themselves, as version 3 stores them')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;label' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--clear', '--clear', [CompletionResultType]::ParameterName, 'Clear the entry''s label')
            [CompletionResult]::new('--move', '--move', [CompletionResultType]::ParameterName, 'Take the label from the entry that has it')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;append' {
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'The entry under which to append')
            [CompletionResult]::new('--input', '--input', [CompletionResultType]::ParameterName, 'Entries as JSON lines, from a file; - is standard input')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'pi: name the session; an empty name takes it off')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'Another model from here on')
            [CompletionResult]::new('--thinking', '--thinking', [CompletionResultType]::ParameterName, 'Another thinking level from here on')
            [CompletionResult]::new('--custom', '--custom', [CompletionResultType]::ParameterName, 'A custom entry, which no model sees')
            [CompletionResult]::new('--data', '--data', [CompletionResultType]::ParameterName, 'What the custom entry holds')
            [CompletionResult]::new('--custom-message', '--custom-message', [CompletionResultType]::ParameterName, 'A custom message, which the model sees')
            [CompletionResult]::new('--text', '--text', [CompletionResultType]::ParameterName, 'What the custom message says')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'A message of the person')
            [CompletionResult]::new('--assistant', '--assistant', [CompletionResultType]::ParameterName, 'A reply of the model, by the one in force there')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--hidden', '--hidden', [CompletionResultType]::ParameterName, 'Do not show the custom message to the person')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;edit' {
            [CompletionResult]::new('--replace', '--replace', [CompletionResultType]::ParameterName, 'The model sees this text instead; - is standard input')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--omit', '--omit', [CompletionResultType]::ParameterName, 'The model does not see them')
            [CompletionResult]::new('--undo', '--undo', [CompletionResultType]::ParameterName, 'The model sees them as they are')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;pick' {
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'The entry under which the copies go')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;fork' {
            [CompletionResult]::new('--cwd', '--cwd', [CompletionResultType]::ParameterName, 'The working folder of the new session, when it is to be another')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'The folder to put the new file in')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' is none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--before', '--before', [CompletionResultType]::ParameterName, 'End before REF, a user message, and print its text to be edited')
            [CompletionResult]::new('--subtree', '--subtree', [CompletionResultType]::ParameterName, 'Copy what hangs below REF, too, with its branches')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Copy every entry and branch')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;compact' {
            [CompletionResult]::new('--keep-recent-tokens', '--keep-recent-tokens', [CompletionResultType]::ParameterName, 'How much of the newest conversation to keep as it is')
            [CompletionResult]::new('--first-kept', '--first-kept', [CompletionResultType]::ParameterName, 'Keep from this entry on instead; none keeps nothing')
            [CompletionResult]::new('--if-over', '--if-over', [CompletionResultType]::ParameterName, 'Do nothing unless the context has more tokens, such as 100k or 1.5M')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'The summary, stored as it is')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'A file that holds the summary; - is standard input')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'A shell command that reads the prompt and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should pay attention to')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' is none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Tell the summarizer these instructions instead of the agent''s')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarised, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print what a summarizer would be told, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;summarize' {
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'The entry to leave, when it is not the leaf')
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Label the summary')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'The summary, stored as it is')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'A file that holds the summary; - is standard input')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'A shell command that reads the prompt and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should pay attention to')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' is none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Tell the summarizer these instructions instead of the agent''s')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarised, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print what a summarizer would be told, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;merge' {
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Label the summary')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'The summary, stored as it is')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'A file that holds the summary; - is standard input')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'A shell command that reads the prompt and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should pay attention to')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' is none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Tell the summarizer these instructions instead of the agent''s')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarised, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print what a summarizer would be told, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;branches' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object for each branch')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;grep' {
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Search for PATTERN; may be given several times')
            [CompletionResult]::new('--regexp', '--regexp', [CompletionResultType]::ParameterName, 'Search for PATTERN; may be given several times')
            [CompletionResult]::new('--role', '--role', [CompletionResultType]::ParameterName, 'Search only entries with this role or type, as user or compaction; may be given several times')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Search only entries since TIME: 7d, 2w, a date, or an RFC 3339 time')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('-a', '-a', [CompletionResultType]::ParameterName, 'Take all sessions in both agents'' stores')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Take all sessions in both agents'' stores')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Take upper and lower case for the same')
            [CompletionResult]::new('--ignore-case', '--ignore-case', [CompletionResultType]::ParameterName, 'Take upper and lower case for the same')
            [CompletionResult]::new('-F', '-F ', [CompletionResultType]::ParameterName, 'Take patterns as literal text')
            [CompletionResult]::new('--fixed-strings', '--fixed-strings', [CompletionResultType]::ParameterName, 'Take patterns as literal text')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Match whole words only')
            [CompletionResult]::new('--word-regexp', '--word-regexp', [CompletionResultType]::ParameterName, 'Match whole words only')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Print only the paths of sessions that match')
            [CompletionResult]::new('--files-with-matches', '--files-with-matches', [CompletionResultType]::ParameterName, 'Print only the paths of sessions that match')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Print only how many entries match in each session')
            [CompletionResult]::new('--count', '--count', [CompletionResultType]::ParameterName, 'Print only how many entries match in each session')
            [CompletionResult]::new('--active', '--active', [CompletionResultType]::ParameterName, 'Search only entries on the path to the leaf')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Search every string of an entry: signatures, image data, details, ids')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object for each entry that matches')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;stats' {
            [CompletionResult]::new('--by', '--by', [CompletionResultType]::ParameterName, 'Print a row for each session, model, day, week, month, project, tool or billed entry')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Count only entries since TIME: 7d, 2w, a date, or an RFC 3339 time')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('-a', '-a', [CompletionResultType]::ParameterName, 'Take all sessions in both agents'' stores')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Take all sessions in both agents'' stores')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object for each row')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;switch' {
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Label the summary; if none is left, label REF')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'The summary, stored as it is')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'A file that holds the summary; - is standard input')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'A shell command that reads the prompt and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should pay attention to')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' is none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--summarize', '--summarize', [CompletionResultType]::ParameterName, 'Leave a summary of what is left behind')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Tell the summarizer these instructions instead of the agent''s')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarised, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print what a summarizer would be told, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;pop' {
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Label the summary; if none is left, label the question')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'The summary, stored as it is')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'A file that holds the summary; - is standard input')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'A shell command that reads the prompt and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should pay attention to')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' is none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Tell the summarizer these instructions instead of the agent''s')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarised, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print what a summarizer would be told, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;context' {
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'What to print')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' is none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--tokens', '--tokens', [CompletionResultType]::ParameterName, 'Print how many tokens that is, by the agent''s estimate')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON (which the context is in any case)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;export' {
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'Format of the output')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to PATH (- is standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to PATH (- is standard output)')
            [CompletionResult]::new('--renderer', '--renderer', [CompletionResultType]::ParameterName, 'Command that turns custom entries of TYPE into Markdown')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--static', '--static', [CompletionResultType]::ParameterName, 'Write HTML of one path, without scripts')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;check' {
            [CompletionResult]::new('--backup', '--backup', [CompletionResultType]::ParameterName, 'Repair in place, and keep the old file with SUFFIX behind its name')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Look into folders of folders, too')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Look into folders of folders, too')
            [CompletionResult]::new('--repair', '--repair', [CompletionResultType]::ParameterName, 'Fix what is certain; needs -o or --backup')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;redact' {
            [CompletionResult]::new('--env-file', '--env-file', [CompletionResultType]::ParameterName, 'Also take out the values of this dotenv file')
            [CompletionResult]::new('--secret-file', '--secret-file', [CompletionResultType]::ParameterName, 'Also take out the lines of this file, one secret per line')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH (- is standard output), not to the session')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set')
            [CompletionResult]::new('--paths', '--paths', [CompletionResultType]::ParameterName, 'Replace home folders by ~ and user names by user')
            [CompletionResult]::new('--keep-images', '--keep-images', [CompletionResultType]::ParameterName, 'Keep images, which cannot be searched for secrets')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Report secrets and write nothing; exit 1 if there are any')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing, print what would be written')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no notes, only errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;help' {
            [CompletionResult]::new('migrate', 'migrate', [CompletionResultType]::ParameterValue, 'Bring old session files to version 3')
            [CompletionResult]::new('tree', 'tree', [CompletionResultType]::ParameterValue, 'Draw the conversation as a tree')
            [CompletionResult]::new('path', 'path', [CompletionResultType]::ParameterValue, 'List the entries from the root to an entry')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show entries in full')
            [CompletionResult]::new('label', 'label', [CompletionResultType]::ParameterValue, 'Set, clear or list labels')
            [CompletionResult]::new('append', 'append', [CompletionResultType]::ParameterValue, 'Add entries: messages, notes, settings, a name')
            [CompletionResult]::new('edit', 'edit', [CompletionResultType]::ParameterValue, 'Change what the model sees of an entry, and leave the entry as it is')
            [CompletionResult]::new('pick', 'pick', [CompletionResultType]::ParameterValue, 'Copy entries to the leaf, or onto another entry')
            [CompletionResult]::new('fork', 'fork', [CompletionResultType]::ParameterValue, 'Copy the path to an entry, or the whole tree, into a new session')
            [CompletionResult]::new('compact', 'compact', [CompletionResultType]::ParameterValue, 'Summarise the older part of the conversation and go on from there')
            [CompletionResult]::new('summarize', 'summarize', [CompletionResultType]::ParameterValue, 'Go to another entry and leave a summary of the branch behind')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Bring another branch back as a summary at the leaf')
            [CompletionResult]::new('branches', 'branches', [CompletionResultType]::ParameterValue, 'List the branches')
            [CompletionResult]::new('grep', 'grep', [CompletionResultType]::ParameterValue, 'Search the text of sessions')
            [CompletionResult]::new('stats', 'stats', [CompletionResultType]::ParameterValue, 'Count tokens, cost, messages, tools and time')
            [CompletionResult]::new('switch', 'switch', [CompletionResultType]::ParameterValue, 'Go on from another entry')
            [CompletionResult]::new('pop', 'pop', [CompletionResultType]::ParameterValue, 'Take the last question back, and leave a summary of what came after it')
            [CompletionResult]::new('context', 'context', [CompletionResultType]::ParameterValue, 'Print what the model would see at an entry')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Export a session as a page or a document')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Tell what is wrong with session files, and repair it')
            [CompletionResult]::new('redact', 'redact', [CompletionResultType]::ParameterValue, 'Write a copy of a session without its secrets')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pisess;help;migrate' {
            break
        }
        'pisess;help;tree' {
            break
        }
        'pisess;help;path' {
            break
        }
        'pisess;help;show' {
            break
        }
        'pisess;help;label' {
            break
        }
        'pisess;help;append' {
            break
        }
        'pisess;help;edit' {
            break
        }
        'pisess;help;pick' {
            break
        }
        'pisess;help;fork' {
            break
        }
        'pisess;help;compact' {
            break
        }
        'pisess;help;summarize' {
            break
        }
        'pisess;help;merge' {
            break
        }
        'pisess;help;branches' {
            break
        }
        'pisess;help;grep' {
            break
        }
        'pisess;help;stats' {
            break
        }
        'pisess;help;switch' {
            break
        }
        'pisess;help;pop' {
            break
        }
        'pisess;help;context' {
            break
        }
        'pisess;help;export' {
            break
        }
        'pisess;help;check' {
            break
        }
        'pisess;help;redact' {
            break
        }
        'pisess;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
