# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_pisess_global_optspecs
    string join \n color= q/quiet list h/help V/version
end

function __fish_pisess_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_pisess_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_pisess_using_subcommand
    set -l cmd (__fish_pisess_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c pisess -n "__fish_pisess_needs_command" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_needs_command" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_needs_command" -l list -d 'List all commands, including those provided by programs on the PATH'
complete -c pisess -n "__fish_pisess_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_needs_command" -s V -l version -d 'Print version'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "migrate" -d 'Migrate old session files to version 3'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "tree" -d 'Draw the conversation as a tree'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "path" -d 'List the entries from the root to an entry'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "show" -d 'Show entries in full'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "label" -d 'Set, clear or list labels'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "append" -d 'Append entries: messages, notes, settings or a session name'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "edit" -d 'Change what the model sees of an entry, not the entry itself'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "pick" -d 'Copy entries to the leaf, or under another entry'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "fork" -d 'Copy the path to an entry, or the whole tree, into a new session'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "compact" -d 'Replace the older part of the context with a summary'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "summarize" -d 'Move to another entry, summarizing the branch you leave'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "merge" -d 'Append a summary of another branch at the leaf'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "branches" -d 'List the branches of a session'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "grep" -d 'Search the text of sessions'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "stats" -d 'Count tokens, cost, messages, tools and time'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "switch" -d 'Switch to another branch or entry'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "pop" -d 'Undo the last user message, leaving a summary of what followed'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "context" -d 'Print what the model would see at an entry'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "export" -d 'Export a session as a page or a document'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "check" -d 'Check session files, and optionally repair them'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "redact" -d 'Write a copy of a session without its secrets'
complete -c pisess -n "__fish_pisess_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -l backup -d 'Keep the old file, with SUFFIX appended to its name' -r
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -l check -d 'Change nothing; report what needs migration, and exit 1 if anything does'
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -s r -l recursive -d 'Recurse into subdirectories'
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l filter -d 'Which entries to show: their kind' -r -f -a "default\t'Without settings and bookkeeping'
no-tools\t'Without tool results, too'
user-only\t'Only what the person said'
labeled-only\t'Only what has a label'
all\t'Every entry'"
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l search -d 'Which entries to show: those with all these words in their text, arguments or results' -r
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l at -d 'Draw as if this entry were the leaf' -r
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l unfold -d 'Show each tool row, however many follow each other'
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l ascii -d 'Draw with ASCII characters only'
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l no-ids -d 'Leave the ids out'
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l times -d 'Show when each entry was written, in local time'
complete -c pisess -n "__fish_pisess_using_subcommand tree" -l json -d 'Print one JSON object per row'
complete -c pisess -n "__fish_pisess_using_subcommand tree" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand tree" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand path" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand path" -l ids -d 'Print only the ids'
complete -c pisess -n "__fish_pisess_using_subcommand path" -l json -d 'Print the entries as JSON lines, in version 3 form'
complete -c pisess -n "__fish_pisess_using_subcommand path" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand path" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand show" -l renderer -d 'Command that turns custom entries of TYPE into Markdown' -r
complete -c pisess -n "__fish_pisess_using_subcommand show" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand show" -l children -d 'List the children of each REF instead'
complete -c pisess -n "__fish_pisess_using_subcommand show" -l json -d 'Print the entries as JSON lines, in version 3 form'
complete -c pisess -n "__fish_pisess_using_subcommand show" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand label" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand label" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand label" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand label" -l clear -d 'Clear the label of REF'
complete -c pisess -n "__fish_pisess_using_subcommand label" -l move -d 'Take the label from the entry that has it'
complete -c pisess -n "__fish_pisess_using_subcommand label" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand label" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand label" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand label" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand label" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand append" -l at -d 'The entry under which to append' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l input -d 'Read entries as JSON lines from FILE (- for standard input)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand append" -l name -d 'Set the name of the session; an empty NAME clears it (pi only)' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l model -d 'Change the model from here on' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l thinking -d 'Change the thinking level from here on' -r -f -a "off\t''
minimal\t''
low\t''
medium\t''
high\t''
xhigh\t''
max\t''"
complete -c pisess -n "__fish_pisess_using_subcommand append" -l custom -d 'Append a custom entry of this type, which no model sees' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l data -d 'The data of the custom entry' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l custom-message -d 'Append a custom message of this type, which the model sees' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l text -d 'The text of the custom message' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l user -d 'Append a user message' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l assistant -d 'Append an assistant message, attributed to the current model' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand append" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand append" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand append" -l hidden -d 'Hide the custom message from the user'
complete -c pisess -n "__fish_pisess_using_subcommand append" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand append" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand append" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand append" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand append" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand edit" -l replace -d 'Show the model TEXT instead (- for standard input)' -r
complete -c pisess -n "__fish_pisess_using_subcommand edit" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand edit" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand edit" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand edit" -l omit -d 'Omit the entries from the context'
complete -c pisess -n "__fish_pisess_using_subcommand edit" -l undo -d 'Show the model the original entries again'
complete -c pisess -n "__fish_pisess_using_subcommand edit" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand edit" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand edit" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand edit" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand edit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand pick" -l at -d 'Entry to append the copies under' -r
complete -c pisess -n "__fish_pisess_using_subcommand pick" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand pick" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand pick" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand pick" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand pick" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand pick" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand pick" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand pick" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l cwd -d 'Set the working directory of the new session to DIR' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l dir -d 'Create the new file in DIR' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l hook -d 'Command that receives events as JSON on stdin and may reply; \'\' for none' -r
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l timeout -d 'Time limit for hooks and summarizers' -r
complete -c pisess -n "__fish_pisess_using_subcommand fork" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l before -d 'Stop before REF, which must be a user message, and print its text for editing'
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l subtree -d 'Also copy the descendants of REF, with all their branches'
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l all -d 'Copy every entry and branch'
complete -c pisess -n "__fish_pisess_using_subcommand fork" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand fork" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand fork" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand fork" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l keep-recent-tokens -d 'Number of tokens of recent conversation to keep unsummarized' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l first-kept -d 'Keep REF and everything after it instead; `none` keeps nothing' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l if-over -d 'Compact only if the context exceeds TOKENS, such as 100k or 1.5M' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l summary -d 'Use TEXT as the summary, unchanged' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l summary-file -d 'Read the summary from FILE (- for standard input)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l summarizer -d 'Command that reads the prompt on stdin and prints the summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l instructions -d 'What the summary should focus on' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l hook -d 'Command that receives events as JSON on stdin and may reply; \'\' for none' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l timeout -d 'Time limit for hooks and summarizers' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l replace-instructions -d 'Replace the agent\'s own instructions with those of --instructions'
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l prepare -d 'Print what would be summarized, as JSON, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l prompt -d 'Print the prompt for the summarizer, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand compact" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand compact" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand compact" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand compact" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l at -d 'Entry to leave, if not the leaf' -r
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l label -d 'Label the summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l summary -d 'Use TEXT as the summary, unchanged' -r
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l summary-file -d 'Read the summary from FILE (- for standard input)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l summarizer -d 'Command that reads the prompt on stdin and prints the summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l instructions -d 'What the summary should focus on' -r
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l hook -d 'Command that receives events as JSON on stdin and may reply; \'\' for none' -r
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l timeout -d 'Time limit for hooks and summarizers' -r
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l replace-instructions -d 'Replace the agent\'s own instructions with those of --instructions'
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l prepare -d 'Print what would be summarized, as JSON, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l prompt -d 'Print the prompt for the summarizer, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand summarize" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l label -d 'Label the summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l summary -d 'Use TEXT as the summary, unchanged' -r
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l summary-file -d 'Read the summary from FILE (- for standard input)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l summarizer -d 'Command that reads the prompt on stdin and prints the summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l instructions -d 'What the summary should focus on' -r
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l hook -d 'Command that receives events as JSON on stdin and may reply; \'\' for none' -r
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l timeout -d 'Time limit for hooks and summarizers' -r
complete -c pisess -n "__fish_pisess_using_subcommand merge" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l replace-instructions -d 'Replace the agent\'s own instructions with those of --instructions'
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l prepare -d 'Print what would be summarized, as JSON, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l prompt -d 'Print the prompt for the summarizer, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand merge" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand merge" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand merge" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand branches" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand branches" -l json -d 'Print one JSON object per branch'
complete -c pisess -n "__fish_pisess_using_subcommand branches" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand branches" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s e -l regexp -d 'Search for PATTERN; may be given several times' -r
complete -c pisess -n "__fish_pisess_using_subcommand grep" -l role -d 'Search only entries with this role or type, as user or compaction; may be given several times' -r
complete -c pisess -n "__fish_pisess_using_subcommand grep" -l since -d 'Search only entries since TIME: 7d, 2w, a date, or an RFC 3339 time' -r
complete -c pisess -n "__fish_pisess_using_subcommand grep" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s a -l all -d 'Take all sessions in both agents\' stores'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s i -l ignore-case -d 'Take upper and lower case for the same'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s F -l fixed-strings -d 'Take patterns as literal text'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s w -l word-regexp -d 'Match whole words only'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s l -l files-with-matches -d 'Print only the paths of sessions that match'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s c -l count -d 'Print only how many entries match in each session'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -l active -d 'Search only entries on the path to the leaf'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -l raw -d 'Search every string of an entry: signatures, image data, details, ids'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -l json -d 'Print a JSON object for each entry that matches'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand grep" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand stats" -l by -d 'Print a row for each session, model, day, week, month, project, tool or billed entry' -r -f -a "session\t'A session'
model\t'A model of a provider'
day\t'A local day'
week\t'A week, by its Monday'
month\t'A month'
project\t'The folder of sessions'
tool\t'A tool'
entry\t'A billed entry'"
complete -c pisess -n "__fish_pisess_using_subcommand stats" -l since -d 'Count only entries since TIME: 7d, 2w, a date, or an RFC 3339 time' -r
complete -c pisess -n "__fish_pisess_using_subcommand stats" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand stats" -s a -l all -d 'Take all sessions in both agents\' stores'
complete -c pisess -n "__fish_pisess_using_subcommand stats" -l json -d 'Print a JSON object for each row'
complete -c pisess -n "__fish_pisess_using_subcommand stats" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l label -d 'Label the summary, or REF if there is no summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l summary -d 'Use TEXT as the summary, unchanged' -r
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l summary-file -d 'Read the summary from FILE (- for standard input)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l summarizer -d 'Command that reads the prompt on stdin and prints the summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l instructions -d 'What the summary should focus on' -r
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l hook -d 'Command that receives events as JSON on stdin and may reply; \'\' for none' -r
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l timeout -d 'Time limit for hooks and summarizers' -r
complete -c pisess -n "__fish_pisess_using_subcommand switch" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l summarize -d 'Append a summary of the branch you leave'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l replace-instructions -d 'Replace the agent\'s own instructions with those of --instructions'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l prepare -d 'Print what would be summarized, as JSON, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l prompt -d 'Print the prompt for the summarizer, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand switch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l label -d 'Label the summary, or the user message if there is no summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l summary -d 'Use TEXT as the summary, unchanged' -r
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l summary-file -d 'Read the summary from FILE (- for standard input)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l summarizer -d 'Command that reads the prompt on stdin and prints the summary' -r
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l instructions -d 'What the summary should focus on' -r
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l hook -d 'Command that receives events as JSON on stdin and may reply; \'\' for none' -r
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l timeout -d 'Time limit for hooks and summarizers' -r
complete -c pisess -n "__fish_pisess_using_subcommand pop" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l replace-instructions -d 'Replace the agent\'s own instructions with those of --instructions'
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l prepare -d 'Print what would be summarized, as JSON, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l prompt -d 'Print the prompt for the summarizer, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand pop" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand pop" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand pop" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand pop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand context" -l as -d 'Output format' -r -f -a "messages\t'The agent\'s messages and settings, as JSON'
llm\t'The messages in the roles of a model\'s API, as JSON'
text\t'The transcript that the agent\'s summarizer receives'"
complete -c pisess -n "__fish_pisess_using_subcommand context" -l hook -d 'Command that receives events as JSON on stdin and may reply; \'\' for none' -r
complete -c pisess -n "__fish_pisess_using_subcommand context" -l timeout -d 'Time limit for hooks and summarizers' -r
complete -c pisess -n "__fish_pisess_using_subcommand context" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand context" -l tokens -d 'Print the size of the context in tokens, as the agent estimates it'
complete -c pisess -n "__fish_pisess_using_subcommand context" -l json -d 'Print JSON (the context always is)'
complete -c pisess -n "__fish_pisess_using_subcommand context" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand context" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand export" -l as -d 'Format of the output' -r -f -a "html\t'A page with the tree, the path to each entry, and search'
markdown\t'The path as a document'"
complete -c pisess -n "__fish_pisess_using_subcommand export" -s o -l output -d 'Write to PATH (- is standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand export" -l renderer -d 'Command that turns custom entries of TYPE into Markdown' -r
complete -c pisess -n "__fish_pisess_using_subcommand export" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand export" -l static -d 'Write HTML of one path, without scripts'
complete -c pisess -n "__fish_pisess_using_subcommand export" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand export" -l json -d 'Print the result as JSON'
complete -c pisess -n "__fish_pisess_using_subcommand export" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand check" -l backup -d 'Repair in place, keeping the old file with SUFFIX appended to its name' -r
complete -c pisess -n "__fish_pisess_using_subcommand check" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand check" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand check" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand check" -s r -l recursive -d 'Recurse into subdirectories'
complete -c pisess -n "__fish_pisess_using_subcommand check" -l repair -d 'Apply unambiguous repairs; requires -o or --backup'
complete -c pisess -n "__fish_pisess_using_subcommand check" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand check" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand check" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand check" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l env-file -d 'Also take out the values of this dotenv file' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l secret-file -d 'Also take out the lines of this file, one secret per line' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand redact" -s o -l output -d 'Write the result to PATH instead of the session (- for standard output)' -r -F
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l wait -d 'Seconds to wait for the session\'s lock' -r
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l color -d 'When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l paths -d 'Replace home folders by ~ and user names by user'
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l keep-images -d 'Keep images, which cannot be searched for secrets'
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l check -d 'Report secrets and write nothing; exit 1 if there are any'
complete -c pisess -n "__fish_pisess_using_subcommand redact" -s n -l dry-run -d 'Print what would be written, and write nothing'
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l force -d 'Override refusals, such as overwriting an existing output'
complete -c pisess -n "__fish_pisess_using_subcommand redact" -l json -d 'Print the result as JSON (with -n, the plan)'
complete -c pisess -n "__fish_pisess_using_subcommand redact" -s q -l quiet -d 'Suppress notes, but not errors'
complete -c pisess -n "__fish_pisess_using_subcommand redact" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "migrate" -d 'Migrate old session files to version 3'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "tree" -d 'Draw the conversation as a tree'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "path" -d 'List the entries from the root to an entry'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "show" -d 'Show entries in full'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "label" -d 'Set, clear or list labels'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "append" -d 'Append entries: messages, notes, settings or a session name'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "edit" -d 'Change what the model sees of an entry, not the entry itself'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "pick" -d 'Copy entries to the leaf, or under another entry'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "fork" -d 'Copy the path to an entry, or the whole tree, into a new session'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "compact" -d 'Replace the older part of the context with a summary'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "summarize" -d 'Move to another entry, summarizing the branch you leave'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "merge" -d 'Append a summary of another branch at the leaf'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "branches" -d 'List the branches of a session'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "grep" -d 'Search the text of sessions'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "stats" -d 'Count tokens, cost, messages, tools and time'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "switch" -d 'Switch to another branch or entry'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "pop" -d 'Undo the last user message, leaving a summary of what followed'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "context" -d 'Print what the model would see at an entry'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "export" -d 'Export a session as a page or a document'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "check" -d 'Check session files, and optionally repair them'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "redact" -d 'Write a copy of a session without its secrets'
complete -c pisess -n "__fish_pisess_using_subcommand help; and not __fish_seen_subcommand_from migrate tree path show label append edit pick fork compact summarize merge branches grep stats switch pop context export check redact help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
