import { expect, test } from "vitest";
import {
	destinationKind,
	pipelineKind,
	sourceKind,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { UsageError } from "../command/errors.ts";
import { fieldsStarting, withFields } from "./fields.ts";

test.each([
	[pipelineKind, ["table.name=a=b"], { table: { name: "a=b" } }],
	[pipelineKind, ["suspend=true"], { suspend: true }],
	[
		sourceKind,
		["webhook.response.status=201"],
		{ webhook: { response: { status: 201 } } },
	],
	[sourceKind, ["retentionDays=30"], { retentionDays: 30 }],
	[
		pipelineKind,
		["filter.types=a,b", 'table.latestBy=["id"]'],
		{ filter: { types: ["a", "b"] }, table: { latestBy: ["id"] } },
	],
	[
		pipelineKind,
		["table.bodyColumns[0].name=a", "table.bodyColumns[0].bodyPointer=/a"],
		{ table: { bodyColumns: [{ name: "a", bodyPointer: "/a" }] } },
	],
	[
		pipelineKind,
		['table.bodyColumns=[{"name":"a","bodyPointer":"/a"}]'],
		{ table: { bodyColumns: [{ name: "a", bodyPointer: "/a" }] } },
	],
	[
		trackingPlanKind,
		["events[0].type=order", 'events[0].schema={"type":"object"}'],
		{ events: [{ type: "order", schema: { type: "object" } }] },
	],
])("%s takes --set %j", (kind, settings, spec) => {
	expect(withFields(kind, {}, settings)).toEqual(spec);
});

test("what is set stands beside what is there, which stays as it is", () => {
	const spec = { table: { name: "a", latestBy: ["id"] } };
	expect(withFields(pipelineKind, spec, ["table.latestBy[1]=b"])).toEqual({
		table: { name: "a", latestBy: ["id", "b"] },
	});
	expect(spec).toEqual({ table: { name: "a", latestBy: ["id"] } });
});

test.each([
	["table.nam=a", 'no field "table.nam". Did you mean "table.name"?'],
	["tabel=a", 'Did you mean "table"?'],
	["table.bodyColumns[0].nam=a", 'mean "table.bodyColumns[0].name"?'],
	["table.name", "must be a field and its value"],
	["table..name=a", "fields are written such as table.name"],
	["table.bodyColumns[2].name=a", "the next is [0]"],
	["table.schema=Evolv", "must be one of Fixed, Evolve"],
	["suspend=yes", "must be one of true, false"],
	["table.__proto__.a=b", "has no field"],
	["table.bodyColumns=[{", "must be a list in JSON"],
	["table.bodyColumns=a,b", "must be a list in JSON"],
])(
	"--set %s is refused, and the message says what is right",
	(text, message) => {
		const set = () => withFields(pipelineKind, {}, [text]);
		expect(set).toThrow(UsageError);
		expect(set).toThrow(message);
	},
);

test("fields complete by their paths, also in a list, and values by the CRD's", () => {
	const words = (word: string) =>
		fieldsStarting(pipelineKind, word).map(({ word }) => word);
	expect(words("table.na")).toEqual(["table.name="]);
	expect(words("table.bodyColumns[1].na")).toEqual([
		"table.bodyColumns[1].name=",
	]);
	expect(words("table.schema=")).toEqual(
		expect.arrayContaining(["table.schema=Evolve"]),
	);
	expect(words("table.name=")).toEqual([]);
	const [first] = fieldsStarting(destinationKind, "postgres.port");
	expect(first).toEqual({
		word: "postgres.port=",
		about: "The server's port.",
	});
});
