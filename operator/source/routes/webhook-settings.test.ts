import { expect, test } from "vitest";
import { readResourceSchemas } from "../../../crds/resource-schema.ts";
import { sourceOf } from "../../../test/support/examples/resource-examples.ts";
import { webhookOf } from "./authorization.ts";

test("a Source without settings of its webhook has the CRD's defaults", () => {
	const schemas = readResourceSchemas();
	const { schema } = schemas.find(({ kind }) => kind === "Source")!;
	const { webhook } = schema.properties!.spec!.properties!;
	const defaults = Object.entries(webhook!.properties!).flatMap(
		([name, field]) =>
			field.default === undefined ? [] : [[name, field.default]],
	);
	const source = sourceOf();
	delete source.spec.webhook;
	expect(webhookOf(source)).toEqual(Object.fromEntries(defaults));
});
