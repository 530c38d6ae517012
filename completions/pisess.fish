# Completion of pisess for fish. Install this file as ~/.config/fish/completions/pisess.fish.

function __pisess_complete
    set --local words (commandline --current-process --tokenize --cut-at-cursor)
    # The word as typed, without its quotes, one of which may be open.
    set --local token (commandline --current-token --cut-at-cursor)
    set --local word (string unescape -- $token)
    # In quotes, a tilde is not the home directory; outside of them, a brace could not be completed.
    if string match --quiet --regex '^[\'"]~/|^[^\'"]*(?<!\\\\)\{' -- $token
        return
    end
    pisess completions fish --at (count $words) -- $words $word 2>/dev/null
end

complete --command pisess --no-files --keep-order --arguments '(__pisess_complete)'
