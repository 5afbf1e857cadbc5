import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { providers } from "../../packages/contracts/providers.ts";
import { providerNamed, webhookOf } from "./providers.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/senders.md"), "utf8");
test.each(["stripe", "github", "shopify"])(
	"a source with --provider %s is the one of its example, with its plan",
	(name) => {
		const file = join(root, `examples/${name}/${name}.yaml`);
		const objects = parseAllDocuments(readFileSync(file, "utf8")).map((each) =>
			each.toJS(),
		);
		const of = (kind: string) =>
			objects.find((object) => object.kind === kind)?.spec;
		const provider = providers[name]!;
		expect(of("TrackingPlan").eventType).toEqual(provider.eventType);
		expect(of("Source").webhook).toEqual({
			...webhookOf(provider, `${name}-secret`),
			trackingPlanRef: { name },
		});
	},
);

test("each provider with a section in docs/senders.md is known by name", () => {
	const known = Object.values(providers).map(({ title }) => title);
	const [, table = ""] = /^\| Provider \|.*?\n\|[- |]+\n(.*?)\n\n/ms.exec(
		page,
	)!;
	for (const [, title] of table.matchAll(
		/^\| \[?([^|\]]+?)(?:\]\(.*?\))? \|/gm,
	))
		expect(known).toContain(title);
});

test.each(
	globSync("examples/senders/*.yaml", { cwd: root }).map((file) =>
		basename(file, ".yaml"),
	),
)("--provider %s takes the example of that name", async (name) => {
	const provider = await providerNamed(name);
	const written = JSON.stringify(webhookOf(provider, "mine"));
	expect(written).not.toContain('"name":"provider"');
	expect(written.includes('"name":"mine"')).toBe(provider.secret !== undefined);
	if (!(name in providers)) expect(provider.paste).toMatch(/https:\/\//);
});

test("a name with a typo is told what there is", async () => {
	await expect(providerNamed("strpe")).rejects.toThrow(
		'there is no provider "strpe". Did you mean "stripe"? There are github, ',
	);
	await expect(providerNamed("../senders/paddle")).rejects.toThrow(
		"there is no provider",
	);
});
