// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";
import { destinationKind } from "../../crds/generated/types.ts";
import {
	aWhile,
	type ConsoleSession,
	expectInvalid,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { type Hands, withKeyboard, withMouse } from "./hands.ts";
import { applySourceAndDestination, patch, send } from "./shop.ts";

interface PipelineObject {
	spec: { table: Record<string, unknown> } & Record<string, unknown>;
	status: {
		inferredColumns?: { columns: object[] };
		eventTypeTables?: { types: { type: string; table: string }[] };
	};
}

describe.skipIf(noBrowser)("what a Pipeline makes of its events", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-tables", [
			...["tidemill-editor", "tidemill-admin", "tidemill-log-reader"],
		]);
		await applySourceAndDestination(visitor);
		await applyDestination(visitor, "postgres", {
			type: "Postgres",
			postgres: {
				host: "postgres.example.com",
				database: "shop",
				credentials: { secretRef: { name: "none" } },
			},
		});
		for (const [id, type] of ["order.placed", "order.paid"].entries())
			await send(visitor, { type, id, order: { total: 19.9 } });
	});
	afterAll(() => visitor?.close());

	test("columns follow the events, are listed after the first Run, copied as YAML, and frozen", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await begin(visitor, hands, "as-sent");
		await hands.tick("A column for each new member");
		expect(
			await page.getByLabel("A table for each event type").isDisabled(),
		).toBe(true);
		await page.getByText("Not with a column for each new member.").waitFor();
		await page
			.getByText("Columns that events bring come with the first run.")
			.waitFor();
		await hands.tick("Keep values that don't fit in a table of their own");
		await expectPage(page, "New pipeline");
		await hands.press("Create");
		await page.getByText("They are known after the first run:").waitFor();
		expect((await pipeline(visitor, "as-sent")).spec.table).toMatchObject({
			schema: "Evolve",
			rejectedValues: true,
		});

		await run(visitor, "as-sent");
		await page.getByRole("rowheader", { name: "order_total" }).waitFor();
		await expectPage(page, "as-sent");
		const found = (await pipeline(visitor, "as-sent")).status.inferredColumns;
		expect(found?.columns).toHaveLength(3);
		await page
			.context()
			.grantPermissions(["clipboard-read", "clipboard-write"]);
		await hands.press("Copy as YAML");
		const frozen = {
			spec: { table: { schema: "Fixed", bodyColumns: found!.columns } },
		};
		await vi.waitFor(
			async () => expect(parse(await clipboard(visitor))).toEqual(frozen),
			aWhile,
		);

		await hands.press("Freeze these columns");
		await page
			.getByText(/^The columns that events have brought are filled/)
			.waitFor();
		await expectPage(page, "Edit as-sent");
		expect(
			await page.getByLabel("A column for each new member").isChecked(),
		).toBe(false);
		await hands.press("Save");
		await page.getByRole("heading", { level: 1, name: "as-sent" }).waitFor();
		const { table } = (await pipeline(visitor, "as-sent")).spec;
		expect(table).toMatchObject({ bodyColumns: found!.columns });
		expect(table).not.toHaveProperty("schema");
		await open("pipelines/as-sent");
		await page.getByRole("heading", { name: "Runs" }).waitFor();
		expect(await page.getByText("Freeze these columns").count()).toBe(0);
		expect(visitor.complaints).toEqual([]);
	});

	test("each type of event gets a table, whose names are on the Pipeline's page after a Run", async () => {
		const { page } = visitor;
		const hands = withMouse(page);
		await begin(visitor, hands, "by-type");
		await hands.tick("A table for each event type");
		expect(
			await page.getByLabel("A column for each new member").isDisabled(),
		).toBe(true);
		await hands.choose("Where the tables find the type", "bodyPointer");
		await hands.fill("Pointer to the type, for the tables", "/type");
		await hands.fill("Most tables of event types", "7");
		await expectPage(page, "New pipeline");
		await hands.press("Create");
		await page.getByText("They are known after the first run.").waitFor();
		expect((await pipeline(visitor, "by-type")).spec.table).toMatchObject({
			perEventType: true,
			maxEventTypes: 7,
			eventType: { bodyPointer: "/type" },
		});
		await run(visitor, "by-type");
		const tables = page.getByRole("region", { name: "Tables of event types" });
		for (const table of ["order_placed", "order_paid", "other"])
			await tables
				.getByRole("rowheader", { name: `by_type_${table}` })
				.first()
				.waitFor();
		await expectPage(page, "by-type");
		expect(visitor.complaints).toEqual([]);
	});

	test.each([
		["by mouse", "latest-by-mouse", withMouse],
		["by keyboard alone", "latest-by-keys", withKeyboard],
	] as const)(
		"the key of the latest rows is picked from the columns ticked, %s",
		async (_how, name, handsOf) => {
			const { page } = visitor;
			const hands = handsOf(page);
			await begin(visitor, hands, name);
			await page.getByText("Add columns from the body first").waitFor();
			await hands.tick("/id (Integer)");
			await hands.tick("id (Integer)");
			await page.getByLabel("Timestamp (Timestamp)").uncheck();
			await page.getByText(/^It needs the columns Event ID/).waitFor();
			await expectPage(page, "New pipeline");
			await hands.tick("Timestamp (Timestamp)");
			await hands.press("Create");
			await page.getByRole("heading", { level: 1, name }).waitFor();
			await page.getByText(`${name.replaceAll("-", "_")}_latest`).waitFor();
			expect((await pipeline(visitor, name)).spec.table).toMatchObject({
				latestBy: ["id"],
			});
			expect(visitor.complaints).toEqual([]);
		},
	);

	test("the type of the column body is one of its warehouse's, and needs that column", async () => {
		const { page } = visitor;
		const hands = withMouse(page);
		await begin(visitor, hands, "typed-body");
		const type = page.getByLabel("Type of body in Postgres");
		expect(await type.count()).toBe(0);
		await hands.choose("Destination", "postgres");
		await hands.choose("Type of body in Postgres", "jsonb");
		await hands.choose("Destination", "warehouse");
		await page.getByText(/^The destination is of type DuckDB\./).waitFor();
		await hands.choose("Destination", "postgres");
		await page.getByLabel("Body (JSON)").uncheck();
		await page.getByText(/the table has no column Body/).waitFor();
		await expectPage(page, "New pipeline");
		await hands.tick("Body (JSON)");
		await hands.press("Create");
		await page.getByRole("heading", { level: 1, name: "typed-body" }).waitFor();
		expect((await pipeline(visitor, "typed-body")).spec.table).toMatchObject({
			postgres: { bodyType: "jsonb" },
		});
	});

	test.each([
		["by mouse", "told-by-mouse", withMouse],
		["by keyboard alone", "told-by-keys", withKeyboard],
	] as const)(
		"somebody picks events by a value, loads those in quarantine too, and says what may become of a table and who is told, %s",
		async (_how, name, handsOf) => {
			const { page } = visitor;
			const hands = handsOf(page);
			const pointer = "Pointer to a value that events must have";
			await begin(visitor, hands, name);
			await hands.fill(pointer, "status");
			await hands.fill("The value that they must have", "paid");
			await hands.tick("Also load events in quarantine");
			await page.getByText(`quarantine_${name.replaceAll("-", "_")}`).waitFor();
			await hands.choose("If it doesn't fit the columns", "Rebuild");
			await page.getByText(/^The rows of days that the source keeps/).waitFor();
			await hands.tick("Take over a table that isn't this pipeline's");
			await page.getByLabel("Values fit their columns again").uncheck();
			await hands.fill("Late after", "90 minutes");
			await hands.fill("Secrets with webhooks", "pager");
			await hands.press("Create");
			for (const label of [pointer, "Late after"])
				await expectInvalid(page.getByLabel(label, { exact: true }));
			await page
				.getByLabel(pointer, { exact: true })
				.and(page.locator(":focus"))
				.waitFor();
			await expectPage(page, "New pipeline");
			await hands.fill(pointer, "/status");
			await hands.fill("Late after", "1h30m");
			await hands.press("Create");
			await page.getByRole("heading", { level: 1, name }).waitFor();
			expect((await pipeline(visitor, name)).spec).toMatchObject({
				filter: { match: { bodyPointer: "/status", equals: "paid" } },
				table: { quarantine: true, onIncompatible: "Rebuild", adopt: true },
				notify: {
					types: ["RunFailed", "RunRecovered", "RunLate", "ValuesUnfit"],
					lateAfter: "1h30m",
					secretRefs: [{ name: "pager" }],
				},
			});
			expect(visitor.complaints).toEqual([]);
		},
	);

	test("pasted YAML keeps what the form has no field for, whatever is changed by mouse then", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("pipelines/new");
		await page.getByText("YAML", { exact: true }).click();
		await hands.write(
			"YAML of this Pipeline",
			stringify({
				apiVersion: "tidemill.dev/v1alpha1",
				kind: "Pipeline",
				metadata: { name: "kept", labels: { team: "shop" } },
				spec: kept,
			}),
		);
		await vi.waitFor(
			async () =>
				expect(await page.getByLabel("Event types").inputValue()).toBe("push"),
			aWhile,
		);
		const has = (label: string) => page.getByLabel(label, { exact: true });
		for (const label of [
			"Also load events in quarantine",
			"Take over a table that isn't this pipeline's",
			"A run failed",
		])
			expect(await has(label).isChecked(), label).toBe(true);
		expect(await has("A run is late").isChecked()).toBe(false);
		for (const [label, value] of [
			["Pointer to a value that events must have", "/repository/private"],
			["The value that they must have", "true"],
			["If it doesn't fit the columns", "Rebuild"],
			["Late after", "2h"],
		] as const)
			expect(await has(label).inputValue()).toBe(value);
		await hands.fill("Event types", "");
		await hands.fill("Event types", "ping");
		await hands.fill("Table name", "typed");
		await hands.tick("Run (String)");
		await page.getByLabel("id (Integer)", { exact: true }).waitFor();
		await hands.fill("Overwrite period", "3");
		await hands.choose("Schedule type", "Interval");
		await hands.press("Create");
		await page.getByRole("heading", { level: 1, name: "kept" }).waitFor();
		const { spec } = await pipeline(visitor, "kept");
		const { table, filter, ...others } = kept;
		expect(spec).toMatchObject({
			...others,
			filter: { ...filter, types: ["ping"] },
			table: {
				...table,
				name: "typed",
				columns: [...table.columns, "Run"],
			},
			overwritePeriodDays: 3,
			schedule: { type: "Interval" },
		});

		await patch(visitor, "kept", { suspend: true });
		await open("pipelines/kept/edit");
		await hands.fill("Overwrite period", "4");
		await hands.press("Save");
		await page.getByRole("heading", { level: 1, name: "kept" }).waitFor();
		expect((await pipeline(visitor, "kept")).spec).toEqual({
			...spec,
			suspend: true,
			overwritePeriodDays: 4,
		});
	});
});

