//! Plans that the user approved, as Claude Code reports them to the model.
//!
//! ```text
//! User has approved your plan. …
//! Your plan has been saved to: plans/chart.md        The user approved the plan
//! …                                             ──>  (in `plans/chart.md`): "Draw it in blue, …"
//! ## Approved Plan:
//! Draw it in blue, …
//! ```

use super::budget::{APPROVED_PLAN, COMMAND, POINT};
use super::call::SummaryCall;
use super::condense::condense_request;
use super::decision::Decision;
use super::decisions::Decisions;
use super::quote::{code_span, quote_line};
use super::sections::EARLIER_MARK;

/// How the decision for a plan begins.
const APPROVED_PLAN_LEAD: &str = "The user approved the plan";

/// A plan that the user approved.
struct ApprovedPlan<'o> {
    /// The file that has it; empty if it is not known.
    path: &'o str,
    text: &'o str,
}

impl<'o> ApprovedPlan<'o> {
    /// Reads the result of a call. `None` if the call did not propose a plan, if the user did not
    /// approve the plan, or if the result has no text of it.
    fn read(call: &SummaryCall, output: &'o str) -> Option<ApprovedPlan<'o>> {
        const TOOLS: [&str; 2] = ["ExitPlanMode", "exit_plan_mode"];
        const START: &str = "User has approved your plan";
        const PATH_LEAD: &str = "saved to: ";
        const HEADING: &str = "\n## Approved Plan";

        if !TOOLS.contains(&&*call.tool) || !output.starts_with(START) {
            return None;
        }
        let (before_heading, from_heading) = output.split_once(HEADING)?;
        let (_rest_of_heading, text) = from_heading.split_once('\n')?;
        let path = match before_heading.split_once(PATH_LEAD) {
            Some((_, from_path)) => from_path.lines().next().unwrap_or_default().trim(),
            None => "",
        };
        Some(ApprovedPlan { path, text })
    }

    /// Describes the plan, and quotes about `max` UTF-16 units of it: what binds the work first.
    fn describe(&self, max: usize) -> String {
        let quotation = quote_line(&condense_request(self.text, max), max);
        if self.path.is_empty() {
            return format!("{APPROVED_PLAN_LEAD}: {quotation}");
        }
        let path = code_span(self.path, COMMAND);
        format!("{APPROVED_PLAN_LEAD} (in {path}): {quotation}")
    }
}

impl Decisions {
    /// Adds as a decision the plan that the user approved, if this is the result of a call that
    /// proposed one. It replaces the plan before.
    pub fn add_approved_plan(&mut self, call: &SummaryCall, output: &str, turn_number: usize) {
        let Some(plan) = ApprovedPlan::read(call, output) else {
            return;
        };
        self.0.retain(|known| {
            let text = known.text.trim_start_matches(EARLIER_MARK);
            !text.starts_with(APPROVED_PLAN_LEAD)
        });
        let text = plan.describe(APPROVED_PLAN);
        let short_text = plan.describe(POINT);
        self.add(Decision::new(text, short_text, turn_number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions_after(tool: &str, outputs: &[&str]) -> Vec<String> {
        let call = SummaryCall {
            tool: tool.to_owned(),
            ..SummaryCall::default()
        };
        let earlier = vec!["Earlier: The user approved the plan: \"Old.\"".to_owned()];
        let mut decisions = Decisions::from_previous(earlier);
        for output in outputs {
            decisions.add_approved_plan(&call, output, 1);
        }
        let texts = decisions.0.iter().map(|decision| decision.text.clone());
        texts.collect()
    }

    #[test]
    fn the_newest_plan_is_a_decision_with_its_file() {
        let blue = "User has approved your plan. Go on.\n\nYour plan has been saved to: p/chart.md\n\
            You can refer back to it.\n\n## Approved Plan:\nDraw it in blue.\n";
        let red = "User has approved your plan.\n\n## Approved Plan:\nDraw it in red.";
        assert_eq!(
            decisions_after("ExitPlanMode", &[red, blue]),
            ["The user approved the plan (in `p/chart.md`): \"Draw it in blue.\""]
        );
    }

    #[test]
    fn other_results_approve_no_plan() {
        let approved = "User has approved your plan.\n\n## Approved Plan:\nDraw it.";
        let earlier = ["Earlier: The user approved the plan: \"Old.\""];
        // A file may begin in the same way.
        assert_eq!(decisions_after("ReadPlan", &[approved]), earlier);
        for output in [
            "User chose to stay in plan mode",
            "User has approved your plan. You can now start coding.",
            "",
        ] {
            assert_eq!(decisions_after("ExitPlanMode", &[output]), earlier);
        }
    }
}
