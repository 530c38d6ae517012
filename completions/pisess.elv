
use builtin;
use str;

set edit:completion:arg-completer[pisess] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'pisess'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'pisess'= {
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand --list 'List all commands, including those provided by programs on the PATH'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand migrate 'Migrate old session files to version 3'
            cand tree 'Draw the conversation as a tree'
            cand path 'List the entries from the root to an entry'
            cand show 'Show entries in full'
            cand label 'Set, clear or list labels'
            cand append 'Append entries: messages, notes, settings or a session name'
            cand edit 'Change what the model sees of an entry, not the entry itself'
            cand pick 'Copy entries to the leaf, or under another entry'
            cand fork 'Copy the path to an entry, or the whole tree, into a new session'
            cand compact 'Replace the older part of the context with a summary'
            cand summarize 'Move to another entry, summarizing the branch you leave'
            cand merge 'Append a summary of another branch at the leaf'
            cand branches 'List the branches of a session'
            cand grep 'Search the text of sessions'
            cand stats 'Count tokens, cost, messages, tools and time'
            cand switch 'Switch to another branch or entry'
            cand pop 'Undo the last user message, leaving a summary of what followed'
            cand context 'Print what the model would see at an entry'
            cand export 'Export a session as a page or a document'
            cand check 'Check session files, and optionally repair them'
            cand redact 'Write a copy of a session without its secrets'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pisess;migrate'= {
            cand --backup 'Keep the old file, with SUFFIX appended to its name'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --check 'Change nothing; report what needs migration, and exit 1 if anything does'
            cand -r 'Recurse into subdirectories'
            cand --recursive 'Recurse into subdirectories'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;tree'= {
            cand --filter 'Which entries to show: their kind'
            cand --search 'Which entries to show: those with all these words in their text, arguments or results'
            cand --at 'Draw as if this entry were the leaf'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --unfold 'Show each tool row, however many follow each other'
            cand --ascii 'Draw with ASCII characters only'
            cand --no-ids 'Leave the ids out'
            cand --times 'Show when each entry was written, in local time'
            cand --json 'Print one JSON object per row'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;path'= {
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --ids 'Print only the ids'
            cand --json 'Print the entries as JSON lines, in version 3 form'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;show'= {
            cand --renderer 'Command that turns custom entries of TYPE into Markdown'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --children 'List the children of each REF instead'
            cand --json 'Print the entries as JSON lines, in version 3 form'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;label'= {
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --clear 'Clear the label of REF'
            cand --move 'Take the label from the entry that has it'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;append'= {
            cand --at 'The entry under which to append'
            cand --input 'Read entries as JSON lines from FILE (- for standard input)'
            cand --name 'Set the name of the session; an empty NAME clears it (pi only)'
            cand --model 'Change the model from here on'
            cand --thinking 'Change the thinking level from here on'
            cand --custom 'Append a custom entry of this type, which no model sees'
            cand --data 'The data of the custom entry'
            cand --custom-message 'Append a custom message of this type, which the model sees'
            cand --text 'The text of the custom message'
            cand --user 'Append a user message'
            cand --assistant 'Append an assistant message, attributed to the current model'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --hidden 'Hide the custom message from the user'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;edit'= {
            cand --replace 'Show the model TEXT instead (- for standard input)'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --omit 'Omit the entries from the context'
            cand --undo 'Show the model the original entries again'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;pick'= {
            cand --at 'Entry to append the copies under'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;fork'= {
            cand --cwd 'Set the working directory of the new session to DIR'
            cand --dir 'Create the new file in DIR'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' for none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --before 'Stop before REF, which must be a user message, and print its text for editing'
            cand --subtree 'Also copy the descendants of REF, with all their branches'
            cand --all 'Copy every entry and branch'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;compact'= {
            cand --keep-recent-tokens 'Number of tokens of recent conversation to keep unsummarized'
            cand --first-kept 'Keep REF and everything after it instead; `none` keeps nothing'
            cand --if-over 'Compact only if the context exceeds TOKENS, such as 100k or 1.5M'
            cand --summary 'Use TEXT as the summary, unchanged'
            cand --summary-file 'Read the summary from FILE (- for standard input)'
            cand --summarizer 'Command that reads the prompt on stdin and prints the summary'
            cand --instructions 'What the summary should focus on'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' for none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --replace-instructions 'Replace the agent''s own instructions with those of --instructions'
            cand --prepare 'Print what would be summarized, as JSON, and write nothing'
            cand --prompt 'Print the prompt for the summarizer, and write nothing'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;summarize'= {
            cand --at 'Entry to leave, if not the leaf'
            cand --label 'Label the summary'
            cand --summary 'Use TEXT as the summary, unchanged'
            cand --summary-file 'Read the summary from FILE (- for standard input)'
            cand --summarizer 'Command that reads the prompt on stdin and prints the summary'
            cand --instructions 'What the summary should focus on'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' for none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --replace-instructions 'Replace the agent''s own instructions with those of --instructions'
            cand --prepare 'Print what would be summarized, as JSON, and write nothing'
            cand --prompt 'Print the prompt for the summarizer, and write nothing'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;merge'= {
            cand --label 'Label the summary'
            cand --summary 'Use TEXT as the summary, unchanged'
            cand --summary-file 'Read the summary from FILE (- for standard input)'
            cand --summarizer 'Command that reads the prompt on stdin and prints the summary'
            cand --instructions 'What the summary should focus on'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' for none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --replace-instructions 'Replace the agent''s own instructions with those of --instructions'
            cand --prepare 'Print what would be summarized, as JSON, and write nothing'
            cand --prompt 'Print the prompt for the summarizer, and write nothing'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;branches'= {
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --json 'Print one JSON object per branch'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;grep'= {
            cand -e 'Search for PATTERN; may be given several times'
            cand --regexp 'Search for PATTERN; may be given several times'
            cand --role 'Search only entries with this role or type, as user or compaction; may be given several times'
            cand --since 'Search only entries since TIME: 7d, 2w, a date, or an RFC 3339 time'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand -a 'Take all sessions in both agents'' stores'
            cand --all 'Take all sessions in both agents'' stores'
            cand -i 'Take upper and lower case for the same'
            cand --ignore-case 'Take upper and lower case for the same'
            cand -F 'Take patterns as literal text'
            cand --fixed-strings 'Take patterns as literal text'
            cand -w 'Match whole words only'
            cand --word-regexp 'Match whole words only'
            cand -l 'Print only the paths of sessions that match'
            cand --files-with-matches 'Print only the paths of sessions that match'
            cand -c 'Print only how many entries match in each session'
            cand --count 'Print only how many entries match in each session'
            cand --active 'Search only entries on the path to the leaf'
            cand --raw 'Search every string of an entry: signatures, image data, details, ids'
            cand --json 'Print a JSON object for each entry that matches'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;stats'= {
            cand --by 'Print a row for each session, model, day, week, month, project, tool or billed entry'
            cand --since 'Count only entries since TIME: 7d, 2w, a date, or an RFC 3339 time'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand -a 'Take all sessions in both agents'' stores'
            cand --all 'Take all sessions in both agents'' stores'
            cand --json 'Print a JSON object for each row'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;switch'= {
            cand --label 'Label the summary, or REF if there is no summary'
            cand --summary 'Use TEXT as the summary, unchanged'
            cand --summary-file 'Read the summary from FILE (- for standard input)'
            cand --summarizer 'Command that reads the prompt on stdin and prints the summary'
            cand --instructions 'What the summary should focus on'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' for none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --summarize 'Append a summary of the branch you leave'
            cand --replace-instructions 'Replace the agent''s own instructions with those of --instructions'
            cand --prepare 'Print what would be summarized, as JSON, and write nothing'
            cand --prompt 'Print the prompt for the summarizer, and write nothing'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;pop'= {
            cand --label 'Label the summary, or the user message if there is no summary'
            cand --summary 'Use TEXT as the summary, unchanged'
            cand --summary-file 'Read the summary from FILE (- for standard input)'
            cand --summarizer 'Command that reads the prompt on stdin and prints the summary'
            cand --instructions 'What the summary should focus on'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' for none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --replace-instructions 'Replace the agent''s own instructions with those of --instructions'
            cand --prepare 'Print what would be summarized, as JSON, and write nothing'
            cand --prompt 'Print the prompt for the summarizer, and write nothing'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;context'= {
            cand --as 'Output format'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' for none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --tokens 'Print the size of the context in tokens, as the agent estimates it'
            cand --json 'Print JSON (the context always is)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;export'= {
            cand --as 'Format of the output'
            cand -o 'Write to PATH (- is standard output)'
            cand --output 'Write to PATH (- is standard output)'
            cand --renderer 'Command that turns custom entries of TYPE into Markdown'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --static 'Write HTML of one path, without scripts'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;check'= {
            cand --backup 'Repair in place, keeping the old file with SUFFIX appended to its name'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand -r 'Recurse into subdirectories'
            cand --recursive 'Recurse into subdirectories'
            cand --repair 'Apply unambiguous repairs; requires -o or --backup'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;redact'= {
            cand --env-file 'Also take out the values of this dotenv file'
            cand --secret-file 'Also take out the lines of this file, one secret per line'
            cand -o 'Write the result to PATH instead of the session (- for standard output)'
            cand --output 'Write the result to PATH instead of the session (- for standard output)'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)'
            cand --paths 'Replace home folders by ~ and user names by user'
            cand --keep-images 'Keep images, which cannot be searched for secrets'
            cand --check 'Report secrets and write nothing; exit 1 if there are any'
            cand -n 'Print what would be written, and write nothing'
            cand --dry-run 'Print what would be written, and write nothing'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Suppress notes, but not errors'
            cand --quiet 'Suppress notes, but not errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;help'= {
            cand migrate 'Migrate old session files to version 3'
            cand tree 'Draw the conversation as a tree'
            cand path 'List the entries from the root to an entry'
            cand show 'Show entries in full'
            cand label 'Set, clear or list labels'
            cand append 'Append entries: messages, notes, settings or a session name'
            cand edit 'Change what the model sees of an entry, not the entry itself'
            cand pick 'Copy entries to the leaf, or under another entry'
            cand fork 'Copy the path to an entry, or the whole tree, into a new session'
            cand compact 'Replace the older part of the context with a summary'
            cand summarize 'Move to another entry, summarizing the branch you leave'
            cand merge 'Append a summary of another branch at the leaf'
            cand branches 'List the branches of a session'
            cand grep 'Search the text of sessions'
            cand stats 'Count tokens, cost, messages, tools and time'
            cand switch 'Switch to another branch or entry'
            cand pop 'Undo the last user message, leaving a summary of what followed'
            cand context 'Print what the model would see at an entry'
            cand export 'Export a session as a page or a document'
            cand check 'Check session files, and optionally repair them'
            cand redact 'Write a copy of a session without its secrets'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pisess;help;migrate'= {
        }
        &'pisess;help;tree'= {
        }
        &'pisess;help;path'= {
        }
        &'pisess;help;show'= {
        }
        &'pisess;help;label'= {
        }
        &'pisess;help;append'= {
        }
        &'pisess;help;edit'= {
        }
        &'pisess;help;pick'= {
        }
        &'pisess;help;fork'= {
        }
        &'pisess;help;compact'= {
        }
        &'pisess;help;summarize'= {
        }
        &'pisess;help;merge'= {
        }
        &'pisess;help;branches'= {
        }
        &'pisess;help;grep'= {
        }
        &'pisess;help;stats'= {
        }
        &'pisess;help;switch'= {
        }
        &'pisess;help;pop'= {
        }
        &'pisess;help;context'= {
        }
        &'pisess;help;export'= {
        }
        &'pisess;help;check'= {
        }
        &'pisess;help;redact'= {
        }
        &'pisess;help;help'= {
        }
    ]
    $completions[$command]
}
