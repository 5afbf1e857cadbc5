import { expect, test } from "vitest";
import { fieldsOf, textOf } from "../test/support/manifests/broken-bounds.ts";
import {
	fieldAt,
	readAcceptedManifests,
	withField,
} from "../test/support/manifests/manifest.ts";
import { validateSpec } from "../test/support/manifests/spec-validator.ts";
import { readResourceSchemas } from "./resource-schema.ts";

/*
 * A text with a line end or a NUL makes another server read a message otherwise. So only these fields take them: none enters the head of a
 * message of any protocol, but at most JSON, a body, or a literal of SQL.
 */
const free = [
	// Words for people, and a body.
	/\.(displayName|description)$/,
	/\.webhook\.(response\.body|verification\.challenges\[0\]\.answer\.template)$/,
	// What is compared with a part of an event, or signed.
	/\.(types\[0\]|type|constant|equals|input|prefix|signedString)$/,
	/[bB]odyPointer$/,
	/\.(kinds|eventIDs|omit)\[0\]$/,
	/\.filter\./,
	// Names of columns, which must be in a list of ours.
	/\.table\.(latestBy\[0\]|bigQuery\.clusterBy\[0\]|clickHouse\.orderBy\[0\]|postgres\.indexes\[0\]\[0\])$/,
	// What the operator reads and finds invalid: an id, a zone, a schedule.
	/\.(before|confirm|timeZone|cron)$/,
	// Names that Kubernetes has rules of its own for.
	/\.(secretRefs?(\[0\])?|caSecretRef|configMapKeyRef)\.(key|name)$/,
	/\.(nodeSelector|labels|annotations)\.memory$/,
	/\.(tolerations\[0\]|matchExpressions\[0\])\.(key|value|values\[0\])$/,
];

const accepted = readAcceptedManifests();
const texts = readResourceSchemas().flatMap(({ kind, schema }) =>
	[...fieldsOf(schema.properties!.spec!, ["spec"])].flatMap(
		({ path, field }) => {
			const base = accepted.find(
				(one) => one.kind === kind && typeof fieldAt(one, path) === "string",
			);
			return field.type === "string" && base
				? [{ field: `${kind} ${textOf(path)}`, path, base }]
				: [];
		},
	),
);

test("a field takes control characters only if it is known to be none of a protocol's", () => {
	const taking = texts.filter(({ path, base }) => {
		const value = fieldAt(base, path) as string;
		const middle = Math.floor(value.length / 2);
		return ["\r\n", "\0", "\x7f"].some((odd) => {
			const { kind, spec } = withField(
				base,
				path,
				value.slice(0, middle) + odd + value.slice(middle),
			);
			const at = textOf(path);
			return !validateSpec(kind, spec).some((error) => error.path === at);
		});
	});
	const unknown = taking
		.map(({ field }) => field)
		.filter((field) => !free.some((known) => known.test(field)));
	expect(unknown).toEqual([]);
	expect(taking.length).toBeLessThan(texts.length / 2);
});

test.each([
	"Destination spec.postgres.database",
	"Destination spec.postgres.schema",
	"Destination spec.postgres.host",
	"Destination spec.clickHouse.url",
	"Destination spec.clickHouse.database",
	"Destination spec.bigQuery.apiEndpoint",
	"Destination spec.duckDB.path",
	"Pipeline spec.table.name",
])("%s is among the texts that are tried", (field) => {
	expect(texts.map((text) => text.field)).toContain(field);
});
