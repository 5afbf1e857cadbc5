import { expect, test } from "vitest";
import { eventReasons } from "./event-reasons.ts";
import { reasons } from "./reasons.ts";

test("docs/reference/events.md has the reason of every Event", async () => {
	await expect(page()).toMatchFileSnapshot("../../docs/reference/events.md");
});

function page(): string {
	const sections = Object.entries(eventReasons).map(([kind, own]) => {
		const types: Record<string, Record<string, string>> = reasons[
			kind as keyof typeof reasons
		];
		return [
			`## ${kind}\n`,
			"| Reason | Meaning |",
			"| --- | --- |",
			...Object.entries({ ...own, ...types.Ready }).map(
				([reason, meaning]) => `| \`${reason}\` | ${meaning} |`,
			),
			"",
		].join("\n");
	});
	return [introduction, ...sections].join("\n");
}

const introduction = `# Events

<!-- Written from operator/reconcile/event-reasons.ts and operator/reconcile/reasons.ts by "npm run unit -- operator/event-reasons -u". -->

An Event (\`events.k8s.io/v1\`, of \`tidemill.dev/operator\`) is recorded when something happens that a person would look for, and
each time that the condition \`Ready\` comes to another reason. The same Event again within six minutes only counts up.

    kubectl describe run orders-29381760
    kubectl get events --field-selector reason=RunFailed --watch

Events are kept for as long as the cluster keeps them (an hour unless it is told otherwise); conditions stay.
`;
