
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
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand --list 'List the commands, with those that programs on the PATH add'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand migrate 'Bring old session files to version 3'
            cand tree 'Draw the conversation as a tree'
            cand path 'List the entries from the root to an entry'
            cand show 'Show entries in full'
            cand label 'Set, clear or list labels'
            cand append 'Add entries: messages, notes, settings, a name'
            cand edit 'Change what the model sees of an entry, and leave the entry as it is'
            cand pick 'Copy entries to the leaf, or onto another entry'
            cand fork 'Copy the path to an entry, or the whole tree, into a new session'
            cand compact 'Summarise the older part of the conversation and go on from there'
            cand summarize 'Go to another entry and leave a summary of the branch behind'
            cand merge 'Bring another branch back as a summary at the leaf'
            cand branches 'List the branches'
            cand grep 'Search the text of sessions'
            cand stats 'Count tokens, cost, messages, tools and time'
            cand switch 'Go on from another entry'
            cand pop 'Take the last question back, and leave a summary of what came after it'
            cand context 'Print what the model would see at an entry'
            cand export 'Export a session as a page or a document'
            cand check 'Tell what is wrong with session files, and repair it'
            cand redact 'Write a copy of a session without its secrets'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pisess;migrate'= {
            cand --backup 'Keep the old file too, with SUFFIX behind its name'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --check 'Change nothing, only tell what is to be migrated (then exit 1)'
            cand -r 'Look into folders of folders, too'
            cand --recursive 'Look into folders of folders, too'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;tree'= {
            cand --filter 'Which entries to show: their kind'
            cand --search 'Which entries to show: those with all these words in their text, arguments or results'
            cand --at 'Draw as if this entry were the leaf'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --unfold 'Show each tool row, however many follow each other'
            cand --ascii 'Draw with ASCII characters only'
            cand --no-ids 'Leave the ids out'
            cand --times 'Show when each entry was written, in local time'
            cand --json 'Print one JSON object per row'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;path'= {
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --ids 'Print the ids only'
            cand --json 'Print the entries themselves, as version 3 stores them'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;show'= {
            cand --renderer 'Command that turns custom entries of TYPE into Markdown'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --children 'List the entries directly under each REF instead'
            cand --json 'Print the entries themselves, as version 3 stores them'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;label'= {
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --clear 'Clear the entry''s label'
            cand --move 'Take the label from the entry that has it'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;append'= {
            cand --at 'The entry under which to append'
            cand --input 'Entries as JSON lines, from a file; - is standard input'
            cand --name 'pi: name the session; an empty name takes it off'
            cand --model 'Another model from here on'
            cand --thinking 'Another thinking level from here on'
            cand --custom 'A custom entry, which no model sees'
            cand --data 'What the custom entry holds'
            cand --custom-message 'A custom message, which the model sees'
            cand --text 'What the custom message says'
            cand --user 'A message of the person'
            cand --assistant 'A reply of the model, by the one in force there'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --hidden 'Do not show the custom message to the person'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;edit'= {
            cand --replace 'The model sees this text instead; - is standard input'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --omit 'The model does not see them'
            cand --undo 'The model sees them as they are'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;pick'= {
            cand --at 'The entry under which the copies go'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;fork'= {
            cand --cwd 'The working folder of the new session, when it is to be another'
            cand --dir 'The folder to put the new file in'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' is none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --before 'End before REF, a user message, and print its text to be edited'
            cand --subtree 'Copy what hangs below REF, too, with its branches'
            cand --all 'Copy every entry and branch'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;compact'= {
            cand --keep-recent-tokens 'How much of the newest conversation to keep as it is'
            cand --first-kept 'Keep from this entry on instead; none keeps nothing'
            cand --if-over 'Do nothing unless the context has more tokens, such as 100k or 1.5M'
            cand --summary 'The summary, stored as it is'
            cand --summary-file 'A file that holds the summary; - is standard input'
            cand --summarizer 'A shell command that reads the prompt and prints the summary'
            cand --instructions 'What the summary should pay attention to'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' is none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --replace-instructions 'Tell the summarizer these instructions instead of the agent''s'
            cand --prepare 'Print what would be summarised, as JSON, and write nothing'
            cand --prompt 'Print what a summarizer would be told, and write nothing'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;summarize'= {
            cand --at 'The entry to leave, when it is not the leaf'
            cand --label 'Label the summary'
            cand --summary 'The summary, stored as it is'
            cand --summary-file 'A file that holds the summary; - is standard input'
            cand --summarizer 'A shell command that reads the prompt and prints the summary'
            cand --instructions 'What the summary should pay attention to'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' is none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --replace-instructions 'Tell the summarizer these instructions instead of the agent''s'
            cand --prepare 'Print what would be summarised, as JSON, and write nothing'
            cand --prompt 'Print what a summarizer would be told, and write nothing'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;merge'= {
            cand --label 'Label the summary'
            cand --summary 'The summary, stored as it is'
            cand --summary-file 'A file that holds the summary; - is standard input'
            cand --summarizer 'A shell command that reads the prompt and prints the summary'
            cand --instructions 'What the summary should pay attention to'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' is none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --replace-instructions 'Tell the summarizer these instructions instead of the agent''s'
            cand --prepare 'Print what would be summarised, as JSON, and write nothing'
            cand --prompt 'Print what a summarizer would be told, and write nothing'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;branches'= {
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --json 'Print a JSON object for each branch'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;grep'= {
            cand -e 'Search for PATTERN; may be given several times'
            cand --regexp 'Search for PATTERN; may be given several times'
            cand --role 'Search only entries with this role or type, as user or compaction; may be given several times'
            cand --since 'Search only entries since TIME: 7d, 2w, a date, or an RFC 3339 time'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
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
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;stats'= {
            cand --by 'Print a row for each session, model, day, week, month, project, tool or billed entry'
            cand --since 'Count only entries since TIME: 7d, 2w, a date, or an RFC 3339 time'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand -a 'Take all sessions in both agents'' stores'
            cand --all 'Take all sessions in both agents'' stores'
            cand --json 'Print a JSON object for each row'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;switch'= {
            cand --label 'Label the summary; if none is left, label REF'
            cand --summary 'The summary, stored as it is'
            cand --summary-file 'A file that holds the summary; - is standard input'
            cand --summarizer 'A shell command that reads the prompt and prints the summary'
            cand --instructions 'What the summary should pay attention to'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' is none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --summarize 'Leave a summary of what is left behind'
            cand --replace-instructions 'Tell the summarizer these instructions instead of the agent''s'
            cand --prepare 'Print what would be summarised, as JSON, and write nothing'
            cand --prompt 'Print what a summarizer would be told, and write nothing'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;pop'= {
            cand --label 'Label the summary; if none is left, label the question'
            cand --summary 'The summary, stored as it is'
            cand --summary-file 'A file that holds the summary; - is standard input'
            cand --summarizer 'A shell command that reads the prompt and prints the summary'
            cand --instructions 'What the summary should pay attention to'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' is none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --replace-instructions 'Tell the summarizer these instructions instead of the agent''s'
            cand --prepare 'Print what would be summarised, as JSON, and write nothing'
            cand --prompt 'Print what a summarizer would be told, and write nothing'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;context'= {
            cand --as 'What to print'
            cand --hook 'Command that receives events as JSON on stdin and may reply; '''' is none'
            cand --timeout 'Time limit for hooks and summarizers'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --tokens 'Print how many tokens that is, by the agent''s estimate'
            cand --json 'Print JSON (which the context is in any case)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;export'= {
            cand --as 'Format of the output'
            cand -o 'Write to PATH (- is standard output)'
            cand --output 'Write to PATH (- is standard output)'
            cand --renderer 'Command that turns custom entries of TYPE into Markdown'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --static 'Write HTML of one path, without scripts'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;check'= {
            cand --backup 'Repair in place, and keep the old file with SUFFIX behind its name'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand -r 'Look into folders of folders, too'
            cand --recursive 'Look into folders of folders, too'
            cand --repair 'Fix what is certain; needs -o or --backup'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;redact'= {
            cand --env-file 'Also take out the values of this dotenv file'
            cand --secret-file 'Also take out the lines of this file, one secret per line'
            cand -o 'Write the result to PATH (- is standard output), not to the session'
            cand --output 'Write the result to PATH (- is standard output), not to the session'
            cand --wait 'Seconds to wait for the session''s lock'
            cand --color 'Colour the output: always, never, or auto: on a terminal unless NO_COLOR is set'
            cand --paths 'Replace home folders by ~ and user names by user'
            cand --keep-images 'Keep images, which cannot be searched for secrets'
            cand --check 'Report secrets and write nothing; exit 1 if there are any'
            cand -n 'Write nothing, print what would be written'
            cand --dry-run 'Write nothing, print what would be written'
            cand --force 'Override refusals, such as overwriting an existing output'
            cand --json 'Print the result as JSON (with -n, the plan)'
            cand -q 'Print no notes, only errors'
            cand --quiet 'Print no notes, only errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'pisess;help'= {
            cand migrate 'Bring old session files to version 3'
            cand tree 'Draw the conversation as a tree'
            cand path 'List the entries from the root to an entry'
            cand show 'Show entries in full'
            cand label 'Set, clear or list labels'
            cand append 'Add entries: messages, notes, settings, a name'
            cand edit 'Change what the model sees of an entry, and leave the entry as it is'
            cand pick 'Copy entries to the leaf, or onto another entry'
            cand fork 'Copy the path to an entry, or the whole tree, into a new session'
            cand compact 'Summarise the older part of the conversation and go on from there'
            cand summarize 'Go to another entry and leave a summary of the branch behind'
            cand merge 'Bring another branch back as a summary at the leaf'
            cand branches 'List the branches'
            cand grep 'Search the text of sessions'
            cand stats 'Count tokens, cost, messages, tools and time'
            cand switch 'Go on from another entry'
            cand pop 'Take the last question back, and leave a summary of what came after it'
            cand context 'Print what the model would see at an entry'
            cand export 'Export a session as a page or a document'
            cand check 'Tell what is wrong with session files, and repair it'
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
