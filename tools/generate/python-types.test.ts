import { expect, test } from "vitest";
import { pythonTypesText } from "./python-types.ts";

test("a schema becomes a TypedDict, and each object inside another", () => {
	const text = pythonTypesText({
		Thing: {
			description: 'A "thing".',
			type: "object",
			required: ["name"],
			properties: {
				name: { type: "string" },
				kind: { type: ["string", "null"], enum: ["A", null] },
				labels: { type: "object", additionalProperties: { type: "string" } },
				parts: {
					type: ["array", "null"],
					items: {
						type: "object",
						properties: { size: { type: ["integer", "string"] } },
					},
				},
				rest: { type: "object" },
			},
		},
		ThingList: {
			type: "object",
			properties: {
				items: { type: "array", items: { $ref: "#/components/schemas/Thing" } },
			},
		},
	});
	expect(
		text.slice(text.indexOf("class")),
	).toBe(`class ThingPartsItem(TypedDict):
    size: NotRequired[int | str]

class Thing(TypedDict):
    """A \\"thing\\"."""
    name: str
    kind: NotRequired[Literal["A", None]]
    labels: NotRequired[dict[str, str]]
    parts: NotRequired[list[ThingPartsItem] | None]
    rest: NotRequired[dict[str, Any]]

class ThingList(TypedDict):
    items: NotRequired[list[Thing]]
`);
});

test("a field may have a name that Python reserves", () => {
	const text = pythonTypesText({
		Range: { type: "object", properties: { from: { type: "string" } } },
	});
	expect(text).toContain(`Range = TypedDict(
    "Range",
    {
        "from": "NotRequired[str]",
    },
)`);
});
