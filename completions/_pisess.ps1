
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
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'List all commands, including those provided by programs on the PATH')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('migrate', 'migrate', [CompletionResultType]::ParameterValue, 'Migrate old session files to version 3')
            [CompletionResult]::new('tree', 'tree', [CompletionResultType]::ParameterValue, 'Draw the conversation as a tree')
            [CompletionResult]::new('path', 'path', [CompletionResultType]::ParameterValue, 'List the entries from the root to an entry')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show entries in full')
            [CompletionResult]::new('label', 'label', [CompletionResultType]::ParameterValue, 'Set, clear or list labels')
            [CompletionResult]::new('append', 'append', [CompletionResultType]::ParameterValue, 'Append entries: messages, notes, settings or a session name')
            [CompletionResult]::new('edit', 'edit', [CompletionResultType]::ParameterValue, 'Change what the model sees of an entry, not the entry itself')
            [CompletionResult]::new('pick', 'pick', [CompletionResultType]::ParameterValue, 'Copy entries to the leaf, or under another entry')
            [CompletionResult]::new('fork', 'fork', [CompletionResultType]::ParameterValue, 'Copy the path to an entry, or the whole tree, into a new session')
            [CompletionResult]::new('compact', 'compact', [CompletionResultType]::ParameterValue, 'Replace the older part of the context with a summary')
            [CompletionResult]::new('summarize', 'summarize', [CompletionResultType]::ParameterValue, 'Move to another entry, summarizing the branch you leave')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Append a summary of another branch at the leaf')
            [CompletionResult]::new('branches', 'branches', [CompletionResultType]::ParameterValue, 'List the branches of a session')
            [CompletionResult]::new('grep', 'grep', [CompletionResultType]::ParameterValue, 'Search the text of sessions')
            [CompletionResult]::new('stats', 'stats', [CompletionResultType]::ParameterValue, 'Count tokens, cost, messages, tools and time')
            [CompletionResult]::new('switch', 'switch', [CompletionResultType]::ParameterValue, 'Switch to another branch or entry')
            [CompletionResult]::new('pop', 'pop', [CompletionResultType]::ParameterValue, 'Undo the last user message, leaving a summary of what followed')
            [CompletionResult]::new('context', 'context', [CompletionResultType]::ParameterValue, 'Print what the model would see at an entry')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Export a session as a page or a document')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Check session files, and optionally repair them')
            [CompletionResult]::new('redact', 'redact', [CompletionResultType]::ParameterValue, 'Write a copy of a session without its secrets')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pisess;migrate' {
            [CompletionResult]::new('--backup', '--backup', [CompletionResultType]::ParameterName, 'Keep the old file, with SUFFIX appended to its name')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Change nothing; report what needs migration, and exit 1 if anything does')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Recurse into subdirectories')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Recurse into subdirectories')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;tree' {
            [CompletionResult]::new('--filter', '--filter', [CompletionResultType]::ParameterName, 'Which entries to show: their kind')
            [CompletionResult]::new('--search', '--search', [CompletionResultType]::ParameterName, 'Which entries to show: those with all these words in their text, arguments or results')
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'Draw as if this entry were the leaf')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--unfold', '--unfold', [CompletionResultType]::ParameterName, 'Show each tool row, however many follow each other')
            [CompletionResult]::new('--ascii', '--ascii', [CompletionResultType]::ParameterName, 'Draw with ASCII characters only')
            [CompletionResult]::new('--no-ids', '--no-ids', [CompletionResultType]::ParameterName, 'Leave the ids out')
            [CompletionResult]::new('--times', '--times', [CompletionResultType]::ParameterName, 'Show when each entry was written, in local time')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object per row')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;path' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--ids', '--ids', [CompletionResultType]::ParameterName, 'Print only the ids')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the entries as JSON lines, in version 3 form')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;show' {
            [CompletionResult]::new('--renderer', '--renderer', [CompletionResultType]::ParameterName, 'Command that turns custom entries of TYPE into Markdown')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--children', '--children', [CompletionResultType]::ParameterName, 'List the children of each REF instead')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the entries as JSON lines, in version 3 form')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;label' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--clear', '--clear', [CompletionResultType]::ParameterName, 'Clear the label of REF')
            [CompletionResult]::new('--move', '--move', [CompletionResultType]::ParameterName, 'Take the label from the entry that has it')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;append' {
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'The entry under which to append')
            [CompletionResult]::new('--input', '--input', [CompletionResultType]::ParameterName, 'Read entries as JSON lines from FILE (- for standard input)')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'Set the name of the session; an empty NAME clears it (pi only)')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'Change the model from here on')
            [CompletionResult]::new('--thinking', '--thinking', [CompletionResultType]::ParameterName, 'Change the thinking level from here on')
            [CompletionResult]::new('--custom', '--custom', [CompletionResultType]::ParameterName, 'Append a custom entry of this type, which no model sees')
            [CompletionResult]::new('--data', '--data', [CompletionResultType]::ParameterName, 'The data of the custom entry')
            [CompletionResult]::new('--custom-message', '--custom-message', [CompletionResultType]::ParameterName, 'Append a custom message of this type, which the model sees')
            [CompletionResult]::new('--text', '--text', [CompletionResultType]::ParameterName, 'The text of the custom message')
            [CompletionResult]::new('--user', '--user', [CompletionResultType]::ParameterName, 'Append a user message')
            [CompletionResult]::new('--assistant', '--assistant', [CompletionResultType]::ParameterName, 'Append an assistant message, attributed to the current model')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--hidden', '--hidden', [CompletionResultType]::ParameterName, 'Hide the custom message from the user')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;edit' {
            [CompletionResult]::new('--replace', '--replace', [CompletionResultType]::ParameterName, 'Show the model TEXT instead (- for standard input)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--omit', '--omit', [CompletionResultType]::ParameterName, 'Omit the entries from the context')
            [CompletionResult]::new('--undo', '--undo', [CompletionResultType]::ParameterName, 'Show the model the original entries again')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;pick' {
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'Entry to append the copies under')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;fork' {
            [CompletionResult]::new('--cwd', '--cwd', [CompletionResultType]::ParameterName, 'Set the working directory of the new session to DIR')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Create the new file in DIR')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' for none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--before', '--before', [CompletionResultType]::ParameterName, 'Stop before REF, which must be a user message, and print its text for editing')
            [CompletionResult]::new('--subtree', '--subtree', [CompletionResultType]::ParameterName, 'Also copy the descendants of REF, with all their branches')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Copy every entry and branch')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;compact' {
            [CompletionResult]::new('--keep-recent-tokens', '--keep-recent-tokens', [CompletionResultType]::ParameterName, 'Number of tokens of recent conversation to keep unsummarized')
            [CompletionResult]::new('--first-kept', '--first-kept', [CompletionResultType]::ParameterName, 'Keep REF and everything after it instead; `none` keeps nothing')
            [CompletionResult]::new('--if-over', '--if-over', [CompletionResultType]::ParameterName, 'Compact only if the context exceeds TOKENS, such as 100k or 1.5M')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'Use TEXT as the summary, unchanged')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'Read the summary from FILE (- for standard input)')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'Command that reads the prompt on stdin and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should focus on')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' for none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Replace the agent''s own instructions with those of --instructions')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarized, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print the prompt for the summarizer, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;summarize' {
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'Entry to leave, if not the leaf')
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Label the summary')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'Use TEXT as the summary, unchanged')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'Read the summary from FILE (- for standard input)')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'Command that reads the prompt on stdin and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should focus on')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' for none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Replace the agent''s own instructions with those of --instructions')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarized, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print the prompt for the summarizer, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;merge' {
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Label the summary')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'Use TEXT as the summary, unchanged')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'Read the summary from FILE (- for standard input)')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'Command that reads the prompt on stdin and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should focus on')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' for none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Replace the agent''s own instructions with those of --instructions')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarized, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print the prompt for the summarizer, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;branches' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object per branch')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;grep' {
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Search for PATTERN; may be given several times')
            [CompletionResult]::new('--regexp', '--regexp', [CompletionResultType]::ParameterName, 'Search for PATTERN; may be given several times')
            [CompletionResult]::new('--role', '--role', [CompletionResultType]::ParameterName, 'Search only entries with this role or type, as user or compaction; may be given several times')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Search only entries since TIME: 7d, 2w, a date, or an RFC 3339 time')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
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
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;stats' {
            [CompletionResult]::new('--by', '--by', [CompletionResultType]::ParameterName, 'Print a row for each session, model, day, week, month, project, tool or billed entry')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Count only entries since TIME: 7d, 2w, a date, or an RFC 3339 time')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('-a', '-a', [CompletionResultType]::ParameterName, 'Take all sessions in both agents'' stores')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Take all sessions in both agents'' stores')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object for each row')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;switch' {
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Label the summary, or REF if there is no summary')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'Use TEXT as the summary, unchanged')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'Read the summary from FILE (- for standard input)')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'Command that reads the prompt on stdin and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should focus on')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' for none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--summarize', '--summarize', [CompletionResultType]::ParameterName, 'Append a summary of the branch you leave')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Replace the agent''s own instructions with those of --instructions')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarized, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print the prompt for the summarizer, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;pop' {
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Label the summary, or the user message if there is no summary')
            [CompletionResult]::new('--summary', '--summary', [CompletionResultType]::ParameterName, 'Use TEXT as the summary, unchanged')
            [CompletionResult]::new('--summary-file', '--summary-file', [CompletionResultType]::ParameterName, 'Read the summary from FILE (- for standard input)')
            [CompletionResult]::new('--summarizer', '--summarizer', [CompletionResultType]::ParameterName, 'Command that reads the prompt on stdin and prints the summary')
            [CompletionResult]::new('--instructions', '--instructions', [CompletionResultType]::ParameterName, 'What the summary should focus on')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' for none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--replace-instructions', '--replace-instructions', [CompletionResultType]::ParameterName, 'Replace the agent''s own instructions with those of --instructions')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Print what would be summarized, as JSON, and write nothing')
            [CompletionResult]::new('--prompt', '--prompt', [CompletionResultType]::ParameterName, 'Print the prompt for the summarizer, and write nothing')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;context' {
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'Output format')
            [CompletionResult]::new('--hook', '--hook', [CompletionResultType]::ParameterName, 'Command that receives events as JSON on stdin and may reply; '''' for none')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time limit for hooks and summarizers')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--tokens', '--tokens', [CompletionResultType]::ParameterName, 'Print the size of the context in tokens, as the agent estimates it')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON (the context always is)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;export' {
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'Format of the output')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to PATH (- is standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to PATH (- is standard output)')
            [CompletionResult]::new('--renderer', '--renderer', [CompletionResultType]::ParameterName, 'Command that turns custom entries of TYPE into Markdown')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--static', '--static', [CompletionResultType]::ParameterName, 'Write HTML of one path, without scripts')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;check' {
            [CompletionResult]::new('--backup', '--backup', [CompletionResultType]::ParameterName, 'Repair in place, keeping the old file with SUFFIX appended to its name')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Recurse into subdirectories')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Recurse into subdirectories')
            [CompletionResult]::new('--repair', '--repair', [CompletionResultType]::ParameterName, 'Apply unambiguous repairs; requires -o or --backup')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;redact' {
            [CompletionResult]::new('--env-file', '--env-file', [CompletionResultType]::ParameterName, 'Also take out the values of this dotenv file')
            [CompletionResult]::new('--secret-file', '--secret-file', [CompletionResultType]::ParameterName, 'Also take out the lines of this file, one secret per line')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write the result to PATH instead of the session (- for standard output)')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Seconds to wait for the session''s lock')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)')
            [CompletionResult]::new('--paths', '--paths', [CompletionResultType]::ParameterName, 'Replace home folders by ~ and user names by user')
            [CompletionResult]::new('--keep-images', '--keep-images', [CompletionResultType]::ParameterName, 'Keep images, which cannot be searched for secrets')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Report secrets and write nothing; exit 1 if there are any')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be written, and write nothing')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Override refusals, such as overwriting an existing output')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON (with -n, the plan)')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Suppress notes, but not errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'pisess;help' {
            [CompletionResult]::new('migrate', 'migrate', [CompletionResultType]::ParameterValue, 'Migrate old session files to version 3')
            [CompletionResult]::new('tree', 'tree', [CompletionResultType]::ParameterValue, 'Draw the conversation as a tree')
            [CompletionResult]::new('path', 'path', [CompletionResultType]::ParameterValue, 'List the entries from the root to an entry')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show entries in full')
            [CompletionResult]::new('label', 'label', [CompletionResultType]::ParameterValue, 'Set, clear or list labels')
            [CompletionResult]::new('append', 'append', [CompletionResultType]::ParameterValue, 'Append entries: messages, notes, settings or a session name')
            [CompletionResult]::new('edit', 'edit', [CompletionResultType]::ParameterValue, 'Change what the model sees of an entry, not the entry itself')
            [CompletionResult]::new('pick', 'pick', [CompletionResultType]::ParameterValue, 'Copy entries to the leaf, or under another entry')
            [CompletionResult]::new('fork', 'fork', [CompletionResultType]::ParameterValue, 'Copy the path to an entry, or the whole tree, into a new session')
            [CompletionResult]::new('compact', 'compact', [CompletionResultType]::ParameterValue, 'Replace the older part of the context with a summary')
            [CompletionResult]::new('summarize', 'summarize', [CompletionResultType]::ParameterValue, 'Move to another entry, summarizing the branch you leave')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Append a summary of another branch at the leaf')
            [CompletionResult]::new('branches', 'branches', [CompletionResultType]::ParameterValue, 'List the branches of a session')
            [CompletionResult]::new('grep', 'grep', [CompletionResultType]::ParameterValue, 'Search the text of sessions')
            [CompletionResult]::new('stats', 'stats', [CompletionResultType]::ParameterValue, 'Count tokens, cost, messages, tools and time')
            [CompletionResult]::new('switch', 'switch', [CompletionResultType]::ParameterValue, 'Switch to another branch or entry')
            [CompletionResult]::new('pop', 'pop', [CompletionResultType]::ParameterValue, 'Undo the last user message, leaving a summary of what followed')
            [CompletionResult]::new('context', 'context', [CompletionResultType]::ParameterValue, 'Print what the model would see at an entry')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Export a session as a page or a document')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Check session files, and optionally repair them')
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
