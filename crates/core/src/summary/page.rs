//! The content of each section of the summary, within the limits of [`super::budget`].

use super::budget::*;
use super::fitting::{item_size, items_size, join_fitting, keep_newest};
use super::quote::{count_fitting, count_utf16, is_narrower};
use super::request_lengths::{longest_request, size_of_requests};
use super::sections::*;
use super::{SummaryBuilder, SummarySubject};

/// A page that is being written.
struct Draft {
    page: Sections,
    /// The number of UTF-16 units that are left.
    room: usize,
}

impl Draft {
    /// Adds the newest items that fit, before those of the section that are there already.
    fn add(&mut self, section: Section, items: Vec<String>) {
        let items = keep_newest(items, self.room);
        self.room -= items_size(&items);
        self.insert(section, items);
    }

    /// Inserts items before those of the section that are there already. Their size is not taken
    /// from the room.
    fn insert(&mut self, section: Section, items: Vec<String>) {
        self.page.items_mut(section).splice(..0, items);
    }

    /// Adds an item, before those of the section that are there already. It has `own_room` units,
    /// which other items cannot take.
    fn add_beside(&mut self, section: Section, item: Option<String>, own_room: usize) {
        if let Some(item) = item {
            let excess = item_size(&item).saturating_sub(own_room);
            self.room = self.room.saturating_sub(excess);
            self.page.items_mut(section).insert(0, item);
        }
    }

    /// Drops the wishes among the constraints that a decision quotes, and gets back their room.
    fn drop_repeated_wishes(&mut self) {
        let size_before = items_size(self.page.items(Section::Constraints));
        self.page.drop_wishes_in_decisions();
        self.room += size_before - items_size(self.page.items(Section::Constraints));
    }
}

impl SummaryBuilder {
    /// Returns the summary. Sections that matter more for going on take their space first. Some is
    /// set aside for the list of earlier requests, which also gets what the others leave. The
    /// current request has a limit of its own; if it is long, the other sections have less.
    ///
    /// Sections are filled from the items that matter most on, and each later item is inserted
    /// above the earlier ones. Only the current request is inserted last and comes first.
    pub(super) fn write_page(&self) -> String {
        let mut draft = Draft {
            page: Sections::default(),
            room: self.room_beside_request(),
        };
        self.draft_state(&mut draft);

        // Room for earlier requests and their answers, before what is inferred from them.
        let requests_room = self.room_for_requests().min(draft.room * 2 / 5);
        draft.room -= requests_room;
        let assistants_choices = self.draft_choices_and_effects(&mut draft);
        self.draft_outcomes(&mut draft, assistants_choices, requests_room);

        let mut page = draft.page;
        if let Some(request) = self.quote_current_request() {
            page.items_mut(Section::Goal).insert(0, request);
        }
        let is_branch = self.subject == SummarySubject::Branch;
        let empty_sections = if is_branch && page.are_mostly_empty() {
            EmptySections::LeftOut
        } else {
            EmptySections::Marked
        };
        page.to_markdown(empty_sections)
    }

    /// Adds what is next, what binds and what is open, which must not be missing. What matters most
    /// comes first, because it takes room from what follows.
    fn draft_state(&self, draft: &mut Draft) {
        draft.add(Section::NextSteps, self.next_steps());
        draft.add(Section::Goal, self.background_of_request());
        draft.add(Section::Blocked, self.blocked_points());
        draft.add(Section::Constraints, self.rules_and_wishes());
        draft.add(Section::InProgress, self.calls_and_todo_list());
    }

    /// Adds the decisions, and what the calls did and found, in the same way.
    ///
    /// Returns the assistant's own choices, whose room is taken. They become decisions after the
    /// outcomes were added to these.
    fn draft_choices_and_effects(&self, draft: &mut Draft) -> Vec<String> {
        let last_words = self.turn.last_words();
        draft.add(Section::Decisions, self.describe_decisions(draft.room));

        let lists_max = DECISION_LISTS.min(draft.room);
        let choice_lists = self.own_choices.describe_lists(lists_max, last_words);
        draft.room -= items_size(&choice_lists);

        draft.add(
            Section::Context,
            self.newest_points(Section::Context, CONTEXT),
        );
        let causes = self.list_causes(&draft.page);
        draft.add(Section::Context, causes);
        draft.add(Section::Done, self.describe_effects());

        let room_before_findings = draft.room.saturating_sub(self.room_for_findings());
        let choices_max = OWN_CHOICES.min(room_before_findings);
        let single_choices = self.own_choices.describe(choices_max, last_words);
        draft.room -= items_size(&single_choices);

        let mut own_choices = choice_lists;
        own_choices.extend(single_choices);
        draft.add(Section::InProgress, self.quote_remarks(&own_choices));
        let findings_max = FOUND.min(draft.room + OWN_ROOM_OF_FOUND);
        let findings = self.list_findings(findings_max);
        draft.add_beside(Section::InProgress, findings, OWN_ROOM_OF_FOUND);
        own_choices
    }

