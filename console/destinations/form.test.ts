import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Draft } from "../resource/draft.ts";
import { schemaAt } from "../resource/field-text.ts";
import {
	fieldsOf,
	formFields,
	isMoved,
	newDestination,
	placeOf,
	typeOf,
	warehouseTypes,
	withType,
	withUser,
} from "./form.ts";

const crd = parse(
	readFileSync(
		join(
			import.meta.dirname,
			"../../charts/tidemill/files/crds/destinations.yaml",
		),
		"utf8",
	),
).spec.versions[0].schema.openAPIV3Schema.properties.spec;

test("the form has every type of warehouse, and each of its fields is one of the CRD's, with a label", () => {
	expect([...warehouseTypes].sort()).toEqual(
		[...crd.properties.type.enum].sort(),
	);
	for (const [path, { label }] of warehouseTypes.flatMap(fieldsOf)) {
		expect(schemaAt(crd, path), path).toHaveProperty("type");
		expect(label, path).toBeTruthy();
	}
});

test("another type leaves nothing of the one before", () => {
	const postgres = withType(newDestination(), "Postgres");
	expect(postgres.spec).toEqual({ type: "Postgres", postgres: {} });
	expect(typeOf(postgres)).toBe("Postgres");
	expect(typeOf({ name: "", spec: { type: 5 } })).toBe("DuckDB");
});

test("where a warehouse is fits in a line", () => {
	expect(
		[
			{ type: "DuckDB", duckDB: { path: "a/b.duckdb" } },
			{ type: "BigQuery", bigQuery: { projectId: "p", dataset: "d" } },
			{
				type: "ClickHouse",
				clickHouse: { url: "https://c:8443", database: "d" },
			},
			{
				type: "Postgres",
				postgres: { credentials: { secretRef: { name: "pg" } } },
			},
		].map(placeOf),
	).toEqual(["a/b.duckdb", "p/d", "https://c:8443/d", "pg"]);
});

const postgres = (own: object, secret = "pg"): Draft => ({
	name: "lake",
	spec: {
		type: "Postgres",
		postgres: {
			...{ host: "db", credentials: { secretRef: { name: secret } } },
			...own,
		},
	},
});

test("a user and a password take the place of the Secret in what is sent, and stay out of the draft", () => {
	const user = { username: "u", password: "p" };
	expect(withUser(postgres({}), user).spec).toEqual({
		type: "Postgres",
		postgres: { host: "db", credentials: user },
	});
	const none = { username: "", password: "" };
	expect(withUser(postgres({}), none)).toEqual(postgres({}));
	expect(withUser(newDestination(), user)).toEqual(newDestination());
	expect(formFields).toContain("clickHouse.credentials.password");
});

test.each([
	[{ host: "evil" }, true],
	[{ port: 6432 }, true],
	[{ sslMode: "disable" }, true],
	[{ caSecretRef: { name: "evil" } }, true],
	[{ database: "other" }, false],
	[{ credentials: { secretRef: { name: "another" } } }, false],
	[{ credentials: undefined, host: "other" }, false],
])(
	"after the change %j the password is asked for again: %s",
	(own, isAsked) => {
		expect(isMoved(postgres(own), postgres({}))).toBe(isAsked);
	},
);