/** Options that the form has no field for, beside some of those that it has. */
const kept = {
	sourceRef: { name: "shop" },
	destinationRef: { name: "warehouse" },
	filter: {
		types: ["push"],
		eventType: { header: "x-github-event" },
		match: { bodyPointer: "/repository/private", equals: "true" },
	},
	table: {
		columns: ["EventID", "Timestamp", "Body", "Date"],
		bodyColumns: [{ name: "id", bodyPointer: "/id", type: "Integer" }],
		latestBy: ["id"],
		schema: "Evolve",
		quarantine: true,
		rejectedValues: true,
		postgres: { bodyType: "jsonb", indexes: [["id", "date"]] },
		onIncompatible: "Rebuild",
		adopt: true,
	},
	notify: { types: ["RunFailed"], lateAfter: "2h" },
	startingDeadlineSeconds: 600,
	pendingDeadlineSeconds: 900,
	runHistory: { succeeded: 4, failed: 3, days: 9 },
	runTemplate: { retries: 2, labels: { team: "shop" } },
};

/** A new Pipeline into a table of its name. */
async function begin(
	{ open }: ConsoleSession,
	hands: Hands,
	name: string,
): Promise<void> {
	await open("pipelines/new");
	await hands.fill("Integration name", name);
	await hands.choose("Source", "shop");
	await hands.choose("Destination", "warehouse");
}

async function run({ page, open }: ConsoleSession, name: string) {
	await withMouse(page).press("Run now");
	await page.getByText(/^\d+ rows? (is|are) in the table/).waitFor();
	await open(`pipelines/${name}`);
}

function pipeline(
	{ local }: ConsoleSession,
	name: string,
): Promise<PipelineObject> {
	return local.resource("get", "pipeline", name);
}

async function applyDestination(
	{ local }: ConsoleSession,
	name: string,
	spec: object,
): Promise<void> {
	await local.client.apply(
		destinationKind,
		{ metadata: { name, namespace: local.namespace }, spec } as never,
		{ fieldManager: "somebody" },
	);
}

function clipboard({ page }: ConsoleSession): Promise<string> {
	return page.evaluate("navigator.clipboard.readText()");
}
