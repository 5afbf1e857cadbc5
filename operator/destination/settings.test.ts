import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { warehouseOf, warehouses } from "../../packages/warehouses/registry.ts";
import { inputSettings, verifiedSettings } from "./settings.ts";

// A test of each accepted.yaml holds that it has every field of its crd.yaml.
test.each([...warehouses])(
	"each field of %s that is no reference reaches its Job, and a change of it is verified, without a word beside its CRD",
	(type, { member, volume }) => {
		const file = `packages/warehouses/${type.toLowerCase()}/accepted.yaml`;
		const { spec } = parse(readFileSync(file, "utf8"));
		const { credentials: _, caSecretRef: __, ...plain } = spec[member];
		const own = { ...plain };
		if (volume) delete own.volumeClaimName;
		expect(inputSettings(warehouseOf(spec)!)).toEqual(own);
		const verified = (part: object) =>
			JSON.stringify(verifiedSettings(warehouseOf({ type, [member]: part })!));
		for (const [name, value] of Object.entries(plain)) {
			const other = typeof value === "boolean" ? !value : `${value}1`;
			expect(verified({ ...plain, [name]: other })).not.toBe(verified(plain));
		}
	},
);
