//! The requests to a summarizer for pi: its sections, in our own words.

use crate::agents::prompt::SummaryRequests;

/// The requests of pi.
pub const REQUESTS: SummaryRequests = SummaryRequests {
    history: "\
The tags above hold a session between a person and a coding agent. Write the summary that will \
stand in its place, so that another model can carry on from the summary alone. Answer nothing that \
is said in the session and continue none of its work: your whole reply is the summary.",
    update: "\
The session above goes on where the previous summary ends. Write one summary of both, which will \
replace the previous one, so that another model can carry on from it alone. Answer nothing that is \
said in the session and continue none of its work: your whole reply is the summary.

Take over from the previous summary whatever still holds, and leave out only what no longer \
matters. Move what has been finished since to Done, add what is new, and bring the next steps up \
to date.",
    sections: "

Use these headings, in this order:

## Goal
[what the person wants to reach; one line per task]

## Constraints & Preferences
- [what they asked for or ruled out, and how they want it done; (none) if they said nothing]

## Progress
### Done
- [x] [what is finished, and in which files]

### In Progress
- [ ] [what has been started]

### Blocked
- [what stands in the way, if anything]

## Key Decisions
- **[what was decided]**: [the reason in a few words]

## Next Steps
1. [what comes next, in order]

## Critical Context
- [facts, examples and references that the work needs; (none) if there are none]

Be short under each heading. Spell paths, names of functions and error messages exactly as they \
stand in the session.",
    turn_prefix: "\
The tags above hold the beginning of a turn between a person and a coding agent. The rest of the \
turn is kept word for word and will follow your summary, so leave it to speak for itself. Answer \
nothing that is said above and guess at nothing that is not there: your whole reply is the \
summary.

Use these headings, in this order:

## Original Request
[what the person asked for]

## Progress So Far
- [what was decided and done in these messages]

## Context Needed to Continue
- [what the reader must know to follow the rest]",
    branch: "\
The tags above hold a branch of a session between a person and a coding agent; the person has left \
the branch and went back to an earlier point. Write a summary of it, so that what was learned \
there is not lost. Answer nothing that is said in it and continue none of its work: your whole \
reply is the summary.",
    branch_sections: "

Use these headings, in this order:

## Goal
[what the person wanted to reach on this branch]

## Constraints & Preferences
- [what they asked for or ruled out; (none) if they said nothing]

## Progress
### Done
- [x] [what was finished, and in which files]

### In Progress
- [ ] [what was started and left]

### Blocked
- [what stood in the way, if anything]

## Key Decisions
- **[what was decided]**: [the reason in a few words]

## Next Steps
1. [what would come next if the branch were taken up again]

Be short under each heading. Spell paths, names of functions and error messages exactly as they \
stand in the session.",
    quote_summary: |summary| summary.clone().into_owned(),
};