    /// Lists the causes that the assistant found, but not those that the request before or the last
    /// words on the page have anyway.
    fn list_causes(&self, page: &Sections) -> Vec<String> {
        let mut quoted_texts = vec![self.turn.last_words()];
        for item in page.items(Section::Goal) {
            quoted_texts.push(item);
        }
        self.causes.describe(CAUSES, &quoted_texts)
    }

    /// Describes the decisions of the user in a part of the `room` that is left, in UTF-16 units.
    /// If that is little, their texts are shorter.
    fn describe_decisions(&self, room: usize) -> Vec<String> {
        let room_before_findings = room.saturating_sub(self.room_for_findings());
        let least = LEAST_DECISIONS.min(room);
        let max = room_before_findings.clamp(least, DECISIONS);
        let described = self.decisions.describe(self.turn.number, max);
        let mut decisions = keep_newest(described, max);
        self.refer_to_request(&mut decisions);
        decisions
    }

    /// Adds what became of decisions and requests: replies, failures that the user put off, and the
    /// list of earlier requests, which gets all room that the others leave.
    ///
    /// `requests_room` is what other sections left to that list.
    fn draft_outcomes(
        &self,
        draft: &mut Draft,
        assistants_choices: Vec<String>,
        requests_room: usize,
    ) {
        draft.drop_repeated_wishes();
        let outcomes_max = draft.room / 2;
        let decisions = draft.page.items_mut(Section::Decisions);
        let outcomes = self.add_outcomes(decisions, outcomes_max);
        draft.room -= outcomes.size;

        // Replies are added to the decisions by their place, so other items come only now.
        draft.insert(Section::Decisions, assistants_choices);
        let put_off_size = self.add_put_off_failures(draft.page.items_mut(Section::Decisions));
        draft.room = draft.room.saturating_sub(put_off_size);

        draft.room += requests_room;
        let requests = self.list_earlier_requests(draft.room, &draft.page, &outcomes);
        draft.insert(Section::Done, requests);
    }

    /// Returns the number of UTF-16 units that the other sections leave to earlier requests and
    /// their answers, without the requests under Goal.
    fn room_for_requests(&self) -> usize {
        let turns = self.listed_turns();
        if turns.is_empty() {
            return 0;
        }
        let max = longest_request(&self.earlier_turns, USER_WORDS);
        size_of_requests(turns, max).min(USER_WORDS) + EARLIER_ANSWERS
    }

    /// Returns the number of UTF-16 units for all but the current request: fewer if that is long.
    fn room_beside_request(&self) -> usize {
        if self.turn.request.is_empty() {
            // The goals of the previous summary take its place.
            return OTHER_SECTIONS + GOALS_WITHOUT_REQUEST;
        }
        let request_size = count_utf16(&self.turn.request).min(WHOLE_REQUEST);
        // The page may grow by one half of a long request, and the other sections shrink by the
        // other half.
        let room = OTHER_SECTIONS.saturating_sub(request_size / 2);
        room.max(LEAST_OTHER_SECTIONS) + self.room_of_long_purpose()
    }

    /// Replaces the answer in the newest decision if it is the current request, which is quoted
    /// word for word: `Asked "Which map?", the user answered with the request under Goal`.
    fn refer_to_request(&self, decisions: &mut [String]) {
        // With a nod, the answer is the nod. A short request is repeated.
        if !self.turn.nod.is_empty() || is_narrower(&self.turn.request, LONG_REQUEST) {
            return;
        }
        let newest = self.decisions.newest_first().next();
        let is_of_request = newest.is_some_and(|decision| decision.is_made_by(&self.turn));
        if !is_of_request {
            return;
        }
        let Some(text) = decisions.last_mut() else {
            return;
        };
        // `question` ends with "the user".
        if let Some((question, from_answer)) = text.split_once(" answered \"")
            && let Some((_, after_answer)) = from_answer.split_once('"')
        {
            *text = format!("{question} answered with the request under Goal{after_answer}");
        }
    }

