import { parse } from "yaml";
import type { Schema } from "../../crds/resource-schema.ts";
import type { FormKind } from "./draft.ts";

/** A CRD's text by its path, which no page loads before somebody needs it. */
const crds = import.meta.glob<string>(
	"../../charts/tidemill/files/crds/{sources,destinations,pipelines,trackingplans}.yaml",
	{ query: "?raw", import: "default" },
);
const schemas = new Map<FormKind, Promise<Schema>>();

/** The schema of a kind's CRD (`openAPIV3Schema`). It is read once. */
export function schemaOf(kind: FormKind): Promise<Schema> {
	const read = async () => {
		const text =
			await crds[
				`../../charts/tidemill/files/crds/${kind.toLowerCase()}s.yaml`
			]!();
		return parse(text).spec.versions[0].schema.openAPIV3Schema as Schema;
	};
	const schema = schemas.get(kind) ?? read();
	schemas.set(kind, schema);
	// A page whose file is missing asks again.
	schema.catch(() => schemas.delete(kind));
	return schema;
}
