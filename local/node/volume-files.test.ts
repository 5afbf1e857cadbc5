import { expect, test } from "vitest";
import { pod, sources } from "./pod-fixture.ts";
import type { Volume } from "./pod-spec.ts";
import { volumeFiles } from "./volume-files.ts";

const known = sources({
	Secret: { input: { "input.json": "{}", other: "x" } },
	ConfigMap: { config: { a: "1" } },
});

async function filesOf(volume: Omit<Volume, "name">) {
	const files = await volumeFiles({ name: "v", ...volume }, pod(), known);
	return files.map(({ path, content, mode }) => [
		path,
		content.toString(),
		mode.toString(8),
	]);
}

test("a Secret's keys are files, or those that are asked for under their paths", async () => {
	expect(await filesOf({ secret: { secretName: "input" } })).toEqual([
		["input.json", "{}", "644"],
		["other", "x", "644"],
	]);
	const items = [{ key: "other", path: "deep/name", mode: 0o400 }];
	expect(await filesOf({ secret: { secretName: "input", items } })).toEqual([
		["deep/name", "x", "400"],
	]);
});

test("a projected volume holds the files of all its sources", async () => {
	const volume = {
		projected: {
			defaultMode: 0o440,
			sources: [
				{ serviceAccountToken: { path: "token", audience: "sts" } },
				{ configMap: { name: "config" } },
				{
					downwardAPI: {
						items: [
							{ path: "ns", fieldRef: { fieldPath: "metadata.namespace" } },
						],
					},
				},
			],
		},
	};
	expect(await filesOf(volume)).toEqual([
		["token", "token for sts", "600"],
		["a", "1", "440"],
		["ns", "default", "440"],
	]);
});

test("a missing object or key is an error unless it is optional", async () => {
	const missing = { secretName: "none" };
	await expect(filesOf({ secret: missing })).rejects.toThrow(
		'secret "none" not found',
	);
	expect(await filesOf({ secret: { ...missing, optional: true } })).toEqual([]);
	const items = [{ key: "z", path: "z" }];
	await expect(
		filesOf({ secret: { secretName: "input", items } }),
	).rejects.toThrow("references non-existent secret key: z");
});
