import { expect, test } from "vitest";
import { jobEndings } from "../job/endings.ts";
import { reasons } from "./reasons.ts";

test("docs/reference/conditions.md has every reason, with its meaning", async () => {
	await expect(page()).toMatchFileSnapshot(
		"../../docs/reference/conditions.md",
	);
});

function page(): string {
	const sections = Object.entries(reasons).flatMap(([kind, types]) =>
		Object.entries(types).flatMap(([type, meanings]) => [
			`## ${kind}: ${type}\n`,
			"| Reason | Meaning |",
			"| --- | --- |",
			...Object.entries(meanings).map(
				([reason, meaning]) => `| \`${reason}\` | ${meaning} |`,
			),
			"",
		]),
	);
	const endings = Object.entries(jobEndings).map(
		([code, meaning]) => `| \`${code}\` | ${meaning} |`,
	);
	return [introduction, ...sections, endingsHead, ...endings, ""].join("\n");
}

const introduction = `# Conditions

<!-- Written from operator/reconcile/reasons.ts by "npm run unit -- operator/reasons -u". Change that instead. -->

\`status.conditions\` says how a resource is: one entry a type, with a \`reason\` for machines and a \`message\` for people that
names the thing and what to do next. \`lastTransitionTime\` moves only when \`status\` flips (KEP-1623).

    kubectl wait --for=condition=Ready source/orders destination/lake pipeline/orders trackingplan/orders
    kubectl wait --for=condition=Complete run/orders-29381760
    kubectl describe source orders        # conditions, and the Events that tell how it came to them

A reason never changes its name; new ones may come.
`;

const endingsHead = `## Jobs that end without a word of their process

The code stands in a Run's \`status.error\`, and in the message of a Destination whose check it was. An ending for which
Kubernetes has another word, such as \`StartError\`, has that. Codes of archive and of the Jobs: [errors.md](errors.md).

| Code | Meaning |
| --- | --- |`;
