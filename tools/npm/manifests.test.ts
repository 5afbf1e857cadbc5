import { hash } from "node:crypto";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { brewFormula, krewManifest } from "./manifests.ts";

const release = { version: "0.2.0", tarball: Buffer.from("a package") };
const checksum = hash("sha256", release.tarball);
const address =
	"https://github.com/tidemill/tidemill/releases/download/v0.2.0/tidemill-cli-0.2.0.tgz";

/** What krew itself checks of a manifest (kubernetes-sigs/krew, internal/index/validation/validate.go), and its types. */
const krewSchema = {
	type: "object",
	additionalProperties: false,
	required: ["apiVersion", "kind", "metadata", "spec"],
	properties: {
		apiVersion: { const: "krew.googlecontainertools.github.com/v1alpha2" },
		kind: { const: "Plugin" },
		metadata: {
			type: "object",
			additionalProperties: false,
			required: ["name"],
			properties: { name: { type: "string", pattern: "^[\\w-]+$" } },
		},
		spec: {
			type: "object",
			additionalProperties: false,
			required: ["version", "shortDescription", "platforms"],
			properties: {
				version: { type: "string", pattern: "^v\\d+\\.\\d+\\.\\d+$" },
				shortDescription: { type: "string", pattern: "^.+$" },
				description: { type: "string" },
				caveats: { type: "string" },
				homepage: { type: "string" },
				platforms: {
					type: "array",
					minItems: 1,
					items: {
						type: "object",
						additionalProperties: false,
						required: ["uri", "sha256", "bin", "files", "selector"],
						properties: {
							uri: { type: "string", pattern: "^https://" },
							sha256: { type: "string", pattern: "^[a-f0-9]{64}$" },
							// Inside of the plugin's folder.
							bin: { type: "string", pattern: "^(?!/)(?!.*\\.\\.).+$" },
							files: {
								type: "array",
								minItems: 1,
								items: {
									type: "object",
									additionalProperties: false,
									required: ["from", "to"],
									properties: {
										from: { type: "string", minLength: 1 },
										to: { type: "string", minLength: 1 },
									},
								},
							},
							selector: {
								type: "object",
								additionalProperties: false,
								properties: {
									matchLabels: { type: "object" },
									matchExpressions: { type: "array", minItems: 1 },
								},
							},
						},
					},
				},
			},
		},
	},
};

test("krew's manifest is what krew accepts, and leads to the release's package", () => {
	const manifest = parse(krewManifest(release));
	const validate = new Ajv({ strict: false }).compile(krewSchema);
	validate(manifest);
	expect(validate.errors).toBe(null);
	expect(manifest.spec.platforms).toMatchObject([
		{ uri: address, sha256: checksum },
	]);
});

test("Homebrew's formula leads to the release's package, and has the parts that Homebrew asks for", () => {
	const formula = brewFormula(release);
	const fields = Object.fromEntries(
		[...formula.matchAll(/^ {2}(\w+) "(.*)"$/gm)].map(([, ...pair]) => pair),
	);
	expect(fields).toMatchObject({
		url: address,
		sha256: checksum,
		license: "Apache-2.0",
		depends_on: "node",
	});
	// `brew style` refuses a longer one, and one that ends with a full stop.
	expect(fields.desc).toMatch(/^[A-Z].{1,78}[^.]$/);
	expect(formula.match(/\bdo$|^class |^ {2}def /gm)).toHaveLength(
		formula.match(/^ *end$/gm)!.length,
	);
});

test.each([
	'1.0.0"; system("id"); "',
	"1.0.0#{`id`}",
	"1.0.0\nurl: x",
	"v1.0.0",
	"",
])("a version that isn't one, %j, stands in no manifest", (version) => {
	const other = { ...release, version };
	expect(() => brewFormula(other)).toThrow("The version is");
	expect(() => krewManifest(other)).toThrow("The version is");
});
