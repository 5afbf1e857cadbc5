import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";

async function create(...args: string[]) {
	const server = await apiserver((_, body) => [201, JSON.parse(body)]);
	const file = join(server.folder, "source.yaml");
	await writeFile(
		file,
		"{kind: Source, metadata: {name: shop, namespace: theirs}, spec: {type: Webhook}}",
	);
	const answer = await tidemill(
		...server.args,
		...["sources", "create", "-f", file, ...args],
	);
	return { ...answer, paths: server.asked.map((line) => line.split("?")[0]) };
}

test.each([[[]], [["-n", "theirs"]]])(
	"with %j an object is created in its manifest's namespace",
	async (args) => {
		const { exitCode, paths } = await create(...args);
		expect(paths).toEqual([
			"POST /apis/tidemill.dev/v1alpha1/namespaces/theirs/sources",
		]);
		expect(exitCode).toBe(0);
	},
);

test("a namespace beside a manifest for another is refused", async () => {
	const { exitCode, stderr, paths } = await create("-n", "other");
	expect(stderr).toContain(
		'--namespace is "other", but the manifest is for "theirs"',
	);
	expect([exitCode, paths]).toEqual([2, []]);
});

test("a dry run prints what people keep in Git, without the cluster's defaults", async () => {
	const { args } = await apiserver((_, body) => [
		201,
		{ ...JSON.parse(body), status: {} },
	]);
	const { stdout } = await tidemill(
		...["sources", "create", "shop", "--set=displayName=Shop", ...args],
		...["--dry-run", "-o", "yaml"],
	);
	expect(stdout).toBe(
		"apiVersion: tidemill.dev/v1alpha1\nkind: Source\nmetadata:\n  name: shop\nspec:\n  type: Webhook\n  displayName: Shop\n",
	);
});
