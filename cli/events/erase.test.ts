import { expect, test } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess } from "../../test/support/cli/in-process.ts";

const operations = "/apis/tidemill.dev/v1alpha1/namespaces/mine/operations";
const found = { places: [], tables: [], unreached: [], time: "" };

/** @param erase What the status says. @param earlier Specs and phases of other Operations. */
async function erasing(
	erase: object,
	earlier: [spec: object, phase: string][],
) {
	const specs: object[] = [];
	const server = await apiserver((line, body) => {
		if (
			line === `POST ${operations}?fieldManager=tidemill&fieldValidation=Strict`
		) {
			const operation = JSON.parse(body);
			specs.push(operation.spec);
			const status = {
				phase: "Succeeded",
				completionTime: "2026-03-03T00:00:00Z",
				summary: "Erased",
				erase: { ...found, ...erase },
			};
			return [201, { ...operation, status }];
		}
		const items = earlier.map(([spec, phase], index) => ({
			metadata: { name: `before-${index}`, uid: String(index) },
			spec: { type: "Erase", sourceRef: { name: "shop" }, ...spec },
			status: { phase },
		}));
		return [200, { metadata: {}, items }];
	});
	const run = (...options: string[]) =>
		inProcess(
			...["events", "erase", "shop", ...options],
			...(options.includes("--dry-run") ? [] : ["--confirm", "shop"]),
			...server.args,
		);
	return { specs, run };
}

test("a dry run needs no confirmation, and says what it has found in which table", async () => {
	const message = "3 rows would be erased or blanked, 3 in table orders.";
	const tables = [{ pipeline: "orders", phase: "Done", rows: 3, message }];
	const { specs, run } = await erasing({ tables }, []);
	const { exitCode, stdout } = await run(...byNumber, "--dry-run");
	expect(exitCode).toBe(0);
	expect(stdout).toContain(`Pipeline orders: ${message}`);
	expect(specs).toMatchObject([{ erase: { dryRun: true, confirm: "shop" } }]);
});

const byNumber = ["--body-pointer", "/id", "--equals-number", "7016"];
const match = { bodyPointer: "/id", equalsNumber: "7016" };
const same = { erase: { mode: "BlankBody", confirm: "shop", match } };

test("an Erase by a number asks for a number, and by a string for a string", async () => {
	const { specs, run } = await erasing({}, []);
	expect(await run(...byNumber)).toMatchObject({ exitCode: 0 });
	await run("--body-pointer", "/id", "--equals", "7016");
	expect(specs).toMatchObject([
		{ erase: { match } },
		{ erase: { match: { bodyPointer: "/id", equals: "7016" } } },
	]);
	expect(specs[0]).not.toHaveProperty("erase.match.equals");
});

test.each([
	[["--body-pointer", "/id"]],
	[["--equals-number", "1"]],
	[[...byNumber, "--equals", "1"]],
	[[...byNumber, "--event-id", "a"]],
	[[]],
])("%j is no way to say which events", async (options) => {
	const { specs, run } = await erasing({}, []);
	const { exitCode, stderr } = await run(...options);
	expect(exitCode).toBe(2);
	expect(stderr).toContain("--equals and --equals-number");
	expect(specs).toEqual([]);
});

test.each<[string, [object, string][], exitCode: number, words: string]>([
	["and nobody has asked before", [], 4, ""],
	[
		"and the same was erased before",
		[[same, "Succeeded"]],
		0,
		"before-0 has erased the same before",
	],
	[
		"and a dry run has asked for the same",
		[[{ erase: { ...same.erase, dryRun: true } }, "Succeeded"]],
		4,
		"",
	],
	["and one that failed has asked for the same", [[same, "Failed"]], 4, ""],
	[
		"and another value or Source was erased before",
		[
			[
				{ erase: { ...same.erase, match: { ...match, equalsNumber: "1" } } },
				"Succeeded",
			],
			[{ ...same, sourceRef: { name: "other" } }, "Succeeded"],
		],
		4,
		"",
	],
])(
	"where there is nothing to erase, %s",
	async (_, earlier, exitCode, words) => {
		const { run } = await erasing({ isNothing: true }, earlier);
		const answer = await run(...byNumber);
		expect(answer.exitCode).toBe(exitCode);
		expect(answer.stderr).toContain(words);
	},
);
