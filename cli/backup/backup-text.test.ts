import { expect, test } from "vitest";
import { rawNumber } from "../../packages/json/json-reader.ts";
import { type Backup, backupText, parseBackup } from "./backup-text.ts";

const backup: Backup = {
	time: "2026-11-30T21:00:00.000Z",
	namespace: undefined,
	manifests: [
		{ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
		{
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Source",
			metadata: { name: "orders", namespace: "shop" },
			spec: { type: "Webhook", displayName: "06:30 — # no comment\n---\nx" },
		},
	],
	needed: [
		{
			kind: "Secret",
			namespace: "shop",
			name: "orders-webhook-url",
			use: "source/orders",
		},
		{ kind: "Bucket", namespace: "", name: "events", use: "shards 0,1" },
	],
};

test.each([undefined, "shop"])(
	"a backup of %s is read as it was written",
	async (namespace) => {
		const written = { ...backup, namespace };
		expect(await parseBackup(await backupText(written), "b.yaml")).toEqual(
			written,
		);
	},
);

test("an integer that JavaScript can't hold is written as it is", async () => {
	const [first, second] = backup.manifests;
	const spec = { limit: rawNumber("9007199254740993") };
	const manifests = [first!, { ...second!, spec }];
	expect(await backupText({ ...backup, manifests })).toContain(
		"limit: 9007199254740993\n",
	);
});

test("a file that isn't a whole backup is refused, and what else stands in it is left out", async () => {
	const text = await backupText(backup);
	for (const part of ["", "kind: Source\n", text.slice(0, -1)])
		await expect(parseBackup(part, "b.yaml")).rejects.toThrow(/^b\.yaml /);
	const pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n";
	const longer = text.replace("# End", `${pod}# End`);
	expect(await parseBackup(longer, "b.yaml")).toEqual(backup);
});