    /// Returns the lists of rules, those of the skill in use, and the newest wishes, each in its
    /// own room.
    fn rules_and_wishes(&self) -> Vec<String> {
        let mut rules = Vec::new();
        let mut wishes = Vec::new();
        for item in self.points.items(Section::Constraints) {
            let text = item.trim_start_matches(EARLIER_MARK);
            let is_of_skill = text.starts_with(SKILL_RULES_LEAD);
            if is_of_skill && self.skill.is_some() {
                continue;
            }
            if is_of_skill || text.starts_with(RULES_LEAD) {
                rules.push(item.clone());
            } else {
                wishes.push(item.clone());
            }
        }
        let mut constraints = keep_newest(rules, 2 * RULES);
        let skill = self.skill.as_ref();
        constraints.extend(skill.and_then(|skill| skill.describe(self.turn.number)));
        constraints.extend(keep_newest(wishes, SECTION));
        constraints
    }

    /// Adds the failures that the user put off to the decisions, oldest first, and returns the
    /// number of UTF-16 units that they take.
    fn add_put_off_failures(&self, decisions: &mut Vec<String>) -> usize {
        let size_before = items_size(decisions);
        for failure in self.failures.put_off.iter().take(MOST_PUT_OFF).rev() {
            failure.add_to(decisions);
        }
        items_size(decisions) - size_before
    }

    /// Returns the facts for the prompt in which a model is asked for a summary, as Markdown:
    /// purpose, constraints, decisions and failures. The sizes of sections are limited by
    /// [`super::budget`], in UTF-16 units.
    ///
    /// Facts that were taken from a previous summary are left out, because the prompt contains that
    /// summary.
    pub(super) fn describe_facts(&self) -> String {
        let described = self.decisions.describe(self.turn.number, DECISIONS);
        let mut decisions = keep_newest(described, DECISIONS);
        // Only now, because the limit is not for these: their number has one of its own.
        self.add_put_off_failures(&mut decisions);

        let mut facts = Sections::default();
        *facts.items_mut(Section::Goal) = self.purpose.describe().into_iter().collect();
        *facts.items_mut(Section::Constraints) = self.rules_and_wishes();
        *facts.items_mut(Section::Decisions) = decisions;
        *facts.items_mut(Section::Blocked) = self.blocked_points();

        // A wish among the constraints need not be repeated if a decision quotes it. Decisions of a
        // previous summary count here, so they are dropped only afterwards.
        facts.drop_wishes_in_decisions();
        for items in facts.sections_mut() {
            items.retain(|item| {
                let is_of_previous_summary = item.starts_with(EARLIER_MARK);
                !is_of_previous_summary
            });
        }
        facts.to_markdown(EmptySections::LeftOut)
    }

    /// Returns the newest points of a section that fit. Points of a previous summary are dropped if
    /// they name a path that was removed since, except wishes, which outlive the path.
    pub(super) fn newest_points(&self, section: Section, room: usize) -> Vec<String> {
        let mut points = self.points.items(section).to_vec();
        if section != Section::Constraints {
            points.retain(|point| {
                let is_earlier = point.starts_with(EARLIER_MARK);
                let is_out_of_date = is_earlier && self.removals.are_named_in(point);
                !is_out_of_date
            });
        }
        keep_newest(points, room)
    }

    /// Returns the open failures, then those of a previous summary that no later call settled. If
    /// they do not all fit, the last item is the number of the others.
    fn blocked_points(&self) -> Vec<String> {
        let mut points = self.failures.points.clone();
        for point in self.newest_points(Section::Blocked, LIST) {
            let failure = point.trim_start_matches(EARLIER_MARK);
            if !self.tool_history.is_settled(failure) {
                points.push(point);
            }
        }
        let shown_count = count_fitting(points.iter().map(|point| item_size(point)), SECTION);
        let omitted_count = points.len() - shown_count;
        points.truncate(shown_count);
        if omitted_count > 0 {
            points.push(format!(
                "{omitted_count} more failed without a later success."
            ));
        }
        points
    }

    /// Lists what the calls did, in at most three lines: commits, changed files, and commands that
    /// passed. The files are only those of the newest work, because the agent lists all files below
    /// the summary.
    fn describe_effects(&self) -> Vec<String> {
        let history = &self.tool_history;
        let commits = history.commit_messages();
        let changed = history.changed_files(&self.removals);
        let changed_lead = format!("{CHANGED_LEAD} {}, newest first: ", changed.occasion);
        let passed = history.passed_commands();

        let mut lists = Vec::new();
        lists.extend(join_fitting("Commits, newest first: ", &commits, SECTION));
        lists.extend(join_fitting(&changed_lead, &changed.newest_first, FILES));
        lists.extend(join_fitting(PASSED_LEAD, &passed, COMMANDS));
        lists
    }
}
